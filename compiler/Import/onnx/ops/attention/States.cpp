//===- States.cpp - Layers that carry a state along a sequence --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Whether an operand has the expected shape; reports if not.
bool expectShape(NodeBuilder &b, StringRef what, Value value,
                 ArrayRef<int64_t> expected) {
  if (value && b.shape(value) == expected)
    return true;
  if (value)
    b.fail("expected " + what + " of the shape " + formatShape(expected) +
           ", found " + graph::shapeToString(value.getType()));
  return false;
}

//===----------------------------------------------------------------------===//
// LinearAttention
//===----------------------------------------------------------------------===//

struct LinearAttention {
  NodeBuilder &b;
  bool isGated, isDelta;
  int64_t batch, length, heads, group, keyWidth, valueWidth;
  /// Rows of each step: the query in [batch, heads, group, keyWidth], the key
  /// as a column, the value as a row; the factors of the state and of the
  /// update.
  Value query, key, value, decay, beta;
  Value state; ///< [batch, heads, keyWidth, valueWidth]

  bool readRule();
  bool readOperands();
  Value rows(Value x, ArrayRef<int64_t> step);
  Value factor(int input, StringRef what, ArrayRef<int64_t> widths);
  Value run();
};

bool LinearAttention::readRule() {
  std::string rule = b.stringAttribute("update_rule", "gated_delta");
  isGated = rule == "gated" || rule == "gated_delta";
  isDelta = rule == "delta" || rule == "gated_delta";
  if (!isGated && !isDelta && rule != "linear") {
    b.fail("attribute update_rule: expected linear, gated, delta or "
           "gated_delta, found \"" +
           rule + "\"");
    return false;
  }
  auto check = [&](int input, StringRef what, bool isNeeded) {
    if (b.has(input) != isNeeded)
      b.fail("the update_rule \"" + rule + "\" " +
             (isNeeded ? "needs" : "has no use for") + " the input " + what);
  };
  check(4, "decay", isGated);
  check(5, "beta", isDelta);
  return !b.failed();
}

/// [batch, length, …] in f32 as a row for each step.
Value LinearAttention::rows(Value x, ArrayRef<int64_t> step) {
  if (!x)
    return {};
  Ints shape = {batch, length};
  shape.append(step.begin(), step.end());
  Ints permutation = {1, 0};
  for (int64_t i = 2; i < static_cast<int64_t>(shape.size()); ++i)
    permutation.push_back(i);
  return b.transpose(b.reshape(b.cast(x, b.graph.raw().getF32Type()), shape),
                     permutation);
}

/// One factor for each head, for each of its elements if `widths` has that, or
/// for all heads.
Value LinearAttention::factor(int input, StringRef what,
                              ArrayRef<int64_t> widths) {
  Value x = b.input(input);
  if (!x)
    return {};
  if (b.rank(x) == 3 && b.shape(x)[0] == batch && b.shape(x)[1] == length)
    for (int64_t width : widths)
      if (b.shape(x)[2] == width)
        return width % heads == 0 ? rows(x, {heads, width / heads, 1})
                                  : rows(x, {width, 1, 1});
  return b.fail("expected " + what + " of the shape " +
                formatShape({batch, length, widths.front()}) + " or " +
                formatShape({batch, length, widths.back()}) + ", found " +
                graph::shapeToString(x.getType()));
}

bool LinearAttention::readOperands() {
  Value q = b.input(0), k = b.input(1), v = b.input(2);
  int64_t queryHeads = b.intAttribute("q_num_heads", 0);
  heads = b.intAttribute("kv_num_heads", 0);
  if (b.failed())
    return false;
  if (heads < 1 || queryHeads < 1 || queryHeads % heads) {
    b.fail("expected q_num_heads to be a multiple of kv_num_heads, found " +
           Twine(queryHeads) + " and " + Twine(heads));
    return false;
  }
  group = queryHeads / heads;
  if (b.rank(q) != 3 || b.rank(v) != 3 || b.shape(q)[2] % queryHeads ||
      b.shape(v)[2] % heads) {
    b.fail("expected a query and a value [batch, length, heads · width] of " +
           Twine(queryHeads) + " and " + Twine(heads) + " heads, found " +
           graph::shapeToString(q.getType()) + " and " +
           graph::shapeToString(v.getType()));
    return false;
  }
  batch = b.shape(q)[0];
  length = b.shape(q)[1];
  keyWidth = b.shape(q)[2] / queryHeads;
  valueWidth = b.shape(v)[2] / heads;
  if (!expectShape(b, "a key", k, {batch, length, heads * keyWidth}) ||
      !expectShape(b, "a value", v, {batch, length, heads * valueWidth}))
    return false;
  double scale = b.floatAttribute("scale", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(keyWidth));
  query = rows(q, {heads, group, keyWidth});
  query = b.mul(query, b.scalarLike(query, scale));
  key = rows(k, {heads, keyWidth, 1});
  value = rows(v, {heads, 1, valueWidth});
  if (isGated)
    decay = b.create<graph::ExpOp>(
        {factor(4, "a decay", {heads * keyWidth, heads})});
  if (isDelta)
    beta = factor(5, "a beta", {heads, 1});
  Ints shape = {batch, heads, keyWidth, valueWidth};
  if (b.has(3) && !expectShape(b, "a past_state", b.input(3), shape))
    return false;
  Type f32 = b.graph.raw().getF32Type();
  state =
      b.has(3) ? b.cast(b.input(3), f32) : b.broadcast(b.scalar(f32, 0), shape);
  return !b.failed();
}

