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
      : b(b), loc(loc), sums(sums), target(target),
        bytes(VectorType::get({sums.getNumElements() * 4}, b.getI8Type())),
        pairs(VectorType::get({sums.getNumElements() * 2}, b.getI16Type())) {}

  /// Four bytes from `at` on, in all lanes.
  Value loadRow(Value input, Value at) {
    Value four = vector::LoadOp::create(
        b, loc, VectorType::get({4}, b.getI8Type()), input, at);
    Value lane = vector::BitCastOp::create(
        b, loc, VectorType::get({1}, b.getI32Type()), four);
    Value one = vector::ExtractOp::create(b, loc, lane, 0);
    return vector::BroadcastOp::create(b, loc, sums, one);
  }

  /// sums + Σ row · columns, four products in each lane.
  Value dot(Value sum, Value row, Value columns) {
    return call(target.vectorBytes == 64 ? "llvm.x86.avx512.vpdpbusd.512"
                                         : "llvm.x86.avx512.vpdpbusd.256",
                sums, {sum, bitcast(bytes, row), columns});
  }

  /// The bytes at even and at odd positions of lanes as numbers of 16 bits.
  std::array<Value, 2> extend(Value lanes, bool isUnsigned) {
    Value words = bitcast(pairs, lanes), eight = splat(8);
    if (isUnsigned)
      return {arith::AndIOp::create(b, loc, words, splat(0xff)),
              arith::ShRUIOp::create(b, loc, words, eight)};
    Value high = arith::ShLIOp::create(b, loc, words, eight);
    return {arith::ShRSIOp::create(b, loc, high, eight),
            arith::ShRSIOp::create(b, loc, words, eight)};
  }

  /// sums + the products of both halves.
  Value addPairs(Value sum, std::array<Value, 2> row,
                 std::array<Value, 2> columns) {
    for (auto [x, w] : llvm::zip(row, columns))
      sum = arith::AddIOp::create(b, loc, sum,
                                  call(target.vectorBytes == 64
                                           ? "llvm.x86.avx512.pmaddw.d.512"
                                           : "llvm.x86.avx2.pmadd.wd",
                                       sums, {x, w}));
    return sum;
  }

private:
  Value bitcast(VectorType type, Value value) {
    return vector::BitCastOp::create(b, loc, type, value);
  }
  Value splat(int64_t number) {
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(
            pairs, b.getI16IntegerAttr(static_cast<int16_t>(number))));
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
  VectorType bytes, pairs;
};

} // namespace

void multiplyByteTile(OpBuilder &b, Location loc, Value input,
                      ArrayRef<Value> rowAt, ArrayRef<Value> columns,
                      const Target &target, MutableArrayRef<Value> sums) {
  auto type = cast<VectorType>(sums.front().getType());
  ByteTileEmitter emitter(b, loc, type, target);
  SmallVector<std::array<Value, 2>> extended;
  if (!target.hasByteDots())
    for (Value column : columns)
      extended.push_back(emitter.extend(column, /*isUnsigned=*/false));
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value row = emitter.loadRow(input, at);
    MutableArrayRef<Value> ofRow =
        sums.slice(r * columns.size(), columns.size());
    if (target.hasByteDots()) {
      for (auto [sum, column] : llvm::zip_equal(ofRow, columns))
        sum = emitter.dot(sum, row, column);
      continue;
    }
    auto halves = emitter.extend(row, /*isUnsigned=*/true);
    for (auto [sum, column] : llvm::zip_equal(ofRow, extended))
      sum = emitter.addPairs(sum, halves, column);
  }
}

} // namespace tinh::cpu
