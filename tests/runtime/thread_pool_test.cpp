//===- thread_pool_test.cpp - Workers that are away -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "held_thread.h"
#include "threads/thread_pool.h"

#include <algorithm>
#include <array>
#include <functional>
#include <gtest/gtest.h>

using namespace tinh::runtime;

namespace {

/// Within this, a thread that may go comes to its part.
constexpr std::chrono::milliseconds kSpin{400};

/// Worker 0 waits for all steps of worker 1, whose threads are noted.
class TwoParts final : public ThreadPool::Job {
public:
  TwoParts(ThreadPool &pool, uint32_t base, uint32_t num_steps)
      : end(base + num_steps), pool(pool), base(base) {}

  void begin(uint32_t worker) override { next[worker] = base; }

  ThreadPool::Halt go_on(uint32_t worker,
                         const ThreadPool::Visit *visit) override {
    using Halt = ThreadPool::Halt;
    if (worker == 0) {
      if (!pool.others_reached(0, end))
        return {Halt::waits, end};
      pool.advance(0, end);
      return {Halt::done};
    }
    while (next[1] != end) {
      if (visit && visit->is_over())
        return {Halt::left};
      threads.push_back(gettid());
      if (in_step)
        in_step(visit);
      pool.advance(1, ++next[1]);
    }
    return {Halt::done};
  }

  const uint32_t end;
  std::vector<pid_t> threads; ///< That did the steps, in their order.
  std::function<void(const ThreadPool::Visit *)> in_step;

private:
  ThreadPool &pool;
  const uint32_t base;
  uint32_t next[2] = {};
};

/// Tells which thread worker 1 has.
class Meeting final : public ThreadPool::Job {
public:
  explicit Meeting(ThreadPool &pool) : pool(pool) {}
  void begin(uint32_t) override {}
  ThreadPool::Halt go_on(uint32_t worker, const ThreadPool::Visit *) override {
    if (worker == 1)
      id = gettid();
    while (id == 0)
      std::this_thread::yield();
    pool.advance(worker, 1);
    return {ThreadPool::Halt::done};
  }
  std::atomic<pid_t> id = 0;

private:
  ThreadPool &pool;
};

class ThreadPoolTest : public testing::Test {
protected:
  /// Runs a first job, and waits until worker 1 sleeps after it.
  ThreadPoolTest() : pool({.num_workers = 2, .spin = kSpin}) {
    Meeting meeting(pool);
    pool.run(meeting);
    pool.wait_for_others(0, 1);
    worker = meeting.id;
    std::this_thread::sleep_for(kSpin + kSpin / 4);
  }

  ThreadPool pool;
  pid_t worker;
};

TEST_F(ThreadPoolTest, WhoWaitsDoesTheWorkOfAnAbsentWorker) {
  HeldThread held(worker);
  for (uint32_t base : {1u, 4u, 7u}) {
    TwoParts job(pool, base, 3);
    pool.run(job);
    ASSERT_EQ(job.threads.size(), 3u);
    for (pid_t thread : job.threads)
      EXPECT_EQ(thread, gettid());
  }
}

TEST_F(ThreadPoolTest, AWorkerThatIsBackGetsItsPart) {
  HeldThread held(worker);
  TwoParts job(pool, 1, 3);
  job.in_step = [&](const ThreadPool::Visit *visit) {
    if (!visit)
      return;
    held.release();
    while (!visit->is_over())
      std::this_thread::yield();
  };
  pool.run(job);
  EXPECT_EQ(job.threads, (std::vector<pid_t>{gettid(), worker, worker}));
}

/// Worker 1 divides a range; worker 0 waits for it.
class Divided final : public ThreadPool::Job, public ThreadPool::Task {
public:
  Divided(ThreadPool &pool, int64_t count, int64_t grain)
      : times(static_cast<size_t>(count)), pool(pool), grain(grain) {}

  void begin(uint32_t) override {}

  ThreadPool::Halt go_on(uint32_t worker,
                         const ThreadPool::Visit *visit) override {
    using Halt = ThreadPool::Halt;
    if (worker == 1) {
      pool.divide(1, visit, *this, 0, static_cast<int64_t>(times.size()),
                  grain);
      all_are_done = std::ranges::count(times, 1) == std::ssize(times);
    } else if (!pool.others_reached(0, 2)) {
      return {Halt::waits, 2};
    }
    pool.advance(worker, 2);
    return {Halt::done};
  }

  /// Worker 1 does not end its first piece before worker 0 has ended one.
  void run(uint32_t thread, int64_t begin, int64_t end) override {
    while (thread == 1 && helped == 0)
      std::this_thread::yield();
    for (int64_t i = begin; i < end; ++i)
      ++times[static_cast<size_t>(i)];
    helped += thread == 0 ? end - begin : 0;
    is_grained = is_grained && (begin % grain == 0);
  }

  std::vector<int> times; ///< That each of the range was done.
  std::atomic<int64_t> helped = 0;
  std::atomic<bool> is_grained = true;
  bool all_are_done = false;

private:
  ThreadPool &pool;
  const int64_t grain;
};

TEST_F(ThreadPoolTest, WhoWaitsDoesSomeOfTheRangeOfALateWorker) {
  for (auto [count, grain] : {std::pair{64, 1}, {7, 3}, {200000, 2}}) {
    ThreadPool pool({.num_workers = 2, .spin = kSpin});
    Meeting meeting(pool); // Worker 1 is there.
    pool.run(meeting);
    Divided job(pool, count, grain);
    pool.run(job);
    pool.wait_for_others(0, 2);
    EXPECT_TRUE(job.all_are_done);
    EXPECT_TRUE(job.is_grained);
    EXPECT_GT(job.helped, 0);
    EXPECT_LT(job.helped, count);
  }
}

TEST_F(ThreadPoolTest, SmallRangesAreNotDivided) {
  struct Once final : ThreadPool::Task {
    void run(uint32_t thread, int64_t begin, int64_t end) override {
      ranges.push_back({thread, begin, end});
    }
    std::vector<std::array<int64_t, 3>> ranges;
  } task;
  pool.divide(1, nullptr, task, 3, 7, 4);
  pool.divide(0, nullptr, task, 0, 100, 0);
  EXPECT_EQ(task.ranges,
            (std::vector<std::array<int64_t, 3>>{{1, 3, 7}, {0, 0, 100}}));
}

} // namespace
