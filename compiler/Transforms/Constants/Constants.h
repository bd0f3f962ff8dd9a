//===- Constants.h - Questions about constant values ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_CONSTANTS_CONSTANTS_H
#define TINH_COMPILER_TRANSFORMS_CONSTANTS_CONSTANTS_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace tinh::transforms {

/// The type of a tensor value.
inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

/// Whether `value` is computed from constants alone, by 64 ops at most, and
/// views: findConstantOps tells it of all ops at once, whatever their number.
bool isConstantExpression(mlir::Value value);

/// Ops that depend on constants alone, in all blocks of a function, but for
/// `inRuns`, which runs compute, and what is beyond the ConstantBudget.
llvm::DenseSet<mlir::Operation *>
findConstantOps(mlir::func::FuncOp function,
                const llvm::DenseSet<mlir::Operation *> &inRuns = {});

/// The one value that all elements have, as a double: of a constant, also
/// behind broadcasts, reshapes and the like.
std::optional<double> splatValue(mlir::Value value);

/// Whether all elements are `expected`, up to a relative `tolerance`.
bool isSplatOf(mlir::Value value, double expected, double tolerance = 0);

/// Whether two values, either of which may be null, are the same one or equal
/// constants, also behind reshapes.
bool isSameParameter(mlir::Value a, mlir::Value b);

/// A constant of `type` (of floats or integers) with all elements `value`.
mlir::Value createSplat(mlir::OpBuilder &builder, mlir::Location location,
                        mlir::RankedTensorType type, double value);

/// Whether `op` makes floats of the bytes that stand for them.
bool isOfBytes(mlir::Operation *op);

/// Whether a cast makes floats of narrower ones, which loses nothing.
bool isWidening(graph::CastOp cast);

/// `value` itself or a reshape of it to `shape`.
mlir::Value reshapeTo(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_CONSTANTS_CONSTANTS_H
