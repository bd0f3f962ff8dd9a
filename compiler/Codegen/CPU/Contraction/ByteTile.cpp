//===- ByteTile.cpp - Multiplying bytes in registers ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// With VNNI an instruction, vpdpbusd, adds four products to each lane. Without,
// vpmaddubsw adds the products of pairs in 16 bits, where it would saturate if
// both weights are large; vpmaddwd adds two of these sums. Other bytes are
// extended to 16 bits, those at even and those at odd positions, of which
// vpmaddwd multiplies pairs and adds them. Rows are extended when they are
// staged, once for all panels. Which weights are large is known when the
// artifact is written (Layouts/GroupOrder.cpp).
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Contraction.h"
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
    if (target.hasByteDots())
      return call(isWide() ? "llvm.x86.avx512.vpdpbusd.512"
                           : "llvm.x86.avx512.vpdpbusd.256",
                  sums, {sum, row, columns});
    Value pairs = call(isWide() ? "llvm.x86.avx512.pmaddubs.w.512"
                                : "llvm.x86.avx2.pmadd.ub.sw",
                       words(), {row, columns});
    Value ones = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(words(), b.getI16IntegerAttr(1)));
    return addPairs(sum, pairs, ones);
  }

  /// sums + Σ row · columns, two products of 16 bits in each lane.
  Value addPairs(Value sum, Value row, Value columns) {
    row = vector::BitCastOp::create(b, loc, columns.getType(), row);
    Value products = call(isWide() ? "llvm.x86.avx512.pmaddw.d.512"
                                   : "llvm.x86.avx2.pmadd.wd",
                          sums, {row, columns});
    return arith::AddIOp::create(b, loc, sum, products);
  }

private:
  bool isWide() const { return target.vectorBytes == 64; }
  VectorType words() const {
    return VectorType::get({2 * sums.getNumElements()}, b.getI16Type());
  }
  Value call(StringRef intrinsic, Type result, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, loc, result,
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

Value pairBytes(OpBuilder &b, Location loc, Value bytes, size_t pairing) {
  SmallVector<int64_t> order;
  int64_t count = cast<VectorType>(bytes.getType()).getNumElements();
  for (int64_t group = 0; group < count; group += 4)
    for (int64_t i : kBytePairings[pairing])
      order.push_back(group + i);
  return vector::ShuffleOp::create(b, loc, bytes, bytes, order);
}

void multiplyByteTile(OpBuilder &b, Location loc, Value input,
                      ArrayRef<Value> rowAt, ArrayRef<Value> columns,
                      const Target &target, MutableArrayRef<Value> sums,
                      size_t pairing) {
  ByteTileEmitter emitter(b, loc, cast<VectorType>(sums.front().getType()),
                          target);
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value row = emitter.loadRow(input, at);
    if (pairing > 0)
      row = pairBytes(b, loc, row, pairing);
    for (auto [v, column] : llvm::enumerate(columns)) {
      Value &sum = sums[r * columns.size() + v];
      sum = emitter.dot(sum, row, column);
    }
  }
}

void multiplyExtendedTile(OpBuilder &b, Location loc, Value input,
                          ArrayRef<Value> rowAt, std::array<int64_t, 2> offsets,
                          ArrayRef<std::array<Value, 2>> columns,
                          const Target &target, MutableArrayRef<Value> sums) {
  ByteTileEmitter emitter(b, loc, cast<VectorType>(sums.front().getType()),
                          target);
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    auto load = [&](int64_t offset) {
      Value behind = arith::ConstantIndexOp::create(b, loc, offset);
      return emitter.loadRow(input,
                             b.createOrFold<arith::AddIOp>(loc, at, behind));
    };
    Value rows[] = {load(offsets[0]), load(offsets[1])};
    for (auto [v, column] : llvm::enumerate(columns)) {
      Value &sum = sums[r * columns.size() + v];
      for (auto [row, words] : llvm::zip(rows, column))
        sum = emitter.addPairs(sum, row, words);
    }
  }
}

} // namespace tinh::cpu
