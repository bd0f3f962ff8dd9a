//===- choose_device_test.cpp - Contexts on the GPU or without --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// One artifact with code for both, on the fake driver; no_device_test.cpp is
// about machines that have none.
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/driver.h"
#include "tests/cuda/driver/driver_api.h"
#include "tinh/runtime.hpp"
#include "toy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using testing::HasSubstr;

namespace {

constexpr size_t kCount = 1024;
using Values = std::vector<float>;

class ChooseDevice : public testing::Test {
protected:
  ChooseDevice() {
    setenv("TINH_CUDA_DRIVER", FAKE_CUDA, 1);
    tinh_fake_cuda_configure("");
    options.threads = 2;
    for (size_t i = 0; i < kCount; ++i)
      x[i] = float(i % 64);
  }
  ~ChooseDevice() override { EXPECT_STREQ(tinh_fake_cuda_leaks(), ""); }

  tinh::Context open(tinh_use_device_t device, const char *artifact) {
    tinh::Module module = load(artifact);
    options.device = device;
    return tinh::Context(module, options);
  }
  tinh::Module load(const char *artifact) {
    toy.emplace(std::function<void(tinh_note_t &)>(), false, artifact);
    return tinh::Module(toy->path());
  }
  /// The sentence of the refusal, or nothing.
  std::string refusal(tinh_use_device_t device, const char *artifact) {
    try {
      open(device, artifact);
    } catch (const tinh::Error &error) {
      return error.what();
    }
    return "";
  }
  Values run(const tinh::Context &context, uint32_t function) {
    Values y(kCount);
    context.run({tinh::buffer(x)}, {tinh::buffer(y)}, function);
    return y;
  }
  static Values variable(const tinh::Context &context, uint32_t index) {
    Values values(kCount);
    context.read_variable(index, tinh::buffer(values));
    return values;
  }

