//===- Products.h - Products that other ops begin with ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_PRODUCTS_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_PRODUCTS_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// The convolution, without a bias, that the node's attributes describe.
/// Nothing, with an error, if these or the operands are wrong.
mlir::Value convolve(NodeBuilder &b, mlir::Value x, mlir::Value weights);

/// alpha · A' · B' + beta · C, as the node's attributes say.
Results gemm(NodeBuilder &b);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_PRODUCTS_H
