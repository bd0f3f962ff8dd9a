//===- autograd.cpp - Gradients for Python ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "bindings.h"
#include "model/callback.h"
#include "tensors.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

nb::object grad_property(const Tensor &x) {
  Tensor gradient = grad_of(x, here());
  return gradient.defined() ? nb::cast(gradient) : nb::none();
}

void set_grad_property(const Tensor &x, std::optional<Tensor> gradient) {
  set_grad(x, gradient.value_or(Tensor()), here());
}

void run_backward(const Tensor &output, std::optional<Tensor> gradient,
                  bool retain_graph, bool create_graph) {
  At at = here();
  BackwardOptions options;
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  without_gil(
      [&] { backward(output, gradient.value_or(Tensor()), options, at); });
}

std::vector<Tensor> gradients(const std::vector<Tensor> &outputs,
                              const std::vector<Tensor> &inputs,
                              const std::vector<Tensor> &output_gradients,
                              bool retain_graph, bool create_graph,
                              bool allow_unused) {
  At at = here();
  GradOptions options;
  options.retain_graph = retain_graph;
  options.create_graph = create_graph;
  options.allow_unused = allow_unused;
  return without_gil(
      [&] { return grad(outputs, inputs, output_gradients, options, at); });
}

/// A context in which nothing is recorded, or something is.
template <typename Guard> class GradMode {
public:
  GradMode() = default;
  GradMode(const GradMode &) = delete;
  void enter() { guards.push_back(std::make_unique<Guard>()); }
  void exit(nb::args) { guards.pop_back(); }

private:
  std::vector<std::unique_ptr<Guard>> guards;
};

template <typename Guard>
void bind_mode(nb::module_ &module, const char *name, const char *text) {
  nb::class_<GradMode<Guard>>(module, name, text)
      .def(nb::init<>())
      .def("__enter__", &GradMode<Guard>::enter)
      .def("__exit__", &GradMode<Guard>::exit, nb::arg("error"));
}

/// One for each input, as the function of Python's gives them: None for none.
std::vector<Tensor>
gradients_of(const std::vector<std::optional<Tensor>> &given) {
  std::vector<Tensor> result;
  for (const std::optional<Tensor> &gradient : given)
    result.push_back(gradient.value_or(Tensor()));
  return result;
}

std::vector<Tensor> with_gradient(nb::handle forward, nb::handle gradient,
                                  const std::vector<Tensor> &inputs) {
  At at = here();
  Callback compute(forward), differentiate(gradient);
  return without_gil([&] {
    return custom_gradient(
        [compute](std::span<const Tensor> inputs) {
          return compute.call<std::vector<Tensor>>(to_list(inputs));
        },
        [differentiate](std::span<const Tensor> inputs,
                        std::span<const Tensor> outputs,
                        std::span<const Tensor> output_gradients) {
          return gradients_of(
              differentiate.call<std::vector<std::optional<Tensor>>>(
                  to_list(inputs), to_list(outputs),
                  to_list(output_gradients)));
        },
        inputs, at);
  });
}

} // namespace

void bind_autograd(nb::module_ &module) {
  auto tensor = nb::borrow<nb::class_<Tensor>>(module.attr("Tensor"));
  tensor
      .def_prop_rw("grad", &grad_property, &set_grad_property, nb::arg().none(),
                   "The gradient that backward has added up, or None.")
      .def_prop_rw(
          "requires_grad",
          [](const Tensor &x) { return requires_grad(x, here()); },
          [](const Tensor &x, bool required) {
            requires_grad_(x, required, here());
          },
          "Whether gradients are recorded for it.")
      .def(
          "requires_grad_",
          [](nb::object self, bool required) {
            requires_grad_(nb::cast<const Tensor &>(self), required, here());
            return self;
          },
          nb::arg("required") = true)
      .def_prop_ro("is_leaf",
                   [](const Tensor &x) { return is_leaf(x, here()); })
      .def("backward", &run_backward, nb::arg("gradient") = nb::none(),
           nb::arg("retain_graph") = false, nb::arg("create_graph") = false,
           "Adds the gradient of this tensor with respect to each leaf to the "
           "leaf's grad.")
      .def("detach", [](const Tensor &x) { return detach(x, here()); })
      .def("zero_grad", [](const Tensor &x) { zero_grad(x, here()); })
      .def(
          "register_hook",
          [](const Tensor &x, nb::handle hook) {
            Callback function(hook);
            register_hook(
                x,
                [function](const Tensor &gradient) {
                  return function.call<std::optional<Tensor>>(gradient)
                      .value_or(Tensor());
                },
                here());
          },
          nb::arg("hook"),
          "Calls hook(gradient) when backward has this tensor's gradient; "
          "what\n"
          "it returns, if not None, takes its place.");
  module.def("grad", &gradients, nb::arg("outputs"), nb::arg("inputs"),
             nb::arg("output_gradients") = std::vector<Tensor>(), nb::kw_only(),
             nb::arg("retain_graph") = false, nb::arg("create_graph") = false,
             nb::arg("allow_unused") = false,
             "The gradients of outputs, lists of tensors, by inputs.");
  module.def("is_grad_enabled", &is_grad_enabled);
  bind_mode<NoGrad>(module, "no_grad", "`with` it, nothing is recorded.");
  bind_mode<EnableGrad>(module, "enable_grad",
                        "`with` it, gradients are recorded again.");
  module.def("_custom_gradient", &with_gradient);
}

} // namespace tinh::python
