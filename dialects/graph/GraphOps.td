//===- GraphOps.td - All ops of the graph dialect ----*- tablegen -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

include "dialects/graph/GraphBase.td"
include "dialects/graph/GraphInterfaces.td"
include "dialects/graph/LibraryAttrs.td"
include "dialects/graph/ElementwiseOps.td"
include "dialects/graph/QuantizationOps.td"
include "dialects/graph/ContractionOps.td"
include "dialects/graph/ReductionOps.td"
include "dialects/graph/NormalizationOps.td"
include "dialects/graph/MovementOps.td"
include "dialects/graph/StructureOps.td"
include "dialects/graph/ControlFlowOps.td"
include "dialects/graph/DimensionSizeOps.td"
include "dialects/graph/CollectiveOps.td"
