//===- Heads.h - Attention heads side by side or apart ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_ATTENTION_HEADS_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_ATTENTION_HEADS_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// [batch, length, heads · width] as [batch, heads, length, width].
mlir::Value splitHeads(NodeBuilder &b, mlir::Value x, int64_t heads);

/// The opposite of splitHeads.
mlir::Value joinHeads(NodeBuilder &b, mlir::Value x);

/// Each head of [batch, heads, length, width] as often as queries share it.
mlir::Value repeatHeads(NodeBuilder &b, mlir::Value x, int64_t heads);

/// The pairs of the first elements of heads, [batch, heads, length, width],
/// turned by angles whose cosines and sines are [batch or 1, 1, length, pairs].
/// The pairs are neighbours or, if not `interleaved`, half of the elements
/// apart.
mlir::Value rotateHeads(NodeBuilder &b, mlir::Value x, mlir::Value cosine,
                        mlir::Value sine, bool interleaved);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_ATTENTION_HEADS_H
