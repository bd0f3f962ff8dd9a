//===- state_dict.cpp - Tensors by name, for Python -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/state_dict.h"
#include "bindings.h"
#include "tensors.h"

#include <nanobind/stl/string.h>

namespace tinh::python {

nb::dict from_state_dict(const StateDict &state) {
  nb::dict result;
  for (const NamedTensor &entry : state)
    result[entry.name.c_str()] = entry.tensor;
  return result;
}

StateDict to_state_dict(const nb::dict &dict) {
  StateDict state;
  for (auto [name, value] : dict)
    state.push_back(
        {nb::cast<std::string>(name), nb::isinstance<Tensor>(value)
                                          ? nb::cast<Tensor>(value)
                                          : make_tensor(value, std::nullopt)});
  return state;
}

void bind_state_dicts(nb::module_ &module) {
  module.def(
      "save_safetensors",
      [](nb::object path, const nb::dict &state) {
        At at = here();
        std::string file = nb::str(path).c_str();
        StateDict values = to_state_dict(state);
        without_gil([&] { save_safetensors(file, values, {}, at); });
      },
      nb::arg("path"), nb::arg("state"),
      "Writes tensors or arrays by name to a .safetensors file, whole or not\n"
      "at all.");
  module.def(
      "load_safetensors",
      [](nb::object path) {
        At at = here();
        std::string file = nb::str(path).c_str();
        return from_state_dict(
            without_gil([&] { return load_safetensors(file, nullptr, at); }));
      },
      nb::arg("path"), "The tensors of a .safetensors file by name.");
}

} // namespace tinh::python
