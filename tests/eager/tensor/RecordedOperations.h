//===- RecordedOperations.h - Operations by name ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_TENSOR_RECORDEDOPERATIONS_H
#define TINH_TESTS_EAGER_TENSOR_RECORDEDOPERATIONS_H

#include "tinh/tensor.h"

#include <functional>
#include <map>
#include <string>

namespace tinh::test {

using Inputs = std::vector<Tensor>;
using Operation = std::function<Tensor(const Inputs &)>;

/// What record.py says in Python, in C++.
const std::map<std::string, Operation> &recordedOperations();

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_TENSOR_RECORDEDOPERATIONS_H
