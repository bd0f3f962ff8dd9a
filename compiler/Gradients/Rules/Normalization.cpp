//===- Normalization.cpp - Gradients of softmax, norms and attention ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Rule.h"

#include <limits>

using namespace mlir;

namespace tinh::gradients {

static Value sum(GraphOps &ops, Value x, ArrayRef<int64_t> axes,
                 bool keepdims) {
  return ops.reduce(graph::ReduceKind::Sum, x, axes, keepdims);
}

//===----------------------------------------------------------------------===//
// softmax
//===----------------------------------------------------------------------===//

static void differentiateSoftmax(Vjp<graph::SoftmaxOp> &vjp) {
  GraphOps &ops = vjp.ops;
  int64_t axis = vjp.op.getAxis();
  vjp.give(0, [&] {
    Value all = sum(ops, ops.mul(vjp.dy(), vjp.y()), axis, /*keepdims=*/true);
    return ops.mul(ops.sub(vjp.dy(), all), vjp.y());
  });
}

static void differentiateLogSoftmax(Vjp<graph::LogSoftmaxOp> &vjp) {
  GraphOps &ops = vjp.ops;
  int64_t axis = vjp.op.getAxis();
  vjp.give(0, [&] {
    Value all = sum(ops, vjp.dy(), axis, /*keepdims=*/true);
    return ops.sub(vjp.dy(), ops.mul(ops.create<graph::ExpOp>(vjp.y()), all));
  });
}

//===----------------------------------------------------------------------===//
// Norms
//===----------------------------------------------------------------------===//

/// 1 / sqrt(variance + epsilon)
static Value reciprocalDeviation(GraphOps &ops, Value variance,
                                 const APFloat &epsilon) {
  return ops.create<graph::RsqrtOp>(
      ops.add(variance, ops.scalarLike(variance, epsilon.convertToDouble())));
}

static void differentiateLayerNorm(Vjp<graph::LayerNormOp> &vjp) {
  GraphOps &ops = vjp.ops;
  graph::LayerNormOp op = vjp.op;
  Value x = op.getX();
  Ints axes =
      llvm::to_vector(llvm::seq<int64_t>(op.getAxis(), GraphOps::rank(x)));
  auto mean = [&](Value value) {
    return ops.reduce(graph::ReduceKind::Mean, value, axes, /*keepdims=*/true);
  };
  Value centred = x, variance;
  if (op.getRms()) {
    variance = mean(ops.mul(x, x));
  } else {
    centred = ops.sub(x, mean(x));
    variance = ops.create<graph::VarianceOp>(
        x, {ops.attr("axes", axes), ops.unit("keepdims")});
  }
  Value factor = reciprocalDeviation(ops, variance, op.getEpsilon());
  Value normalised = ops.mul(centred, factor);
  vjp.give(0, [&] {
    Value scaled = ops.mul(vjp.dy(), op.getScale());
    Value along = ops.mul(normalised, mean(ops.mul(scaled, normalised)));
    Value across = op.getRms() ? scaled : ops.sub(scaled, mean(scaled));
    return ops.mul(ops.sub(across, along), factor);
  });
  vjp.give(1, [&] { return ops.mul(vjp.dy(), normalised); });
  if (op.getBias())
    vjp.give(2, [&] { return vjp.dy(); });
}

/// The gradients of all vectors follow from two sums over x's elements, those
/// of dy and of dy · (x - mean). With the statistics of a batch, which depend
/// on x, what they add to x's gradient is then a matter of vectors and one
/// pass.
static void differentiateBatchNorm(Vjp<graph::BatchNormOp> &vjp) {
  GraphOps &ops = vjp.ops;
  graph::BatchNormOp op = vjp.op;
  Value x = op.getX(), scale = op.getScale();
  int64_t rank = GraphOps::rank(x);
  bool first = op.getLayout() == graph::Layout::ChannelsFirst;
  Ints others;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != (first ? 1 : rank - 1))
      others.push_back(axis);
  auto perChannel = [&](Value vector) {
    Ints shape(rank, 1);
    shape[first ? 1 : rank - 1] = GraphOps::shape(vector)[0];
    return ops.reshape(vector, shape);
  };
  Value reciprocal =
      reciprocalDeviation(ops, op.getVariance(), op.getEpsilon());
  Value factor = ops.mul(scale, reciprocal);
  Value sumOfDy, sumOfProducts;
  if (vjp.wants(2) || vjp.wants(3))
    sumOfDy = sum(ops, vjp.dy(), others, /*keepdims=*/false);
  if (vjp.wants(1) || vjp.wants(4)) {
    Value centred = ops.sub(x, perChannel(op.getMean()));
    Value products = ops.mul(vjp.dy(), centred);
    sumOfProducts = sum(ops, products, others, /*keepdims=*/false);
  }
  vjp.give(0, [&] { return ops.mul(vjp.dy(), perChannel(factor)); });
  vjp.give(1, [&] { return ops.mul(sumOfProducts, reciprocal); });
  vjp.give(2, [&] { return sumOfDy; });
  vjp.give(3,
           [&] { return ops.create<graph::NegOp>(ops.mul(sumOfDy, factor)); });
  vjp.give(4, [&] {
    // d/dv (v + ε)^-½ = -½ (v + ε)^-3/2
    Value cubed = ops.mul(factor, ops.mul(reciprocal, reciprocal));
    return ops.mul(ops.mul(sumOfProducts, cubed), ops.scalarLike(cubed, -0.5));
  });
}

