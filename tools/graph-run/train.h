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

#include "options.h"

namespace tinh::tools {

/// Trains an artifact's state. Prints a line for each epoch and, on a terminal,
/// how far it is.
void train(const RunOptions &options);

} // namespace tinh::tools

#endif // TINH_TOOLS_TRAIN_H
