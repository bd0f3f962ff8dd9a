//===- pages.cpp - Reports and profiles as pages ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "clock.h"
#include "model/engine.h"
#include "model/gil.h"
#include "page.h"
#include "run_data.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

namespace tinh::python {
namespace {

/// The data of a page about the runs of a model that measures its steps, on top
/// of `report`, what the compiler has said of it.
std::string profile_data(nb::capsule engine, const std::string &function,
                         std::optional<std::string> report) {
  auto *measured = static_cast<Engine *>(engine.data());
  return without_gil([&] {
    const Module &module = measured->module();
    const Context &context = measured->context();
    uint32_t index = module.find_function(function);
    tools::Json page = tools::artifact_data(module, context.info().uses_cuda);
    if (report)
      if (auto known = tools::Json::parse(*report);
          tools::is_about(known, page))
        page = std::move(known);
    tools::add_profile(
        page, index,
        tools::make_profile(module, context, index, tools::measure_clock()),
        context);
    return tools::json_text(page);
  });
}

} // namespace

void bind_pages(nb::module_ &module) {
  module.def("_page", &tools::make_page, nb::arg("data"),
             "The HTML page that draws this data, JSON.");
  module.def("_profile_data", &profile_data, nb::arg("engine"),
             nb::arg("function"), nb::arg("report").none(),
             "The data of a page about a model's runs.");
}

} // namespace tinh::python
