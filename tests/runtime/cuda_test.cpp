//===- cuda_test.cpp - Runs that use a GPU ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/driver.h"
#include "cuda_runs.h"
#include "tinh/profile.h"
#include "tinh/safetensors.h"

#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <thread>

using testing::HasSubstr;
using testing::Not;

namespace {

TEST_F(CudaRuns, ComputeInAnyOrderThatIsLeftOpen) {
  for (const char *settings :
       {"", "schedule=newest", "schedule=1", "schedule=2"})
    for (uint32_t threads : {1, 2, 4}) {
      tinh_fake_cuda_configure(settings);
      options.threads = threads;
      ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
      for (Function function :
           {kMain, kMixed, kLoop, kWhile, kBranch, kShared, kCpu})
        for (float seed : {3.f, 200.f, 1.f})
          check(function, seed);
      check(kTrain, 5);
    }
}

TEST_F(CudaRuns, GoStepByStepOnAPoolOfTheProgram) {
  options.parallel_for = [](void *, uint32_t count,
                            void (*task)(void *, uint32_t), void *argument) {
    for (uint32_t i = 0; i < count; ++i)
      task(argument, i);
  };
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  for (Function function :
       {kMain, kMixed, kTrain, kLoop, kWhile, kBranch, kShared, kCpu})
    check(function, 3);
}

TEST_F(CudaRuns, AreOneGraphLaunchWithoutWaitingOrAllocating) {
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  Values x = input(1);
  std::vector<Values> y(3, Values(kCount));
  tinh_fake_cuda_configure("");
  for (Values &each : y)
    tinh_future_release(submit(kMain, x, each));
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  for (const Values &each : y)
    EXPECT_EQ(each, expected(kMain, x));
  EXPECT_EQ(count("cuGraphLaunch"), 3u);
  for (const char *call :
       {"Alloc", "cuModule", "cuGraphInstantiate", "cuGraphAdd", "SetParams",
        "cuLaunchKernel", "cuMemcpy", "cuStreamSynchronize", "Create"})
    EXPECT_EQ(count(call), 0u) << call << " in\n" << log();
}

TEST_F(CudaRuns, OverlapWithTheCpu) {
  options.threads = 2;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  tinh_fake_cuda_configure("");
  check(kMixed, 2);
  // What does not need the CPU goes first; then, without waiting, what does.
  std::string all = log();
  size_t first = all.find("cuGraphLaunch"),
         second = all.find("cuGraphLaunch", first + 1);
  ASSERT_NE(second, std::string::npos) << all;
  EXPECT_EQ(all.substr(0, second).find("synchronises"), std::string::npos)
      << all;
  EXPECT_EQ(count("cuGraphLaunch"), 2u);
}

TEST_F(CudaRuns, KeepVariablesOnTheGpu) {
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  Values x = input(1), y(kCount), sum(kCount), total(kCount);
  for (size_t i = 0; i < kCount; ++i)
    sum[i] = float(i);
  EXPECT_EQ(variable(0), sum);
  std::vector<tinh_future_t *> futures;
  for (int step = 0; step < 5; ++step) {
    futures.push_back(submit(kTrain, x, y));
    for (size_t i = 0; i < kCount; ++i) {
      sum[i] += x[i];
      total[i] += sum[i];
    }
  }
  for (tinh_future_t *future : futures) {
    EXPECT_EQ(tinh_future_wait(future), TINH_OK) << tinh_last_error();
    tinh_future_release(future);
  }
  EXPECT_EQ(y, sum);
  EXPECT_EQ(variable(0), sum);
  EXPECT_EQ(variable(1), total);

  std::string path = (toy.folder / "state.safetensors").string();
  ASSERT_EQ(tinh_context_save_state(context, path.c_str(), nullptr, 0), TINH_OK)
      << tinh_last_error();
  Values other = input(9);
  ASSERT_EQ(tinh_context_write_variable(context, 0, other.data(), kCount * 4),
            TINH_OK);
  EXPECT_EQ(variable(0), other);
  ASSERT_EQ(tinh_context_reset_state(context), TINH_OK);
  EXPECT_EQ(variable(0)[7], 7);
  EXPECT_EQ(variable(1)[7], 0);
  ASSERT_EQ(tinh_context_load_state(context, path.c_str()), TINH_OK)
      << tinh_last_error();
  EXPECT_EQ(variable(0), sum);
  EXPECT_EQ(variable(1), total);

  tinh_buffer_t in = {x.data(), kCount * 4}, out = {y.data(), kCount * 4};
  tinh_buffer_t given[] = {in, in};
  tinh_run_options_t with = {given, 2};
  EXPECT_EQ(tinh_context_run_with(context, kTrain, &in, 1, &out, 1, &with),
            TINH_INVALID_ARGUMENT);
  EXPECT_THAT(tinh_last_error(), HasSubstr("'sum' lies on the GPU"));
}

TEST_F(CudaRuns, MayComeFromManyThreads) {
  options.max_in_flight = 8;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([this, t] {
      for (int i = 0; i < 10; ++i) {
        auto function = static_cast<Function>((t + i) % (kCpu + 1));
        if (function == kTrain)
          function = kMain;
        Values x = input(float(t * 10 + i + 1)), y(kCount);
        ASSERT_EQ(run(function, x, y), TINH_OK) << tinh_last_error();
        EXPECT_EQ(y, expected(function, x)) << function;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(CudaRuns, UsePinnedMemoryOfTheCallerItself) {
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  const tinh::runtime::cuda::Driver &driver = tinh::runtime::cuda::driver();
  tinh::runtime::cuda::CUcontext gpu;
  ASSERT_EQ(driver.cuDevicePrimaryCtxRetain(&gpu, 0), 0);
  ASSERT_EQ(driver.cuCtxPushCurrent_v2(gpu), 0);
  void *memory[2];
  for (void *&each : memory)
    ASSERT_EQ(driver.cuMemHostAlloc(&each, kCount * 4, 0), 0);
  Values x = input(2), y(kCount);
  for (bool pinned : {true, false, true, true}) {
    SCOPED_TRACE(pinned);
    std::memcpy(memory[0], x.data(), kCount * 4);
    std::memset(memory[1], 0, kCount * 4);
    y.assign(kCount, 0);
    tinh_fake_cuda_configure("");
    tinh_buffer_t in = {pinned ? memory[0] : x.data(), kCount * 4},
                  out = {pinned ? memory[1] : y.data(), kCount * 4};
    ASSERT_EQ(tinh_context_run(context, kMain, &in, 1, &out, 1), TINH_OK)
        << tinh_last_error();
    if (pinned)
      std::memcpy(y.data(), memory[1], kCount * 4);
    EXPECT_EQ(y, expected(kMain, x));
  }
  // The last run had the addresses of the one before.
  EXPECT_EQ(count("SetParams"), 0u) << log();
  for (Function function : {kMixed, kLoop, kTrain}) {
    tinh_buffer_t in = {memory[0], kCount * 4}, out = {memory[1], kCount * 4};
    ASSERT_EQ(tinh_context_run(context, function, &in, 1, &out, 1), TINH_OK);
    std::memcpy(y.data(), memory[1], kCount * 4);
    EXPECT_EQ(y, expected(function, x)) << function;
  }
  for (void *each : memory)
    EXPECT_EQ(driver.cuMemFreeHost(each), 0);
  EXPECT_EQ(driver.cuCtxPopCurrent_v2(&gpu), 0);
  EXPECT_EQ(driver.cuDevicePrimaryCtxRelease_v2(0), 0);
}

TEST_F(CudaRuns, TakeOtherWeights) {
  std::string path = (toy.folder / "w.safetensors").string();
  Values w(kCount, 0.5f), x = input(2), y(kCount);
  const int64_t dims[] = {kCount};
  tinh_safetensors_tensor_t tensor = {
      {"w", TINH_DTYPE_F32, 1, dims, kCount * 4}, w.data(), 0};
  ASSERT_EQ(tinh_safetensors_write(path.c_str(), &tensor, 1, nullptr, 0),
            TINH_OK)
      << tinh_last_error();
  tinh_module_t *with_them = nullptr;
  ASSERT_EQ(tinh_module_with_weights(module, path.c_str(), &with_them), TINH_OK)
      << tinh_last_error();
  std::swap(module, with_them);
  tinh_module_release(with_them);
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  ASSERT_EQ(run(kMain, x, y), TINH_OK) << tinh_last_error();
  for (size_t i = 0; i < kCount; ++i)
    EXPECT_EQ(y[i], 2 * x[kCount - 1 - i] + 0.5f);
}

TEST_F(CudaRuns, ShareKernelsAndWeightsAmongContexts) {
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  tinh_fake_cuda_configure("");
  tinh_context_t *other = nullptr;
  ASSERT_EQ(tinh_context_create(module, &options, &other), TINH_OK);
  EXPECT_EQ(count("cuModuleLoadData"), 0u);
  EXPECT_EQ(count("cuMemcpyHtoD_v2 4096"), 0u);
  tinh_context_release(other);
  check(kMain, 4);
}

TEST_F(CudaRuns, AreInTheTrace) {
  std::string path = (toy.folder / "trace.json").string();
  options.trace_path = path.c_str();
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  check(kMain, 1);
  check(kMixed, 1);
  check(kWhile, 1); // Seven times: 128 is not less than 100.
  close();
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, HasSubstr("\"name\":\"GPU\""));
  EXPECT_THAT(text, HasSubstr("\"name\":\"copy and 3 more\""));
  EXPECT_THAT(text, HasSubstr("\"name\":\"launch\""));
  EXPECT_THAT(text, HasSubstr("\"name\":\"wait for the GPU\""));
  size_t count = 0;
  for (size_t at = 0;
       (at = text.find("\"name\":\"is_small\"", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 8u) << text;
}

TEST_F(CudaRuns, AreInAProfile) {
  options.measure_steps = true;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  for (int i = 0; i < 3; ++i) {
    check(kMain, 1);
    check(kMixed, 1);
    check(kWhile, 1);
  }
  auto step = [&](Function function, uint32_t number) {
    tinh_step_profile_t profile = {};
    EXPECT_EQ(tinh_context_step_profile(context, function, number, &profile),
              TINH_OK)
        << tinh_last_error();
    return profile;
  };
  // All four steps are one graph, whose time the first one has.
  EXPECT_TRUE(step(kMain, 0).on_cuda);
  EXPECT_EQ(step(kMain, 0).kind, TINH_STEP_COPY);
  EXPECT_EQ(step(kMain, 0).num_steps_timed, 4u);
  EXPECT_EQ(step(kMain, 0).runs, 3u);
  EXPECT_STREQ(step(kMain, 1).kernel, "scale_add");
  EXPECT_EQ(step(kMain, 1).num_steps_timed, 0u);
  EXPECT_FALSE(step(kMixed, 0).on_cuda);
  EXPECT_EQ(step(kMixed, 0).num_steps_timed, 1u);
  EXPECT_GT(step(kMixed, 0).work_ms, 0);
  // In a loop they go to the GPU one by one: seven times, 128 is not less.
  EXPECT_EQ(step(kWhile, 2).num_steps_timed, 1u);
  EXPECT_EQ(step(kWhile, 2).executions, 3 * 8u);
  EXPECT_EQ(step(kWhile, 2).work_ms, 0);
  EXPECT_EQ(step(kWhile, 5).executions, 3 * 7u);
}

TEST_F(CudaRuns, SayWhereANumberWentWrong) {
  options.check_numerics = TINH_CHECK_NANS_AND_INFINITIES;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  check(kMain, 1);
  check(kMixed, 1);
  Values x = input(1), y(kCount);
  x[17] = 3e38f; // Twice as much is none.
  EXPECT_EQ(run(kMain, x, y), TINH_NOT_FINITE);
  EXPECT_THAT(tinh_last_error(),
              HasSubstr("kernel 'scale_add', of the nodes 'SCALE_ADD', gave "
                        "infinity at [17]"));
  check(kMain, 1);
}

TEST_F(CudaRuns, TellHowLongTheGpuTook) {
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  double time = -1;
  check(kMain, 1);
  EXPECT_EQ(tinh_context_cuda_time(context, &time), TINH_INVALID_ARGUMENT);
  EXPECT_THAT(tinh_last_error(), HasSubstr("no run of the context has been "
                                           "measured on a GPU"));
  options.measure_cuda = true;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  EXPECT_EQ(tinh_context_cuda_time(context, &time), TINH_INVALID_ARGUMENT);
  check(kMain, 1);
  EXPECT_EQ(tinh_context_cuda_time(context, &time), TINH_OK);
  EXPECT_GE(time, 0);
}

/// While what executes runs is taken down, whose thread the callback keeps.
TEST_F(CudaRuns, TellCallbacksHowLongTheGpuTookDuringRelease) {
  options.measure_cuda = true;
  ASSERT_EQ(open(), TINH_OK) << tinh_last_error();
  struct Callback {
    tinh_context_t *context;
    std::atomic<bool> called{false};
    int times = 0;
  } callback{context};
  auto ask = [](void *user, tinh_status_t, const char *) {
    Callback &self = *static_cast<Callback *>(user);
    self.called = true;
    auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    double time = -1;
    while (std::chrono::steady_clock::now() < end)
      self.times +=
          tinh_context_cuda_time(self.context, &time) == TINH_OK && time >= 0;
  };
  Values x = input(1), y(kCount);
  tinh_future_t *future = submit(kMain, x, y);
  ASSERT_EQ(tinh_future_then(future, ask, &callback), TINH_OK);
  while (!callback.called)
    std::this_thread::yield();
  close();
  EXPECT_GT(callback.times, 0);
  tinh_future_release(future);
}

TEST_F(CudaRuns, TellOfTheirMemory) {
  tinh_module_info_t of_module;
  ASSERT_EQ(tinh_module_info(module, &of_module), TINH_OK);
  EXPECT_TRUE(of_module.needs_cuda);
  EXPECT_EQ(of_module.device_state_size, 4096u);
  tinh_function_info_t function;
  ASSERT_EQ(tinh_module_function_info(module, kMain, &function), TINH_OK);
  EXPECT_EQ(function.device_arena_size, 4 * 4096u);
  ASSERT_EQ(open(), TINH_OK);
  tinh_context_info_t info;
  ASSERT_EQ(tinh_context_info(context, &info), TINH_OK);
  EXPECT_TRUE(info.uses_cuda);
  EXPECT_EQ(info.device_arena_size, 4 * 4096u);
  EXPECT_EQ(info.num_arenas, 2u);
  uint32_t num_devices = 0;
  ASSERT_EQ(tinh_cuda_device_count(&num_devices), TINH_OK);
  ASSERT_GE(num_devices, 1u);
  tinh_cuda_device_info_t device;
  ASSERT_EQ(tinh_cuda_device_info(0, &device), TINH_OK);
  EXPECT_GE(device.compute_major, 7u);
  EXPECT_NE(device.memory_size, 0u);
  EXPECT_EQ(tinh_cuda_device_info(num_devices, &device), TINH_INVALID_ARGUMENT);
  options.cuda_device = num_devices;
  EXPECT_EQ(open(), TINH_INVALID_ARGUMENT);
  EXPECT_THAT(tinh_last_error(), HasSubstr("there is no GPU"));
}

} // namespace
