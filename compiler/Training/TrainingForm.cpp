//===- TrainingForm.cpp - What a model does while it is trained -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/TrainingForm.h"

#include "compiler/Import/GraphOps.h"

using namespace mlir;

namespace tinh::training {

FailureOr<RunningStatistics> normaliseByBatch(graph::BatchNormOp norm) {
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
  Value mean = ops.reduce(graph::ReduceKind::Mean, x, axes, false);
  Value variance = ops.create<graph::VarianceOp>({x}, {ops.attr("axes", axes)});
  auto move = [&](Value running, Value now, double factor) {
    Value kept = ops.mul(running, ops.scalarLike(running, momentum));
    Value moved = ops.mul(now, ops.scalarLike(now, (1 - momentum) * factor));
    return ops.add(kept, moved);
  };
  // The running variance is that of the population, as PyTorch has it.
  double unbiased =
      count > 1 ? static_cast<double>(count) / static_cast<double>(count - 1)
                : 1;
  RunningStatistics next{move(norm.getMean(), mean, 1),
                         move(norm.getVariance(), variance, unbiased)};
  if (ops.failed())
    return norm.emitError()
           << "cannot be normalised by its batch: " << ops.takeError();
  norm.getMeanMutable().set(mean);
  norm.getVarianceMutable().set(variance);
  return next;
}

} // namespace tinh::training
