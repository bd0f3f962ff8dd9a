//===- cuda_runs.h - Runs that use a GPU, for tests -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On the fake driver, which executes what is queued when somebody waits for it,
// in orders that only streams, events and edges bind, and writes down what is
// asked of it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_CUDA_RUNS_H
#define TINH_TESTS_RUNTIME_CUDA_RUNS_H

#include "tests/cuda/driver/driver_api.h"
#include "tinh/runtime.h"
#include "toy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>

// Functions of cuda_artifact.c, in their order.
enum Function { kMain, kMixed, kTrain, kLoop, kWhile, kBranch, kShared, kCpu };
using Values = std::vector<float>;
constexpr size_t kCount = 1024;

inline Values input(float seed) {
  Values x(kCount);
  for (size_t i = 0; i < kCount; ++i)
    x[i] = seed + float(i % 64);
  return x;
}

inline Values expected(Function function, const Values &x) {
  Values y(kCount);
  float factor = x[0] < 100 ? 2 : -1;
  if (function == kWhile)
    for (factor = 1; factor * x[0] < 100;)
      factor *= 2;
  for (size_t i = 0; i < kCount; ++i) {
    size_t j = kCount - 1 - i;
    y[i] = function == kMain     ? 2 * x[j] + float(j)
           : function == kMixed  ? x[i] - (2 * x[i] + float(i))
           : function == kTrain  ? float(i) + x[i]
           : function == kLoop   ? x[i] + 10
           : function == kShared ? -8 * x[i]
           : function == kCpu    ? -x[i]
                                 : factor * x[i];
  }
  return y;
}

class CudaRuns : public testing::Test {
protected:
  CudaRuns() {
    setenv("TINH_CUDA_DRIVER", FAKE_CUDA, 1);
    tinh_fake_cuda_configure("");
    tinh_context_options_init(&options);
    options.threads = 3;
    EXPECT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
        << tinh_last_error();
  }
  ~CudaRuns() override {
    close();
    tinh_module_release(module);
    EXPECT_STREQ(tinh_fake_cuda_leaks(), "");
    EXPECT_THAT(log(), testing::Not(testing::HasSubstr("misuse")));
  }

  tinh_status_t open() {
    close();
    return tinh_context_create(module, &options, &context);
  }
  void close() {
    tinh_context_release(context);
    context = nullptr;
  }
  tinh_status_t run(uint32_t function, const Values &x, Values &y) {
    tinh_buffer_t in = {const_cast<float *>(x.data()), kCount * 4},
                  out = {y.data(), kCount * 4};
    return tinh_context_run(context, function, &in, 1, &out, 1);
  }
  tinh_future_t *submit(uint32_t function, const Values &x, Values &y) {
    tinh_buffer_t in = {const_cast<float *>(x.data()), kCount * 4},
                  out = {y.data(), kCount * 4};
    tinh_future_t *future = nullptr;
    EXPECT_EQ(tinh_context_submit(context, function, &in, 1, &out, 1, nullptr,
                                  0, &future),
              TINH_OK)
        << tinh_last_error();
    return future;
  }
  void check(Function function, float seed) {
    SCOPED_TRACE(testing::Message()
                 << "function " << function << ", seed " << seed << ", "
                 << options.threads << " threads");
    Values x = input(seed), y(kCount, -1);
    ASSERT_EQ(run(function, x, y), TINH_OK) << tinh_last_error();
    EXPECT_EQ(y, expected(function, x));
  }
  Values variable(uint32_t index) {
    Values values(kCount);
    EXPECT_EQ(
        tinh_context_read_variable(context, index, values.data(), kCount * 4),
        TINH_OK)
        << tinh_last_error();
    return values;
  }
  static std::string log() { return tinh_fake_cuda_log(); }
  static size_t count(const std::string &text) {
    std::string all = log();
    size_t found = 0;
    for (size_t at = 0; (at = all.find(text, at)) != std::string::npos; ++at)
      ++found;
    return found;
  }

  Toy toy{{}, false, CUDA_ARTIFACT};
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  tinh_context_options_t options;
};

#endif // TINH_TESTS_RUNTIME_CUDA_RUNS_H
