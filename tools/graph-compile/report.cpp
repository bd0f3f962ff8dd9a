//===- report.cpp - What graph-compile prints -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "report.h"

#include "llvm/Support/FormatVariadic.h"

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

} // namespace tinh::tools
