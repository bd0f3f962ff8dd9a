//===- run_test.cpp - Running, waiting, cancelling --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs of the toy artifact: results, order, errors through futures, bounds,
// traces.
//
//===----------------------------------------------------------------------===//
#include "toy_context.h"

#include <atomic>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sys/resource.h>
#include <thread>

class Run : public ToyContext {};

TEST_F(Run, SameBitsOnAnyNumberOfThreads) {
  std::vector<float> x = input(3);
  for (uint32_t threads : {1u, 2u, 3u, 40u}) {
    open(threads);
    for (int i = 0; i < 20; ++i) {
      y.assign(y.size(), -1);
      ASSERT_EQ(run(x, y), TINH_OK) << tinh_last_error();
      ASSERT_EQ(y, expected_of(x)) << threads;
    }
  }
}

TEST_F(Run, ThousandOverlappingRunsGiveTheirOwnResults) {
  options.max_in_flight = 4;
  for (uint32_t threads : {1u, 2u, 3u}) {
    open(threads);
    std::vector<std::vector<float>> xs, ys(1000, std::vector<float>(1024));
    for (int i = 0; i < 1000; ++i)
      xs.push_back(input(float(i)));
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(submit(0, xs[i], ys[i], nullptr, nullptr), TINH_OK);
    ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
    for (int i = 0; i < 1000; ++i)
      ASSERT_EQ(ys[i], expected_of(xs[i])) << i;
  }
}

TEST_F(Run, DependentStepsStayInOrder) {
  for (uint32_t threads : {1u, 2u, 3u}) {
    open(threads);
    for (int i = 0; i < 50; ++i)
      ASSERT_EQ(tinh_context_run(context, 2, nullptr, 0, nullptr, 0), TINH_OK);
  }
}

TEST_F(Run, AWaitCarriedByAStepOfOneChunkHolds) {
  constexpr uint32_t kLate = 3;
  for (uint32_t threads : {2u, 3u}) {
    open(threads);
    for (int i = 0; i < 5; ++i) {
      std::vector<float> x = input(float(i)); // Not as the run before has left.
      ASSERT_EQ(run(x, y, kLate), TINH_OK);
      ASSERT_EQ(y, expected_of(x));
    }
  }
}

TEST_F(Run, RunsThatMutateStateAreSerialised) {
  open(3);
  std::vector<int64_t> counts(200);
  for (int64_t &count : counts) {
    tinh_buffer_t out = {&count, 8};
    ASSERT_EQ(tinh_context_submit(context, 1, nullptr, 0, &out, 1, nullptr, 0,
                                  nullptr),
              TINH_OK);
  }
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  for (size_t i = 0; i < counts.size(); ++i)
    EXPECT_EQ(counts[i], int64_t(i) + 1);
}

TEST_F(Run, WaitsForWhatItDependsOn) {
  open(2);
  tinh_future_t *event = nullptr, *future = nullptr;
  ASSERT_EQ(tinh_future_create(&event), TINH_OK);
  std::vector<float> x = input(1);
  ASSERT_EQ(submit(0, x, y, event, &future), TINH_OK);
  bool done = true;
  ASSERT_EQ(tinh_future_poll(future, &done), TINH_OK);
  EXPECT_FALSE(done);
  std::atomic<int> called{0};
  auto callback = [](void *user, tinh_status_t status, const char *) {
    *static_cast<std::atomic<int> *>(user) += status == TINH_OK ? 1 : 100;
  };
  ASSERT_EQ(tinh_future_then(future, callback, &called), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_ALREADY_STARTED);
  ASSERT_EQ(tinh_future_wait(future), TINH_OK);
  EXPECT_EQ(y, expected_of(x));
  tinh_context_release(context); // Its callbacks have returned after this.
  context = nullptr;
  EXPECT_EQ(called, 1);
  EXPECT_EQ(tinh_future_cancel(future), TINH_ALREADY_STARTED);
  tinh_future_release(future);
  tinh_future_release(event);
}

TEST_F(Run, AnErrorTravelsToDependents) {
  open(1);
  tinh_future_t *event = nullptr, *first = nullptr, *second = nullptr;
  ASSERT_EQ(tinh_future_create(&event), TINH_OK);
  std::vector<float> x = input(1);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(submit(0, x, y, first, &second), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_IO_ERROR, "no data"), TINH_OK);
  EXPECT_EQ(tinh_future_wait(second), TINH_DEPENDENCY_FAILED);
  EXPECT_NE(std::string(tinh_last_error()).find("no data"), std::string::npos);
  EXPECT_EQ(run(x, y), TINH_OK);
  for (tinh_future_t *future : {event, first, second})
    tinh_future_release(future);
}

