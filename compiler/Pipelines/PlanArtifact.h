//===- PlanArtifact.h - From a plan to an artifact's tables -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_PLANARTIFACT_H
#define TINH_PIPELINES_PLANARTIFACT_H

#include "compiler/Artifact/Artifact.h"
#include "compiler/Codegen/CPU/Target.h"
#include "dialects/plan/Plan.h"

namespace tinh {

/// Of a kernel in phase llvm, a TypeAttr: what operandTypes gives.
inline constexpr llvm::StringLiteral kOperands = "plan.operands";

/// Where a kernel of phase plan or llvm finds what it reads and what it writes:
/// from memrefs to memrefs.
mlir::FunctionType operandTypes(mlir::Operation *kernel);

/// What the artifact of `module` (phase Plan or LLVM) holds: the weights, all
/// functions but @init, and the kernels that they run.
artifact::Contents describeArtifact(mlir::ModuleOp module,
                                    const cpu::Target &target);

/// The same for an artifact of @init alone, which computes the weights.
artifact::Contents describeInit(plan::FunctionOp init, const cpu::Target &host);

} // namespace tinh

#endif // TINH_PIPELINES_PLANARTIFACT_H