/// The mean of so many elements around each, along the channels, counting those
/// that do not exist as zeros: a pool over [outer, channels, inner].
static Value meanAcrossChannels(GraphOps &ops, graph::LrnOp op, Value x,
                                int64_t before) {
  ArrayRef<int64_t> shape = GraphOps::shape(op.getX());
  int64_t channels = op.getLayout() == graph::Layout::ChannelsFirst
                         ? 1
                         : static_cast<int64_t>(shape.size()) - 1;
  // No more than all channels count, on both sides of any of them.
  int64_t size = op.getSize(), outer = 1, inner = 1;
  int64_t most = std::max<int64_t>(shape[channels] - 1, 0);
  int64_t after = std::min(size - 1 - before, most);
  before = std::min(before, most);
  int64_t window = before + after + 1;
  for (int64_t extent : shape.take_front(channels))
    outer *= extent;
  for (int64_t extent : shape.drop_front(channels + 1))
    inner *= extent;
  Value mean = ops.create<graph::AvgPoolOp>(
      ops.reshape(x, {outer, shape[channels], inner}),
      {ops.attr("kernel", ArrayRef(window)),
       ops.attr("strides", ArrayRef<int64_t>(1)),
       ops.attr("padding", {before, after}),
       ops.attr("dilations", ArrayRef<int64_t>(1)),
       ops.unit("count_include_pad"),
       ops.attr("layout",
                graph::LayoutAttr::get(ops.graph.context(),
                                       graph::Layout::ChannelsLast))});
  mean = ops.reshape(mean, shape);
  double part = static_cast<double>(window) / static_cast<double>(size);
  return window == size ? mean : ops.mul(mean, ops.scalarLike(mean, part));
}

