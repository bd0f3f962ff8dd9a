//===- QuantizedWeightsEmit.cpp - Dequantising in registers -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A vector of words becomes a vector of columns for each step of k. The sums of
// a block are those of x · (q - zero point): its scale is one factor for all of
// them. With AVX-512 a permutation looks up numbers of 4 bits in a table of 16
// floats: it ignores the higher bits, so that a shift and a permutation are all
// that a step takes. Floats of 8 bits are made wider by the body of what
// dequantises them. For many rows, weights are stored in scratch memory, a
// panel at a time, and tiles read them as any others.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/QuantizedWeightsEmit.h"

#include "compiler/Codegen/CPU/Blocks.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

/// Makes floats of the numbers in words.
class WordUnpacker {
public:
  WordUnpacker(OpBuilder &b, Location loc, const QuantizedWeights &w,
               const Target &target, int64_t lanes)
      : b(b), loc(loc), w(w), floats(VectorType::get({lanes}, b.getF32Type())),
        integers(VectorType::get({lanes}, b.getI32Type())),
        looksUp(w.bits == 4 && lanes == 16 && target.vectorBytes == 64),
        flips(!looksUp && w.isUnsigned && !w.zeroPoint &&
              w.constantZero == 1 << (w.bits - 1)) {}

  /// Words as they lie, or such that their numbers are less by what half of
  /// them are: these become signed ones by their highest bits.
  Value load(Value memref, Value at) {
    auto bytes =
        VectorType::get({4 * integers.getNumElements()}, b.getI8Type());
    Value words = vector::BitCastOp::create(
        b, loc, integers, vector::LoadOp::create(b, loc, bytes, memref, at));
    if (!flips)
      return words;
    return arith::XOrIOp::create(b, loc, words,
                                 splat(w.bits == 4 ? 0x88888888 : 0x80808080));
  }

  /// Number `i` of each word, less the zero point if that is a constant.
  Value number(Value words, int64_t i) {
    if (looksUp)
      return lookUp(i ? shift<arith::ShRUIOp>(words, 4 * i) : words);
    Value number = extract(words, i);
    if (w.decoded)
      return decode(number);
    if (w.constantZero && !flips)
      number = arith::SubIOp::create(b, loc, number, splat(w.constantZero));
    return arith::SIToFPOp::create(b, loc, floats, number);
  }

  /// Zero points of columns, bytes, as floats.
  Value zeroPoints(Value bytes) {
    if (w.isUnsigned)
      return arith::UIToFPOp::create(b, loc, floats, bytes);
    return arith::SIToFPOp::create(b, loc, floats, bytes);
  }

private:
  Value splat(int64_t number) {
    return arith::ConstantOp::create(
        b, loc,
        DenseElementsAttr::get(
            integers, b.getI32IntegerAttr(static_cast<int32_t>(number))));
  }
  template <typename Op> Value shift(Value words, int64_t bits) {
    return bits ? Op::create(b, loc, words, splat(bits)).getResult() : words;
  }

  Value extract(Value words, int64_t i) {
    int64_t above = 32 - (i + 1) * w.bits;
    if (w.isUnsigned && !flips)
      return arith::AndIOp::create(b, loc,
                                   shift<arith::ShRUIOp>(words, i * w.bits),
                                   splat((1 << w.bits) - 1));
    return shift<arith::ShRSIOp>(shift<arith::ShLIOp>(words, above),
                                 32 - w.bits);
  }

  /// What the body makes of bytes, by a scale of 1.
  Value decode(Value number) {
    int64_t lanes = integers.getNumElements();
    Pull pull(b, loc, lanes);
    auto bytes = VectorType::get({lanes}, b.getI8Type());
    SmallVector<LaneValue> arguments(3);
    arguments[w.decoded.getArgNumber()] =
        pull.inRegisters(arith::TruncIOp::create(b, loc, bytes, number));
    Value one = arith::ConstantOp::create(b, loc, b.getF32FloatAttr(1));
    arguments[w.scale->getOperandNumber()] = {one, /*uniform=*/true, {}};
    return pull.asVector((*pull.body(w.dequantize, {}, arguments))[0]);
  }

  Value lookUp(Value indices) {
    SmallVector<float> table;
    for (int64_t bits = 0; bits < 16; ++bits) {
      int64_t number = bits >= 8 && !w.isUnsigned ? bits - 16 : bits;
      table.push_back(static_cast<float>(number - w.constantZero));
    }
    Value values = arith::ConstantOp::create(
        b, loc, DenseElementsAttr::get(floats, ArrayRef(table)));
    return LLVM::CallIntrinsicOp::create(
               b, loc, floats,
               b.getStringAttr("llvm.x86.avx512.permvar.sf.512"),
               ValueRange{values, indices})
        .getResult(0);
  }

