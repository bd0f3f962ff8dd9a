//===- TrainingForm.cpp - What a model does while it is trained -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/TrainingForm.h"

#include "compiler/Training/StepCollectives.h"

using namespace mlir;

namespace tinh::training {

namespace {

/// Of a batch, by channel. `unbiased` times `factor` is the variance of a
/// population of which the batch is a sample, as PyTorch keeps it.
struct Statistics {
  Value mean, variance, unbiased;
  double factor = 1;
};

} // namespace

static Statistics ofBatch(GraphOps &ops, Value x, ArrayRef<int64_t> axes,
                          int64_t count) {
  Value mean = ops.reduce(graph::ReduceKind::Mean, x, axes, false);
  Value variance = ops.create<graph::VarianceOp>({x}, {ops.attr("axes", axes)});
  double factor =
      count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1)
                : 1;
  return {mean, variance, variance, factor};
}

/// The variance of all is the mean of the ranks' variances and of the squares
/// of how far their means are from that of all.
static Statistics ofAllBatches(StepCollectives &ranks, GraphOps &ops,
                               const Statistics &own, int64_t count) {
  Value mean = ranks.mean(own.mean);
  Value distance = ops.sub(own.mean, mean);
  Value variance =
      ranks.mean(ops.add(own.variance, ops.mul(distance, distance)));
  Value one = ops.scalarLike(variance, 1);
  Value samples = ops.mul(ranks.count(GraphOps::element(variance)),
                          ops.scalarLike(variance, count));
  Value others = ops.create<graph::MaxOp>({ops.sub(samples, one), one});
  return {mean, variance, ops.mul(variance, ops.div(samples, others))};
}

FailureOr<RunningStatistics> normaliseByBatch(graph::BatchNormOp norm,
                                              const DataParallel *parallel) {
  double momentum = norm.getMomentum().convertToDouble();
  if (!(momentum >= 0 && momentum <= 1))
    return norm.emitError() << "the momentum of a batch norm must be between 0 "
                               "and 1 to train it, found "
                            << momentum;
  GraphBuilder builder(OpBuilder(norm), norm.getLoc());
  GraphOps ops(builder);
  Value x = norm.getX();
  int64_t rank = GraphOps::rank(x);
  int64_t channels =
      norm.getLayout() == graph::Layout::ChannelsFirst ? 1 : rank - 1;
  Ints axes;
  int64_t count = 1;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis != channels) {
      axes.push_back(axis);
      count *= GraphOps::shape(x)[axis];
    }
  std::optional<StepCollectives> ranks;
  if (parallel)
    ranks.emplace(*parallel, ops);
  Statistics batch = ofBatch(ops, x, axes, count);
  if (parallel && parallel->syncBatchNorm)
    batch = ofAllBatches(*ranks, ops, batch, count);
  auto move = [&](Value running, Value now, double factor) {
    Value kept = ops.mul(running, ops.scalarLike(running, momentum));
    Value moved = ops.mul(now, ops.scalarLike(now, (1 - momentum) * factor));
    Value next = ops.add(kept, moved);
    return parallel && !parallel->syncBatchNorm ? ranks->mean(next) : next;
  };
  RunningStatistics next{
      move(norm.getMean(), batch.mean, 1),
      move(norm.getVariance(), batch.unbiased, batch.factor)};
  if (ops.failed())
    return norm.emitError()
           << "cannot be normalised by its batch: " << ops.takeError();
  norm.getMeanMutable().set(batch.mean);
  norm.getVarianceMutable().set(batch.variance);
  return next;
}

} // namespace tinh::training