/// With s = bias + alpha · mean(x²) over the windows, y = x · s^-beta and
/// dx = dy · s^-beta - 2 alpha beta · x · mean'(dy · x · s^(-beta-1)), mean'
/// over the windows that an element lies in.
static void differentiateLrn(Vjp<graph::LrnOp> &vjp) {
  GraphOps &ops = vjp.ops;
  graph::LrnOp op = vjp.op;
  Value x = op.getX();
  double alpha = op.getAlpha().convertToDouble();
  double beta = op.getBeta().convertToDouble();
  int64_t before = (op.getSize() - 1) / 2, after = op.getSize() / 2;
  auto times = [&](Value value, double factor) {
    return ops.mul(value, ops.scalarLike(value, factor));
  };
  vjp.give(0, [&] {
    Value squares = meanAcrossChannels(ops, op, ops.mul(x, x), before);
    Value s = ops.add(times(squares, alpha),
                      ops.scalarLike(x, op.getBias().convertToDouble()));
    Value power = ops.create<graph::PowOp>({s, ops.scalarLike(s, -beta)});
    Value direct = ops.mul(vjp.dy(), power);
    Value spread =
        meanAcrossChannels(ops, op, ops.div(ops.mul(direct, x), s), after);
    return ops.sub(direct, times(ops.mul(x, spread), 2 * alpha * beta));
  });
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

namespace {

/// Attention, with the queries of all heads that share a key's head as rows of
/// one matrix, [batch, key heads, heads / key heads · queries, …].
class AttentionRule {
public:
  explicit AttentionRule(Vjp<graph::AttentionOp> &vjp)
      : vjp(vjp), ops(vjp.ops), op(vjp.op),
        query(GraphOps::shape(op.getQuery())),
        key(GraphOps::shape(op.getKey())),
        scores({query[0], query[1], query[2], key[2]}) {}

  void build();

private:
  Value byKeyHead(Value x) {
    return ops.reshape(x, {key[0], key[1], query[1] / key[1] * query[2],
                           GraphOps::shape(x).back()});
  }
  Value product(Value a, Value b, StringRef transposed = {}) {
    SmallVector<NamedAttribute> attributes;
    if (!transposed.empty())
      attributes.push_back(ops.unit(transposed));
    return ops.create<graph::MatmulOp>({a, b}, attributes);
  }
  Value scaled(Value x) {
    return ops.mul(x, ops.scalarLike(x, op.getScale().convertToDouble()));
  }
  Value probabilities();
  Value hideLaterKeys(Value x);

  Vjp<graph::AttentionOp> &vjp;
  GraphOps &ops;
  graph::AttentionOp op;
  Ints query, key, scores;
};

} // namespace

Value AttentionRule::hideLaterKeys(Value x) {
  int64_t queries = query[2], keys = key[2];
  Value last = ops.reshape(ops.iota(queries, keys - queries), {queries, 1});
  Value isSeen =
      ops.compare(graph::ComparePredicate::GreaterEqual, last, ops.iota(keys));
  return ops.where(isSeen, x,
                   ops.scalarLike(x, -std::numeric_limits<double>::infinity()));
}

Value AttentionRule::probabilities() {
  Value x = product(byKeyHead(op.getQuery()), op.getKey(), "transpose_b");
  x = scaled(ops.reshape(x, scores));
  if (op.getMask())
    x = ops.add(x, op.getMask());
  if (op.getCausal())
    x = hideLaterKeys(x);
  return ops.create<graph::SoftmaxOp>(
      x, ops.attr("axis", static_cast<int64_t>(3)));
}

void AttentionRule::build() {
  Value p = probabilities(), dy = vjp.dy();
  vjp.give(2,
           [&] { return product(byKeyHead(p), byKeyHead(dy), "transpose_a"); });
  if (!vjp.wants(0) && !vjp.wants(1) && !(op.getMask() && vjp.wants(3)))
    return;
  // As for softmax; a row of the sum of dp · p is one of dy · y.
  Value dp =
      ops.reshape(product(byKeyHead(dy), op.getValue(), "transpose_b"), scores);
  Value all = sum(ops, ops.mul(dy, vjp.y()), 3, /*keepdims=*/true);
  Value ds = ops.mul(ops.sub(dp, all), p);
  if (op.getMask())
    vjp.give(3, [&] { return ds; });
  Value scaledDs = byKeyHead(scaled(ds));
  vjp.give(0,
           [&] { return ops.reshape(product(scaledDs, op.getKey()), query); });
  vjp.give(1, [&] {
    return product(scaledDs, byKeyHead(op.getQuery()), "transpose_a");
  });
}

static void differentiateAttention(Vjp<graph::AttentionOp> &vjp) {
  AttentionRule(vjp).build();
}

void attachNormalizationRules(MLIRContext *context) {
  attachRules<differentiateSoftmax, differentiateLogSoftmax,
              differentiateLayerNorm, differentiateBatchNorm, differentiateLrn,
              differentiateAttention>(context);
}

} // namespace tinh::gradients
