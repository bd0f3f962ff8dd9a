//===- errors.cpp - Errors of the C++ API as exceptions ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"

#include <string>

namespace tinh::python {

static nb::handle error_type; // A reference that is never given up.

nb::object make_error(const Error &error) {
  nb::object made = error_type(error.what());
  made.attr("status") = tinh_status_name(error.status());
  return made;
}

void bind_errors(nb::module_ &module) {
  std::string name =
      nb::cast<std::string>(module.attr("__name__").attr("split")(".")[0]) +
      ".Error";
  error_type = PyErr_NewExceptionWithDoc(
      name.c_str(),
      "What the runtime or the compiler refuses, or a run that failed.\n\n"
      "`status` is the name of the C API's status, such as\n"
      "\"TINH_INVALID_ARTIFACT\".",
      PyExc_RuntimeError, nullptr);
  module.attr("Error") = error_type;
  nb::register_exception_translator(
      [](const std::exception_ptr &thrown, void *) {
        try {
          std::rethrow_exception(thrown);
        } catch (const Error &error) {
          if (error.status() == TINH_OUT_OF_MEMORY) {
            PyErr_SetString(PyExc_MemoryError, error.what());
            return;
          }
          PyErr_SetObject(error_type.ptr(), make_error(error).ptr());
        }
      });
}

} // namespace tinh::python
