//===- futex.h - Spin, then sleep -------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// 32-bit words that threads wait for: they spin for a given time and then sleep
// in the kernel. Writers pay for a wake-up only if somebody sleeps.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_FUTEX_H
#define TINH_RUNTIME_FUTEX_H

#include <atomic>
#include <chrono>
#include <cstdint>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tinh::runtime {

inline void cpu_relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/// Spins until `ready()` or for `spin`, and says whether it became ready. In
/// between it yields: where other programs run, the thread that is waited for
/// may wait for this CPU.
template <typename Ready>
bool spin_until(std::chrono::microseconds spin, Ready ready) {
  if (ready())
    return true;
  if (spin.count() <= 0)
    return false;
  auto end = std::chrono::steady_clock::now() + spin;
  do {
    for (int i = 0; i < 64; ++i) {
      cpu_relax();
      if (ready())
        return true;
    }
    sched_yield();
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

/// A counter that only grows (modulo 2^32), alone on its cache line.
class alignas(64) Counter {
public:
  uint32_t load() const { return value.load(std::memory_order_acquire); }

  /// True once the counter has come to `target`.
  bool reached(uint32_t target) const {
    return static_cast<int32_t>(load() - target) >= 0;
  }

  void store(uint32_t new_value) {
    // Sequentially consistent, as are the sleeper's steps: either the sleeper
    // sees the new value or this thread sees the sleeper.
    value.store(new_value, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0)
      syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr,
              nullptr, 0);
  }

  /// Spins until it has come to `target` or for `spin`; says whether it has.
  bool spin_for(uint32_t target, std::chrono::microseconds spin) const {
    return spin_until(spin, [&] { return reached(target); });
  }

  /// Returns once the counter has come to `target`.
  void sleep_until(uint32_t target) {
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    for (;;) {
      uint32_t seen = value.load(std::memory_order_seq_cst);
      if (static_cast<int32_t>(seen - target) >= 0)
        break;
      syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
    }
    sleepers.fetch_sub(1, std::memory_order_seq_cst);
  }

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

/// A lock of one thread's, its owner, who waits for it. Others may try to take
/// it, and see when the owner wants it back.
class OwnedLock {
public:
  bool try_lock() {
    uint32_t expected = kFree;
    return state.compare_exchange_strong(
        expected, kTaken, std::memory_order_acquire, std::memory_order_relaxed);
  }

  /// For the owner.
  void lock(std::chrono::microseconds spin) {
    while (!try_lock()) {
      uint32_t expected = kTaken;
      state.compare_exchange_strong(expected, kWanted,
                                    std::memory_order_relaxed);
      auto is_free = [&] {
        return state.load(std::memory_order_relaxed) == kFree;
      };
      if (!spin_until(spin, is_free))
        syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, kWanted, nullptr,
                nullptr, 0);
    }
  }

  bool is_wanted() const {
    return state.load(std::memory_order_relaxed) == kWanted;
  }

  void unlock() {
    if (state.exchange(kFree, std::memory_order_release) == kWanted)
      syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

private:
  enum : uint32_t { kFree, kTaken, kWanted };
  std::atomic<uint32_t> state{kFree};
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_FUTEX_H
