//===- TraceRandom.cpp - Random numbers as graph ops ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The numbers of compiler/Eager/Random.h, made of ops on 64-bit integers: a
// block is a position of rank-1 tensors.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Random.h"

#include <numbers>

using namespace mlir;

namespace tinh::eager {

namespace {

class DrawBuilder {
public:
  DrawBuilder(GraphOps &ops, const Draw &draw, Value generator, uint64_t offset,
              tinh_dtype_t dtype, Type element, int64_t count)
      : ops(ops), draw(draw), generator(generator), offset(offset),
        dtype(dtype), element(element), count(count),
        u64(ops.graph.raw().getIntegerType(64, /*isSigned=*/false)),
        blocks(static_cast<int64_t>(
            blocksOfDraw(draw.kind, dtype, static_cast<uint64_t>(count)))) {}

  Value build() {
    bool wide = drawsWideNumbers(draw.kind, dtype);
    SmallVector<Value> words = encipher();
    SmallVector<Value> numbers = words;
    if (wide)
      numbers = {wideNumber(words, 0), wideNumber(words, 1)};
    switch (draw.kind) {
    case Draw::Integers:
      for (Value &number : numbers)
        number = integer(number);
      break;
    case Draw::Bernoulli:
      for (Value &number : numbers)
        number = bernoulli(number);
      break;
    case Draw::Uniform:
      for (Value &number : numbers)
        number = place(unit(number, wide, significantBits(dtype)), draw.a.real,
                       draw.b.real - draw.a.real);
      break;
    case Draw::Normal:
      numbers = normal(numbers, wide);
      break;
    }
    return interleave(numbers);
  }

private:
  Value number(uint64_t value) {
    auto type = RankedTensorType::get({}, u64);
    return ops.graph.constant(DenseElementsAttr::get(type, APInt(64, value)));
  }
  Value stateWord(int64_t index) {
    return ops.reshape(ops.sliceAxis(generator, 0, index, 1), {});
  }
  Value low(Value x) {
    return ops.create<graph::AndOp>({x, number(0xFFFFFFFF)});
  }
  Value high(Value x) { return shiftRight(x, 32); }
  Value shiftRight(Value x, uint64_t bits) {
    return ops.create<graph::ShiftRightOp>({x, number(bits)});
  }
  Value exclusiveOr(Value x, Value y) {
    return ops.create<graph::XorOp>({x, y});
  }

  /// The four words of each block, in the low halves of u64.
  SmallVector<Value> encipher() {
    Value first = ops.add(stateWord(1), number(offset));
    Value counter = ops.add(ops.cast(ops.iota(blocks), u64), first);
    Value zero = ops.broadcast(number(0), {blocks});
    SmallVector<Value> words = {low(counter), high(counter), zero, zero};
    Value key0 = low(stateWord(0)), key1 = high(stateWord(0));
    for (int round = 0; round < 10; ++round) {
      Value a = ops.mul(words[0], number(0xD2511F53));
      Value b = ops.mul(words[2], number(0xCD9E8D57));
      words = {exclusiveOr(exclusiveOr(high(b), words[1]), key0), low(b),
               exclusiveOr(exclusiveOr(high(a), words[3]), key1), low(a)};
      key0 = low(ops.add(key0, number(0x9E3779B9)));
      key1 = low(ops.add(key1, number(0xBB67AE85)));
    }
    return words;
  }

  Value wideNumber(ArrayRef<Value> words, int half) {
    Value upper =
        ops.create<graph::ShiftLeftOp>({words[2 * half + 1], number(32)});
    return ops.create<graph::OrOp>({words[2 * half], upper});
  }

  Value unit(Value x, bool wide, int bits) {
    Type f64 = ops.graph.raw().getF64Type();
    Value digits = shiftRight(x, (wide ? 64 : 32) - bits);
    return ops.mul(ops.cast(digits, f64),
                   ops.scalar(f64, std::ldexp(1.0, -bits)));
  }

  /// offset + scale · x, as the result's type.
  Value place(Value x, double offset, double scale) {
    Value scaled = ops.mul(x, ops.scalarLike(x, scale));
    return ops.cast(ops.add(scaled, ops.scalarLike(x, offset)), element);
  }

  Value bernoulli(Value x) {
    Value value = unit(x, /*wide=*/false, 32);
    Value hit = ops.compare(graph::ComparePredicate::Less, value,
                            ops.scalarLike(value, draw.a.real));
    return ops.cast(hit, element);
  }

  /// The upper half of x · range, from the halves of both.
  Value integer(Value x) {
    auto from = static_cast<uint64_t>(draw.a.integer);
    uint64_t range = static_cast<uint64_t>(draw.b.integer) - from;
    if (range != 0) {
      Value low0 = low(x), high0 = high(x);
      Value low1 = number(range & 0xFFFFFFFF), high1 = number(range >> 32);
      Value middle = ops.add(ops.mul(high0, low1), high(ops.mul(low0, low1)));
      Value other = ops.add(ops.mul(low0, high1), low(middle));
      x = ops.add(ops.mul(high0, high1), ops.add(high(middle), high(other)));
    }
    return ops.cast(ops.add(x, number(from)), element);
  }

  SmallVector<Value> normal(ArrayRef<Value> numbers, bool wide) {
    OpBuilder &b = ops.graph.raw();
    Type real = wide ? Type(b.getF64Type()) : Type(b.getF32Type());
    SmallVector<Value> result;
    for (size_t i = 0; i < numbers.size(); i += 2) {
      auto uniform = [&](Value x) {
        return ops.cast(unit(x, wide, wide ? 53 : 24), real);
      };
      Value u = uniform(numbers[i]), v = uniform(numbers[i + 1]);
      Value log = ops.create<graph::LogOp>({ops.sub(ops.scalarLike(u, 1), u)});
      Value radius =
          ops.create<graph::SqrtOp>({ops.mul(log, ops.scalarLike(log, -2))});
      Value angle = ops.mul(v, ops.scalarLike(v, 2 * std::numbers::pi));
      for (Value part : {ops.create<graph::CosOp>({angle}),
                         ops.create<graph::SinOp>({angle})}) {
        Value standard = ops.cast(ops.mul(radius, part), b.getF64Type());
        result.push_back(place(standard, draw.a.real, draw.b.real));
      }
    }
    return result;
  }

  /// The first `count` of the blocks' numbers, block by block.
  Value interleave(ArrayRef<Value> numbers) {
    auto width = static_cast<int64_t>(numbers.size());
    SmallVector<Value> columns;
    for (Value number : numbers)
      columns.push_back(ops.reshape(number, {blocks, 1}));
    Value all = ops.reshape(ops.concat(columns, 1), {blocks * width});
    return blocks * width == count ? all : ops.sliceAxis(all, 0, 0, count);
  }

  GraphOps &ops;
  const Draw &draw;
  Value generator;
  uint64_t offset;
  tinh_dtype_t dtype;
  Type element;
  int64_t count;
  Type u64;
  int64_t blocks;
};

} // namespace

Value buildDraw(GraphOps &ops, const Draw &draw, Value generator,
                uint64_t blocks, tinh_dtype_t dtype, Type element,
                int64_t count) {
  return DrawBuilder(ops, draw, generator, blocks, dtype, element, count)
      .build();
}

} // namespace tinh::eager
