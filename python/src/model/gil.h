//===- gil.h - Waiting without the GIL --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that wants the GIL while the interpreter ends is ended by Python,
// with pthread_exit, which C++ code does not survive. So the interpreter tells
// of its end here first: threads that wait for something then stay where they
// are, and the last ones on their way to the GIL are waited for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_GIL_H
#define TINH_PYTHON_GIL_H

#include <Python.h>

namespace tinh::python {

/// Gives up the GIL for as long as it lives.
class WithoutGil {
public:
  WithoutGil() : state(PyEval_SaveThread()) {}
  ~WithoutGil();
  WithoutGil(const WithoutGil &) = delete;

private:
  PyThreadState *state;
};

/// Takes the GIL on whatever thread this is for as long as it lives: unless the
/// interpreter is ending, which is for the caller to look at.
class WithGil {
public:
  WithGil();
  ~WithGil();
  WithGil(const WithGil &) = delete;
  explicit operator bool() const { return held; }

private:
  bool held = false;
  PyGILState_STATE state = {};
};

/// Where a thread remains that may not go on while the interpreter ends.
[[noreturn]] void stay();

/// Calls `wait`, which blocks, without the GIL.
template <typename Wait> auto without_gil(const Wait &wait) {
  WithoutGil scope;
  return wait();
}

/// From now on only the calling thread gets the GIL back. Returns when no other
/// one is about to. To be called with the GIL held, by the main thread.
void close_gil();

/// In a forked child: none of the others is there.
void forget_threads();

/// Whether the interpreter is about to end, for threads but the main one.
bool is_gil_closed();

} // namespace tinh::python

#endif // TINH_PYTHON_GIL_H
