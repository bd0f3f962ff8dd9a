//===- Random.h - Random numbers of a node ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_RANDOM_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_RANDOM_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// Numbers of f64, 0 ≤ x < 1, that stay below 1 in `element`. They follow from
/// the node's seed or, without one, from its name.
mlir::Value drawUniform(NodeBuilder &b, mlir::FloatType element,
                        llvm::ArrayRef<int64_t> shape);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_RANDOM_H
