//===- Gradients.h - Reverse-mode differentiation of graphs -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One set of rules, a vector–Jacobian product for each op
// (graph::DifferentiableOpInterface), serves all that asks for gradients: the
// tape of eager tensors, tinh::grad in functions that are traced, and models
// that graph-compile makes train. Gradients are ops of the same graph, so they
// can be differentiated again.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRADIENTS_GRADIENTS_H
#define TINH_COMPILER_GRADIENTS_GRADIENTS_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseSet.h"

namespace tinh::gradients {

/// Adds ops, where `builder` stands, that compute the gradients of
/// Σ outputs[i] · seeds[i] by each of `inputs`, of the inputs' types; null
/// where the outputs do not depend on an input. All values are visible there,
/// and the ops on the way from inputs to outputs are in its block. Fails after
/// a diagnostic that names the node that cannot be differentiated. What `hook`
/// makes of a value's gradient, when that is complete, takes its place.
using GradientHook =
    llvm::function_ref<mlir::Value(mlir::Value value, mlir::Value gradient)>;
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildGradients(mlir::OpBuilder &builder, mlir::ValueRange outputs,
               mlir::ValueRange seeds, mlir::ValueRange inputs,
               GradientHook hook = nullptr);

/// Whether tensors of this type have gradients: those of floats.
bool isDifferentiable(mlir::Type type);

/// The values of `block`, and those of `inputs`, that depend on `inputs` in a
/// differentiable way.
llvm::DenseSet<mlir::Value> findDependent(mlir::Block &block,
                                          mlir::ValueRange inputs);
/// The values that `outputs` need: results of ops in `block`, and what these
/// read.
llvm::DenseSet<mlir::Value> findNeeded(mlir::Block &block,
                                       mlir::ValueRange outputs);

/// The sum of two gradients, either of which may be null.
mlir::Value addGradients(mlir::OpBuilder &builder, mlir::Location location,
                         mlir::Value a, mlir::Value b);

/// Attaches the rules of compiler/Gradients/Rules to the ops of the dialect.
void registerRules(mlir::DialectRegistry &registry);

} // namespace tinh::gradients

#endif // TINH_COMPILER_GRADIENTS_GRADIENTS_H