  std::optional<Toy> toy;
  tinh::ContextOptions options;
  Values x = Values(kCount);
};

TEST_F(ChooseDevice, BothComputeTheSameAndSayWhichTheyAre) {
  tinh::Module module = load(BOTH_ARTIFACT);
  EXPECT_TRUE(module.info().has_cuda);
  EXPECT_FALSE(module.info().needs_cuda);
  EXPECT_EQ(module.info().state_size_without_gpu, 2 * kCount * 4);
  EXPECT_EQ(module.function_info(2).num_steps_without_gpu, 3u);
  tinh::Context any(module, options);
  options.device = TINH_USE_CPU;
  tinh::Context cpu(module, options);
  EXPECT_TRUE(any.info().uses_cuda);
  EXPECT_EQ(any.info().why_not_cuda, nullptr);
  EXPECT_FALSE(cpu.info().uses_cuda);
  EXPECT_STREQ(cpu.info().why_not_cuda, "the CPU was asked for");
  for (uint32_t function : {0, 1, 2, 2})
    EXPECT_EQ(run(any, function), run(cpu, function)) << function;
  for (uint32_t index : {0, 1})
    EXPECT_EQ(variable(any, index), variable(cpu, index)) << index;
}

TEST_F(ChooseDevice, AStateGoesFromOneToTheOther) {
  tinh::Module module = load(BOTH_ARTIFACT);
  tinh::Context gpu(module, options);
  options.device = TINH_USE_CPU;
  tinh::Context cpu(module, options);
  run(gpu, 2);
  std::string path = (toy->folder / "state").string();
  gpu.save_state(path);
  cpu.load_state(path);
  EXPECT_EQ(variable(cpu, 1), variable(gpu, 1));
  EXPECT_EQ(run(cpu, 2), run(gpu, 2));
  cpu.save_state(path);
  gpu.reset_state();
  gpu.load_state(path);
  EXPECT_EQ(run(cpu, 2), run(gpu, 2));
}

TEST_F(ChooseDevice, WhatCannotBeHadIsToldInOneSentence) {
  EXPECT_EQ(refusal(TINH_USE_CPU, CUDA_ARTIFACT),
            "the model 'gpu toy' has been compiled for GPUs alone; to run it "
            "on the CPU, compile it with --target=cpu,cuda");
  EXPECT_EQ(refusal(TINH_USE_CUDA, TOY_ARTIFACT),
            "the model 'toy' has no code for GPUs; compile it with "
            "--target=cuda or --target=cpu,cuda");
  EXPECT_EQ(refusal(TINH_USE_CUDA, BOTH_ARTIFACT), "");
  EXPECT_THAT(refusal(static_cast<tinh_use_device_t>(3), TOY_ARTIFACT),
              HasSubstr("none of the values of tinh_use_device_t"));
  tinh::CudaStream stream;
  options.cuda_stream = stream.handle();
  EXPECT_THAT(refusal(TINH_USE_CPU, BOTH_ARTIFACT),
              HasSubstr("on a stream of a GPU's"));
  EXPECT_EQ(refusal(TINH_USE_ANY, BOTH_ARTIFACT), "");
  options.cuda_stream = nullptr;
  options.cuda_device = 99;
  for (tinh_use_device_t device : {TINH_USE_ANY, TINH_USE_CUDA})
    EXPECT_THAT(refusal(device, BOTH_ARTIFACT),
                HasSubstr("there is no GPU 99"));
  EXPECT_EQ(refusal(TINH_USE_CPU, BOTH_ARTIFACT), "");
}

/// A GPU that the artifact has no code for is none; one without memory is one.
TEST_F(ChooseDevice, OnlyAGpuThatIsMissingIsReplaced) {
  tinh_fake_cuda_configure("fail=cuModuleLoadData:1:209");
  tinh::Context context = open(TINH_USE_ANY, BOTH_ARTIFACT);
  EXPECT_FALSE(context.info().uses_cuda);
  EXPECT_THAT(context.info().why_not_cuda, HasSubstr("has no code for"));
  Values y = run(context, 0);
  EXPECT_EQ(y[0], 2 * x[kCount - 1] + float(kCount - 1));
  tinh_fake_cuda_configure("fail=cuModuleLoadData:1:209");
  EXPECT_THAT(refusal(TINH_USE_CUDA, BOTH_ARTIFACT),
              HasSubstr("has no code for"));
  tinh_fake_cuda_configure("fail=cuMemAlloc_v2:1:2");
  EXPECT_THAT(refusal(TINH_USE_ANY, BOTH_ARTIFACT), HasSubstr("OUT_OF_MEMORY"));
}

TEST_F(ChooseDevice, MemoryOfTheGpuIsRefusedWhereTheCpuNeedsIt) {
  tinh::Context context = open(TINH_USE_ANY, CUDA_ARTIFACT);
  const tinh::runtime::cuda::Driver &driver = tinh::runtime::cuda::driver();
  tinh::runtime::cuda::CUcontext gpu;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&gpu, 0), 0);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(gpu), 0);
  tinh::runtime::cuda::CUdeviceptr address;
  ASSERT_EQ(driver.cuMemAlloc_v2(&address, kCount * 4), 0);
  ASSERT_EQ(driver.cuMemcpyHtoD_v2(address, x.data(), kCount * 4), 0);
  tinh_buffer_t on_gpu = {reinterpret_cast<void *>(address), kCount * 4};
  Values y(kCount);
  enum { kMain, kMixed };
  context.run({on_gpu}, {tinh::buffer(y)}, kMain); // The GPU alone has it.
  EXPECT_EQ(y, run(context, kMain));
  auto refused = [&](tinh_buffer_t in, tinh_buffer_t out) -> std::string {
    try {
      context.submit({in}, {out}, {}, kMixed).wait();
    } catch (const tinh::Error &error) {
      EXPECT_EQ(error.status(), TINH_INVALID_ARGUMENT);
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(refused(on_gpu, tinh::buffer(y)),
            "input 'x' of 'mixed' lies in GPU memory, but step 0, which the "
            "CPU does, reads it; give memory of the host");
  EXPECT_EQ(refused(tinh::buffer(x), on_gpu),
            "output 'y' of 'mixed' lies in GPU memory, but step 6, which the "
            "CPU does, writes it; give memory of the host");
  EXPECT_EQ(refused(tinh::buffer(x), tinh::buffer(y)), "");
  EXPECT_EQ(driver.cuMemFree_v2(address), 0);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&gpu), 0);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), 0);
}

} // namespace
