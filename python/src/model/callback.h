//===- callback.h - Python functions that C++ code calls --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_CALLBACK_H
#define TINH_PYTHON_CALLBACK_H

#include "gil.h"

#include <nanobind/nanobind.h>

#include <memory>

namespace tinh::python {

namespace nb = nanobind;

/// A function of Python's, which any thread may call, copy and drop without
/// the GIL. What it raises is thrown.
class Callback {
public:
  /// With the GIL.
  explicit Callback(nb::handle function)
      : function(function.inc_ref().ptr(), &drop) {}

  template <typename Result, typename... Args>
  Result call(const Args &...args) const {
    WithGil gil;
    if (!gil)
      stay();
    nb::object result = nb::handle(function.get())(args...);
    return nb::cast<Result>(std::move(result));
  }

private:
  static void drop(PyObject *function) {
    if (WithGil gil; gil)
      Py_DECREF(function);
  }

  std::shared_ptr<PyObject> function;
};

} // namespace tinh::python

#endif // TINH_PYTHON_CALLBACK_H
