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
#include "compiler/Eager/Function/TracePrimitives.h"
#include "compiler/Eager/Random.h"
#include "compiler/Graph/Composites.h"

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
    Value first = ops.add(stateWord(1), number(offset));
    SmallVector<Value> words = philoxBlocks(ops, stateWord(0), first, blocks);
    SmallVector<Value> numbers = words;
    if (wide)
      numbers = {joinWords(ops, words, 0), joinWords(ops, words, 1)};
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
        number = place(unitInterval(ops, number, wide, significantBits(dtype)),
                       draw.a.real, draw.b.real - draw.a.real);
      break;
    case Draw::Normal:
      numbers = normal(numbers, wide);
      break;
    }
    return interleaveBlocks(ops, numbers, count);
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
  /// offset + scale · x, as the result's type.
  Value place(Value x, double offset, double scale) {
    Value scaled = ops.mul(x, ops.scalarLike(x, scale));
    return ops.cast(ops.add(scaled, ops.scalarLike(x, offset)), element);
  }

  Value bernoulli(Value x) {
    Value value = unitInterval(ops, x, /*wide=*/false, 32);
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
        return ops.cast(unitInterval(ops, x, wide, wide ? 53 : 24), real);
      };
      auto [cosine, sine] =
          normalPair(ops, uniform(numbers[i]), uniform(numbers[i + 1]));
      for (Value part : {cosine, sine})
        result.push_back(
            place(ops.cast(part, b.getF64Type()), draw.a.real, draw.b.real));
    }
    return result;
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
