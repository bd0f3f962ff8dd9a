//===- module.cpp - The module of tinh_runtime ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"

NB_MODULE(_runtime, module) {
  using namespace tinh::python;
  // What caches of others still hold when the interpreter ends is no leak.
  nanobind::set_leak_warnings(false);
  module.attr("__version__") = tinh_runtime_version();
  bind_errors(module);
  bind_future(module);
  bind_model(module);
}
