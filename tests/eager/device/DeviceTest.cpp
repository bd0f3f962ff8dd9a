//===- DeviceTest.cpp - Tensors on a GPU ----------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each operation gives on the GPU what it gives on the CPU. The GPU is the one
// of tests/cuda/driver, which runs the real code.
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/engine.h"
#include "tinh/tensor.h"

#include <gtest/gtest.h>

using namespace tinh;

namespace {

const Device kGpu = Device::cuda(0);

Tensor numbers(const Shape &shape) {
  return (arange(shape.numel()) % 17 - 8).to(float32).reshape(shape) / 4;
}

TEST(DeviceTest, AddsAndPrints) {
  Tensor x = numbers({2, 3}), y = x.to(kGpu);
  EXPECT_TRUE(x.device().is_cpu());
  EXPECT_EQ(y.device(), kGpu);
  Tensor sum = y + y;
  EXPECT_EQ(sum.device(), kGpu);
  EXPECT_EQ(to_string(sum), to_string(x + x));
  EXPECT_EQ(sum.to_vector<float>(), (x + x).to_vector<float>());
}

} // namespace
