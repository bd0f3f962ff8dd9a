//===- PlanArtifact.h - From dispatches to steps over planned memory ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_PLANARTIFACT_H
#define TINH_PIPELINES_PLANARTIFACT_H

#include "compiler/Artifact/Artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tinh {

/// Lays out the weights: a tensor for each result of @init, in order.
void planWeights(mlir::ModuleOp module, artifact::Contents &contents);

/// Adds `function` (phase `kernels`) to `contents`, with the kernels that it
/// dispatches: its steps, their waits and the places of its buffers.
mlir::LogicalResult planFunction(mlir::func::FuncOp function,
                                 artifact::Contents &contents);

/// The description of a tensor of `type`; `name` may be null.
artifact::Tensor describeTensor(mlir::Type type, mlir::Attribute name);

/// The names of the model's nodes in `location`, with a space between them.
std::string nodeNames(mlir::Location location);

} // namespace tinh

#endif // TINH_PIPELINES_PLANARTIFACT_H
