//===- training_options.h - How a model is to be trained --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_TRAINING_OPTIONS_H
#define TINH_TOOLS_TRAINING_OPTIONS_H

#include "command_line.h"
#include "compiler/Training/Training.h"

namespace tinh::tools {

/// --train, and what it is with: --loss, --optimizer and others.
void addTraining(CLI::App &app, bool *train,
                 training::TrainingOptions *training);

/// Without --train: whether nothing is asked for that is about it. If
/// something is, it has been said.
bool checkNoTraining(const training::TrainingOptions &training);

} // namespace tinh::tools

#endif // TINH_TOOLS_TRAINING_OPTIONS_H
