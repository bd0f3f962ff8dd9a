//===- PairTile.cpp - Multiplying bf16 in registers -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An instruction, vdpbf16ps, adds the products of a pair to each lane of f32.
// It takes both factors as they lie: nothing is converted.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tinh::cpu {

/// The pair from `at` on, in all lanes.
static Value loadPair(OpBuilder &b, Location loc, Value input, Value at,
                      VectorType pairs) {
  Type lane = b.getI32Type();
  Value pair = vector::LoadOp::create(
      b, loc, VectorType::get({2}, pairs.getElementType()), input, at);
  pair = vector::BitCastOp::create(b, loc, VectorType::get({1}, lane), pair);
  pair = vector::ExtractOp::create(b, loc, pair, 0);
  pair = vector::BroadcastOp::create(
      b, loc, VectorType::get({pairs.getNumElements() / 2}, lane), pair);
  return vector::BitCastOp::create(b, loc, pairs, pair);
}

void multiplyPairTile(OpBuilder &b, Location loc, Value input,
                      ArrayRef<Value> rowAt, ArrayRef<Value> columns,
                      MutableArrayRef<Value> sums) {
  auto pairs = cast<VectorType>(columns.front().getType());
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value row = loadPair(b, loc, input, at, pairs);
    for (auto [v, column] : llvm::enumerate(columns)) {
      Value &sum = sums[r * columns.size() + v];
      sum = LLVM::CallIntrinsicOp::create(
                b, loc, sum.getType(),
                b.getStringAttr("llvm.x86.avx512bf16.dpbf16ps.512"),
                {sum, row, column})
                .getResult(0);
    }
  }
}

} // namespace tinh::cpu
