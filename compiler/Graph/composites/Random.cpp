//===- Random.cpp - Random numbers as graph ops -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3")
// enciphers a counter: each block is a function of the key and its index alone.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/Composites.h"

#include <cmath>
#include <numbers>

using namespace mlir;

namespace tinh {

static Value word64(GraphOps &b, uint64_t value) {
  Type u64 = b.graph.raw().getIntegerType(64, /*isSigned=*/false);
  return b.failed() ? Value()
                    : b.graph.constant(DenseElementsAttr::get(
                          RankedTensorType::get({}, u64), APInt(64, value)));
}

static Value lowWord(GraphOps &b, Value x) {
  return b.create<graph::AndOp>({x, word64(b, 0xFFFFFFFF)});
}

static Value shiftRight(GraphOps &b, Value x, uint64_t bits) {
  return b.create<graph::ShiftRightOp>({x, word64(b, bits)});
}

static Value highWord(GraphOps &b, Value x) { return shiftRight(b, x, 32); }

SmallVector<Value> philoxBlocks(GraphOps &b, Value key, Value counter,
                                int64_t blocks) {
  auto mix = [&](Value product, Value word, Value roundKey) {
    Value mixed = b.create<graph::XorOp>({highWord(b, product), word});
    return b.create<graph::XorOp>({mixed, roundKey});
  };
  Type u64 = b.graph.raw().getIntegerType(64, /*isSigned=*/false);
  Value at = b.add(b.cast(b.iota(blocks), u64), counter);
  Value zero = b.broadcast(word64(b, 0), {blocks});
  SmallVector<Value> words = {lowWord(b, at), highWord(b, at), zero, zero};
  Value key0 = lowWord(b, key), key1 = highWord(b, key);
  for (int round = 0; round < 10; ++round) {
    Value first = b.mul(words[0], word64(b, 0xD2511F53));
    Value second = b.mul(words[2], word64(b, 0xCD9E8D57));
    words = {mix(second, words[1], key0), lowWord(b, second),
             mix(first, words[3], key1), lowWord(b, first)};
    key0 = lowWord(b, b.add(key0, word64(b, 0x9E3779B9)));
    key1 = lowWord(b, b.add(key1, word64(b, 0xBB67AE85)));
  }
  return words;
}

Value joinWords(GraphOps &b, ArrayRef<Value> words, int half) {
  Value upper =
      b.create<graph::ShiftLeftOp>({words[2 * half + 1], word64(b, 32)});
  return b.create<graph::OrOp>({words[2 * half], upper});
}

Value unitInterval(GraphOps &b, Value words, bool wide, int bits) {
  Type f64 = b.graph.raw().getF64Type();
  Value digits = shiftRight(b, words, (wide ? 64 : 32) - bits);
  return b.mul(b.cast(digits, f64), b.scalar(f64, std::ldexp(1.0, -bits)));
}

std::pair<Value, Value> normalPair(GraphOps &b, Value u, Value v) {
  Value log = b.create<graph::LogOp>({b.sub(b.scalarLike(u, 1), u)});
  Value radius = b.create<graph::SqrtOp>({b.mul(log, b.scalarLike(log, -2))});
  Value angle = b.mul(v, b.scalarLike(v, 2 * std::numbers::pi));
  Value cosine = b.create<graph::CosOp>({angle}),
        sine = b.create<graph::SinOp>({angle});
  return {b.mul(radius, cosine), b.mul(radius, sine)};
}

Value interleaveBlocks(GraphOps &b, ArrayRef<Value> numbers, int64_t count) {
  if (b.failed())
    return {};
  auto width = static_cast<int64_t>(numbers.size());
  int64_t blocks = b.shape(numbers.front())[0];
  SmallVector<Value> columns;
  for (Value number : numbers)
    columns.push_back(b.reshape(number, {blocks, 1}));
  Value all = b.reshape(b.concat(columns, 1), {blocks * width});
  return blocks * width == count ? all : b.sliceAxis(all, 0, 0, count);
}

} // namespace tinh
