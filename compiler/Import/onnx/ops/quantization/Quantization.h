//===- Quantization.h - To and from integers with a scale -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_QUANTIZATION_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_QUANTIZATION_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// Which inputs hold the scale and the zero point, which may be missing, and
/// their axis in x.
struct Parameters {
  int scale, zeroPoint;
  int64_t axis, blockSize;
};

/// (x - zero point) · scale
mlir::Value dequantize(NodeBuilder &b, mlir::Value x, const Parameters &p);

/// A result in the integers of its zero point or, if that input is missing, in
/// those of `otherwise`; both inputs are one number.
mlir::Value requantize(NodeBuilder &b, mlir::Value result, int scale,
                       int zeroPoint, mlir::Type otherwise = {});

/// Bytes, their scale and their zero point, for what the run finds in x.
struct DynamicallyQuantized {
  mlir::Value x, scale, zeroPoint;
};
DynamicallyQuantized quantizeDynamically(NodeBuilder &b, mlir::Value x);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_QUANTIZATION_QUANTIZATION_H
