//===- Normalization.cpp - Softmax, norms and attention in linalg ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sequences of reductions and element-wise generics:
//
//   softmax      max; exp(x - max); sum; quotient
//   layer_norm   sum; mean; Σ (x - mean)²; 1/√(variance + ε); result
//   lrn          squares, padded; window sum; result
//   attention    scores; scaled and masked; softmax; product with values
//
// Floats narrower than f32 are computed in f32 from the first step to the last.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Linalg/Windows.h"
#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tinh::codegen {

namespace {

Reduced sumAxes(Emitter &e, Value x, ArrayRef<int64_t> axes, Type type) {
  return e.reduceAxes(shapeOf(x), x, e.identity(shapeOf(x).size()), axes,
                      e.scalars().constant(type, 0),
                      [&](Scalars &s, ValueRange v) {
                        return s.add(v[1], s.convert(v[0], type));
                      });
}

/// An element-wise generic of `x` and a reduction of it.
Value combine(Emitter &e, Value x, const Reduced &reduced, Body body) {
  ArrayRef<int64_t> shape = shapeOf(x);
  return e.parallel(shape, elementOf(x), {x, reduced.value},
                    {e.identity(shape.size()), reduced.map}, body);
}

/// What a softmax is made of, in x's element type.
struct Exponentials {
  Exponentials(Emitter &e, Value x, int64_t axis)
      : largest(e.reduceAxes(
            shapeOf(x), x, e.identity(shapeOf(x).size()), axis,
            e.scalars().lowest(elementOf(x)),
            [](Scalars &s, ValueRange v) { return s.max(v[1], v[0]); })),
        value(combine(e, x, largest,
                      [](Scalars &s, ValueRange v) -> Value {
                        return math::ExpOp::create(s.b, s.sub(v[0], v[1]));
                      })),
        sum(sumAxes(e, value, axis, elementOf(x))) {}

  Value softmax(Emitter &e) {
    return combine(e, value, sum,
                   [](Scalars &s, ValueRange v) { return s.div(v[0], v[1]); });
  }
  /// Its logarithm; `x` is what all this was computed from.
  Value logarithm(Emitter &e, Value x) {
    Reduced normaliser{
        e.elementwise(shapeOf(sum.value), elementOf(x),
                      {largest.value, sum.value},
                      [](Scalars &s, ValueRange v) {
                        return s.add(v[0], math::LogOp::create(s.b, v[1]));
                      }),
        sum.map};
    return combine(e, x, normaliser,
                   [](Scalars &s, ValueRange v) { return s.sub(v[0], v[1]); });
  }

