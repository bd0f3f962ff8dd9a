//===- Gradients.cpp - Gradients of random programs -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "Gradients.h"

#include "tinh/autograd.h"
#include "tinh/runtime.hpp"

#include <string_view>

namespace tinh::test {

std::vector<Tensor> gradientsOf(const Program &program,
                                std::span<const Tensor> inputs) {
  std::vector<Tensor> leaves, starts;
  for (const Tensor &input : inputs) {
    starts.push_back(input);
    if (!input.dtype().is_floating_point())
      continue;
    leaves.push_back(requires_grad_(input.clone()));
    // Programs change their inputs, which leaves do not allow.
    starts.back() = leaves.back().clone();
  }
  Tensor loss = zeros({}, float64);
  double weight = 1;
  for (const Tensor &tensor : program.run(starts))
    if (tensor.dtype().is_floating_point() && tensor.numel() > 0)
      loss = loss + mean(tensor.to(float64)) * (weight += 0.25);
  return grad({&loss, 1}, leaves, {}, {{}, /*allow_unused=*/true});
}

bool hasGradients(const Program &program) {
  try {
    gradientsOf(program, makeInputs(program.seed));
    return true;
  } catch (const Error &error) {
    if (std::string_view(error.what()).find("changed in place since") ==
        std::string_view::npos)
      throw;
    return false;
  }
}

} // namespace tinh::test
