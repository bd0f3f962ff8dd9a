//===- optim.cpp - Optimizers for Python ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/optim.h"
#include "bindings.h"
#include "tensors.h"
#include "tinh/loss_scale.h"

#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

/// Options by name; lists are written as their C++ counterparts are.
Options to_options(const nb::kwargs &given) {
  Options options;
  for (auto [name, value] : given) {
    std::string text;
    if (PyBool_Check(value.ptr()))
      text = value.is(Py_True) ? "true" : "false";
    else if (nb::isinstance<nb::list>(value) ||
             nb::isinstance<nb::tuple>(value))
      for (nb::handle item : value)
        text += (text.empty() ? "" : ":") + std::string(nb::str(item).c_str());
    else
      text = nb::str(value).c_str();
    options.push_back({nb::cast<std::string>(name), text});
  }
  return options;
}

/// A rule of optim::Rule, as Python holds it.
struct PythonRule {
  optim::Rule rule;
};

void bind_rules(nb::module_ &m) {
  nb::class_<PythonRule>(m, "Rule", "How an optimizer changes a parameter.")
      .def_prop_ro("name", [](const PythonRule &r) { return r.rule->name(); })
      .def_prop_ro("learning_rate",
                   [](const PythonRule &r) { return r.rule->learning_rate(); });
  for (const std::string &name : optim::names())
    m.def(
        name.c_str(),
        [name](nb::kwargs options) {
          return PythonRule{optim::make(name, to_options(options), here())};
        },
        nb::arg("options"), "The rule, with the options of its C++ struct.");
}

/// A list of tensors, or of pairs of such a list and its rule.
std::vector<optim::ParameterGroup> to_groups(
    const std::vector<std::pair<std::vector<Tensor>, PythonRule>> &given) {
  std::vector<optim::ParameterGroup> groups;
  for (const auto &[parameters, rule] : given)
    groups.push_back({parameters, rule.rule});
  return groups;
}

void bind_optimizer(nb::module_ &m) {
  using optim::Optimizer;
  nb::class_<Optimizer>(m, "Optimizer",
                        "Changes parameters by a rule and their gradients, and "
                        "keeps its state of them.")
      .def(
          "__init__",
          [](Optimizer *self, std::vector<Tensor> parameters,
             const PythonRule &rule) {
            new (self) Optimizer(std::move(parameters), rule.rule, here());
          },
          nb::arg("parameters"), nb::arg("rule"))
      .def(
          "__init__",
          [](Optimizer *self,
             const std::vector<std::pair<std::vector<Tensor>, PythonRule>>
                 &groups) { new (self) Optimizer(to_groups(groups), here()); },
          nb::arg("groups"), "Groups are pairs of parameters and their rule.")
      .def(
          "step",
          [](Optimizer &self) {
            At at = here();
            AtScope scope(at);
            without_gil([&] { self.step(at); });
          },
          "Changes all parameters that have a gradient.")
      .def(
          "step_if",
          [](Optimizer &self, const Tensor &condition) {
            At at = here();
            AtScope scope(at);
            without_gil([&] { self.step_if(condition, at); });
          },
          nb::arg("condition"),
          "A step where the condition, a boolean of rank 0, holds.")
      .def("zero_grad",
           [](Optimizer &self) {
             At at = here();
             without_gil([&] { self.zero_grad(at); });
           })
      .def_prop_ro("num_groups", &Optimizer::num_groups)
      .def_prop_rw(
          "learning_rate",
          [](const Optimizer &self) { return self.learning_rate(); },
          [](const Optimizer &self, double lr) { self.set_learning_rate(lr); },
          "Of the first group: a tensor of rank 0. May be set to a number.")
      .def("set_learning_rate", &Optimizer::set_learning_rate, nb::arg("lr"),
           nb::arg("group") = 0)
      .def("state_dict",
           [](const Optimizer &self) {
             return from_state_dict(self.state_dict());
           })
      .def(
          "load_state_dict",
          [](Optimizer &self, const nb::dict &state) {
            self.load_state_dict(to_state_dict(state), here());
          },
          nb::arg("state"));
}

