//===- Steps.h - What the steps of a program can be -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_RANDOM_PROGRAMS_STEPS_H
#define TINH_TESTS_EAGER_RANDOM_PROGRAMS_STEPS_H

#include "Program.h"

#include <optional>
#include <random>

namespace tinh::test {

class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}
  /// From 0 up to, not including, `bound`.
  int64_t below(int64_t bound) {
    return static_cast<int64_t>(engine() % static_cast<uint64_t>(bound));
  }
  bool chance(int percent) { return below(100) < percent; }

private:
  std::mt19937_64 engine;
};

using Tensors = std::vector<Tensor>;

/// Chooses operands among tensors that are there; nothing if none fit.
class Chooser {
public:
  Chooser(Random &random, std::span<const Tensor> tensors)
      : random(random), tensors(tensors) {}

  template <typename Predicate> std::optional<size_t> find(Predicate isRight) {
    std::vector<size_t> fitting;
    for (size_t i = 0; i < tensors.size(); ++i)
      if (isRight(tensors[i]))
        fitting.push_back(i);
    if (fitting.empty())
      return std::nullopt;
    return fitting[static_cast<size_t>(
        random.below(static_cast<int64_t>(fitting.size())))];
  }

  Random &random;
  std::span<const Tensor> tensors;
};

struct StepKind {
  const char *name;
  /// Operands and numbers for a step of this kind; nothing if there are none.
  std::optional<Step> (*choose)(Chooser &chooser);
  /// What the step gives; nothing is undefined: it changed an operand.
  Tensor (*run)(std::span<const Tensor> operands,
                std::span<const int64_t> numbers);
};

std::span<const StepKind> stepKinds();

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_RANDOM_PROGRAMS_STEPS_H
