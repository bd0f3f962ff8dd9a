//===- Windows.h - Sliding windows as ONNX describes them -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_WINDOWS_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_WINDOWS_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

struct Windows {
  Ints kernel, strides, dilations;
  /// Before each spatial dimension, then after each.
  Ints padding;
  /// What of the padding after each stems from ceil_mode.
  Ints ceilPadding;
};

/// Reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for a
/// convolution or pool over `x`. `kernel` is the weights' extent, empty for
/// pools. Nothing, with an error, if they are wrong.
std::optional<Windows> readWindows(NodeBuilder &b, mlir::Value x,
                                   llvm::ArrayRef<int64_t> kernel);

/// The means of the windows over `x` that the node's attributes describe.
mlir::Value averagePool(NodeBuilder &b, mlir::Value x);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_WINDOWS_H
