//===- Program.h - Programs over tensors, made from seeds -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is a list of steps on numbered tensors: each makes a tensor, a
// view, or changes one in place. It can be run again and again, which is what
// is compared.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_RANDOM_PROGRAMS_PROGRAM_H
#define TINH_TESTS_EAGER_RANDOM_PROGRAMS_PROGRAM_H

#include "tinh/tensor.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace tinh::test {

struct Step {
  /// An entry of the table of steps.
  size_t kind;
  /// The tensors that it uses, by number: inputs first, then what the steps
  /// before gave.
  std::vector<size_t> operands;
  /// Axes, starts, seeds: what the kind makes of them.
  std::vector<int64_t> numbers;
};

struct Program {
  uint64_t seed;
  std::vector<Step> steps;
  size_t numInputs;

  /// All tensors that the program leaves, inputs included.
  std::vector<Tensor> run(std::span<const Tensor> inputs) const;
  std::string describe() const;
};

/// The tensors that a program starts from: the same for equal seeds.
std::vector<Tensor> makeInputs(uint64_t seed);

/// A program of so many steps that is valid for makeInputs(seed). What its
/// results depend on is continuous in the numbers that it computes, so that
/// roundings do not add up.
Program makeProgram(uint64_t seed, size_t numSteps);

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_RANDOM_PROGRAMS_PROGRAM_H
