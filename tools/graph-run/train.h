//===- train.h - Training with an artifact ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epochs over a data set with the functions "train_step" and "evaluate" of a
// training artifact, and checkpoints from which the same training goes on.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TRAIN_H
#define TINH_TOOLS_TRAIN_H

#include "tinh/runtime.hpp"

#include <optional>
#include <string>

namespace tinh::tools {

struct TrainOptions {
  std::string data, validation; ///< Files, with commas between them.
  uint64_t epochs = 1;
  std::optional<uint64_t> batch; ///< What the user believes it to be.
  std::optional<uint64_t> shuffle;
  std::string checkpoint;
  uint64_t checkpoint_steps = 0; ///< 0: after each epoch alone.
  bool resume = false;
};

/// Trains the state of `context`. Prints a line for each epoch and, on a
/// terminal, how far it is.
void train(const Module &module, const Context &context,
           const TrainOptions &options);

} // namespace tinh::tools

#endif // TINH_TOOLS_TRAIN_H
