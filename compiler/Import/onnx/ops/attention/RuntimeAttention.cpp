//===- RuntimeAttention.cpp - Attention as ONNX Runtime has it --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/attention/Heads.h"
#include "compiler/Import/onnx/ops/quantization/Quantization.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Query, key and value, [batch, heads, length, width], and the keys and values
/// that were there before, [batch, heads, past, width], or null.
struct HeadOperands {
  Value query, key, value;
  Value pastKey, pastValue;

  int64_t batch() const { return NodeBuilder::shape(query)[0]; }
  int64_t queries() const { return NodeBuilder::shape(query)[2]; }
  int64_t keys() const { return NodeBuilder::shape(key)[2]; }
};

bool refuseInput(NodeBuilder &b, int i, StringRef what) {
  if (b.has(i))
    b.fail("the input " + what + " is not supported");
  return b.has(i);
}

bool refuseAttribute(NodeBuilder &b, StringRef name) {
  bool isSet = b.intAttribute(name, 0) != 0;
  if (isSet)
    b.fail("attribute " + name + " is not supported");
  return isSet;
}

/// Puts the past before the keys and values.
bool addPast(NodeBuilder &b, HeadOperands &o) {
  ArrayRef<int64_t> q = b.shape(o.query), k = b.shape(o.key),
                    v = b.shape(o.value);
  if (k.size() != 4 || v.size() != 4 || q[0] != k[0] || q[1] != k[1] ||
      q[3] != k[3] || k.take_front(3) != v.take_front(3)) {
    b.fail("query, key and value do not fit together: " +
           graph::shapeToString(o.query.getType()) + ", " +
           graph::shapeToString(o.key.getType()) + " and " +
           graph::shapeToString(o.value.getType()));
    return false;
  }
  if (!o.pastKey || !o.pastValue)
    return !b.failed();
  o.key = b.concat({o.pastKey, o.key}, 2);
  o.value = b.concat({o.pastValue, o.value}, 2);
  return !b.failed();
}

/// Which keys are there, as 0 and a large negative number that is added to the
/// scores: a mask of all keys, for each query or not, or the length of each
/// sequence, or its end and its start.
Value keyMask(NodeBuilder &b, const HeadOperands &o, int input) {
  if (!b.has(input))
    return {};
  Value mask = b.input(input);
  if (!mask)
    return {};
  int64_t batch = o.batch(), keys = o.keys();
  ArrayRef<int64_t> s = b.shape(mask);
  Value visible;
  if (s == ArrayRef<int64_t>{batch, keys}) {
    visible = b.reshape(mask, {batch, 1, 1, keys});
  } else if (s == ArrayRef<int64_t>{batch, o.queries(), keys}) {
    visible = b.reshape(mask, {batch, 1, o.queries(), keys});
  } else if (s == ArrayRef<int64_t>{batch} ||
             s == ArrayRef<int64_t>{2 * batch}) {
    Value at =
        b.cast(b.reshape(b.iota(keys), {1, 1, 1, keys}), b.element(mask));
    auto bound = [&](int64_t first) {
      return b.reshape(b.sliceAxis(mask, 0, first, batch), {batch, 1, 1, 1});
    };
    visible = b.compare(Predicate::Less, at, bound(0));
    if (s[0] == 2 * batch)
      visible = b.create<graph::AndOp>(
          {visible, b.compare(Predicate::GreaterEqual, at, bound(batch))});
  } else {
    return b.fail("expected a mask of " + formatShape({batch, keys}) + ", " +
                  formatShape({batch, o.queries(), keys}) + " or " +
                  formatShape({batch}) + ", found " +
                  graph::shapeToString(mask.getType()));
  }
  if (visible && !b.element(visible).isInteger(1))
    visible = b.compare(Predicate::Greater, visible, b.scalarLike(visible, 0));
  Type element = b.element(o.query);
  double never = b.floatAttribute("mask_filter_value", -10000);
  return b.where(visible, b.scalar(element, 0), b.scalar(element, never));
}

/// softmax(query · keyᵀ · scale + mask + bias) · value, heads joined.
Value attendHeads(NodeBuilder &b, const HeadOperands &o, int maskInput,
                  int biasInput) {
  Value bias = keyMask(b, o, maskInput);
  if (b.has(biasInput))
    bias = bias ? b.add(bias, b.input(biasInput)) : b.input(biasInput);
  if (b.failed())
    return {};
  double width = static_cast<double>(b.shape(o.query)[3]);
  double scale = b.floatAttribute("scale", 0);
  SmallVector<NamedAttribute> attributes = {
      b.attr("scale", scale != 0 ? scale : 1 / std::sqrt(width))};
  // The last query is that of the last key.
  if (b.intAttribute("unidirectional", 0))
    attributes.push_back(b.unit("causal"));
  SmallVector<Value> operands = {o.query, o.key, o.value};
  if (bias)
    operands.push_back(bias);
  return joinHeads(b, b.create<graph::AttentionOp>(operands, attributes));
}

