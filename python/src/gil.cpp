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

WithoutGil::~WithoutGil() {
  ++returning;
  if (is_gil_closed()) {
    --returning;
    returning.notify_all();
    for (;;)
      pause();
  }
  PyEval_RestoreThread(state);
  --returning;
  if (is_closed)
    returning.notify_all();
}

void close_gil() {
  last = std::this_thread::get_id();
  is_closed = true;
  PyThreadState *state = PyEval_SaveThread();
  while (uint32_t count = returning)
    returning.wait(count);
  PyEval_RestoreThread(state);
}

} // namespace tinh::python
