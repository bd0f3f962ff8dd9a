//===- QuantizedWeights.cpp - Products of floats and integers ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MatMulNBits of com.microsoft: weights [N, blocks of K, bytes of a block],
// with a scale and a zero point for each block of each column.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// What the attributes say.
struct BlockedWeights {
  int64_t depth, columns, bits, blockSize;
  int64_t blocks() const { return llvm::divideCeil(depth, blockSize); }
  /// The bytes that hold so many numbers.
  int64_t bytesOf(int64_t numbers) const {
    return llvm::divideCeil(numbers * bits, 8);
  }
};

enum Input { kA, kB, kScales, kZeroPoints, kGroupIndices, kBias };

std::optional<BlockedWeights> readBlockedWeights(NodeBuilder &b) {
  BlockedWeights w{b.intAttribute("K", 0), b.intAttribute("N", 0),
                   b.intAttribute("bits", 4), b.intAttribute("block_size", 0)};
  if (w.depth <= 0 || w.columns <= 0)
    b.fail("expected attributes K and N of 1 or more, found " + Twine(w.depth) +
           " and " + Twine(w.columns));
  else if (w.bits != 4 && w.bits != 8)
    b.fail("expected bits to be 4 or 8, found " + Twine(w.bits));
  else if (w.blockSize < 16 || !llvm::isPowerOf2_64(w.blockSize))
    b.fail("expected a block_size that is a power of two from 16 on, found " +
           Twine(w.blockSize));
  else if (b.has(kGroupIndices))
    b.fail("g_idx, an order of the depth, is not supported; export the model "
           "without it (desc_act=False)");
  return b.failed() ? std::nullopt : std::optional(w);
}

/// Input `i`, whose elements are counted, in this shape.
Value reshapedInput(NodeBuilder &b, int i, StringRef what,
                    ArrayRef<int64_t> shape) {
  Value value = b.input(i);
  if (!value)
    return {};
  if (b.type(value).getNumElements() != llvm::product_of(shape))
    return b.fail(what + " must have as many elements as " +
                  formatShape(shape) + ", found " +
                  graph::shapeToString(value.getType()));
  return b.reshape(value, shape);
}

/// [N, blocks, numbers] in bytes, or bytes of pairs of them, as
/// [blocks, numbers, N].
Value unpack(NodeBuilder &b, Value bytes, const BlockedWeights &w) {
  Value value = b.transpose(bytes, {1, 2, 0});
  if (!value || w.bits == 8)
    return value;
  Ints shape(b.shape(value));
  shape[1] *= 2;
  return b.create<graph::UnpackInt4Op>({value}, {b.attr("axis", int64_t(1))},
                                       b.type(value).clone(shape));
}

/// Zero points as integers, [blocks, 1, N] or a scalar.
Value integerZeroPoints(NodeBuilder &b, Type byte, const BlockedWeights &w) {
  if (!b.has(kZeroPoints))
    return b.scalar(byte, static_cast<double>(1 << (w.bits - 1)));
  Value zero = reshapedInput(b, kZeroPoints, "zero_points",
                             {w.columns, 1, w.bytesOf(w.blocks())});
  zero = unpack(b, zero, w);
  return b.reshape(b.sliceAxis(zero, 1, 0, w.blocks()),
                   {w.blocks(), 1, w.columns});
}

/// a · (q · s) of which Σ over blocks (Σ a) · (z · s) is to be subtracted: zero
/// points that are floats stay out of the weights.
Value subtractZeroPoints(NodeBuilder &b, Value y, Value a, Value scales,
                         const BlockedWeights &w) {
  Value zero =
      reshapedInput(b, kZeroPoints, "zero_points", {w.columns, w.blocks()});
  Ints blocks(b.shape(a).drop_back());
  blocks.append({w.blocks(), w.blockSize});
  int64_t last = blocks.size() - 1;
  Value sums = b.reduce(Kind::Sum, b.reshape(a, blocks), {last},
                        /*keepdims=*/false);
  return b.sub(y, b.matmul(sums, b.mul(b.transpose(zero, {1, 0}), scales)));
}

/// The rows of the left factor in whole blocks.
Value wholeBlocks(NodeBuilder &b, Value a, const BlockedWeights &w) {
  int64_t missing = w.blocks() * w.blockSize - w.depth;
  if (!a || missing == 0)
    return a;
  Ints low(b.rank(a), 0), high(low);
  high.back() = missing;
  return b.pad(a, b.scalarLike(a, 0), low, high);
}

std::string typeName(Type element) {
  return elementTypeName(findElementType(element));
}

/// Whether the types of the inputs are those that the op has.
bool checkTypes(NodeBuilder &b, const BlockedWeights &w) {
  Value a = b.input(kA), weights = b.input(kB), scales = b.input(kScales);
  if (!a || !weights || !scales)
    return false;
  auto check = [&](StringRef what, Type found, bool isRight,
                   const Twine &expected) {
    if (!isRight)
      b.fail("expected " + what + " of " + expected + ", found " +
             typeName(found));
  };
  Type element = b.element(a);
  check("A", element, isa<FloatType>(element), "floats");
  if (b.rank(a) < 1 || b.shape(a).back() != w.depth)
    b.fail("expected A with K = " + Twine(w.depth) +
           " as its last dimension, found " +
           graph::shapeToString(a.getType()));
  Type byte = b.element(weights);
  check("B", byte, byte.isUnsignedInteger(8), "uint8");
  check("scales", b.element(scales), b.element(scales) == element,
        "the elements of A");
  if (Value zero = b.has(kZeroPoints) ? b.input(kZeroPoints) : Value())
    check("zero_points", b.element(zero),
          b.element(zero) == byte || b.element(zero) == element,
          "uint8 or the elements of A");
  return !b.failed();
}

Results matmulNBits(NodeBuilder &b) {
  auto w = readBlockedWeights(b);
  if (!w || !checkTypes(b, *w))
    return {Value()};
  Value a = wholeBlocks(b, b.input(kA), *w);
  Value bytes = reshapedInput(
      b, kB, "B", {w->columns, w->blocks(), w->bytesOf(w->blockSize)});
  Value scales = b.transpose(
      reshapedInput(b, kScales, "scales", {w->columns, w->blocks()}), {1, 0});
  int64_t depth = w->blocks() * w->blockSize;
  Value x = unpack(b, bytes, *w);
  if (!x || b.failed())
    return {Value()};
  bool hasFloats =
      b.has(kZeroPoints) && b.element(b.input(kZeroPoints)) == b.element(a);
  SmallVector<Value> operands{x,
                              b.reshape(scales, {w->blocks(), 1, w->columns})};
  if (!hasFloats)
    operands.push_back(integerZeroPoints(b, b.element(x), *w));
  Value weights = b.create<graph::DequantizeOp>(operands, {},
                                                b.type(x).clone(b.element(a)));
  Value y = b.matmul(a, b.reshape(weights, {depth, w->columns}));
  if (hasFloats)
    y = subtractZeroPoints(b, y, a, scales, *w);
  return {b.has(kBias) ? b.add(y, b.input(kBias)) : y};
}

} // namespace

OpFamily quantizedWeightsOps() {
  return {{"com.microsoft.MatMulNBits", matmulNBits, {1, 3, 6}}};
}

} // namespace tinh::onnx
