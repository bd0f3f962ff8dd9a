//===- check_library_test.cpp - Library calls that make no sense ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each check changes one thing in what a kernel tells libraries; what a library
// would then read or write must still lie within the operands.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include <functional>
#include <gtest/gtest.h>
#include <random>

using namespace tinh::runtime;

namespace {

/// A kernel and what it is to a library.
struct Kernel {
  std::vector<std::vector<int64_t>> dims, strides;
  std::vector<tinh_operand_desc_t> operands;
  tinh_library_call_t call = {};

  tinh_view_t add(std::vector<int64_t> shape, bool written,
                  std::vector<int64_t> view, std::vector<int64_t> steps) {
    int64_t size = 1;
    for (int64_t extent : shape)
      size *= extent;
    dims.push_back({size});
    strides.push_back({1});
    operands.push_back({TINH_DTYPE_F32, written, 1, nullptr, nullptr});
    tinh_view_t result = {};
    result.operand = static_cast<uint32_t>(operands.size() - 1);
    result.rank = static_cast<uint32_t>(view.size());
    std::copy(view.begin(), view.end(), result.dims);
    std::copy(steps.begin(), steps.end(), result.strides);
    return result;
  }

  bool valid() {
    for (size_t i = 0; i < operands.size(); ++i) {
      operands[i].dims = dims[i].data();
      operands[i].strides = strides[i].data();
    }
    tinh_kernel_desc_t kernel = {};
    kernel.num_operands = static_cast<uint32_t>(operands.size());
    kernel.operands = operands.data();
    kernel.library = &call;
    return valid_library_call(kernel);
  }
};

Kernel product() {
  Kernel k;
  k.call.left = k.add({2, 5, 7}, false, {2, 5, 7}, {35, 7, 1});
  k.call.right = k.add({2, 3, 7}, false, {2, 7, 3}, {21, 1, 7});
  k.call.bias = k.add({3}, false, {2, 5, 3}, {0, 0, 1});
  k.call.residual = k.add({2, 5, 3}, false, {2, 5, 3}, {15, 3, 1});
  k.call.result = k.add({2, 5, 3}, true, {2, 5, 3}, {15, 3, 1});
  return k;
}

Kernel convolution() {
  Kernel k;
  k.call.kind = TINH_LIBRARY_CONVOLUTION;
  k.call.left = k.add({2, 9, 9, 8}, false, {2, 8, 9, 9}, {648, 1, 72, 8});
  k.call.right = k.add({6, 3, 3, 4}, false, {6, 4, 3, 3}, {36, 1, 12, 4});
  k.call.bias = k.add({6}, false, {2, 6, 5, 5}, {0, 1, 0, 0});
  k.call.residual.operand = TINH_NO_OPERAND;
  k.call.result = k.add({2, 5, 5, 6}, true, {2, 6, 5, 5}, {150, 1, 30, 6});
  for (int d : {0, 1}) {
    k.call.low[d] = k.call.high[d] = k.call.dilations[d] = 1;
    k.call.strides[d] = 2;
  }
  return k;
}

using Change = std::function<void(Kernel &)>;

bool accepts(Kernel kernel, const Change &change) {
  change(kernel);
  return kernel.valid();
}

const Change kNothing = [](Kernel &) {};

TEST(CheckLibrary, Valid) {
  EXPECT_TRUE(accepts(product(), kNothing));
  EXPECT_TRUE(accepts(convolution(), kNothing));
}

TEST(CheckLibrary, Operands) {
  for (const Kernel &kernel : {product(), convolution()}) {
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { k.call.left.operand = 5; }));
    EXPECT_FALSE(accepts(
        kernel, [](Kernel &k) { k.call.result.operand = TINH_NO_OPERAND; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) {
      k.call.left.operand = k.call.result.operand;
    }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { k.operands[1].written = 1; }));
    EXPECT_FALSE(accepts(
        kernel, [](Kernel &k) { k.operands[0].dtype = TINH_DTYPE_F16; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) {
      for (tinh_operand_desc_t &operand : k.operands)
        operand.dtype = TINH_DTYPE_F64;
    }));
    // One element less than is read.
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { --k.dims[0][0]; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { --k.dims[2][0]; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { --k.dims.back()[0]; }));
  }
}