  OpBuilder &b;
  Location loc;
  const QuantizedWeights &w;
  VectorType floats, integers;
  bool looksUp, flips;
};

} // namespace

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// A vector of the parameters of columns, at the block in `dims`.
FailureOr<Value> QuantizedWeightsEmitter::pullParameter(OpOperand *parameter,
                                                        Indices dims,
                                                        int64_t v) {
  Value column =
      scalar.add(scalar.mul(panel, plan.panelWidth), scalar.index(v * lanes));
  Pull pull(b, loc, lanes);
  pull.buffers = buffers;
  dims[c.column()] = {column, 1, lanes};
  auto at = pull.apply(c.right.map, dims);
  auto value = failed(at) ? FailureOr<LaneValue>(failure())
                          : pullOperand(pull, *parameter, *at);
  return failed(value) ? FailureOr<Value>(failure()) : pull.asVector(*value);
}

FailureOr<QuantizedWeightsEmitter::Parameters>
QuantizedWeightsEmitter::pullParameters(const Indices &dims) {
  const QuantizedWeights &w = *c.quantized;
  WordUnpacker unpacker(b, loc, w, target, lanes);
  Parameters parameters;
  for (int64_t v = 0; v < vectors; ++v) {
    auto scale = pullParameter(w.scale, dims, v);
    if (failed(scale))
      return failure();
    parameters.scales.push_back(*scale);
    if (!w.zeroPoint)
      continue;
    auto zero = pullParameter(w.zeroPoint, dims, v);
    if (failed(zero))
      return failure();
    parameters.zeroPoints.push_back(unpacker.zeroPoints(*zero));
  }
  return parameters;
}

/// Whether the words come from beyond the second-level cache, at least for the
/// first tile of a panel.
bool QuantizedWeightsEmitter::prefetches() const {
  int64_t bytes = c.inPanels(c.extentOf(c.depth) * c.columns());
  return bytes > target.machine->l2.bytes;
}

void QuantizedWeightsEmitter::prefetch(Value wordsAt) {
  memref::PrefetchOp::create(b, loc, words.memref, wordsAt,
                             /*isWrite=*/false, /*localityHint=*/3,
                             /*isDataCache=*/true);
}

QuantizedWeightsEmitter::Values
QuantizedWeightsEmitter::loadWords(Value wordsAt) {
  WordUnpacker unpacker(b, loc, *c.quantized, target, lanes);
  Values loaded;
  for (int64_t v = 0; v < vectors; ++v) {
    Value at = scalar.add(wordsAt, scalar.index(4 * v * lanes));
    loaded.push_back(unpacker.load(words.memref, at));
    if (prefetches())
      prefetch(scalar.add(at, scalar.index(kPrefetchBytes)));
  }
  return loaded;
}

