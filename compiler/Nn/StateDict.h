//===- StateDict.h - Tensors by name, checked -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_NN_STATEDICT_H
#define TINH_NN_STATEDICT_H

#include "compiler/Eager/Tensor/Support.h"
#include "tinh/state_dict.h"

namespace tinh::nn {

/// What a state that is loaded must have: a name, and a shape with -1 where any
/// extent will do.
struct ExpectedTensor {
  std::string name;
  Shape shape;
};

/// Throws, with the first of each kind, if names are missing or, if `strict`,
/// unexpected, or shapes differ.
void requireFits(const std::vector<ExpectedTensor> &expected,
                 const StateDict &state, bool strict, const eager::Call &call);

} // namespace tinh::nn

#endif // TINH_NN_STATEDICT_H
