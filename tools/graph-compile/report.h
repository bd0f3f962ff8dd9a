//===- report.h - What graph-compile prints ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_COMPILE_REPORT_H
#define TINH_GRAPH_COMPILE_REPORT_H

#include "compiler/Pipelines/Compile.h"
#include "compiler/Tuning/Tune.h"

namespace tinh::tools {

/// Dispatches and memory, of each function.
void printReport(const CompileReport &report);
/// Each kernel: its strategy, code size and compile time.
void printKernels(const CompileReport &report);
/// Where the time went.
void printTiming(const CompileReport &report);

/// What --tune has found.
void printTuning(const tuning::TuneReport &report);

} // namespace tinh::tools

#endif // TINH_GRAPH_COMPILE_REPORT_H
