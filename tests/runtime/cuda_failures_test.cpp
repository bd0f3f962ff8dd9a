//===- cuda_failures_test.cpp - Runs on a GPU that fail ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda_runs.h"

#include <map>
#include <sstream>

using testing::HasSubstr;
using testing::Not;

namespace {

/// Every call of the driver that a context makes fails in turn, once.
class CudaFailures : public CudaRuns {};

std::vector<std::string> calls_in(const std::string &log) {
  std::vector<std::string> calls;
  std::istringstream lines(log);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("cu"))
      calls.push_back(line.substr(0, line.find_first_of(" (")));
  return calls;
}

bool is_cleanup(const std::string &call) {
  for (const char *word : {"Destroy", "Free", "Release", "Unload", "Pop",
                           "GetError", "PointerGetAttributes"})
    if (call.find(word) != std::string::npos)
      return true;
  return false;
}

TEST_F(CudaFailures, OfACallThatMakesAContextAreToldAndLeaveNothing) {
  ASSERT_EQ(open(), TINH_OK);
  close();
  tinh_fake_cuda_configure("");
  ASSERT_EQ(open(), TINH_OK);
  std::map<std::string, int> number;
  for (const std::string &call : calls_in(log())) {
    int n = ++number[call];
    if (is_cleanup(call))
      continue;
    close();
    std::string where = call + ":" + std::to_string(n);
    tinh_fake_cuda_configure(("fail=" + where + ":719").c_str());
    tinh_status_t status = open();
    ASSERT_NE(status, TINH_OK) << where;
    EXPECT_THAT(tinh_last_error(), HasSubstr("LAUNCH_FAILED")) << where;
    EXPECT_STREQ(tinh_fake_cuda_leaks(), "") << where;
  }
}

TEST_F(CudaFailures, OfACallWithinARunAreToldAndTheNextRunIsRight) {
  Values x = input(3), y(kCount);
  auto submit_and_wait = [&](Function function) {
    tinh_future_t *future = submit(function, x, y);
    tinh_status_t status = tinh_future_wait(future);
    tinh_future_release(future);
    return status;
  };
  for (Function function : {kMain, kMixed, kLoop, kWhile, kBranch, kShared}) {
    ASSERT_EQ(open(), TINH_OK);
    tinh_fake_cuda_configure("");
    check(function, 3);
    std::map<std::string, int> number;
    for (const std::string &call : calls_in(log())) {
      std::string where = call + ":" + std::to_string(++number[call]);
      if (is_cleanup(call))
        continue;
      SCOPED_TRACE(where + " in function " + std::to_string(function));
      for (bool submitted : {false, true}) {
        tinh_fake_cuda_configure(("fail=" + where + ":719").c_str());
        EXPECT_EQ(submitted ? submit_and_wait(function) : run(function, x, y),
                  TINH_DEVICE_ERROR);
        EXPECT_THAT(tinh_last_error(), HasSubstr("LAUNCH_FAILED"));
        check(function, 4);
        EXPECT_EQ(submit_and_wait(function), TINH_OK) << tinh_last_error();
        EXPECT_THAT(log(), Not(HasSubstr("misuse")));
      }
    }
  }
}

TEST_F(CudaFailures, NameTheKernel) {
  ASSERT_EQ(open(), TINH_OK);
  tinh_fake_cuda_configure("fail=cuLaunchKernel:2:719");
  Values x = input(3), y(kCount);
  EXPECT_EQ(run(kWhile, x, y), TINH_DEVICE_ERROR);
  EXPECT_THAT(tinh_last_error(),
              HasSubstr("while: step 5: kernel 'add', of the nodes 'ADD', "
                        "cannot be launched: CUDA_ERROR_LAUNCH_FAILED"));
  tinh_fake_cuda_configure("fail=cuGraphLaunch:1:700");
  EXPECT_EQ(run(kMain, x, y), TINH_DEVICE_ERROR);
  EXPECT_THAT(tinh_last_error(), HasSubstr("main: the CUDA graph of 4 steps"));
}

TEST_F(CudaFailures, OfAKernelNameWhatMayHaveFailedAndThatTheContextIsLost) {
  options.threads = 2;
  Values x = input(3), y(kCount);
  auto fails = [&](Function function, const char *setting) {
    EXPECT_EQ(open(), TINH_OK) << tinh_last_error();
    tinh_fake_cuda_configure(setting);
    EXPECT_EQ(run(function, x, y), TINH_DEVICE_ERROR);
    std::string message = tinh_last_error();
    EXPECT_THAT(message, HasSubstr("must be started anew"));
    // All that comes later ends in the same way.
    EXPECT_EQ(run(kMain, x, y), TINH_DEVICE_ERROR);
    EXPECT_THAT(tinh_last_error(), HasSubstr("must be started anew"));
    close();
    tinh_fake_cuda_configure("");
    return message;
  };
  EXPECT_THAT(fails(kMain, "fault=flip:700"),
              HasSubstr("main failed on the GPU, in one of the steps from 0 to "
                        "3, kernels 'scale_add', 'flip': "
                        "CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_THAT(fails(kTrain, "fault=add:716"),
              HasSubstr("train failed on the GPU, in one of the steps from 0 "
                        "to 3, kernel 'add': "));
  EXPECT_THAT(fails(kWhile, "fault=is_small:719"),
              HasSubstr("while failed on the GPU, in one of the steps from 0 "
                        "to 3, kernel 'is_small': "));
  EXPECT_THAT(fails(kShared, "fault=add:719"),
              HasSubstr("kernel 'add': CUDA_ERROR_LAUNCH_FAILED"));
}

TEST_F(CudaFailures, OfLoadingSayWhatIsMissing) {
  tinh_fake_cuda_configure("fail=cuModuleLoadData:1:209");
  EXPECT_EQ(open(), TINH_INCOMPATIBLE);
  EXPECT_THAT(tinh_last_error(),
              HasSubstr("kernel 'scale_add' has no code for the GPU"));
  tinh_fake_cuda_configure("fail=cuMemAlloc_v2:1:2");
  EXPECT_EQ(open(), TINH_OUT_OF_MEMORY);
  EXPECT_THAT(tinh_last_error(),
              HasSubstr("cannot allocate 4096 bytes for the weights"));
  ASSERT_EQ(open(), TINH_OK);
  check(kMain, 1);
}

} // namespace
