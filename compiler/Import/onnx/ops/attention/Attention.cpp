//===- Attention.cpp - Attention and rotary embeddings ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/attention/Heads.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tinh::onnx {

Value splitHeads(NodeBuilder &b, Value x, int64_t heads) {
  if (!x)
    return {};
  ArrayRef<int64_t> s = b.shape(x);
  if (heads < 1 || s[2] % heads)
    return b.fail("cannot divide " + graph::shapeToString(x.getType()) +
                  " among " + Twine(heads) + " heads");
  return b.transpose(b.reshape(x, {s[0], s[1], heads, s[2] / heads}),
                     {0, 2, 1, 3});
}

Value joinHeads(NodeBuilder &b, Value x) {
  if (!x)
    return {};
  ArrayRef<int64_t> s = b.shape(x);
  return b.reshape(b.transpose(x, {0, 2, 1, 3}), {s[0], s[2], s[1] * s[3]});
}

Value repeatHeads(NodeBuilder &b, Value x, int64_t heads) {
  if (!x)
    return {};
  ArrayRef<int64_t> s = b.shape(x);
  if (s[1] == heads)
    return x;
  int64_t each = heads / s[1];
  Value spread = b.broadcast(b.reshape(x, {s[0], s[1], 1, s[2], s[3]}),
                             {s[0], s[1], each, s[2], s[3]});
  return b.reshape(spread, {s[0], heads, s[2], s[3]});
}

/// The even or odd elements of the last dimension, or its lower or upper half.
static Value rotatedPart(NodeBuilder &b, Value x, int64_t half, bool second,
                         bool interleaved) {
  Ints starts(4, 0), sizes(b.shape(x)), steps(4, 1);
  starts[3] = !second ? 0 : interleaved ? 1 : half;
  steps[3] = interleaved ? 2 : 1;
  sizes[3] = half;
  return b.create<graph::SliceOp>({x}, {b.attr("starts", starts),
                                        b.attr("sizes", sizes),
                                        b.attr("steps", steps)});
}

Value rotateHeads(NodeBuilder &b, Value x, Value cosine, Value sine,
                  bool interleaved) {
  if (!x || !cosine || !sine)
    return {};
  int64_t half = b.shape(cosine)[3], rotated = 2 * half;
  Value x1 = rotatedPart(b, x, half, false, interleaved);
  Value x2 = rotatedPart(b, x, half, true, interleaved);
  Value real = b.sub(b.mul(cosine, x1), b.mul(sine, x2));
  Value imaginary = b.add(b.mul(sine, x1), b.mul(cosine, x2));
  if (b.failed())
    return {};
  Ints shape(b.shape(x)), pairs(shape);
  shape[3] = rotated;
  pairs[3] = half;
  pairs.push_back(1);
  Value y = interleaved ? b.reshape(b.concat({b.reshape(real, pairs),
                                              b.reshape(imaginary, pairs)},
                                             4),
                                    shape)
                        : b.concat({real, imaginary}, 3);
  if (rotated < b.shape(x)[3])
    y = b.concat({y, b.sliceAxis(x, 3, rotated, b.shape(x)[3] - rotated)}, 3);
  return y;
}

namespace {

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// The operands, of rank 4, the past among the keys and values.
struct Operands {
  Value query, key, value;
  bool wasFlat = false; ///< Rank 3 in the model.
  int64_t past = 0;     ///< Keys of the past.

  int64_t queries() const { return NodeBuilder::shape(query)[2]; }
  int64_t keys() const { return NodeBuilder::shape(key)[2]; }
};

bool checkOperands(NodeBuilder &b, const Operands &o) {
  ArrayRef<int64_t> q = b.shape(o.query), k = b.shape(o.key),
                    v = b.shape(o.value);
  bool fits = q[0] == k[0] && k.take_front(3) == v.take_front(3) &&
              q[3] == k[3] && k[1] > 0 && q[1] % k[1] == 0;
  if (!fits)
    b.fail("query, key and value do not fit together: " +
           graph::shapeToString(o.query.getType()) + ", " +
           graph::shapeToString(o.key.getType()) + " and " +
           graph::shapeToString(o.value.getType()));
  return fits;
}

std::optional<Operands> readOperands(NodeBuilder &b) {
  Operands o{b.input(0), b.input(1), b.input(2)};
  int64_t rank = b.rank(o.query);
  if ((rank != 3 && rank != 4) || b.rank(o.key) != rank ||
      b.rank(o.value) != rank) {
    b.fail("query, key and value must all have rank 3 or all rank 4");
    return std::nullopt;
  }
  if (rank == 3) {
    o.wasFlat = true;
    int64_t heads = b.intAttribute("kv_num_heads", 0);
    o.query = splitHeads(b, o.query, b.intAttribute("q_num_heads", 0));
    o.key = splitHeads(b, o.key, heads);
    o.value = splitHeads(b, o.value, heads);
  }
  if (b.has(4) && b.has(5) && !b.failed()) {
    Value key = b.input(4), value = b.input(5);
    if (b.rank(key) != 4) {
      b.fail("past_key must have rank 4");
      return std::nullopt;
    }
    o.past = b.shape(key)[2];
    o.key = b.concat({key, o.key}, 2);
    o.value = b.concat({value, o.value}, 2);
  }
  if (b.failed() || !checkOperands(b, o))
    return std::nullopt;
  return o;
}

/// Of which keys a query sees only some: conditions on its position and theirs.
struct Visibility {
  bool causal;
  int64_t left, right; ///< Negative: unbounded.
  Value lengths;       ///< Keys that are no padding, [batch, 1, 1, 1], or null.

