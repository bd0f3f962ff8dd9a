//===- DeviceTesting.h - What tests of GPUs share ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_DEVICE_DEVICETESTING_H
#define TINH_TESTS_EAGER_DEVICE_DEVICETESTING_H

#include "tinh/tensor.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

inline constexpr tinh::Device kGpu = tinh::Device::cuda(0);

/// Of both signs, none of them 0.
inline tinh::Tensor numbers(const tinh::Shape &shape) {
  tinh::Tensor count = tinh::arange(shape.numel());
  return (count * 7 % 17 - 8.25).to(tinh::float32).reshape(shape) / 4;
}

inline void expectNear(const tinh::Tensor &found, const tinh::Tensor &expected,
                       const std::string &what, float tolerance = 1e-5f) {
  ASSERT_EQ(found.shape(), expected.shape()) << what;
  std::vector<float> a = found.to_vector<float>(),
                     b = expected.to_vector<float>();
  for (size_t i = 0; i < a.size(); ++i)
    ASSERT_NEAR(a[i], b[i], tolerance * std::max(1.0f, std::abs(b[i])))
        << what << " at " << i;
}

/// `function` on the GPU gives what it gives on the CPU.
inline void
compare(const std::string &what, const std::vector<tinh::Tensor> &operands,
        const std::function<tinh::Tensor(const std::vector<tinh::Tensor> &)>
            &function) {
  SCOPED_TRACE(what);
  std::vector<tinh::Tensor> moved;
  for (const tinh::Tensor &operand : operands)
    moved.push_back(operand.to(kGpu));
  tinh::Tensor found;
  try {
    found = function(moved);
    EXPECT_EQ(found.device(), kGpu);
    expectNear(found, function(operands), what);
  } catch (const tinh::Error &error) {
    ADD_FAILURE() << what << ": " << error.what();
  }
}

inline void expectError(const std::function<void()> &action,
                        const std::string &part,
                        const std::string &other = "") {
  try {
    action();
    ADD_FAILURE() << "nothing is wrong, where \"" << part << "\" is expected";
  } catch (const tinh::Error &error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(part));
    EXPECT_THAT(error.what(), testing::HasSubstr(other));
  }
}

#endif // TINH_TESTS_EAGER_DEVICE_DEVICETESTING_H
