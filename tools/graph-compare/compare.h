//===- compare.h - Runs a model in two ways ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_COMPARE_COMPARE_H
#define TINH_GRAPH_COMPARE_COMPARE_H

#include "command_line.h"
#include "comparison.h"

namespace tinh::tools {

struct CompareOptions {
  std::string model;
  ImportOptions importing;
  CompileOptions compile; ///< For GPUs: chips are those of the first one.
  uint32_t threads = 1, runs = 20;
  std::string python;  ///< That runs the model by ONNX Runtime; or nothing.
  bool verify = false; ///< Evaluate the model with the reference, too.
  std::string page;    ///< Where a page is written of all this; or nothing.
};

/// Compiles the model in both ways and runs them in turns. What fails is
/// printed, and the exit code not that of success.
ExitCode compare(const CompareOptions &wanted, Comparison &result);

} // namespace tinh::tools

#endif // TINH_GRAPH_COMPARE_COMPARE_H
