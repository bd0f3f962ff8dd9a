//===- thread_pool_test.cpp - Workers that are away -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A signal's handler keeps a worker's thread from running, as another program
// on its CPU would, and lets it go when the test says so.
//
//===----------------------------------------------------------------------===//
#include "thread_pool.h"

#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

using namespace tinh::runtime;

namespace {

/// Within this, a thread that may go comes to its part.
constexpr std::chrono::milliseconds kSpin{400};

std::atomic<bool> is_held, may_go;

void hold(int) {
  is_held.store(true);
  while (!may_go.load())
    cpu_relax();
}

void wait_for(const std::atomic<bool> &flag) {
  while (!flag.load())
    std::this_thread::yield();
}

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
      threads.push_back(pthread_self());
      if (in_step)
        in_step(visit);
      pool.advance(1, ++next[1]);
    }
    return {Halt::done};
  }

  const uint32_t end;
  std::vector<pthread_t> threads; ///< That did the steps, in their order.
  std::function<void(const ThreadPool::Visit *)> in_step;

private:
  ThreadPool &pool;
  const uint32_t base;
  uint32_t next[2] = {};
};

class ThreadPoolTest : public testing::Test {
protected:
  ThreadPoolTest() : pool({.num_workers = 2, .spin = kSpin}) {
    struct sigaction action = {};
    action.sa_handler = hold;
    sigaction(SIGUSR1, &action, nullptr);
    is_held = false;
    may_go = false;
  }

  /// Lets a first job tell which thread worker 1 is, and stops that.
  void hold_worker() {
    std::atomic<bool> is_there = false;
    struct Meet final : ThreadPool::Job {
      Meet(ThreadPool &pool, std::atomic<bool> &is_there)
          : pool(pool), is_there(is_there) {}
      void begin(uint32_t) override {}
      ThreadPool::Halt go_on(uint32_t worker,
                             const ThreadPool::Visit *) override {
        if (worker == 0) {
          wait_for(is_there);
        } else {
          thread = pthread_self();
          is_there = true;
        }
        pool.advance(worker, 1);
        return {ThreadPool::Halt::done};
      }
      ThreadPool &pool;
      std::atomic<bool> &is_there;
      pthread_t thread = {};
    } meet(pool, is_there);
    pool.run(meet);
    pool.wait_for_others(0, 1);
    worker = meet.thread;
    // It leaves its part, and goes to sleep.
    std::this_thread::sleep_for(kSpin + kSpin / 4);
    ASSERT_EQ(pthread_kill(worker, SIGUSR1), 0);
    wait_for(is_held);
  }

  ThreadPool pool;
  pthread_t worker = {};
};

TEST_F(ThreadPoolTest, WhoWaitsDoesTheWorkOfAnAbsentWorker) {
  hold_worker();
  for (uint32_t base : {1u, 4u, 7u}) {
    TwoParts job(pool, base, 3);
    pool.run(job);
    ASSERT_EQ(job.threads.size(), 3u);
    for (pthread_t thread : job.threads)
      EXPECT_TRUE(pthread_equal(thread, pthread_self()));
  }
  may_go = true;
}

TEST_F(ThreadPoolTest, AWorkerThatIsBackGetsItsPart) {
  hold_worker();
  TwoParts job(pool, 1, 3);
  job.in_step = [&](const ThreadPool::Visit *visit) {
    if (!visit)
      return;
    may_go = true;
    while (!visit->is_over())
      std::this_thread::yield();
  };
  pool.run(job);
  ASSERT_EQ(job.threads.size(), 3u);
  EXPECT_TRUE(pthread_equal(job.threads[0], pthread_self()));
  EXPECT_TRUE(pthread_equal(job.threads[1], worker));
  EXPECT_TRUE(pthread_equal(job.threads[2], worker));
}

} // namespace
