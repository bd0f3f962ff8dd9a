//===- run.h - Runs of a function, and their times --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_RUN_RUN_H
#define TINH_GRAPH_RUN_RUN_H

#include "options.h"
#include "ranks.h"

namespace tinh::tools {

/// Whether what is asked for is one of several ranks' part, if a launcher has
/// started this process: a training, or a function with collectives.
bool is_for_ranks(const RunOptions &options);
/// The library that such a part is done by: that of NCCL, or empty for the
/// launcher's MPI.
std::string library_for_ranks(const RunOptions &options);

/// Loads an artifact, fills the inputs of a function, runs it as often as
/// asked, and writes outputs and times; or lists what the artifact has.
void run(const RunOptions &options, const Ranks &ranks);

/// Trains an artifact's state with its functions "train_step" and "evaluate".
void train(const RunOptions &options, const Ranks &ranks);

} // namespace tinh::tools

#endif // TINH_GRAPH_RUN_RUN_H
