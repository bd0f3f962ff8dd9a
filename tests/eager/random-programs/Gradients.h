//===- Gradients.h - Gradients of random programs ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_RANDOM_PROGRAMS_GRADIENTS_H
#define TINH_TESTS_EAGER_RANDOM_PROGRAMS_GRADIENTS_H

#include "Program.h"

namespace tinh::test {

/// The gradients of the means of all tensors that the program leaves, each with
/// a weight of its own, by the floating-point inputs.
std::vector<Tensor> gradientsOf(const Program &program,
                                std::span<const Tensor> inputs);

/// Whether the tape can give them: a program may change what they need.
bool hasGradients(const Program &program);

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_RANDOM_PROGRAMS_GRADIENTS_H
