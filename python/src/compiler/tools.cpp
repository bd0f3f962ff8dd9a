//===- tools.cpp - The command-line tools for Python ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tools.h"
#include "bindings.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <map>

namespace tinh::python {

using Tool = int (*)(int argc, char **argv);

static const std::map<std::string, Tool> &all_tools() {
  static const std::map<std::string, Tool> tools = {
      {"graph-compare", &tools::graph_compare},
      {"graph-compile", &tools::graph_compile},
      {"graph-prune", &tools::graph_prune},
      {"graph-quantize", &tools::graph_quantize},
      {"graph-reduce", &tools::graph_reduce},
      {"graph-run", &tools::graph_run},
      {"graph-scale", &tools::graph_scale}};
  return tools;
}

/// Runs a tool as its program does. Signals are left to it: it has the process
/// for itself.
static int run_tool(const std::string &name,
                    const std::vector<std::string> &arguments) {
  std::vector<std::string> kept = {name};
  kept.insert(kept.end(), arguments.begin(), arguments.end());
  std::vector<char *> argv;
  for (std::string &argument : kept)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  return all_tools().at(name)(static_cast<int>(kept.size()), argv.data());
}

void bind_tools(nb::module_ &module) {
  nb::list names;
  for (const auto &[name, tool] : all_tools())
    names.append(name);
  module.attr("_tools") = nb::tuple(names);
  module.def("_run_tool", &run_tool, nb::arg("name"), nb::arg("arguments"),
             "What the program of that name does with these arguments: its "
             "exit code.");
}

} // namespace tinh::python
