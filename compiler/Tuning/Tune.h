//===- Tune.h - Which plans are fastest here --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// In phase kernels each kernel has the plan that the machine model says costs
// least. Tuning tries those beside it:
//
// 1. Kernels come in the order of what their steps are estimated to take
//    together in function 0, until the time is over.
// 2. Of one, the strategies' plans and those that differ from the fastest so
// far
//    in one number or word are compiled, the cheapest by estimate first, and
//    timed in turns, the kernel alone, on random operands. If one is faster,
//    its neighbours are next.
// 3. The model is compiled with the plans that it had and with those found; its
//    steps are timed in turns, and a kernel whose steps are not faster in their
//    place keeps the plan that it had.
//
// What the file then has is the plans of all kernels that were looked at.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TUNING_TUNE_H
#define TINH_COMPILER_TUNING_TUNE_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Tuning/PlanFile.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace tinh::tuning {

struct TuneOptions {
  double seconds = 60;  ///< After which no other kernel is begun.
  unsigned threads = 0; ///< 0: as many as the process may use.
};

/// A kernel that is faster with another plan.
struct TunedKernel {
  std::string name, before, after; ///< Plans.
  double microsecondsBefore,
      microsecondsAfter; ///< In its place, all its steps.
};

/// How the times of all plans that were tried relate to their estimates.
struct StrategyErrors {
  /// Estimated cycles over measured microseconds, by strategy.
  llvm::StringMap<std::vector<double>> cyclesPerMicrosecond;
};

struct TuneReport {
  size_t kernels = 0,
         tried = 0; ///< That were looked at; plans that were timed.
  std::vector<TunedKernel> tuned;
  /// Of all steps of function 0 together, with the plans before and after.
  double microsecondsBefore = 0, microsecondsAfter = 0;
  StrategyErrors errors;
};

/// Gives kernels of a module in phase kernels, for a CPU whose code this one
/// runs, plans that were found to be faster, and adds these to `file`.
mlir::FailureOr<TuneReport> tune(mlir::ModuleOp module, PlanFile &file,
                                 const TuneOptions &tuning,
                                 const CompileOptions &compiling);

/// Where plans come from beside the machine model.
struct PlanSources {
  /// A file of plans: kernels that it knows get theirs. What tuning finds is
  /// added to it. Empty: none.
  std::string file;
  std::optional<TuneOptions> tune;
};

/// Sees to it that `options` compile with these plans; `report`, which may be
/// null, gets what tuning found. Both must live as long as what compiles.
void choosePlansFrom(const PlanSources &sources, CompileOptions &options,
                     std::optional<TuneReport> *report);

} // namespace tinh::tuning

#endif // TINH_COMPILER_TUNING_TUNE_H