TEST_F(Run, QueuedRunsCanBeCancelledAndAFullContextRefuses) {
  options.max_in_flight = 2;
  options.refuse_when_full = true;
  open(2);
  tinh_future_t *event = nullptr, *first = nullptr, *second = nullptr;
  ASSERT_EQ(tinh_future_create(&event), TINH_OK);
  std::vector<float> x = input(1), y2(1024);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(submit(0, x, y2, event, &second), TINH_OK);
  EXPECT_EQ(submit(0, x, y, nullptr, nullptr), TINH_BUSY);
  EXPECT_EQ(tinh_future_cancel(first), TINH_OK);
  EXPECT_EQ(tinh_future_wait(first), TINH_CANCELLED);
  EXPECT_EQ(run(x, y), TINH_OK); // Goes past the one that still waits.
  tinh_context_release(context); // Cancels the other.
  context = nullptr;
  EXPECT_EQ(tinh_future_wait(second), TINH_CANCELLED);
  EXPECT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  for (tinh_future_t *future : {event, first, second})
    tinh_future_release(future);
}

TEST_F(Run, AFullContextBlocks) {
  options.max_in_flight = 1;
  open(1);
  tinh_future_t *event = nullptr;
  ASSERT_EQ(tinh_future_create(&event), TINH_OK);
  std::vector<float> x = input(1), y2(1024);
  ASSERT_EQ(submit(0, x, y, event, nullptr), TINH_OK);
  std::thread later([&] { tinh_future_settle(event, TINH_OK, nullptr); });
  EXPECT_EQ(submit(0, x, y2, nullptr, nullptr), TINH_OK);
  EXPECT_EQ(tinh_context_wait_all(context), TINH_OK);
  later.join();
  EXPECT_EQ(y2, expected_of(x));
  tinh_future_release(event);
}

TEST_F(Run, WrongArguments) {
  open(1);
  std::vector<float> x = input(1), small(3);
  EXPECT_EQ(run(small, y), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "input 'x' has 4096 bytes, but its buffer has 12");
  EXPECT_EQ(tinh_context_run(context, 0, nullptr, 0, nullptr, 0),
            TINH_INVALID_ARGUMENT);
  EXPECT_EQ(tinh_context_run(context, 9, nullptr, 0, nullptr, 0),
            TINH_INVALID_ARGUMENT);
  EXPECT_EQ(tinh_context_run(nullptr, 0, nullptr, 0, nullptr, 0),
            TINH_INVALID_ARGUMENT);
}

TEST_F(Run, OnAPoolOfTheProgram) {
  options.parallel_for = [](void *pool, uint32_t count,
                            void (*task)(void *, uint32_t), void *argument) {
    ++*static_cast<int *>(pool);
    for (uint32_t i = count; i-- > 0;)
      task(argument, i);
  };
  int calls = 0;
  options.parallel_for_pool = &calls;
  open(3);
  std::vector<float> x = input(5);
  ASSERT_EQ(run(x, y), TINH_OK);
  EXPECT_EQ(y, expected_of(x));
  EXPECT_EQ(calls, 3);
}

TEST_F(Run, WritesATrace) {
  std::string path = (toy.folder / "trace.json").string();
  options.trace_path = path.c_str();
  open(2);
  std::vector<float> x = input(5);
  ASSERT_EQ(run(x, y), TINH_OK);
  tinh_context_release(context);
  context = nullptr;
  std::ifstream file(path);
  std::string json((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(json.find("\"name\":\"shift_add\""), std::string::npos);
  EXPECT_NE(json.find("\"nodes\":\"Add_1\""), std::string::npos);
}

TEST_F(Run, SaysThatATraceCannotBeWritten) {
  options.trace_path = "/nonexistent/trace.json";
  ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK);
  EXPECT_EQ(tinh_context_create(module, &options, &context), TINH_IO_ERROR);
  EXPECT_STREQ(tinh_last_error(), "cannot write '/nonexistent/trace.json': "
                                  "No such file or directory");
  std::string folder = toy.folder.string();
  options.trace_path = folder.c_str();
  EXPECT_EQ(tinh_context_create(module, &options, &context), TINH_IO_ERROR);
  EXPECT_EQ(tinh_last_error(),
            "cannot write '" + folder + "': it is not a regular file");
  options.trace_path = "/dev/full"; // Opens, but takes nothing.
  open(1);
  close();
  EXPECT_STREQ(tinh_last_error(),
               "cannot write '/dev/full': No space left on device");
}

TEST_F(Run, WritesATraceWholeOrNotAtAll) {
  std::filesystem::path path = toy.folder / "trace.json";
  std::ofstream(path) << "another";
  std::string name = path.string();
  options.trace_path = name.c_str();
  open(1);
  std::vector<float> x = input(5);
  ASSERT_EQ(run(x, y), TINH_OK);
  // As a full disk would, some bytes into the file.
  auto *handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit usual, small;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
  small = {100, usual.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  close();
  setrlimit(RLIMIT_FSIZE, &usual);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(tinh_last_error(), "cannot write '" + name + "': File too large");
  std::string content;
  std::ifstream(path) >> content;
  EXPECT_EQ(content, "another");
  for (const auto &entry : std::filesystem::directory_iterator(toy.folder))
    EXPECT_NE(entry.path().extension(), ".tmp");
}