//===----------------------------------------------------------------------===//
// Attention and QAttention
//===----------------------------------------------------------------------===//

/// The widths of queries, keys and values in what the weights make.
std::optional<Ints> projectedWidths(NodeBuilder &b, Value projected) {
  int64_t all = b.rank(projected) == 3 ? b.shape(projected)[2] : 0;
  Ints widths = b.intsAttribute("qkv_hidden_sizes", Ints(3, all / 3));
  if (b.rank(projected) == 3 && widths.size() == 3 &&
      widths[0] + widths[1] + widths[2] == all && widths[0] == widths[1] &&
      llvm::all_of(widths, [](int64_t width) { return width > 0; }))
    return widths;
  b.fail("the projected input " + graph::shapeToString(projected.getType()) +
         " does not divide into queries, keys and values of " +
         formatShape(widths));
  return std::nullopt;
}

/// One of the two tensors in [2, batch, heads, past, width].
Value halfOfPast(NodeBuilder &b, Value past, int64_t index) {
  if (!past || b.rank(past) != 5 || b.shape(past)[0] != 2)
    return b.fail("expected a past of the shape [2, batch, heads, length, "
                  "width]");
  return b.reshape(b.sliceAxis(past, 0, index, 1), b.shape(past).drop_front());
}

/// Where an attention of projected inputs has its other operands.
struct AttentionInputs {
  int mask, past, bias;
};

Results attendProjected(NodeBuilder &b, Value projected,
                        const AttentionInputs &inputs) {
  if (!projected || refuseAttribute(b, "do_rotary") ||
      refuseAttribute(b, "past_present_share_buffer"))
    return {Value()};
  auto widths = projectedWidths(b, projected);
  int64_t heads = b.intAttribute("num_heads", 0);
  if (!widths)
    return {Value()};
  Value parts[3];
  int64_t start = 0;
  for (int i : {0, 1, 2}) {
    parts[i] =
        splitHeads(b, b.sliceAxis(projected, 2, start, (*widths)[i]), heads);
    start += (*widths)[i];
  }
  if (b.failed())
    return {Value()};
  HeadOperands o{parts[0], parts[1], parts[2], {}, {}};
  if (b.has(inputs.past)) {
    o.pastKey = halfOfPast(b, b.input(inputs.past), 0);
    o.pastValue = halfOfPast(b, b.input(inputs.past), 1);
  }
  if (b.failed() || !addPast(b, o))
    return {Value()};
  Results results = {attendHeads(b, o, inputs.mask, inputs.bias)};
  if (!b.wants(1))
    return results;
  auto asHalf = [&](Value x) {
    Ints shape(b.shape(x));
    shape.insert(shape.begin(), 1);
    return b.reshape(x, shape);
  };
  if (b.shape(o.key) != b.shape(o.value))
    return {b.fail("keys and values of different widths have no common past")};
  results.push_back(b.concat({asHalf(o.key), asHalf(o.value)}, 0));
  return results;
}

/// (input, weights, bias, mask_index, past, attention_bias,
/// past_sequence_length)
Results runtimeAttention(NodeBuilder &b) {
  if (refuseInput(b, 6, "past_sequence_length"))
    return {Value()};
  Value x = b.input(0);
  Value projected = b.matmul(x, b.input(1));
  if (b.has(2))
    projected = b.add(projected, b.input(2));
  return attendProjected(b, projected, {3, 4, 5});
}

/// (input, weight, bias, input_scale, weight_scale, mask_index,
/// input_zero_point, weight_zero_point, past)
Results quantizedAttention(NodeBuilder &b) {
  Value left = dequantize(b, b.input(0), {3, 6, 0, 0}),
        right = dequantize(b, b.input(1), {4, 7, -1, 0});
  Value projected = b.add(b.matmul(left, right), b.input(2));
  constexpr int kNone = 9;
  return attendProjected(b, projected, {5, 8, kNone});
}

//===----------------------------------------------------------------------===//
// MultiHeadAttention
//===----------------------------------------------------------------------===//

/// Part `index` of [batch, length, heads, parts, width], as [batch, length,
/// heads · width].
Value unpackPart(NodeBuilder &b, Value packed, int64_t index) {
  ArrayRef<int64_t> s = b.shape(packed);
  return b.reshape(b.sliceAxis(packed, 3, index, 1), {s[0], s[1], s[2] * s[4]});
}

