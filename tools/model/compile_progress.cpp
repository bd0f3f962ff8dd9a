//===- compile_progress.cpp - Says what a compilation is doing --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compile_progress.h"

using namespace mlir;

namespace tinh::tools {

void showCompiling(Progress &progress, CompileOptions &options) {
  progress.show("reading the model");
  options.progress = [&progress](const char *what, size_t done, size_t total) {
    progress.show(what, done, total);
  };
  options.phases.before =
      [&progress, told = options.phases.before](ModuleOp module, Phase phase) {
        auto next = static_cast<Phase>(static_cast<int>(phase) + 1);
        progress.show("phase " + phaseName(next).str());
        if (told)
          told(module, phase);
      };
}

void showTuning(Progress &progress, CompileOptions &options, double seconds) {
  options.phases.choosePlans =
      [&progress, seconds,
       choose = options.phases.choosePlans](ModuleOp module) {
        progress.show_seconds("tuning", seconds);
        return choose(module);
      };
}

ErasingHandler::ErasingHandler(MLIRContext *context, Progress &progress)
    : ScopedDiagnosticHandler(context, [&progress](Diagnostic &) {
        progress.erase();
        return failure(); // Others print it.
      }) {}

} // namespace tinh::tools
