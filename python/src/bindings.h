//===- bindings.h - The parts of the extension modules ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_BINDINGS_H
#define TINH_PYTHON_BINDINGS_H

#include "tinh/runtime.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace tinh::python {

namespace nb = nanobind;

class Function;

// What both modules have: tinh_runtime, and tinh, which compiles as well.
void bind_errors(nb::module_ &module);
void bind_future(nb::module_ &module);
void bind_model(nb::module_ &module);

// What only tinh has.
void bind_compiler(nb::module_ &module);
void bind_pages(nb::module_ &module);
void bind_tools(nb::module_ &module);
void bind_tensors(nb::module_ &module);
void bind_autograd(nb::module_ &module);
void bind_functions(nb::module_ &module);
void bind_state_dicts(nb::module_ &module);
void bind_nn(nb::module_ &module);
void bind_optim(nb::module_ &module);

/// An Error of Python's, not raised.
nb::object make_error(const Error &error);

/// Queues a call: a Future.
nb::object submit(const Function &function, nb::args args, nb::kwargs kwargs);

} // namespace tinh::python

#endif // TINH_PYTHON_BINDINGS_H
