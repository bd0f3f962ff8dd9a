//===- Quantization.h - Questions about quantised values --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZATION_H
#define TINH_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZATION_H

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"

#include <cmath>

namespace tinh::transforms {

/// The least and the largest integer that a tensor's elements can be.
inline std::pair<double, double> integerRange(mlir::Type tensorType) {
  auto type =
      mlir::cast<mlir::IntegerType>(mlir::getElementTypeOrSelf(tensorType));
  int width = static_cast<int>(type.getWidth());
  double low = type.isUnsigned() ? 0 : -std::ldexp(1.0, width - 1);
  return {low, low + std::ldexp(1.0, width) - 1};
}

/// Whether what a scale divides may be multiplied instead, in f32: that of
/// numbers near the least ones is infinite.
inline bool hasReciprocal(double scale) {
  return std::isnormal(static_cast<float>(1 / scale));
}

/// Whether `op` may become a kernel of a GPU, for which there is no code that
/// multiplies floats by integers. Functions by themselves are none's.
inline bool mayRunOnGpu(mlir::Operation *op) {
  auto module = op->getParentOfType<mlir::ModuleOp>();
  return module && module->hasAttr(graph::names::kCuda);
}

/// Ops that make the right factor of a product from constant integers, if they
/// are to do so in its kernel, which reads the integers: a reshape maybe, what
/// dequantises them, and what unpacks them maybe. None otherwise.
llvm::SmallVector<mlir::Operation *> quantizedWeightsOf(graph::MatmulOp op);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_QUANTIZATION_QUANTIZATION_H
