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
include "dialects/graph/ops/ElementwiseOps.td"
include "dialects/graph/ops/QuantizationOps.td"
include "dialects/graph/ops/ContractionOps.td"
include "dialects/graph/ops/ReductionOps.td"
include "dialects/graph/ops/NormalizationOps.td"
include "dialects/graph/ops/MovementOps.td"
include "dialects/graph/ops/StructureOps.td"
include "dialects/graph/ops/ControlFlowOps.td"
include "dialects/graph/ops/DimensionSizeOps.td"
include "dialects/graph/ops/CollectiveOps.td"
