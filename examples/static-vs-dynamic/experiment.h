//===- experiment.h - Timing and tables for the experiments -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef EXPERIMENT_H
#define EXPERIMENT_H

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

/// Milliseconds since it was made.
class Stopwatch {
public:
  double ms() const {
    return std::chrono::duration<double, std::milli>(Clock::now() - start)
        .count();
  }

private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
};

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// The median of what `measure` gives in so many repetitions, after one more.
template <typename Measure> double medianOf(int repetitions, Measure measure) {
  measure();
  std::vector<double> values;
  for (int i = 0; i < repetitions; ++i)
    values.push_back(measure());
  return median(values);
}

/// A first column of names, then numbers; "-" where there is none (NaN).
class Table {
public:
  explicit Table(const std::vector<std::string> &titles) {
    std::printf("%-38s", titles[0].c_str());
    for (size_t i = 1; i < titles.size(); ++i)
      std::printf("%18s", titles[i].c_str());
    std::printf("\n");
  }
  void row(const std::string &name, const std::vector<double> &values,
           int digits = 3) {
    std::printf("%-38s", name.c_str());
    for (double value : values)
      if (std::isnan(value))
        std::printf("%18s", "-");
      else
        std::printf("%18.*f", digits, value);
    std::printf("\n");
  }
};

/// Whether the program was started with `option`.
inline bool hasOption(int argc, char **argv, const char *option) {
  return std::any_of(argv + 1, argv + argc, [&](const char *argument) {
    return std::strcmp(argument, option) == 0;
  });
}

#endif // EXPERIMENT_H
