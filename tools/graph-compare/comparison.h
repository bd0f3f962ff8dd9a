//===- comparison.h - What a comparison finds -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_COMPARE_COMPARISON_H
#define TINH_GRAPH_COMPARE_COMPARISON_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Reference/Interpreter.h"
#include "percentile.h"

namespace tinh::tools {

using reference::Difference;

/// One of the two ways of running the model.
struct Side {
  double compile = 0, first = 0;
  std::vector<double> times, gpuTimes; // The latter by the GPU's clock.
  double median() const { return percentile(times, 50); }
};

/// Another engine that runs the model.
struct OtherSide : Side {
  std::string version;
  Difference difference; ///< Of its outputs from the compiled model's.
};

struct Comparison {
  std::string model, cpu;
  std::string gpu; // Its name, if there is one.
  uint32_t threads = 0;
  Side eager, compiled;
  std::optional<OtherSide> onnxRuntime; ///< Its `compile` is loading.
  size_t eagerKernels = 0;
  uint64_t eagerBytes = 0;
  /// Of eager and compiled from one another, and of both from the reference.
  Difference difference;
  std::optional<Difference> error;
  CompileReport report;

  const FunctionReport &main() const { return report.functions.front(); }
  /// Where the model runs.
  uint64_t arenaBytes() const {
    return gpu.empty() ? main().arenaSize : main().deviceArenaSize;
  }
  uint64_t unplannedBytes() const {
    return gpu.empty() ? main().unplannedSize : main().deviceUnplannedSize;
  }
  uint64_t lowerBoundBytes() const {
    return gpu.empty() ? main().lowerBoundSize : main().deviceLowerBoundSize;
  }
  /// Compiled runs in the time of an eager one.
  double speedup() const { return eager.median() / compiled.median(); }
  /// Calls after which compiling has paid; negative: never.
  double breakEven() const {
    double gain = eager.median() - compiled.median();
    return gain > 0 ? std::max(0.0, (compiled.compile - eager.compile) / gain)
                    : -1;
  }
};

/// Prints it for a person.
void printTable(const Comparison &c);
/// Prints it for a program.
void printJson(const Comparison &c);

} // namespace tinh::tools

#endif // TINH_GRAPH_COMPARE_COMPARISON_H
