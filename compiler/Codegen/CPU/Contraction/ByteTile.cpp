//===- ByteTile.cpp - Multiplying bytes in registers ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With VNNI an instruction, vpdpbusd, adds four products to each lane. Without,
// bytes are extended to 16 bits, those at even and those at odd positions, and
// vpmaddwd sums the products of pairs: nothing saturates, as in vpmaddubsw.
// Rows are extended when they are staged, once for all panels.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class ByteTileEmitter {
public:
  ByteTileEmitter(OpBuilder &b, Location loc, VectorType sums,
                  const Target &target)
      : b(b), loc(loc), sums(sums), target(target) {}

  /// Four bytes from `at` on, in all lanes.
  Value loadRow(Value input, Value at) {
    Value four = vector::LoadOp::create(
        b, loc, VectorType::get({4}, b.getI8Type()), input, at);
    Value lane = vector::BitCastOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), four);
    Value one = vector::ExtractOp::create(b, loc, lane, 0);
    Value row = vector::BroadcastOp::create(b, loc, sums, one);
    auto bytes = VectorType::get({sums.getNumElements() * 4}, b.getI8Type());
    return vector::BitCastOp::create(b, loc, bytes, row);
  }

  /// sums + Σ row · columns, four products in each lane.
  Value dot(Value sum, Value row, Value columns) {
    return call(isWide() ? "llvm.x86.avx512.vpdpbusd.512"
                         : "llvm.x86.avx512.vpdpbusd.256",
                {sum, row, columns});
  }

  /// sums + Σ row · columns, two products of 16 bits in each lane.
  Value addPairs(Value sum, Value row, Value columns) {
    row = vector::BitCastOp::create(b, loc, columns.getType(), row);
    Value products = call(isWide() ? "llvm.x86.avx512.pmaddw.d.512"
                                   : "llvm.x86.avx2.pmadd.wd",
                          {row, columns});
    return arith::AddIOp::create(b, loc, sum, products);
  }

private:
  bool isWide() const { return target.vectorBytes == 64; }
  Value call(StringRef intrinsic, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, loc, sums,
                                         b.getStringAttr(intrinsic), operands)
        .getResult(0);
  }

  OpBuilder &b;
  Location loc;
  VectorType sums;
  const Target &target;
};

} // namespace

std::array<Value, 2> extendBytes(OpBuilder &b, Location loc, Value bytes,
                                 bool isUnsigned) {
  int64_t count = cast<VectorType>(bytes.getType()).getNumElements();
  auto type = VectorType::get({count / 2}, b.getI16Type());
  auto splat = [&](int16_t number) {
    return arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(type, b.getI16IntegerAttr(number)));
  };
  Value words = vector::BitCastOp::create(b, loc, type, bytes),
        eight = splat(8);
  if (isUnsigned)
    return {arith::AndIOp::create(b, loc, words, splat(0xff)),
            arith::ShRUIOp::create(b, loc, words, eight)};
  Value high = arith::ShLIOp::create(b, loc, words, eight);
  return {arith::ShRSIOp::create(b, loc, high, eight),
          arith::ShRSIOp::create(b, loc, words, eight)};
}

void multiplyByteTile(OpBuilder &b, Location loc, Value input,
                      ArrayRef<Value> rowAt, ArrayRef<Value> columns,
                      const Target &target, MutableArrayRef<Value> sums) {
  ByteTileEmitter emitter(b, loc, cast<VectorType>(sums.front().getType()),
                          target);
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value row = emitter.loadRow(input, at);
    for (auto [v, column] : llvm::enumerate(columns)) {
      Value &sum = sums[r * columns.size() + v];
      sum = emitter.dot(sum, row, column);
    }
  }
}

void multiplyExtendedTile(OpBuilder &b, Location loc, Value input,
                          ArrayRef<Value> rowAt, int64_t oddOffset,
                          ArrayRef<Value> columns, const Target &target,
                          MutableArrayRef<Value> sums) {
  ByteTileEmitter emitter(b, loc, cast<VectorType>(sums.front().getType()),
                          target);
  SmallVector<std::array<Value, 2>> extended;
  for (Value column : columns)
    extended.push_back(extendBytes(b, loc, column, /*isUnsigned=*/false));
  Value offset = arith::ConstantIndexOp::create(b, loc, oddOffset);
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value odd = arith::AddIOp::create(b, loc, at, offset);
    Value rows[] = {emitter.loadRow(input, at), emitter.loadRow(input, odd)};
    for (auto [v, column] : llvm::enumerate(extended)) {
      Value &sum = sums[r * columns.size() + v];
      for (auto [row, words] : llvm::zip(rows, column))
        sum = emitter.addPairs(sum, row, words);
    }
  }
}

} // namespace tinh::cpu
