//===- StraightThrough.h - Rounding that gradients pass ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_STRAIGHTTHROUGH_H
#define TINH_TRAINING_STRAIGHTTHROUGH_H

#include "dialects/graph/Graph.h"

namespace tinh::training {

/// Floats that become integers and floats again, by one scale.
struct QuantizedPair {
  graph::QuantizeOp quantize;
  /// Limit the integers to fewer than their type has: four bits.
  llvm::SmallVector<mlir::Operation *> limits;
  graph::DequantizeOp dequantize;
  double low, high; ///< The least and the largest integer.
};

/// The pair that `op` ends, if it ends one.
std::optional<QuantizedPair> pairOf(graph::DequantizeOp op);

/// Fails, after a diagnostic, if `output` depends on `parameters` by integers
/// that are no pair's, so that their gradient would end there.
mlir::LogicalResult checkQuantized(mlir::Block &block, mlir::Value output,
                                   mlir::ValueRange parameters);

} // namespace tinh::training

#endif // TINH_TRAINING_STRAIGHTTHROUGH_H
