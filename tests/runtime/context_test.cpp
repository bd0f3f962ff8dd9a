//===- context_test.cpp - Threads, memory and bounds of a context ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a context takes from the machine: threads where they may run, no time
// while idle, no memory that grows.
//
//===----------------------------------------------------------------------===//
#include "files/mapped_memory.h"
#include "shared/cpu_count.h"
#include "support/error.h"
#include "toy_context.h"

#include <filesystem>
#include <fstream>
#include <regex>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TINH_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TINH_SANITIZED 1
#endif
#endif

namespace {

class Context : public ToyContext {};

std::string read_line(const std::filesystem::path &path) {
  std::string line;
  std::getline(std::ifstream(path) >> std::ws, line);
  return line;
}

/// How many CPUs each thread of this process with the name may run on.
std::vector<int> cpus_of_threads(const std::string &name) {
  std::vector<int> counts;
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (read_line(task.path() / "comm") != name)
      continue;
    cpu_set_t set;
    pid_t thread = std::stoi(task.path().filename());
    if (sched_getaffinity(thread, sizeof set, &set) == 0)
      counts.push_back(CPU_COUNT(&set));
  }
  return counts;
}

double cpu_seconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  auto seconds = [](timeval time) {
    return double(time.tv_sec) + double(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

#ifndef TINH_SANITIZED
size_t resident_bytes() {
  size_t total = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;
  return resident * 4096;
}
#endif

} // namespace

TEST_F(Context, DescribesItself) {
  options.max_in_flight = 3;
  open(2);
  tinh_context_info_t info;
  ASSERT_EQ(tinh_context_info(context, &info), TINH_OK);
  EXPECT_EQ(info.threads, 2u);
  EXPECT_EQ(info.max_in_flight, 3u);
  EXPECT_EQ(info.arena_size, 8192u);
  EXPECT_EQ(info.num_arenas, 2u);
  EXPECT_EQ(info.scratch_size, 8192u); // A page for each thread.
}

TEST_F(Context, RefusesImpossibleOptions) {
  open(1);
  tinh_context_t *other = nullptr;
  options.threads = 5000;
  EXPECT_EQ(tinh_context_create(module, &options, &other),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "a context has at most 4096 threads, not 5000");
  options.threads = 1;
  options.max_in_flight = 0;
  EXPECT_EQ(tinh_context_create(module, &options, &other),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "max_in_flight must be at least 1");
  EXPECT_EQ(other, nullptr);
}

TEST_F(Context, TakesAsManyThreadsAsItMayUse) {
  tinh_context_info_t info;
  open(0);
  ASSERT_EQ(tinh_context_info(context, &info), TINH_OK);
  EXPECT_EQ(info.threads, tinh::runtime::available_cpus());
  std::thread([&] { // Its affinity ends with it.
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(tinh::runtime::affinity_cpus().back(), &set);
    ASSERT_EQ(sched_setaffinity(0, sizeof set, &set), 0);
    open(0);
  })
      .join();
  ASSERT_EQ(tinh_context_info(context, &info), TINH_OK);
  EXPECT_EQ(info.threads, 1u);
}

TEST_F(Context, PinsItsThreadsIfTold) {
  options.pin_threads = true;
  open(3);
  std::vector<float> x = input(1);
  ASSERT_EQ(submit(0, x, y, nullptr, nullptr), TINH_OK);
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  EXPECT_EQ(y, expected_of(x));
  // The run may be done before all threads are there.
  const std::vector<int> one_each = {1, 1};
  for (int i = 0; i < 1000 && cpus_of_threads("tinh-worker") != one_each; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(cpus_of_threads("tinh-worker"), one_each);
  EXPECT_EQ(cpus_of_threads("tinh-leader"), (std::vector<int>{1}));
  EXPECT_FALSE(tinh::runtime::affinity_cpus().empty()); // Not the caller's.
}

TEST_F(Context, AnySpinTimeGivesTheSameResults) {
  std::vector<float> x = input(2);
  for (int64_t spin : {0, 1, 1000}) {
    options.spin_us = spin;
    open(3);
    for (int i = 0; i < 5; ++i) {
      y.assign(y.size(), -1);
      ASSERT_EQ(run(x, y), TINH_OK);
      ASSERT_EQ(y, expected_of(x));
    }
  }
}

TEST_F(Context, NothingSpinsWhileIdle) {
  std::vector<float> x = input(2);
  open(4);
  ASSERT_EQ(submit(0, x, y, nullptr, nullptr), TINH_OK); // With a leader.
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  double before = cpu_seconds();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  // One thread that spins would take all of it, or its share of a busy CPU.
  EXPECT_LT(cpu_seconds() - before, 0.1);
}

TEST_F(Context, SaysForWhatThereIsNoMemory) {
  try {
    tinh::runtime::MappedMemory::anonymous(uint64_t(1) << 50, "the arena");
    FAIL();
  } catch (const tinh::runtime::Error &error) {
    EXPECT_EQ(error.status(), TINH_OUT_OF_MEMORY);
    EXPECT_STREQ(error.what(),
                 "cannot allocate 1125899906842624 bytes for the arena");
  }
}

#ifndef TINH_SANITIZED // They take much address space, and keep freed memory.
TEST_F(Context, SaysThatAThreadCannotBeStarted) {
  open(1);
  pid_t child = fork();
  if (child == 0) {
    // Far too little for the stacks of so many.
    rlimit limit = {uint64_t(2) << 30, uint64_t(2) << 30};
    setrlimit(RLIMIT_AS, &limit);
    tinh_context_t *other = nullptr;
    options.threads = 4096;
    bool is_right =
        tinh_context_create(module, &options, &other) == TINH_OUT_OF_MEMORY &&
        std::regex_match(
            tinh_last_error(),
            std::regex("cannot start thread [0-9]+ of 4096: Resource "
                       "temporarily unavailable; use fewer threads, .*"));
    _exit(is_right ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(Context, MemoryStaysFlat) {
  options.max_in_flight = 4;
  open(2);
  std::vector<float> x = input(2);
  std::vector<std::vector<float>> ys(4, std::vector<float>(1024));
  auto run_many = [&](int count) {
    for (int i = 0; i < count; ++i)
      ASSERT_EQ(submit(0, x, ys[size_t(i) % 4], nullptr, nullptr), TINH_OK);
    ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  };
  run_many(100);
  size_t before = resident_bytes();
  run_many(1000);
  // A kilobyte lost in each run would show.
  EXPECT_LT(resident_bytes(), before + 500'000);
}
#endif

TEST_F(Context, ManyThreadsMaySubmit) {
  options.max_in_flight = 3;
  open(2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<float> x = input(float(t)), y(1024);
      for (int i = 0; i < 50; ++i) {
        y.assign(y.size(), -1);
        tinh_future_t *future = nullptr;
        if (i % 2 == 0) {
          ASSERT_EQ(submit(0, x, y, nullptr, &future), TINH_OK);
          ASSERT_EQ(tinh_future_wait(future), TINH_OK);
          tinh_future_release(future);
        } else {
          ASSERT_EQ(run(x, y), TINH_OK);
        }
        ASSERT_EQ(y, expected_of(x));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(Context, ReleasingItEndsItsRuns) {
  options.max_in_flight = 8;
  open(2);
  std::vector<float> x = input(1);
  std::vector<std::vector<float>> ys(8, std::vector<float>(1024));
  std::vector<tinh_future_t *> futures(8);
  for (size_t i = 0; i < 8; ++i)
    ASSERT_EQ(submit(0, x, ys[i], nullptr, &futures[i]), TINH_OK);
  close();
  for (size_t i = 0; i < 8; ++i) {
    tinh_status_t status = tinh_future_wait(futures[i]);
    if (status == TINH_OK)
      EXPECT_EQ(ys[i], expected_of(x));
    else
      EXPECT_EQ(status, TINH_CANCELLED);
    tinh_future_release(futures[i]);
  }
}
