//===- training.h - Training with an artifact -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Epochs over a data set with the functions "train_step" and "evaluate" of a
// training artifact, alone or as one of several ranks, and checkpoints from
// which the same training goes on.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TRAINING_H
#define TINH_TOOLS_TRAINING_H

#include "shared_state.h"
#include "train_options.h"

namespace tinh::tools {

/// Goes on with the state that the first rank has. Prints a line for each epoch
/// and, on a terminal, how far it is.
void train(const SharedState &state, const TrainOptions &options);

} // namespace tinh::tools

#endif // TINH_TOOLS_TRAINING_H
