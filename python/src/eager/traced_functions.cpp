//===- traced_functions.cpp - Functions that become graphs ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// tinh/function.h over lists of tensors; tinh/_function.py makes of these what
// users call.
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "model/callback.h"
#include "tensors.h"
#include "tinh/function.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>

namespace tinh::python {

namespace {

using Tensors = std::vector<Tensor>;

/// A function of Python's from a list of tensors to one.
auto over_lists(nb::handle function) {
  return [callback = Callback(function)](std::span<const Tensor> tensors) {
    return callback.call<Tensors>(to_list(tensors));
  };
}

void bind_function(nb::module_ &module) {
  using Function = tinh::Function;
  nb::class_<Function>(module, "_Function")
      .def("__init__",
           [](Function *self, std::string name, uint32_t threads,
              nb::dict captured) {
             FunctionOptions options;
             options.name = std::move(name);
             options.threads = threads;
             options.captured = to_state_dict(captured);
             new (self) Function(std::move(options), here());
           })
      .def("call",
           [](const Function &function, nb::handle body, const Tensors &tensors,
              const std::string &key) {
             auto traced = over_lists(body);
             return without_gil(
                 [&] { return function.call(traced, tensors, key); });
           })
      .def("save",
           [](const Function &function, const std::string &path,
              nb::handle body, const Tensors &tensors, const std::string &key,
              const std::vector<std::string> &names) {
             auto traced = over_lists(body);
             without_gil(
                 [&] { function.save(path, traced, tensors, key, names); });
           })
      .def("graph",
           [](const Function &function, nb::handle body, const Tensors &tensors,
              const std::string &key, const std::vector<std::string> &names) {
             auto traced = over_lists(body);
             return without_gil(
                 [&] { return function.graph(traced, tensors, key, names); });
           })
      .def("statistics", [](const Function &function) {
        FunctionStatistics found = function.statistics();
        nb::dict result;
        result["calls"] = found.calls;
        result["traces"] = found.traces;
        result["trace_ms"] = found.trace_ms;
        result["compile_ms"] = found.compile_ms;
        result["retraces"] = found.retraces;
        return result;
      });
}

/// `with` a scope of names.
class NamedBlock {
public:
  explicit NamedBlock(std::string name) : name(std::move(name)) {}
  NamedBlock(const NamedBlock &) = delete;

  void enter() { scopes.push_back(std::make_unique<NameScope>(name)); }
  void exit(nb::args) {
    if (scopes.empty())
      throw nb::value_error("the scope has not been entered");
    scopes.pop_back();
  }

private:
  std::string name;
  std::vector<std::unique_ptr<NameScope>> scopes; ///< One for each `with`.
};

void bind_tracing(nb::module_ &module) {
  module.def("is_tracing", &is_tracing,
             "Whether a function is being traced, so that tensors have no "
             "values.");
  nb::class_<NamedBlock>(module, "name_scope",
                         "`with` it, traced functions name their operations\n"
                         "NAME/operation.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("__enter__", &NamedBlock::enter)
      .def("__exit__", &NamedBlock::exit, nb::arg("error"));
}

void bind_control_flow(nb::module_ &module) {
  module.def("_cond", [](const Tensor &condition, nb::handle then,
                         nb::handle otherwise) {
    At at = here();
    Callback first(then), second(otherwise);
    return without_gil([&] {
      return cond(
          condition, [&] { return first.call<Tensors>(); },
          [&] { return second.call<Tensors>(); }, at);
    });
  });
  module.def("_while_loop",
             [](nb::handle condition, nb::handle body, Tensors initial) {
               At at = here();
               Callback test(condition);
               auto step = over_lists(body);
               return without_gil([&] {
                 return while_loop(
                     [&](std::span<const Tensor> state) {
                       return test.call<Tensor>(to_list(state));
                     },
                     step, std::move(initial), at);
               });
             });
  module.def("_scan", [](nb::handle body, Tensors initial, Tensors inputs,
                         int64_t length) {
    At at = here();
    Callback step(body);
    ScanResult result = without_gil([&] {
      return scan(
          [&](std::span<const Tensor> state, std::span<const Tensor> rows) {
            auto [next, items] = step.call<std::pair<Tensors, Tensors>>(
                to_list(state), to_list(rows));
            return ScanStep{std::move(next), std::move(items)};
          },
          std::move(initial), std::move(inputs), length, at);
    });
    return std::pair(std::move(result.state), std::move(result.stacked));
  });
}

} // namespace

void bind_functions(nb::module_ &module) {
  bind_function(module);
  bind_tracing(module);
  bind_control_flow(module);
}

} // namespace tinh::python
