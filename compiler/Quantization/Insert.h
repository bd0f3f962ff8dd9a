//===- Insert.h - Quantise and dequantise around layers ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_QUANTIZATION_INSERT_H
#define TINH_COMPILER_QUANTIZATION_INSERT_H

#include "compiler/Quantization/Layers.h"
#include "compiler/Quantization/Observers.h"

namespace tinh::quantization {

/// Weights as i8, and a scale for each output channel.
struct QuantizedWeights {
  mlir::DenseElementsAttr integers, scales;
};

QuantizedWeights quantizeWeights(const Layer &layer,
                                 llvm::ArrayRef<float> weights);

/// `value` by way of bytes.
mlir::Value createBytes(mlir::OpBuilder &builder, mlir::Value value,
                        Range range);
/// The weights of `layer` by way of bytes.
mlir::Value createWeights(mlir::OpBuilder &builder, const Layer &layer,
                          const QuantizedWeights &weights);

/// What is known of a layer that is quantised.
struct LayerPlan {
  QuantizedWeights weights;
  /// What is added to the result, for each channel, and may be empty.
  std::vector<float> correction;
};

/// Quantises layers of the copy that `copy` maps to, their weights as bytes or
/// as floats that bytes are made of. Fails, after a diagnostic, if a constant
/// cannot be read.
mlir::LogicalResult insertQuantization(llvm::ArrayRef<const Layer *> layers,
                                       llvm::ArrayRef<const LayerPlan *> plans,
                                       const RangeOf &ranges,
                                       const mlir::IRMapping &copy,
                                       bool floatWeights, MappedFiles &files);

} // namespace tinh::quantization

#endif // TINH_COMPILER_QUANTIZATION_INSERT_H
