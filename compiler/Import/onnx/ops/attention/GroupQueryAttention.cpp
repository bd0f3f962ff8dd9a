//===- GroupQueryAttention.cpp - Attention over a cache of keys -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The cache has as many places as the past or, if that is more, as the sequence
// in total; each run puts its keys and values after those that are there.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/ops/attention/Heads.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace tinh::onnx {

namespace {

enum GroupInput {
  kGroupQuery,
  kGroupKey,
  kGroupValue,
  kPastKey,
  kPastValue,
  kLastPositions,
  kTotalLength,
  kCosines,
  kSines,
  kGroupPositions,
  kAttentionBias
};

struct GroupQueryAttention {
  NodeBuilder &b;
  Value query, key, value; ///< [batch, heads, length, width]
  Value start;   ///< Keys before those of this run, [batch, 1, 1, 1], i64.
  int64_t cache; ///< Places.

  bool refuseOthers();
  bool readOperands();
  bool readLengths();
  void rotate();
  Value fill(Value x, int64_t axis);
  Value store(Value fresh, int pastInput);
  Value mask();
  Value attend(Value keys, Value values);

  int64_t batch() const { return NodeBuilder::shape(query)[0]; }
  int64_t length() const { return NodeBuilder::shape(query)[2]; }
  /// The position of each query, [batch, 1, length, 1].
  Value positions() {
    return b.add(start, b.reshape(b.iota(length()), {1, 1, length(), 1}));
  }
};

bool GroupQueryAttention::refuseOthers() {
  for (int i = kAttentionBias + 1; i < b.numInputs(); ++i)
    if (b.has(i)) {
      b.fail("input " + Twine(i) + " (\"" + b.node.proto->input(i) +
             "\") is not supported");
      return true;
    }
  for (StringRef name : {"qk_output", "kv_cache_bit_width"})
    if (b.intAttribute(name, 0) != 0)
      b.fail("attribute " + name + " is not supported");
  if (b.intAttribute("smooth_softmax", -1) > 0)
    b.fail("attribute smooth_softmax is not supported");
  return b.failed() || b.refuseOutputs(3);
}

bool GroupQueryAttention::readOperands() {
  int64_t heads = b.intAttribute("num_heads", 0),
          groups = b.intAttribute("kv_num_heads", 0);
  Value parts[3] = {b.input(kGroupQuery), {}, {}};
  if (b.failed())
    return false;
  Value packed = parts[0];
  if (groups < 1 || heads < 1 || heads % groups || b.rank(packed) != 3) {
    b.fail("expected a query [batch, length, width] and num_heads to be a "
           "multiple of kv_num_heads, found " +
           graph::shapeToString(packed.getType()) + ", " + Twine(heads) +
           " and " + Twine(groups));
    return false;
  }
  if (b.has(kGroupKey)) {
    parts[1] = b.input(kGroupKey);
    parts[2] = b.input(kGroupValue);
  } else {
    int64_t width = b.shape(packed)[2] / (heads + 2 * groups);
    parts[0] = b.sliceAxis(packed, 2, 0, heads * width);
    parts[1] = b.sliceAxis(packed, 2, heads * width, groups * width);
    parts[2] = b.sliceAxis(packed, 2, (heads + groups) * width, groups * width);
  }
  if (b.failed())
    return false;
  for (Value part : {parts[1], parts[2]})
    if (b.rank(part) != 3) {
      b.fail("expected keys and values [batch, length, width], found " +
             graph::shapeToString(part.getType()));
      return false;
    }
  query = splitHeads(b, parts[0], heads);
  key = splitHeads(b, parts[1], groups);
  value = splitHeads(b, parts[2], groups);
  if (b.failed())
    return false;
  Ints expected(b.shape(query));
  expected[1] = groups;
  for (Value part : {key, value})
    if (b.shape(part) != ArrayRef<int64_t>(expected)) {
      b.fail("query, key and value do not fit together: " +
             graph::shapeToString(query.getType()) + ", " +
             graph::shapeToString(key.getType()) + " and " +
             graph::shapeToString(value.getType()));
      return false;
    }
  return true;
}

/// How much there is, was, and may be.
bool GroupQueryAttention::readLengths() {
  Type i64 = b.graph.raw().getI64Type();
  Value last = b.input(kLastPositions), total = b.input(kTotalLength);
  Value past = b.has(kPastKey) ? b.input(kPastKey) : Value();
  if (b.failed())
    return false;
  if (b.type(last).getNumElements() != batch() ||
      b.type(total).getNumElements() != 1 || (past && b.rank(past) != 4)) {
    b.fail("expected seqlens_k [batch], one total_sequence_length and a past "
           "[batch, heads, length, width]");
    return false;
  }
  int64_t places = past ? b.shape(past)[2] : 0;
  auto known = b.graph.constantOf(total);
  cache = std::max(places, known ? denseToInts(*known)[0] : length());
  if (cache < length()) {
    b.fail("total_sequence_length is " + Twine(cache) + ", less than the " +
           Twine(length()) + " keys of the run");
    return false;
  }
  // The first run has no past, whatever the cache holds.
  Value count = b.scalar(i64, static_cast<double>(length()));
  Value before = b.sub(
      b.add(b.reshape(b.cast(last, i64), {batch(), 1, 1, 1}), b.scalar(i64, 1)),
      count);
  Value isFirst =
      b.compare(Predicate::Equal, b.reshape(b.cast(total, i64), {}), count);
  start = b.where(isFirst, b.scalar(i64, 0), before);
  return !b.failed();
}

void GroupQueryAttention::rotate() {
  if (!b.intAttribute("do_rotary", 0))
    return;
  Value caches[] = {b.input(kCosines), b.input(kSines)};
  Value at = b.has(kGroupPositions) ? b.input(kGroupPositions) : positions();
  if (b.failed())
    return;
  if (b.type(at).getNumElements() != batch() * length() ||
      b.rank(caches[0]) != 2 || b.shape(caches[0]) != b.shape(caches[1]) ||
      2 * b.shape(caches[0])[1] > b.shape(key)[3]) {
    b.fail("expected caches [positions, pairs] of at most half of the " +
           Twine(b.shape(key)[3]) +
           " elements of a head, and position_ids [batch, length]");
    return;
  }
  at = b.reshape(at, {batch(), length()});
  for (Value &cosinesOrSines : caches)
    cosinesOrSines =
        b.reshape(b.gather(cosinesOrSines, at, 0),
                  {batch(), 1, length(), b.shape(cosinesOrSines)[1]});
  bool interleaved = b.intAttribute("rotary_interleaved", 0);
  query = rotateHeads(b, query, caches[0], caches[1], interleaved);
  key = rotateHeads(b, key, caches[0], caches[1], interleaved);
}

/// x with zeros behind it, one for each place of the cache that it lacks.
Value GroupQueryAttention::fill(Value x, int64_t axis) {
  int64_t missing = cache - b.shape(x)[axis];
  if (missing <= 0)
    return x;
  Ints low(b.rank(x), 0), high(low);
  high[axis] = missing;
  return b.pad(x, b.scalarLike(x, 0), low, high);
}

/// The past with what is new in its places, [batch, heads, cache, width].
Value GroupQueryAttention::store(Value fresh, int pastInput) {
  if (!fresh)
    return {};
  Type i64 = b.graph.raw().getI64Type();
  Ints shape(b.shape(fresh));
  shape[2] = cache;
  Value past = b.scalarLike(fresh, 0);
  if (b.has(pastInput)) {
    Value given = b.input(pastInput);
    if (!given || b.rank(given) != 4)
      return b.fail("expected a past [batch, heads, length, width]");
    past = fill(given, 2);
  }
  Value at = b.sub(b.reshape(b.iota(cache), {1, 1, cache, 1}), start);
  Value zero = b.scalar(i64, 0);
  Value last = b.scalar(i64, static_cast<double>(length() - 1));
  Value isNew =
      b.create<graph::AndOp>({b.compare(Predicate::GreaterEqual, at, zero),
                              b.compare(Predicate::LessEqual, at, last)});
  Value place = b.broadcast(b.max(b.min(at, last), zero), shape);
  Value spread = b.create<graph::GatherElementsOp>(
      {fresh, place}, {b.attr("axis", int64_t(2))});
  return b.where(isNew, spread, past);
}

/// What is added to the scores: keys that a query does not see are left out.
Value GroupQueryAttention::mask() {
  Type i64 = b.graph.raw().getI64Type(), element = b.element(query);
  Value at = b.reshape(b.iota(cache), {1, 1, 1, cache}), position = positions();
  Value end =
      b.reshape(b.cast(b.input(kLastPositions), i64), {batch(), 1, 1, 1});
  Value limit = b.intAttribute("causal", 1) ? position : end;
  Value visible = b.compare(Predicate::LessEqual, at, limit);
  int64_t window = b.intAttribute("local_window_size", -1);
  if (window >= 0) {
    // As many keys, that of the query among them.
    Value first =
        b.sub(position, b.scalar(i64, static_cast<double>(window - 1)));
    visible = b.create<graph::AndOp>(
        {visible, b.compare(Predicate::GreaterEqual, at, first)});
  }
  Value bias = b.scalar(element, 0);
  if (b.has(kAttentionBias)) {
    Value given = b.cast(b.input(kAttentionBias), element);
    if (!given || b.rank(given) < 1)
      return b.fail("expected an attention_bias [batch, heads, length, keys]");
    // Of the keys that there are; no query sees what the cache has beyond.
    bias = b.shape(given).back() == 1 ? given : fill(given, b.rank(given) - 1);
  }
  return b.where(visible, bias,
                 b.scalar(element, -std::numeric_limits<double>::infinity()));
}

Value GroupQueryAttention::attend(Value keys, Value values) {
  Value bias = mask();
  if (b.failed())
    return {};
  double scale = b.floatAttribute("scale", 0),
         cap = b.floatAttribute("softcap", 0);
  if (scale == 0)
    scale = 1 / std::sqrt(static_cast<double>(b.shape(query)[3]));
  if (cap == 0)
    return b.create<graph::AttentionOp>({query, keys, values, bias},
                                        {b.attr("scale", scale)});
  int64_t heads = b.shape(query)[1];
  Value scaled = b.mul(query, b.scalarLike(query, scale));
  Value scores = b.matmul(scaled, repeatHeads(b, keys, heads),
                          /*transposeB=*/true);
  Value limit = b.scalarLike(query, cap);
  scores = b.mul(b.create<graph::TanhOp>({b.div(scores, limit)}), limit);
  Value shares = b.create<graph::SoftmaxOp>({b.add(scores, bias)},
                                            {b.attr("axis", int64_t(3))});
  return b.matmul(shares, repeatHeads(b, values, heads));
}

Results groupQueryAttention(NodeBuilder &b) {
  GroupQueryAttention op{b, {}, {}, {}, {}, 0};
  if (op.refuseOthers() || !op.readOperands() || !op.readLengths())
    return {Value()};
  op.rotate();
  Value keys = op.store(op.key, kPastKey),
        values = op.store(op.value, kPastValue);
  if (b.failed())
    return {Value()};
  return {joinHeads(b, op.attend(keys, values)), keys, values};
}

} // namespace

OpFamily groupQueryAttentionOps() {
  return {
      {"com.microsoft.GroupQueryAttention", groupQueryAttention, {1, 1, 17}}};
}

} // namespace tinh::onnx
