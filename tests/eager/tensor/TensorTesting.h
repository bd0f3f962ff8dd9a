//===- TensorTesting.h - What tests of tensors share ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_TENSOR_TENSORTESTING_H
#define TINH_TESTS_EAGER_TENSOR_TENSORTESTING_H

#include "compiler/Eager/Backend.h"
#include "tinh/tensor.h"

#include <gtest/gtest.h>

namespace tinh::test {

/// The one that the tests run on, for threads that they start.
eager::Backend &backendOfTests();

template <typename T> std::vector<T> values(const Tensor &x) {
  return x.to_vector<T>();
}
inline std::vector<double> reals(const Tensor &x) { return values<double>(x); }
inline std::vector<int64_t> integers(const Tensor &x) {
  return values<int64_t>(x);
}

using Reals = std::vector<double>;
using Integers = std::vector<int64_t>;

/// The message of the error that `body` throws; "" if it throws none.
template <typename Body> std::string errorOf(Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT) << error.what();
    return error.what();
  }
  return "";
}

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_TENSOR_TENSORTESTING_H