/// Number `i` of the words of each column, less its zero point.
QuantizedWeightsEmitter::Values
QuantizedWeightsEmitter::columnsOf(ArrayRef<Value> loaded, int64_t i,
                                   const Parameters &parameters) {
  WordUnpacker unpacker(b, loc, *c.quantized, target, lanes);
  Values columns;
  for (Value word : loaded)
    columns.push_back(unpacker.number(word, i));
  for (auto [column, zero] : llvm::zip(columns, parameters.zeroPoints))
    column = arith::SubFOp::create(b, loc, column, zero);
  return columns;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Steps of k, as many as a word has numbers, each to the next of the parts
/// that there are of the tile's sums.
void QuantizedWeightsEmitter::multiplyWords(const Buffer &input, Value inputAt,
                                            Value wordsAt,
                                            const Parameters &parameters,
                                            int64_t rows, Values &sums) {
  int64_t stride = step(c.left, input, c.left.loops.back()),
          inStep = step(c.left, input, c.depth.back());
  Values loaded = loadWords(wordsAt);
  for (int64_t i = 0; i < c.quantized->perWord(); ++i) {
    Values columns = columnsOf(loaded, i, parameters), rowAt;
    for (int64_t r = 0; r < rows; ++r)
      rowAt.push_back(
          scalar.add(inputAt, scalar.index(i * inStep + r * stride)));
    MutableArrayRef<Value> all(sums);
    size_t tile = rows * vectors, part = i % (sums.size() / tile);
    multiplyTile(b, loc, input.memref, rowAt, columns,
                 all.slice(part * tile, tile));
  }
}

/// Adds what `count` steps of the last loop over k, a block or a part of it,
/// give: their sums times the scale.
FailureOr<SmallVector<Value>>
QuantizedWeightsEmitter::addBlock(const Indices &dims, const Buffer &input,
                                  Value inputAt, Value wordsAt, int64_t count,
                                  int64_t rows, ValueRange sums) {
  auto parameters = pullParameters(dims);
  if (failed(parameters))
    return failure();
  int64_t perWord = c.quantized->perWord(),
          inStep = step(c.left, input, c.depth.back()) * perWord,
          wordStep = words.strides.back() * perWord;
  // Few sums would wait for one another's FMAs.
  constexpr size_t kLeastSums = 8;
  size_t tile = sums.size(), parts = tile < kLeastSums ? 2 : 1;
  auto products = buildLoop(
      b, loc, count / perWord, 1, Values(parts * tile, zeroVector()),
      [&](Value iv, ValueRange values) -> FailureOr<Values> {
        Values added(values);
        multiplyWords(input, scalar.add(inputAt, scalar.mul(iv, inStep)),
                      scalar.add(wordsAt, scalar.mul(iv, wordStep)),
                      *parameters, rows, added);
        return added;
      });
  if (failed(products))
    return failure();
  Values added;
  for (size_t i = 0; i < tile; ++i) {
    Value product = (*products)[i];
    if (parts > 1)
      product = arith::AddFOp::create(b, loc, product, (*products)[tile + i]);
    added.push_back(vector::FMAOp::create(
        b, loc, product, parameters->scales[i % vectors], sums[i]));
  }
  return added;
}

FailureOr<SmallVector<Value>>
QuantizedWeightsEmitter::addBlocks(const Indices &dims, const Buffer &input,
                                   Value inputAt, Value wordsAt, int64_t count,
                                   int64_t rows, ValueRange sums) {
  if (c.depth.size() == 1)
    return addBlock(dims, input, inputAt, wordsAt, count, rows, sums);
  unsigned block = c.depth.front();
  return buildLoop(b, loc, count, 1, sums, [&](Value iv, ValueRange values) {
    Indices at = dims;
    at[block].base = scalar.add(dims[block].base, iv);
    return addBlock(
        at, input,
        scalar.add(inputAt, scalar.mul(iv, step(c.left, input, block))),
        scalar.add(wordsAt, scalar.mul(iv, words.strides.front())),
        c.extents[c.depth.back()], rows, values);
  });
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// The same of `count` steps of the last loop over k, from row `row` on.
LogicalResult QuantizedWeightsEmitter::unpackBlock(const Indices &dims,
                                                   Value wordsAt, int64_t count,
                                                   Value columns, Value row) {
  auto parameters = pullParameters(dims);
  if (failed(parameters))
    return failure();
  int64_t perWord = c.quantized->perWord();
  return loop(count / perWord, 1, [&](Value iv) {
    Values loaded = loadWords(
        scalar.add(wordsAt, scalar.mul(iv, words.strides.back() * perWord)));
    Value first = scalar.add(row, scalar.mul(iv, perWord));
    for (int64_t i = 0; i < perWord; ++i) {
      Value at =
          scalar.mul(scalar.add(first, scalar.index(i)), plan.panelWidth);
      for (auto [v, column] :
           llvm::enumerate(columnsOf(loaded, i, *parameters))) {
        Value weight =
            arith::MulFOp::create(b, loc, column, parameters->scales[v]);
        vector::StoreOp::create(b, loc, weight, columns,
                                scalar.add(at, scalar.index(v * lanes)));
      }
    }
    return success();
  });
}

LogicalResult QuantizedWeightsEmitter::unpack(const Indices &dims,
                                              Value wordsAt, int64_t count,
                                              Value columns) {
  if (c.depth.size() == 1)
    return unpackBlock(dims, wordsAt, count, columns, scalar.index(0));
  unsigned block = c.depth.front();
  int64_t steps = c.extents[c.depth.back()];
  return loop(count, 1, [&](Value iv) {
    Indices at = dims;
    at[block].base = scalar.add(dims[block].base, iv);
    return unpackBlock(
        at, scalar.add(wordsAt, scalar.mul(iv, words.strides.front())), steps,
        columns, scalar.mul(iv, steps));
  });
}

} // namespace tinh::cpu
