//===- Losses.cpp - What training minimises ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loss of each element is the negative of what its class has among the log
// probabilities, times the weight of the class:
//
//   loss[n, d…] = -logs[n, target[n, d…], d…] · weight[target[n, d…]]
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Ints allAxes(int64_t rank) { return llvm::to_vector(llvm::seq<int64_t>(rank)); }

/// The weight of each element's class, 0 where the target is ignored; null if
/// all weigh the same.
Value elementWeights(NodeBuilder &b, Value logs, Value target) {
  Value weights;
  if (b.has(2)) {
    if (b.rank(b.input(2)) != 1)
      return b.fail("expected a vector of weights, found " +
                    graph::shapeToString(b.input(2).getType()));
    weights = b.gather(b.cast(b.input(2), b.element(logs)), target, 0);
  }
  if (!b.hasAttribute("ignore_index"))
    return weights;
  if (!weights)
    weights = b.broadcast(b.scalarLike(logs, 1), b.shape(target));
  Value isIgnored =
      b.compare(Predicate::Equal, b.cast(target, b.graph.raw().getI64Type()),
                b.constantInts({}, b.intAttribute("ignore_index", 0)));
  return b.where(isIgnored, b.scalarLike(logs, 0), weights);
}

Value reduceLoss(NodeBuilder &b, Value loss, Value weights) {
  std::string reduction = b.stringAttribute("reduction", "mean");
  if (reduction == "none" || !loss)
    return loss;
  Ints axes = allAxes(b.rank(loss));
  if (reduction == "sum")
    return b.reduce(Kind::Sum, loss, axes, false);
  if (reduction != "mean")
    return b.fail("attribute reduction: expected none, sum or mean, found \"" +
                  reduction + "\"");
  if (!weights)
    return b.reduce(Kind::Mean, loss, axes, false);
  return b.div(b.reduce(Kind::Sum, loss, axes, false),
               b.reduce(Kind::Sum, weights, axes, false));
}

/// `logs` is [N, C, d…], the target [N, d…].
Value lossOf(NodeBuilder &b, Value logs) {
  Value target = b.input(1);
  if (!logs || !target)
    return {};
  Ints expected(b.shape(logs));
  if (expected.size() >= 2)
    expected.erase(expected.begin() + 1);
  if (b.rank(logs) < 2 || b.shape(target) != ArrayRef<int64_t>(expected))
    return b.fail("expected scores [N, C, …] and targets [N, …], found " +
                  graph::shapeToString(logs.getType()) + " and " +
                  graph::shapeToString(target.getType()));
  Value weights = elementWeights(b, logs, target);
  if (b.failed())
    return {};
  Ints column(b.shape(target));
  column.insert(column.begin() + 1, 1);
  Value picked = b.create<graph::GatherElementsOp>(
      {logs, b.reshape(target, column)}, {b.attr("axis", int64_t(1))});
  Value loss = b.create<graph::NegOp>({b.reshape(picked, b.shape(target))});
  if (weights)
    loss = b.mul(loss, weights);
  return reduceLoss(b, loss, weights);
}

Results negativeLogLikelihood(NodeBuilder &b) {
  return {lossOf(b, b.input(0))};
}

Results softmaxCrossEntropy(NodeBuilder &b) {
  Value scores = b.input(0);
  if (!b.hasRank(scores, 2, "scores"))
    return {Value()};
  Value logs =
      b.create<graph::LogSoftmaxOp>({scores}, {b.attr("axis", int64_t(1))});
  Results results = {lossOf(b, logs)};
  if (b.wants(1))
    results.push_back(logs);
  return results;
}

} // namespace

OpFamily lossOps() {
  return {{"NegativeLogLikelihoodLoss", negativeLogLikelihood},
          {"SoftmaxCrossEntropyLoss", softmaxCrossEntropy}};
}

} // namespace tinh::onnx
