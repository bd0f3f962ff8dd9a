//===- Stopwatch.h - Where the time went ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_STOPWATCH_H
#define TINH_PIPELINES_STOPWATCH_H

#include "tinh/compiler.h"

#include <chrono>

namespace tinh {

/// Times a stage into the report, from its construction to its destruction.
class Stopwatch {
public:
  Stopwatch(CompileReport &report, std::string stage)
      : report(report), stage(std::move(stage)),
        start(std::chrono::steady_clock::now()) {}
  ~Stopwatch() {
    std::chrono::duration<double, std::milli> time =
        std::chrono::steady_clock::now() - start;
    report.milliseconds.push_back({stage, time.count()});
  }
  Stopwatch(const Stopwatch &) = delete;
  Stopwatch &operator=(const Stopwatch &) = delete;

private:
  CompileReport &report;
  std::string stage;
  std::chrono::steady_clock::time_point start;
};

} // namespace tinh

#endif // TINH_PIPELINES_STOPWATCH_H