/// The three operands as rank 3, or as rank 4 if keys and values come so.
bool readMultiHead(NodeBuilder &b, HeadOperands &o, int64_t heads) {
  Value query = b.input(0), key, value;
  if (!query)
    return false;
  bool isPacked = b.rank(query) == 5;
  if (isPacked && b.shape(query)[3] == 3) {
    key = unpackPart(b, query, 1);
    value = unpackPart(b, query, 2);
    query = unpackPart(b, query, 0);
  } else {
    key = b.input(1);
    if (key && b.rank(key) == 5 && b.shape(key)[3] == 2) {
      value = unpackPart(b, key, 1);
      key = unpackPart(b, key, 0);
    } else {
      value = b.input(2);
    }
  }
  if (b.failed())
    return false;
  if (b.rank(query) != 3 || b.rank(key) != b.rank(value) ||
      (b.rank(key) != 3 && b.rank(key) != 4)) {
    b.fail("expected query, key and value [batch, length, width], or packed "
           "[batch, length, heads, 3, width], found " +
           graph::shapeToString(query.getType()) + ", " +
           graph::shapeToString(key.getType()) + " and " +
           graph::shapeToString(value.getType()));
    return false;
  }
  Value operands[] = {query, key, value};
  int64_t start = 0;
  for (Value &operand : operands) {
    if (b.rank(operand) == 4)
      continue;
    int64_t width = b.shape(operand)[2];
    if (b.has(3))
      operand = b.add(operand, b.sliceAxis(b.input(3), 0, start, width));
    start += width;
    if (!operand)
      return false;
    operand = splitHeads(b, operand, heads);
  }
  o.query = operands[0];
  o.key = operands[1];
  o.value = operands[2];
  return !b.failed();
}

/// (query, key, value, bias, key_padding_mask, attention_bias, past_key,
/// past_value, past_sequence_length, cache_indirection)
Results multiHeadAttention(NodeBuilder &b) {
  if (refuseInput(b, 8, "past_sequence_length") ||
      refuseInput(b, 9, "cache_indirection") || b.refuseOutputs(3))
    return {Value()};
  HeadOperands o;
  if (!readMultiHead(b, o, b.intAttribute("num_heads", 0)))
    return {Value()};
  if (b.has(6) && b.has(7)) {
    o.pastKey = b.input(6);
    o.pastValue = b.input(7);
  }
  if (b.failed() || !addPast(b, o))
    return {Value()};
  return {attendHeads(b, o, 4, 5), o.key, o.value};
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// (input, position_ids, cos_cache, sin_cache): the positions are given, or
/// count from one that is.
Results runtimeRotaryEmbedding(NodeBuilder &b) {
  Value x = b.input(0), positions = b.input(1);
  Value caches[] = {b.input(2), b.input(3)};
  if (b.failed() || refuseAttribute(b, "is_packed_batching"))
    return {Value()};
  bool wasFlat = b.rank(x) == 3;
  if ((!wasFlat && b.rank(x) != 4) || b.rank(caches[0]) != 2 ||
      b.shape(caches[0])[1] < 1 || b.shape(caches[0]) != b.shape(caches[1]))
    return {b.fail("expected an input of rank 3 or 4 and caches [positions, "
                   "pairs], found " +
                   graph::shapeToString(x.getType()) + " and " +
                   graph::shapeToString(caches[0].getType()))};
  int64_t pairs = b.shape(caches[0])[1];
  int64_t heads = b.intAttribute("num_heads", 0);
  if (wasFlat)
    x = splitHeads(b, x, heads ? heads : b.shape(x)[2] / (2 * pairs));
  if (!x)
    return {Value()};
  int64_t batch = b.shape(x)[0], length = b.shape(x)[2];
  if (2 * pairs > b.shape(x)[3])
    return {b.fail("cannot rotate " + Twine(2 * pairs) + " of " +
                   Twine(b.shape(x)[3]) + " elements")};
  bool isFirst = b.shape(positions) == ArrayRef<int64_t>{1};
  if (isFirst)
    positions = b.reshape(b.add(b.iota(length), positions), {1, length});
  else if (b.shape(positions) != ArrayRef<int64_t>{batch, length})
    return {b.fail("expected position_ids " + formatShape({batch, length}) +
                   " or [1], found " +
                   graph::shapeToString(positions.getType()))};
  for (Value &cache : caches)
    cache = b.reshape(b.gather(cache, positions, 0),
                      {isFirst ? 1 : batch, 1, length, pairs});
  double scale = b.floatAttribute("scale", 1);
  if (scale != 1)
    for (Value &cache : caches)
      cache = b.mul(cache, b.scalarLike(cache, scale));
  Value y = rotateHeads(b, x, caches[0], caches[1],
                        b.intAttribute("interleaved", 0) != 0);
  return {wasFlat ? joinHeads(b, y) : y};
}

} // namespace

OpFamily runtimeAttentionOps() {
  return {{"com.microsoft.Attention", runtimeAttention, {1, 2, 7}},
          {"com.microsoft.MultiHeadAttention", multiHeadAttention, {1, 1, 10}},
          {"com.microsoft.QAttention", quantizedAttention, {1, 5, 9}},
          {"com.microsoft.RotaryEmbedding", runtimeRotaryEmbedding, {1, 4, 4}}};
}

} // namespace tinh::onnx