void bind_clipping(nb::module_ &m) {
  m.def(
      "clip_grad_norm_",
      [](const std::vector<Tensor> &parameters, double max_norm, double p) {
        At at = here();
        return without_gil([&] {
          return optim::clip_grad_norm_(parameters, max_norm, p, at);
        });
      },
      nb::arg("parameters"), nb::arg("max_norm"), nb::arg("p") = 2.0,
      "Scales the gradients in place so that the norm of all elements\n"
      "together, which it returns, is at most max_norm; p may be infinite.");
  m.def(
      "clip_grad_value_",
      [](const std::vector<Tensor> &parameters, double limit) {
        At at = here();
        without_gil([&] { optim::clip_grad_value_(parameters, limit, at); });
      },
      nb::arg("parameters"), nb::arg("limit"),
      "Clamps all elements of the gradients to [-limit, limit], in place.");
}

void bind_schedules(nb::module_ &m) {
  m.def(
      "schedule",
      [](const std::string &name, nb::kwargs options) {
        return optim::make_schedule(name, to_options(options), here());
      },
      nb::arg("name"), nb::arg("options"),
      "A function of the initial learning rate and the number of the step:\n"
      "\"constant\", \"step\" (step_size, gamma), \"multi_step\" (milestones,\n"
      "gamma), \"exponential\" (gamma), \"cosine\" (steps, minimum) or "
      "\"linear\"\n"
      "(steps, start_factor, end_factor); all with warmup: steps of a linear\n"
      "rise before.");
  using optim::Scheduler;
  nb::class_<Scheduler>(m, "Scheduler",
                        "Sets the learning rates of an optimizer by a schedule "
                        "or any such function.")
      .def(nb::init<optim::Optimizer &, optim::Schedule>(),
           nb::arg("optimizer"), nb::arg("schedule"), nb::keep_alive<1, 2>())
      .def("step", &Scheduler::step, "To be called after Optimizer.step.")
      .def_prop_rw("current_step", &Scheduler::current_step,
                   &Scheduler::set_step);
}

void bind_loss_scale(nb::module_ &m) {
  using optim::GradScaler;
  nb::class_<GradScaler>(
      m, "GradScaler",
      "Scales a loss so that small gradients are not lost in f16, and leaves\n"
      "out the steps whose gradients are not finite.")
      .def(
          "__init__",
          [](GradScaler *self, nb::object scale, nb::kwargs options) {
            std::string name = nb::str(scale).c_str();
            new (self) GradScaler(
                optim::LossScale::make(name, to_options(options), here()),
                here());
          },
          nb::arg("scale") = "dynamic", nb::arg("options"),
          "\"dynamic\", with the options init_scale, growth_factor,\n"
          "backoff_factor and growth_interval, or a number.")
      .def(
          "scale",
          [](const GradScaler &self, const Tensor &loss) {
            At at = here();
            return without_gil([&] { return self.scale(loss, at); });
          },
          nb::arg("loss"), "The loss times the scale.")
      .def(
          "unscale_",
          [](GradScaler &self, const optim::Optimizer &optimizer) {
            At at = here();
            without_gil([&] { self.unscale_(optimizer, at); });
          },
          nb::arg("optimizer"),
          "Divides the gradients by the scale, before they are clipped.")
      .def(
          "step",
          [](GradScaler &self, optim::Optimizer &optimizer) {
            At at = here();
            without_gil([&] { self.step(optimizer, at); });
          },
          nb::arg("optimizer"),
          "The optimizer's step, if all of its gradients are finite.")
      .def(
          "update",
          [](GradScaler &self) {
            At at = here();
            without_gil([&] { self.update(at); });
          },
          "Changes the scale, after the steps of all optimizers.")
      .def_prop_ro("current_scale", &GradScaler::current_scale)
      .def("state_dict",
           [](const GradScaler &self) {
             return from_state_dict(self.state_dict());
           })
      .def(
          "load_state_dict",
          [](GradScaler &self, const nb::dict &state) {
            self.load_state_dict(to_state_dict(state), here());
          },
          nb::arg("state"));
}

} // namespace

void bind_optim(nb::module_ &module) {
  nb::module_ optim = module.def_submodule("optim");
  bind_rules(optim);
  bind_optimizer(optim);
  bind_clipping(optim);
  bind_schedules(optim);
  bind_loss_scale(optim);
}

} // namespace tinh::python
