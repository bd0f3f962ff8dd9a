//===- FlexAttention.cpp - Attention with graphs between its steps --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/control_flow/ControlFlow.h"
#include "compiler/Import/onnx/ops/attention/Heads.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

/// Whether the operands are [batch, heads, length, width] and fit together;
/// reports if not.
static bool checkFlexOperands(NodeBuilder &b, Value query, Value key,
                              Value value) {
  ArrayRef<int64_t> q = b.shape(query), k = b.shape(key), v = b.shape(value);
  if (q.size() == 4 && k.size() == 4 && v.size() == 4 && q[0] == k[0] &&
      k.take_front(3) == v.take_front(3) && q[3] == k[3] && k[1] > 0 &&
      q[1] % k[1] == 0)
    return true;
  b.fail("query, key and value do not fit together: " +
         graph::shapeToString(query.getType()) + ", " +
         graph::shapeToString(key.getType()) + " and " +
         graph::shapeToString(value.getType()));
  return false;
}

/// What the graph in an attribute makes of scores or probabilities, which stay
/// what they are without one.
static Value modify(NodeBuilder &b, StringRef name, Value x,
                    SubgraphBuilder buildSubgraph) {
  if (!x || !b.hasAttribute(name))
    return x;
  const GraphProto *graph = getSubgraph(b, name, 1);
  Results results;
  if (!graph || !buildTensors(b, *graph, x, results, buildSubgraph))
    return {};
  if (results.size() == 1 && results[0].getType() == x.getType())
    return results[0];
  return b.fail("attribute " + name + ": expected a graph of one output " +
                graph::shapeToString(x.getType()) + ", found " +
                (results.size() == 1
                     ? graph::shapeToString(results[0].getType())
                     : std::to_string(results.size()) + " outputs"));
}

Results buildFlexAttention(NodeBuilder &b, SubgraphBuilder buildSubgraph) {
  if (b.numInputs() != 3)
    return {b.fail("expected 3 inputs, found " + Twine(b.numInputs()))};
  Value query = b.input(0), key = b.input(1), value = b.input(2);
  if (b.failed() || !checkFlexOperands(b, query, key, value))
    return {Value()};
  double scale = b.floatAttribute("scale", 1);
  if (!b.hasAttribute("scale"))
    scale = 1 / std::sqrt(static_cast<double>(b.shape(query)[3]));
  Type element = b.element(query);
  Type precision = b.hasAttribute("softmax_precision")
                       ? b.elementType(b.intAttribute("softmax_precision", 0))
                   : element.isF64() ? element
                                     : b.graph.raw().getF32Type();
  if (b.failed())
    return {Value()};
  if (!isa<FloatType>(precision) || !(scale >= 0))
    return {b.fail("expected a softmax_precision of floats and a scale that is "
                   "not negative")};
  bool isPlain = !b.hasAttribute("score_mod") && !b.hasAttribute("prob_mod") &&
                 !precision.isF64();
  if (isPlain)
    return {b.create<graph::AttentionOp>({query, key, value},
                                         {b.attr("scale", scale)})};
  int64_t heads = b.shape(query)[1];
  Value root = b.scalarLike(query, std::sqrt(scale));
  Value scores =
      b.matmul(b.mul(query, root), b.mul(repeatHeads(b, key, heads), root),
               /*transposeB=*/true);
  scores = modify(b, "score_mod", b.cast(scores, precision), buildSubgraph);
  Value shares =
      b.create<graph::SoftmaxOp>({scores}, {b.attr("axis", int64_t(3))});
  shares = modify(b, "prob_mod", shares, buildSubgraph);
  Value values = b.cast(repeatHeads(b, value, heads), precision);
  return {b.cast(b.matmul(shares, values), b.element(value))};
}

} // namespace tinh::onnx