  bool isFull() const { return !causal && left < 0 && right < 0 && !lengths; }
};

Visibility readVisibility(NodeBuilder &b, const Operands &o) {
  Visibility v{b.intAttribute("is_causal", 0) != 0,
               b.intAttribute("left_window_size", -1),
               b.intAttribute("right_window_size", -1),
               {}};
  if (b.has(6))
    v.lengths = b.reshape(b.cast(b.input(6), b.graph.raw().getI64Type()),
                          {b.shape(o.query)[0], 1, 1, 1});
  return v;
}

/// Whether each query sees each key, [batch or 1, 1, queries, keys]; null if
/// there is nothing to see to.
Value visibleKeys(NodeBuilder &b, const Operands &o, const Visibility &v) {
  Type i64 = b.graph.raw().getI64Type();
  Value key = b.reshape(b.iota(o.keys()), {1, 1, 1, o.keys()});
  Value query = b.reshape(b.iota(o.queries(), o.past), {1, 1, o.queries(), 1});
  if (v.lengths)
    query = b.add(query, b.sub(v.lengths, b.scalar(i64, o.queries())));
  Value visible;
  auto require = [&](Predicate predicate, Value limit) {
    Value holds = b.compare(predicate, key, limit);
    visible = visible ? b.create<graph::AndOp>({visible, holds}) : holds;
  };
  if (v.lengths)
    require(Predicate::Less, v.lengths);
  if (v.causal)
    require(Predicate::LessEqual, query);
  if (v.left >= 0)
    require(Predicate::GreaterEqual, b.sub(query, b.scalar(i64, v.left)));
  if (v.right >= 0)
    require(Predicate::LessEqual, b.add(query, b.scalar(i64, v.right)));
  return visible;
}

/// What is added to the scores; null if nothing is.
Value biasOf(NodeBuilder &b, const Operands &o, Value visible) {
  Type element = b.element(o.query);
  Value never = b.scalar(element, -std::numeric_limits<double>::infinity());
  Value bias;
  if (b.has(3)) {
    Value mask = b.input(3);
    if (!mask || b.rank(mask) < 1)
      return b.fail("attn_mask must have a dimension of keys");
    bool isBoolean = b.element(mask).isInteger(1);
    bias = isBoolean ? b.where(mask, b.scalar(element, 0), never)
                     : b.cast(mask, element);
    int64_t last = b.rank(mask) - 1, missing = o.keys() - b.shape(mask)[last];
    if (missing > 0 && b.shape(mask)[last] > 1) {
      Ints low(b.rank(mask), 0), high(low);
      high[last] = missing;
      bias = b.pad(bias, never, low, high);
    }
  }
  if (!visible)
    return bias;
  return b.where(visible, bias ? bias : b.scalar(element, 0), never);
}

/// A query that sees no key gets zeros, not the NaN of 0 / 0.
Value zeroUnseeing(NodeBuilder &b, Value y, Value bias) {
  if (!bias || !y)
    return y;
  int64_t last = b.rank(bias) - 1;
  Value largest = b.reduce(Kind::Max, bias, last, /*keepdims=*/true);
  Value never = b.scalarLike(bias, -std::numeric_limits<double>::infinity());
  Value seesNone = b.compare(Predicate::Equal, largest, never);
  return b.where(seesNone, b.scalarLike(y, 0), y);
}

struct Scores {
  double scale, cap;
  Type precision; ///< Of the softmax.
  int64_t mode;   ///< Which intermediate result is an output.
};

/// The attention in its parts, for what graph.attention does not do. Sets
/// `shown` to the intermediate result of the mode.
Value attendInParts(NodeBuilder &b, const Operands &o, const Scores &s,
                    Value bias, Value &shown) {
  int64_t heads = b.shape(o.query)[1];
  Value root = b.scalarLike(o.query, std::sqrt(s.scale));
  Value key = repeatHeads(b, o.key, heads);
  SmallVector<Value, 4> stages;
  Value scores = b.matmul(b.mul(o.query, root), b.mul(key, root),
                          /*transposeB=*/true);
  stages.push_back(scores);
  if (s.cap != 0) {
    Value cap = b.scalarLike(o.query, s.cap);
    scores = b.mul(b.create<graph::TanhOp>({b.div(scores, cap)}), cap);
  }
  stages.push_back(scores);
  if (bias)
    scores = b.add(scores, bias);
  stages.push_back(scores);
  Value softmax = b.create<graph::SoftmaxOp>({b.cast(scores, s.precision)},
                                             {b.attr("axis", int64_t(3))});
  softmax = zeroUnseeing(b, b.cast(softmax, b.element(o.query)), bias);
  stages.push_back(softmax);
  shown = stages[s.mode];
  return b.matmul(softmax, repeatHeads(b, o.value, heads));
}

Value attendAtOnce(NodeBuilder &b, const Operands &o, double scale, bool causal,
                   Value bias) {
  SmallVector<Value> operands = {o.query, o.key, o.value};
  if (bias)
    operands.push_back(bias);
  SmallVector<NamedAttribute> attributes = {b.attr("scale", scale)};
  if (causal)
    attributes.push_back(b.unit("causal"));
  Value y = b.create<graph::AttentionOp>(operands, attributes);
  return zeroUnseeing(b, y, bias);
}

std::optional<Scores> readScores(NodeBuilder &b, const Operands &o) {
  Scores s;
  double width = static_cast<double>(b.shape(o.query)[3]);
  s.scale = b.hasAttribute("scale") ? b.floatAttribute("scale", 1)
                                    : 1 / std::sqrt(width);
  s.cap = b.floatAttribute("softcap", 0);
  s.mode = b.intAttribute("qk_matmul_output_mode", 0);
  int64_t precision = b.intAttribute("softmax_precision", 0);
  s.precision = precision ? b.elementType(precision) : b.element(o.query);
  if (s.mode < 0 || s.mode > 3)
    b.fail("attribute qk_matmul_output_mode: expected 0 to 3, found " +
           Twine(s.mode));
  if (!(s.scale >= 0))
    b.fail("attribute scale: expected a number that is not negative");
  return b.failed() ? std::nullopt : std::optional(s);
}

Results attention(NodeBuilder &b) {
  auto o = readOperands(b);
  auto s = o ? readScores(b, *o) : std::nullopt;
  if (!s)
    return {Value()};
  Visibility v = readVisibility(b, *o);
  if (b.failed())
    return {Value()};
  // graph.attention aligns the last query with the last key.
  bool isPlainCausal = v.causal && v.left < 0 && v.right < 0 && !v.lengths &&
                       o->past == o->keys() - o->queries();
  bool atOnce = s->cap == 0 && !b.wants(3) && !s->precision.isF64();
  bool byAttribute = atOnce && isPlainCausal;
  Value visible;
  if (!v.isFull() && !byAttribute)
    visible = visibleKeys(b, *o, v);
  Value bias = biasOf(b, *o, visible), shown;
  if (b.failed())
    return {Value()};
  Value y = atOnce ? attendAtOnce(b, *o, s->scale, byAttribute, bias)
                   : attendInParts(b, *o, *s, bias, shown);
  Results results = {o->wasFlat ? joinHeads(b, y) : y, o->key, o->value};
  if (b.wants(3))
    results.push_back(shown);
  return results;
}

//===----------------------------------------------------------------------===//
// RotaryEmbedding
//===----------------------------------------------------------------------===//

/// Sines or cosines as [batch or 1, 1, length, half].
Value rotation(NodeBuilder &b, int i, int64_t half) {
  Value cache = b.input(i);
  if (b.has(3))
    cache = b.gather(cache, b.input(3), 0);
  if (!cache || b.rank(cache) != 3 || b.shape(cache)[2] != half)
    return b.fail("expected [batch, length, " + Twine(half) +
                  "] for the sines and cosines, found " +
                  (cache ? graph::shapeToString(cache.getType()) : "none"));
  ArrayRef<int64_t> s = b.shape(cache);
  return b.reshape(cache, {s[0], 1, s[1], s[2]});
}

Results rotaryEmbedding(NodeBuilder &b) {
  Value given = b.input(0), x = given;
  bool wasFlat = b.rank(x) == 3, interleaved = b.intAttribute("interleaved", 0);
  if (wasFlat)
    x = splitHeads(b, x, b.intAttribute("num_heads", 0));
  if (!x)
    return {Value()};
  if (b.rank(x) != 4)
    return {b.fail("expected an input of rank 3 or 4, found " +
                   graph::shapeToString(x.getType()))};
  int64_t width = b.shape(x)[3];
  int64_t rotated = b.intAttribute("rotary_embedding_dim", 0);
  rotated = rotated ? rotated : width;
  if (rotated < 0 || rotated > width || rotated % 2)
    return {b.fail("cannot rotate " + Twine(rotated) + " of " + Twine(width) +
                   " elements")};
  int64_t half = rotated / 2;
  Value cosine = rotation(b, 1, half), sine = rotation(b, 2, half);
  Value y = rotateHeads(b, x, cosine, sine, interleaved);
  return {wasFlat ? joinHeads(b, y) : y};
}

} // namespace

OpFamily attentionOps() {
  return {{"Attention", attention}, {"RotaryEmbedding", rotaryEmbedding}};
}

} // namespace tinh::onnx