TEST(CheckLibrary, Views) {
  for (const Kernel &kernel : {product(), convolution()}) {
    for (int64_t wrong : {int64_t(0), int64_t(-1), INT64_MAX, int64_t(1) << 33})
      EXPECT_FALSE(
          accepts(kernel, [&](Kernel &k) { k.call.left.dims[0] = wrong; }));
    for (int64_t wrong : {int64_t(-1), INT64_MAX, INT64_MIN})
      EXPECT_FALSE(
          accepts(kernel, [&](Kernel &k) { k.call.left.strides[0] = wrong; }));
    for (uint32_t rank : {0u, 2u, 6u, UINT32_MAX})
      EXPECT_FALSE(
          accepts(kernel, [&](Kernel &k) { k.call.left.rank = rank; }));
    EXPECT_FALSE(
        accepts(kernel, [](Kernel &k) { k.call.bias.strides[2] = 5; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { ++k.call.bias.dims[1]; }));
  }
}

TEST(CheckLibrary, Calls) {
  for (const Kernel &kernel : {product(), convolution()}) {
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { k.call.kind = 2; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { k.call.activation = 3; }));
    EXPECT_FALSE(accepts(kernel, [](Kernel &k) { k.call.allow_tf32 = 2; }));
  }
}

TEST(CheckLibrary, Matrices) {
  EXPECT_FALSE(accepts(product(), [](Kernel &k) { k.call.left.dims[2] = 6; }));
  EXPECT_FALSE(accepts(product(), [](Kernel &k) { k.call.right.dims[2] = 2; }));
  // Neither rows nor columns, and lines that overlap.
  EXPECT_FALSE(
      accepts(product(), [](Kernel &k) { k.call.right.strides[1] = 2; }));
  EXPECT_FALSE(
      accepts(product(), [](Kernel &k) { k.call.left.strides[1] = 6; }));
  EXPECT_FALSE(accepts(product(), [](Kernel &k) {
    std::swap(k.call.result.strides[1], k.call.result.strides[2]);
  }));
}

TEST(CheckLibrary, Windows) {
  for (int64_t wrong : {int64_t(-1), int64_t(5), INT64_MAX, INT64_MIN}) {
    EXPECT_FALSE(
        accepts(convolution(), [&](Kernel &k) { k.call.low[0] = wrong; }));
    EXPECT_FALSE(
        accepts(convolution(), [&](Kernel &k) { k.call.high[1] = wrong; }));
    EXPECT_FALSE(
        accepts(convolution(), [&](Kernel &k) { k.call.strides[0] = wrong; }));
    EXPECT_FALSE(accepts(convolution(),
                         [&](Kernel &k) { k.call.dilations[1] = wrong; }));
  }
  EXPECT_FALSE(
      accepts(convolution(), [](Kernel &k) { k.call.strides[0] = 0; }));
  // Channels that are no groups.
  EXPECT_FALSE(
      accepts(convolution(), [](Kernel &k) { k.call.right.dims[1] = 3; }));
}

/// Whatever is in it, it is refused or lies within the operands, and nothing
/// overflows.
TEST(CheckLibrary, Garbage) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    Kernel kernel = i % 2 ? product() : convolution();
    auto *words = reinterpret_cast<uint32_t *>(&kernel.call);
    for (int n = 0; n < 1 + i % 3; ++n)
      words[random() % (sizeof kernel.call / 4)] =
          static_cast<uint32_t>(random() >> (random() % 64));
    if (!kernel.valid())
      continue;
    for (const tinh_view_t *view : {&kernel.call.left, &kernel.call.right,
                                    &kernel.call.result, &kernel.call.bias}) {
      if (view->operand == TINH_NO_OPERAND)
        continue;
      int64_t last = 0;
      for (uint32_t d = 0; d < view->rank; ++d)
        last += (view->dims[d] - 1) * view->strides[d];
      EXPECT_LT(last, kernel.dims[view->operand][0]);
    }
  }
}

} // namespace
