//===- threads.cpp - Two threads ------------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "figures.h"

#include <algorithm>
#include <atomic>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

namespace machine {

namespace {

void pause() { asm volatile("pause"); }

/// Where two threads wait for each other, without sleeping.
class Barrier {
public:
  void arrive() {
    unsigned round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) == 1) {
      arrived_.store(0, std::memory_order_relaxed);
      round_.store(round + 1, std::memory_order_release);
      return;
    }
    while (round_.load(std::memory_order_acquire) == round)
      pause();
  }

private:
  alignas(64) std::atomic<unsigned> arrived_ = 0;
  alignas(64) std::atomic<unsigned> round_ = 0;
};

/// A thread on the second CPU, that does with us what we do.
class Partner {
public:
  template <typename Loop> explicit Partner(Loop loop) {
    thread_ = std::thread([this, loop] {
      pin_thread(1);
      for (barrier_.arrive(); !done_; barrier_.arrive()) {
        loop();
        barrier_.arrive();
      }
    });
  }
  ~Partner() {
    done_ = true;
    barrier_.arrive();
    thread_.join();
  }
  /// Runs `loop` while the partner runs its own.
  template <typename Loop> void beside(Loop loop) {
    barrier_.arrive();
    loop();
    barrier_.arrive();
  }

private:
  Barrier barrier_;
  std::atomic<bool> done_ = false;
  std::thread thread_;
};

Figure two_readers(const Effort &effort, const Vectors &vectors) {
  const size_t size = size_t(128e6 * std::max(effort.scale, 0.1)) / 4096 * 4096;
  Memory ours(size), theirs(size);
  Partner partner([&] { vectors.read(theirs.data(), size, 1); });
  Effort once = effort;
  once.repetitions = std::min(effort.repetitions, 9);
  Time time = measure(once, [&] {
    partner.beside([&] { vectors.read(ours.data(), size, 1); });
  });
  return per_cycle("memory.read.2-threads", 2 * double(size), time,
                   "bytes a cycle");
}

Figure barriers(const Effort &effort) {
  Barrier barrier;
  const uint64_t count = effort.times(2000);
  auto loop = [&barrier, count] {
    for (uint64_t i = 0; i < count; ++i)
      barrier.arrive();
  };
  Partner partner(loop);
  Time time = measure(effort, [&] { partner.beside(loop); });
  return cycles_each("barrier", double(count), time);
}

long futex(std::atomic<uint32_t> &word, int operation, uint32_t value) {
  return syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

/// A thread that sleeps until `word` is odd, and answers by the next number.
struct Sleeper {
  alignas(64) std::atomic<uint32_t> word = 0;
  std::atomic<bool> done = false;
  std::thread thread{[this] {
    pin_thread(1);
    for (uint32_t seen = 0; !done; seen += 2) {
      while (word.load() == seen)
        futex(word, FUTEX_WAIT_PRIVATE, seen);
      word.store(seen + 2);
    }
  }};
  /// Wakes it, and waits for its answer awake.
  void wake() {
    uint32_t value = word.load();
    word.store(value + 1);
    futex(word, FUTEX_WAKE_PRIVATE, 1);
    while (word.load() != value + 2)
      pause();
  }
  ~Sleeper() {
    done = true;
    wake();
    thread.join();
  }
};

Figure waking(const Effort &effort) {
  std::vector<double> all;
  const uint64_t count = effort.times(200);
  {
    Sleeper sleeper;
    for (uint64_t i = 0; i < count; ++i) {
      usleep(200); // Until it sleeps.
      double start = now_ns();
      sleeper.wake();
      all.push_back(now_ns() - start);
    }
  }
  std::sort(all.begin(), all.end());
  return {"wake", all[all.size() / 2], all.front(), "ns"};
}

} // namespace

Figures thread_figures(const Effort &effort, const Vectors &vectors) {
  if (usable_cpus() < 2)
    return {};
  return {two_readers(effort, vectors), barriers(effort), waking(effort)};
}

} // namespace machine
