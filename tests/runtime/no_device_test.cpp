//===- no_device_test.cpp - Artifacts for GPUs where there is none --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <cstdlib>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

class NoDevice : public testing::Test {
protected:
  NoDevice() { setenv("TINH_CUDA_DRIVER", "/nowhere/libcuda.so.1", 1); }
  ~NoDevice() override { unsetenv("TINH_CUDA_DRIVER"); }
};

TEST_F(NoDevice, IsToldInOneSentenceWhenAContextIsMade) {
  Toy toy{{}, false, CUDA_ARTIFACT};
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
      << tinh_last_error();
  tinh_module_info_t info;
  ASSERT_EQ(tinh_module_info(module, &info), TINH_OK);
  EXPECT_TRUE(info.needs_cuda);
  EXPECT_EQ(tinh_context_create(module, nullptr, &context), TINH_NO_DEVICE);
  EXPECT_STREQ(tinh_last_error(),
               "the model 'gpu toy' needs an NVIDIA GPU: there is no CUDA "
               "driver: /nowhere/libcuda.so.1: cannot open shared object file: "
               "No such file or directory");
  tinh_module_release(module);
}

TEST_F(NoDevice, LeavesWhatHasCodeForBothToTheCpu) {
  Toy toy{{}, false, BOTH_ARTIFACT};
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
      << tinh_last_error();
  ASSERT_EQ(tinh_context_create(module, nullptr, &context), TINH_OK)
      << tinh_last_error();
  tinh_context_info_t info;
  ASSERT_EQ(tinh_context_info(context, &info), TINH_OK);
  EXPECT_FALSE(info.uses_cuda);
  EXPECT_EQ(std::string(info.why_not_cuda).rfind("there is no CUDA driver", 0),
            0u)
      << info.why_not_cuda;
  std::vector<float> x(1024, 1), y(1024);
  tinh_buffer_t in = {x.data(), 4096}, out = {y.data(), 4096};
  EXPECT_EQ(tinh_context_run(context, 0, &in, 1, &out, 1), TINH_OK);
  EXPECT_EQ(y[0], 2 + 1023);
  tinh_context_release(context);
  tinh_context_options_t options;
  tinh_context_options_init(&options);
  options.device = TINH_USE_CUDA;
  EXPECT_EQ(tinh_context_create(module, &options, &context), TINH_NO_DEVICE);
  tinh_module_release(module);
}

TEST_F(NoDevice, IsNothingToAnArtifactForTheCpu) {
  Toy toy;
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK);
  tinh_module_info_t info;
  ASSERT_EQ(tinh_module_info(module, &info), TINH_OK);
  EXPECT_FALSE(info.needs_cuda);
  EXPECT_EQ(tinh_context_create(module, nullptr, &context), TINH_OK);
  tinh_context_release(context);
  tinh_module_release(module);
  uint32_t count;
  EXPECT_EQ(tinh_cuda_device_count(&count), TINH_NO_DEVICE);
}

} // namespace
