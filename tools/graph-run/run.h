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

namespace tinh::tools {

/// Loads an artifact, fills the inputs of a function, runs it as often as
/// asked, and writes outputs and times; or lists what the artifact has.
void run(const RunOptions &options);

/// The module that `options` name, with what they say of its weights.
Module load_module(const RunOptions &options);

/// Throws UserError if the trace of a context that is gone could not be
/// written. No other call may have failed on this thread.
void check_trace(const RunOptions &options);

} // namespace tinh::tools

#endif // TINH_GRAPH_RUN_RUN_H
