//===- module.cpp - The module of tinh --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"

namespace nb = nanobind;

/// What tinh has of this module: all functions and types but those with an
/// underscore.
static nb::list public_names(const nb::module_ &module) {
  nb::list names;
  for (auto [name, value] : nb::borrow<nb::dict>(module.attr("__dict__")))
    if (*nb::borrow<nb::str>(name).c_str() != '_' &&
        !PyModule_Check(value.ptr()))
      names.append(name);
  return names;
}

NB_MODULE(_tinh, module) {
  using namespace tinh::python;
  // What caches of others still hold when the interpreter ends is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = tinh_runtime_version();
  bind_errors(module);
  bind_future(module);
  bind_model(module);
  bind_compiler(module);
  bind_pages(module);
  bind_tools(module);
  bind_tensors(module);
  bind_autograd(module);
  bind_functions(module);
  bind_state_dicts(module);
  bind_nn(module);
  bind_optim(module);
  module.attr("__all__") = public_names(module);
}
