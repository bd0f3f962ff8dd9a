//===- Expect.h - Expectations about tensors --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_FUNCTION_EXPECT_H
#define TINH_TESTS_EAGER_FUNCTION_EXPECT_H

#include "tinh/tensor.h"

#include <gtest/gtest.h>

namespace tinh::test {

/// Some f32 numbers in ±scale.
inline Tensor numbers(const Shape &shape, double scale = 1) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return (sin(arange(count).to(float32) * 1.7) * scale).reshape(shape);
}

inline void expectValues(const Tensor &tensor,
                         const std::vector<double> &expected) {
  std::vector<double> found = tensor.to_vector<double>();
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(found[i], expected[i], 1e-5) << "element " << i;
}

inline void expectClose(const Tensor &found, const Tensor &expected) {
  EXPECT_EQ(to_string(found.shape()), to_string(expected.shape()));
  expectValues(found, expected.to_vector<double>());
}

/// Expects an error whose message has `part` in it.
template <typename Action>
void expectError(Action action, const std::string &part) {
  try {
    action();
    FAIL() << "no error; expected one with: " << part;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what();
  }
}

} // namespace tinh::test

#endif // TINH_TESTS_EAGER_FUNCTION_EXPECT_H
