//===- gil.cpp - Waiting without the GIL ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "gil.h"

#include <atomic>
#include <thread>
#include <unistd.h>

namespace tinh::python {

namespace {
std::atomic<bool> is_closed = false;
std::atomic<uint32_t> returning = 0; ///< Threads on their way to the GIL.
std::thread::id last;                ///< Written before is_closed.
} // namespace

bool is_gil_closed() { return is_closed && std::this_thread::get_id() != last; }

void stay() {
  for (;;)
    pause();
}

/// Takes the GIL unless it is closed: whether it did.
template <typename Take> static bool take_gil(const Take &take) {
  ++returning;
  bool is_open = !is_gil_closed();
  if (is_open)
    take();
  --returning;
  if (is_closed)
    returning.notify_all();
  return is_open;
}

WithoutGil::~WithoutGil() {
  if (!take_gil([&] { PyEval_RestoreThread(state); }))
    stay();
}

WithGil::WithGil() {
  held = take_gil([&] { state = PyGILState_Ensure(); });
}

WithGil::~WithGil() {
  if (held)
    PyGILState_Release(state);
}

void forget_threads() { returning = 0; }

void close_gil() {
  last = std::this_thread::get_id();
  is_closed = true;
  PyThreadState *state = PyEval_SaveThread();
  while (uint32_t count = returning)
    returning.wait(count);
  PyEval_RestoreThread(state);
}

} // namespace tinh::python
