//===- TrainingForm.h - What a model does while it is trained ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_TRAININGFORM_H
#define TINH_TRAINING_TRAININGFORM_H

#include "compiler/Training/Training.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/Builders.h"

namespace tinh::training {

struct RunningStatistics {
  mlir::Value mean, variance;
};

/// Makes `norm` normalise by the mean and the variance of its own batch or, if
/// these `ranks` say so, of those of all ranks; gives the next values of the
/// running ones, which are the same on all ranks.
mlir::FailureOr<RunningStatistics> normaliseByBatch(graph::BatchNormOp norm,
                                                    const DataParallel *ranks);

} // namespace tinh::training

#endif // TINH_TRAINING_TRAININGFORM_H
