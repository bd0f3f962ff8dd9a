//===- held_thread.h - Threads that do not run for a while ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_RUNTIME_HELD_THREAD_H
#define TINH_TESTS_RUNTIME_HELD_THREAD_H

#include <atomic>
#include <csignal>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>

/// Keeps a thread of this process from running, as another program on its CPU
/// would, by a signal's handler that waits. One thread at a time.
class HeldThread {
public:
  /// Returns when `thread` is held, wherever it was.
  explicit HeldThread(pid_t thread) {
    struct sigaction action = {};
    action.sa_handler = hold;
    sigaction(SIGUSR1, &action, nullptr);
    is_held = false;
    may_go = false;
    syscall(SYS_tgkill, getpid(), thread, SIGUSR1);
    while (!is_held.load())
      std::this_thread::yield();
  }
  ~HeldThread() { release(); }
  HeldThread(const HeldThread &) = delete;

  void release() { may_go = true; }

private:
  static void hold(int) {
    is_held = true;
    // A test that waits for the thread is to fail, not to wait for ever.
    for (int i = 0; i < 100000 && !may_go.load(); ++i)
      usleep(100);
  }

  static inline std::atomic<bool> is_held, may_go;
};

#endif // TINH_TESTS_RUNTIME_HELD_THREAD_H
