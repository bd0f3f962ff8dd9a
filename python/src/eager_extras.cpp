//===- eager_extras.cpp - More of the eager API for Python ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "eager_extras.h"
#include "bindings.h"

namespace tinh::python {

void bind_eager_extras(nb::module_ &module) {
  auto tensor = nb::borrow<nb::class_<Tensor>>(module.attr("Tensor"));
  Both both(module, tensor);
  bind_more_operations(both, module);
  bind_views(both, tensor);
  bind_protocols(tensor);
  bind_in_place(tensor);
  bind_windows(module);
  bind_losses(module);
  bind_engine(module);
}

} // namespace tinh::python
