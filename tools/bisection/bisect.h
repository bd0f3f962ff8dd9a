//===- bisect.h - Which node of a model is computed wrong -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_BISECT_H
#define TINH_TOOLS_BISECT_H

#include "command_line.h"
#include "compiler/Pipelines/Compile.h"
#include "compiler/Training/Training.h"

namespace tinh::tools {

/// A model, and how it is compiled and run.
struct BisectJob {
  std::string model;
  ImportOptions importing;
  CompileOptions compile; ///< For GPUs: chips are those of the first one.
  uint32_t threads = 1;
};

/// What --bisect takes beside that.
struct BisectArguments {
  bool bisect = false, train = false;
  training::TrainingOptions training;
  std::optional<double> tolerance;
  std::string inputs = "random", output;
};

/// --bisect and what goes with it.
void addBisect(CLI::App &app, BisectArguments &arguments);

/// Whether options that are about --train come with it; if not, that has been
/// said.
bool checkBisect(const BisectArguments &arguments);

/// Finds the first node that is computed wrong, and prints it, or that there is
/// none. The exit code is not that of success if there is one.
ExitCode bisectModel(const BisectArguments &arguments, const BisectJob &wanted);

} // namespace tinh::tools

#endif // TINH_TOOLS_BISECT_H