/// Carries the state along the steps; their outputs, [length, batch, heads,
/// group, valueWidth].
Value LinearAttention::run() {
  SmallVector<Value> scanned = {query, key, value};
  if (isGated)
    scanned.push_back(decay);
  if (isDelta)
    scanned.push_back(beta);
  auto step = [&](const ScanArguments &arguments) -> ScanResults {
    const auto &row = arguments.rows;
    Value next = arguments.carried[0], update = row[2];
    if (isGated)
      next = b.mul(next, row[3]);
    if (isDelta) {
      Value stored = b.matmul(b.transpose(row[1], {0, 1, 3, 2}), next);
      update = b.mul(row.back(), b.sub(update, stored));
    }
    next = b.add(next, b.mul(row[1], update));
    return {{next}, {b.matmul(row[0], next)}};
  };
  ScanResults scan = b.scan({length}, state, scanned, step);
  state = scan.carried[0];
  return b.failed() ? Value() : scan.rows[0];
}

/// A state for each head, the sum of the products of keys and values, that
/// queries read. Computed in f32.
Results linearAttention(NodeBuilder &b) {
  LinearAttention layer{b, false, false, 0,  0,  0,  0, 0,
                        0, {},    {},    {}, {}, {}, {}};
  if (!layer.readRule() || !layer.readOperands())
    return {Value()};
  Value steps = layer.run();
  if (!steps)
    return {Value()};
  Value y = b.reshape(b.transpose(steps, {1, 0, 2, 3, 4}),
                      {layer.batch, layer.length,
                       layer.heads * layer.group * layer.valueWidth});
  Type element = b.element(b.input(0));
  return {b.cast(y, element),
          b.cast(layer.state, b.has(3) ? b.element(b.input(3)) : element)};
}

//===----------------------------------------------------------------------===//
// CausalConvWithState
//===----------------------------------------------------------------------===//

/// A convolution of each channel with what was before it, and what the next
/// part of the sequence has to know.
Results causalConvWithState(NodeBuilder &b) {
  Value x = b.input(0), weights = b.input(1);
  std::string activation = b.stringAttribute("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    return {b.fail("attribute activation: expected none, silu or swish, found "
                   "\"" +
                   activation + "\"")};
  if (b.rank(x) != 3 || b.rank(weights) != 3)
    return {b.fail("expected an input [batch, channels, length] and weights "
                   "[channels, 1, taps], found " +
                   graph::shapeToString(x.getType()) + " and " +
                   graph::shapeToString(weights.getType()))};
  int64_t channels = b.shape(x)[1], taps = b.shape(weights)[2];
  if (!expectShape(b, "weights", weights, {channels, 1, taps}))
    return {Value()};
  if (taps < 1)
    return {b.fail("expected weights of 1 tap or more, found " +
                   graph::shapeToString(weights.getType()))};
  Ints past = {b.shape(x)[0], channels, taps - 1};
  if (b.has(3) && !expectShape(b, "a past_state", b.input(3), past))
    return {Value()};
  Value padded = x;
  if (taps > 1)
    padded = b.concat(
        {b.has(3) ? b.input(3) : b.broadcast(b.scalarLike(x, 0), past), x}, 2);
  Value y = b.create<graph::ConvOp>(
      {padded, weights}, {b.attr("strides", ArrayRef<int64_t>{1}),
                          b.attr("padding", ArrayRef<int64_t>{0, 0}),
                          b.attr("dilations", ArrayRef<int64_t>{1}),
                          b.attr("groups", channels), b.channelsFirst()});
  if (b.has(2))
    y = b.add(y, b.perChannel(b.input(2), 3));
  if (activation != "none") {
    Value wide = b.cast(y, b.graph.raw().getF32Type());
    y = b.cast(b.mul(wide, b.create<graph::SigmoidOp>({wide})), b.element(x));
  }
  return {y, b.sliceAxis(padded, 2, b.shape(x)[2], taps - 1)};
}

} // namespace

OpFamily stateOps() {
  return {{"CausalConvWithState", causalConvWithState},
          {"LinearAttention", linearAttention}};
}

} // namespace tinh::onnx
