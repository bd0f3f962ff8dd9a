//===- Training.h - Models that train ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From a model that is only run to one that is trained: its weights become
// variables, and its function becomes three,
//
//   train_step(inputs, target) -> loss           changes the variables
//   evaluate(inputs, target) -> loss, outputs
//   predict(inputs) -> outputs
//
// Losses and optimizers are those of tinh/losses.h and tinh/optim.h, traced,
// and gradients those of compiler/Gradients.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TRAINING_TRAINING_H
#define TINH_TRAINING_TRAINING_H

#include "compiler/Import/Import.h"
#include "compiler/Pipelines/Phases.h"

#include "llvm/ADT/StringSet.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::training {

/// Each of several ranks has a part of the batch; gradients are their means
/// (docs/data-parallel.md).
struct DataParallel {
  /// Batch norms normalise by the batches of all ranks.
  bool syncBatchNorm = false;
  /// What gradients of f32 are sent as: "bf16", or as they are.
  std::string communicationDtype;
  /// Of how many ranks each has a part of the optimizer's state; 0: all have
  /// all of it, and there may be any number of ranks.
  int64_t shards = 0;
};

struct TrainingOptions {
  /// A name and options: "cross_entropy,label_smoothing=0.1", "adam,lr=0.001".
  /// Empty: those that the model's file names.
  std::string loss, optimizer;
  /// Patterns of names, of which a weight that is trained fits one; none: all
  /// are trained, or those that the model's file says.
  std::vector<std::string> trainable;
  /// A model to learn from, and options: "teacher.onnx,temperature=4". Empty:
  /// there is none.
  std::string distill;
  /// Scales of quantised tensors are trained, too.
  bool learnScales = false;
  /// What the loss is multiplied by for gradients in f16: a number, or dynamic
  /// with options, "dynamic,growth_interval=1000". Empty: what the model's file
  /// says, or dynamic; in other precisions nothing.
  std::string lossScale;
  /// The norm of all gradients together is at most this: larger ones are scaled
  /// down; none: they stay as they are.
  std::optional<double> clipGradNorm = {};
  std::optional<DataParallel> dataParallel = {};
  /// A step's batch is so many of the model's, whose gradients are added up one
  /// after the other.
  int64_t accumulate = 1;
};

/// Makes weights of the model, in phase graph, variables: those that are
/// trained, and the statistics of batch norms. `weights` are the names that the
/// model's file has for them; none: any constant with a name may be one.
mlir::LogicalResult declareVariables(mlir::ModuleOp module,
                                     const TrainingOptions &options,
                                     const llvm::StringSet<> &weights);

/// Makes the three functions of @main, in phase normalised.
mlir::LogicalResult differentiate(mlir::ModuleOp module,
                                  const TrainingOptions &options);

/// All of it, for PhaseOptions. `info`, as ImportOptions gets it, must live as
/// long.
TrainingSteps trainingSteps(const TrainingOptions &options,
                            const TrainingInfo &info);

} // namespace tinh::training

#endif // TINH_TRAINING_TRAINING_H
