//===- report.cpp - What graph-compile prints -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "report.h"

#include "llvm/Support/FormatVariadic.h"

#include <map>
#include <sys/resource.h>

namespace tinh::tools {

void printReport(const CompileReport &report) {
  auto line = [](const char *what, uint64_t value) {
    llvm::outs() << llvm::formatv("{0,-22} {1,14:N}\n", what, value);
  };
  line("distinct kernels", report.kernels);
  line("weights, bytes", report.weightsSize);
  if (report.stateSize)
    line("variables, bytes", report.stateSize);
  if (report.deviceStateSize)
    line("variables on the GPU", report.deviceStateSize);
  if (report.stateSizeWithoutGpu)
    line("variables without GPU", report.stateSizeWithoutGpu);
  for (const FunctionReport &function : report.functions) {
    if (report.functions.size() > 1)
      llvm::outs() << function.name
                   << (function.withoutGpu ? ", without a GPU\n" : "\n");
    line("dispatches", function.dispatches);
    line("arena, bytes", function.arenaSize);
    line("  without reuse", function.unplannedSize);
    line("  live-set lower bound", function.lowerBoundSize);
    if (function.deviceArenaSize) {
      line("GPU's arena, bytes", function.deviceArenaSize);
      line("  without reuse", function.deviceUnplannedSize);
      line("  live-set lower bound", function.deviceLowerBoundSize);
    }
    for (const RecomputationReport &done : report.recomputations)
      if (done.function == function.name && !function.withoutGpu) {
        line("  without the budget", done.unlimitedArenaSize);
        line("kernels repeated", done.kernels);
        llvm::outs() << llvm::formatv("{0,-22} {1,14:F1}\n",
                                      "  more arithmetic, %",
                                      100 * done.extraArithmetic);
      }
  }
}

void printTiming(const CompileReport &report) {
  for (auto &[stage, time] : report.milliseconds)
    llvm::outs() << llvm::formatv("{0,-28} {1,10:F1} ms\n", stage, time);
  size_t cached =
      llvm::count_if(report.compiledKernels,
                     [](const KernelReport &kernel) { return kernel.cached; });
  llvm::outs() << llvm::formatv("{0,-28} {1,10} of {2}\n",
                                "kernels from the cache", cached,
                                report.compiledKernels.size());
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  llvm::outs() << llvm::formatv("{0,-28} {1,10:N} KB\n", "peak memory",
                                usage.ru_maxrss);
}

void printKernels(const CompileReport &report) {
  for (const KernelReport &kernel : report.compiledKernels) {
    llvm::outs() << llvm::formatv("{0,-44} {1,-12} ", kernel.name,
                                  kernel.strategy);
    if (!kernel.image.empty())
      llvm::outs() << "with " << kernel.image << "\n";
    else
      llvm::outs() << llvm::formatv("{0,8:N} bytes {1,8:F1} ms{2}\n",
                                    kernel.codeSize, kernel.milliseconds,
                                    kernel.cached ? "  cached" : "");
  }
}

/// How far estimates are from times, of which they are a constant part at best:
/// all are related to the median of all.
static void printErrors(const tuning::StrategyErrors &errors) {
  std::vector<double> all;
  std::map<llvm::StringRef, std::vector<double>> sorted;
  for (const auto &each : errors.cyclesPerMicrosecond) {
    llvm::append_range(all, each.second);
    llvm::sort(sorted[each.first()] = each.second);
  }
  if (all.empty())
    return;
  llvm::sort(all);
  double median = all[all.size() / 2];
  llvm::outs() << "\nestimates over times, 1 being the median of all plans\n"
               << llvm::formatv("{0,-20} {1,6} {2,8} {3,8} {4,8}\n", "strategy",
                                "plans", "10 %", "median", "90 %");
  for (const auto &[strategy, ratios] : sorted) {
    auto at = [&, &ratios = ratios](double part) {
      return ratios[size_t(part * (ratios.size() - 1))] / median;
    };
    llvm::outs() << llvm::formatv("{0,-20} {1,6} {2,8:F2} {3,8:F2} {4,8:F2}\n",
                                  strategy, ratios.size(), at(0.1), at(0.5),
                                  at(0.9));
  }
}

void printTuning(const tuning::TuneReport &report) {
  llvm::outs() << llvm::formatv(
      "{0} plans of {1} kernels were tried; {2} kernels have others now\n",
      report.tried, report.kernels, report.tuned.size());
  for (const tuning::TunedKernel &kernel : report.tuned)
    llvm::outs() << llvm::formatv(
        "  {0}: {1:F1} us, {2:F1} us before\n    {3}\n    {4} before\n",
        kernel.name, kernel.microsecondsAfter, kernel.microsecondsBefore,
        kernel.after, kernel.before);
  if (report.microsecondsAfter > 0)
    llvm::outs() << llvm::formatv(
        "all steps: {0:F3} ms, {1:F3} ms before: {2:F2} times as fast\n",
        report.microsecondsAfter / 1e3, report.microsecondsBefore / 1e3,
        report.microsecondsBefore / report.microsecondsAfter);
  printErrors(report.errors);
}

} // namespace tinh::tools