  Reduced largest;
  Value value;
  Reduced sum;
};

template <typename Op>
FailureOr<Value> lowerSoftmax(Op op, Emitter &e, ValueRange operands) {
  Type element = elementOf(operands[0]);
  Value x = e.convert(operands[0], computeType(element));
  Exponentials exponentials(e, x, op.getAxis());
  constexpr bool logarithm = std::is_same_v<Op, graph::LogSoftmaxOp>;
  return e.convert(logarithm ? exponentials.logarithm(e, x)
                             : exponentials.softmax(e),
                   element);
}

//===----------------------------------------------------------------------===//
// layer_norm, batch_norm
//===----------------------------------------------------------------------===//

/// 1 / √(sum / count + ε) of each sum of squares.
Value reciprocalDeviation(Emitter &e, Value sum, int64_t count,
                          double epsilon) {
  Type type = elementOf(sum);
  return e.elementwise(
      shapeOf(sum), type, sum, [&](Scalars &s, ValueRange v) -> Value {
        Value variance = s.mul(v[0], s.constant(type, 1.0 / count));
        return math::RsqrtOp::create(
            s.b, s.add(variance, s.constant(type, epsilon)));
      });
}

FailureOr<Value> lowerLayerNorm(graph::LayerNormOp op, Emitter &e,
                                ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> shape = shapeOf(x);
  Type element = elementOf(x), type = computeType(element);
  SmallVector<int64_t> axes;
  int64_t count = 1;
  for (int64_t i = op.getAxis(); i < static_cast<int64_t>(shape.size()); ++i) {
    axes.push_back(i);
    count *= shape[i];
  }

  SmallVector<Value> inputs{x};
  SmallVector<AffineMap> maps{e.identity(shape.size())};
  auto append = [&](const Reduced &reduced) {
    inputs.push_back(reduced.value);
    maps.push_back(reduced.map);
  };
  if (!op.getRms()) {
    Reduced mean = sumAxes(e, x, axes, type);
    append({e.divideBy(mean.value, count), mean.map});
  }
  auto centred = [&](Scalars &s, ValueRange v) {
    Value value = s.convert(v[0], type);
    return op.getRms() ? value : s.sub(value, v[1]);
  };
  Reduced factor =
      e.reduceAxes(shape, inputs, maps, axes, e.scalars().constant(type, 0),
                   [&](Scalars &s, ValueRange v) {
                     Value value = centred(s, v);
                     return s.add(v.back(), s.mul(value, value));
                   });
  factor.value = reciprocalDeviation(e, factor.value, count,
                                     op.getEpsilon().convertToDouble());
  append(factor);
  for (Value parameter : operands.drop_front()) {
    inputs.push_back(parameter);
    maps.push_back(e.broadcast(shapeOf(parameter), shape));
  }
  size_t numParameters = operands.size() - 1;
  return e.parallel(
      shape, element, inputs, maps, [&](Scalars &s, ValueRange v) {
        ValueRange in = v.drop_back(); // without the result's old element
        ValueRange parameters = in.take_back(numParameters);
        Value value = s.mul(centred(s, v), in[in.size() - numParameters - 1]);
        value = s.mul(value, s.convert(parameters[0], type));
        if (op.getBias())
          value = s.add(value, s.convert(parameters[1], type));
        return s.convert(value, element);
      });
}

FailureOr<Value> lowerBatchNorm(graph::BatchNormOp op, Emitter &e,
                                ValueRange operands) {
  Value x = operands[0], scale = operands[1], bias = operands[2],
        mean = operands[3], variance = operands[4];
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t rank = shape.size();
  Type element = elementOf(x), type = computeType(element);
  double epsilon = op.getEpsilon().convertToDouble();
  Value factor = e.elementwise(
      shapeOf(scale), type, {scale, variance}, [&](Scalars &s, ValueRange v) {
        Value sum = s.add(s.convert(v[1], type), s.constant(type, epsilon));
        return s.mul(s.convert(v[0], type), math::RsqrtOp::create(s.b, sum));
      });
  bool first = op.getLayout() == graph::Layout::ChannelsFirst;
  AffineMap channel = e.map(rank, e.dim(first ? 1 : rank - 1));
  AffineMap maps[] = {e.identity(rank), channel, channel, channel};
  return e.parallel(shape, element, {x, factor, bias, mean}, maps,
                    [&](Scalars &s, ValueRange v) {
                      Value centred =
                          s.sub(s.convert(v[0], type), s.convert(v[3], type));
                      Value value =
                          s.add(s.mul(centred, v[1]), s.convert(v[2], type));
                      return s.convert(value, element);
                    });
}

//===----------------------------------------------------------------------===//
// lrn
//===----------------------------------------------------------------------===//

/// x^-beta; the usual 3/4 by square roots.
Value negativePower(Scalars &s, Value x, double beta) {
  if (beta == 0.75) {
    Value root = math::SqrtOp::create(s.b, x);
    Value product = s.mul(root, math::SqrtOp::create(s.b, root));
    return s.div(s.like(x, 1), product);
  }
  return math::PowFOp::create(s.b, x, s.like(x, -beta));
}

FailureOr<Value> lowerLrn(graph::LrnOp op, Emitter &e, ValueRange operands) {
  Value x = operands[0];
  ArrayRef<int64_t> shape = shapeOf(x);
  int64_t rank = shape.size();
  Type element = elementOf(x), type = computeType(element);
  int64_t axis = channelAxis(op.getLayout(), rank);
  // What is beyond the channels on both sides of any of them adds nothing.
  int64_t most = std::max<int64_t>(shape[axis] - 1, 0);
  int64_t before = std::min<int64_t>((op.getSize() - 1) / 2, most);
  int64_t after = std::min<int64_t>(op.getSize() / 2, most);

  Value squares = e.elementwise(shape, type, x, [&](Scalars &s, ValueRange v) {
    Value value = s.convert(v[0], type);
    return s.mul(value, value);
  });
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  low[axis] = before;
  high[axis] = after;
  Value zero = e.scalars().constant(type, 0);
  squares = e.pad(squares, low, high, zero);

  SmallVector<AffineExpr> from;
  for (int64_t i = 0; i < rank; ++i)
    from.push_back(i == axis ? e.dim(i) + e.dim(rank) : e.dim(i));
  AffineMap maps[] = {e.map(rank + 1, from), e.map(rank + 1, e.dim(rank)),
                      e.identity(rank + 1).getSliceMap(0, rank)};
  Value sum = e.reduce(
      e.fill(shape, zero), {squares, e.empty(before + after + 1, type)}, maps,
      [](Scalars &s, ValueRange v) { return s.add(v[2], v[0]); });

  double alpha =
      op.getAlpha().convertToDouble() / static_cast<double>(op.getSize());
  double beta = op.getBeta().convertToDouble();
  double bias = op.getBias().convertToDouble();
  return e.elementwise(shape, element, {x, sum}, [&](Scalars &s, ValueRange v) {
    Value base =
        s.add(s.constant(type, bias), s.mul(s.constant(type, alpha), v[1]));
    Value value = s.mul(s.convert(v[0], type), negativePower(s, base, beta));
    return s.convert(value, element);
  });
}

//===----------------------------------------------------------------------===//
// attention
//===----------------------------------------------------------------------===//

/// `x`, which is this step of attention.
Value asPart(Emitter &e, Value x, origin::Part part) {
  return e.withOrigin(x, origin::AttentionAttr::get(e.b.getContext(), part));
}

/// The matrix product of each head of `left` with one of `right` (transposed if
/// so said). Where `right` has fewer heads, consecutive ones of `left` share
/// it.
Value headProduct(Emitter &e, Value left, Value right, bool transposed,
                  Type type) {
  int64_t heads = shapeOf(left)[1], keyHeads = shapeOf(right)[1];
  SmallVector<int64_t> result(shapeOf(left));
  result.back() = shapeOf(right)[transposed ? 2 : 3];
  bool grouped = heads != keyHeads;
  SmallVector<int64_t> shape(result);
  if (grouped) {
    // [batch, key heads, queries' heads for each, …]
    left = e.split(left, 1, keyHeads);
    shape = splitExtent(result, 1, keyHeads);
  }
  int64_t m = grouped ? 3 : 2, n = m + 1, k = m + 2, dims = m + 3;
  SmallVector<AffineExpr> ofLeft, ofRight{e.dim(0), e.dim(1)}, ofResult;
  for (int64_t i = 0; i <= m; ++i)
    ofLeft.push_back(e.dim(i));
  ofResult = ofLeft;
  ofLeft.push_back(e.dim(k));
  ofResult.push_back(e.dim(n));
  ofRight.push_back(e.dim(transposed ? n : k));
  ofRight.push_back(e.dim(transposed ? k : n));
  AffineMap maps[] = {e.map(dims, ofLeft), e.map(dims, ofRight),
                      e.map(dims, ofResult)};
  Value product = e.multiplyAdd(shape, type, left, right, maps);
  asPart(e, product, transposed ? origin::Part::Scores : origin::Part::Values);
  return e.reshape(product, result);
}

/// scores · scale + mask, minus infinity where a query must not see a key.
Value scaleAndMask(Emitter &e, Value scores, Value mask, double scale,
                   bool causal) {
  Type type = elementOf(scores);
  SmallVector<Value> inputs{scores};
  if (mask)
    inputs.push_back(mask);
  int64_t ahead = shapeOf(scores)[3] - shapeOf(scores)[2];
  return e.elementwise(
      shapeOf(scores), type, inputs, [&](Scalars &s, ValueRange v) {
        Value score = s.mul(v[0], s.constant(type, scale));
        if (mask)
          score = s.add(score, s.convert(v[1], type));
        if (!causal)
          return score;
        Value last = s.add(Emitter::index(s, 2), s.index(ahead));
        Value sees = s.lessEqual(Emitter::index(s, 3), last);
        return s.select(sees, score, s.lowest(type));
      });
}

FailureOr<Value> lowerAttention(graph::AttentionOp op, Emitter &e,
                                ValueRange operands) {
  Value query = operands[0], key = operands[1], value = operands[2];
  Value mask = op.getMask() ? operands[3] : Value();
  Type element = elementOf(query), type = computeType(element);
  Value scores = headProduct(e, query, key, /*transposed=*/true, type);
  scores = scaleAndMask(e, scores, mask, op.getScale().convertToDouble(),
                        op.getCausal());
  asPart(e, scores, origin::Part::Masked);
  Exponentials exponentials(e, scores, /*axis=*/3);
  asPart(e, exponentials.largest.value, origin::Part::Largest);
  asPart(e, exponentials.value, origin::Part::Exponentials);
  asPart(e, exponentials.sum.value, origin::Part::Sum);
  Value weights = asPart(e, exponentials.softmax(e), origin::Part::Weights);
  Value result = headProduct(e, weights, value, /*transposed=*/false, type);
  return e.convert(result, element);
}

} // namespace

void attachNormalizationLowerings(MLIRContext *context) {
  using namespace graph;
  attachLowerings<lowerSoftmax<SoftmaxOp>, lowerSoftmax<LogSoftmaxOp>,
                  lowerLayerNorm, lowerBatchNorm, lowerLrn, lowerAttention>(
      context);
}

} // namespace tinh::codegen
