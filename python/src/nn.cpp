//===- nn.cpp - Layers, optimizers and random numbers for Python -*- C++ -*-==//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/nn.h"
#include "bindings.h"
#include "tensors.h"
#include "tinh/optim.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

namespace tinh::python {

namespace {

using Handle = std::shared_ptr<nn::Module>;

nb::dict to_dict(const StateDict &state) {
  nb::dict result;
  for (const NamedTensor &entry : state)
    result[entry.name.c_str()] = entry.tensor;
  return result;
}

StateDict from_dict(const nb::dict &dict) {
  StateDict state;
  for (auto [name, value] : dict)
    state.push_back(
        {nb::cast<std::string>(name), nb::isinstance<Tensor>(value)
                                          ? nb::cast<Tensor>(value)
                                          : make_tensor(value, std::nullopt)});
  return state;
}

void bind_module(nb::module_ &m) {
  nb::class_<nn::Module>(m, "Layer", "A module of tinh/nn.h.")
      .def(
          "__call__",
          [](nn::Module &self, const Tensor &x) {
            At at = here();
            AtScope scope(at);
            return without_gil([&] { return self(x, at); });
          },
          nb::arg("x"))
      .def(
          "initialize",
          [](nn::Module &self, const Generator &generator) {
            without_gil([&] { self.initialize(generator); });
          },
          nb::arg("generator"),
          "Gives all parameters and buffers their first values.")
      .def("parameters",
           [](const nn::Module &self) { return self.parameters(here()); })
      .def("named_parameters",
           [](const nn::Module &self) {
             return to_dict(self.named_parameters(here()));
           })
      .def("state_dict",
           [](const nn::Module &self) {
             return to_dict(self.state_dict(here()));
           })
      .def(
          "load_state_dict",
          [](nn::Module &self, const nb::dict &state, bool strict) {
            At at = here();
            StateDict values = from_dict(state);
            without_gil([&] { self.load_state_dict(values, strict, at); });
          },
          nb::arg("state"), nb::arg("strict") = true)
      .def("num_parameters",
           [](const nn::Module &self) { return self.num_parameters(here()); })
      .def("train", &nn::Module::train, nb::arg("mode") = true)
      .def("eval", &nn::Module::eval)
      .def("freeze", &nn::Module::freeze)
      .def("unfreeze", &nn::Module::unfreeze)
      .def(
          "save",
          [](const nn::Module &self, const std::string &path) {
            At at = here();
            without_gil([&] { self.save(path, at); });
          },
          nb::arg("path"))
      .def(
          "load",
          [](nn::Module &self, const std::string &path, bool strict) {
            At at = here();
            without_gil([&] { self.load(path, strict, at); });
          },
          nb::arg("path"), nb::arg("strict") = true)
      .def(
          "summary",
          [](nn::Module &self, std::optional<Tensor> x) {
            return self.summary(x.value_or(Tensor()), here());
          },
          nb::arg("x") = nb::none())
      .def("__repr__", [](const nn::Module &self) {
        return self.type_name() + "(" +
               std::to_string(self.num_parameters(here())) + " parameters)";
      });
}

/// A layer with the arguments of its constructor.
template <typename M, typename... Args, typename... Extra>
void bind_layer(nb::module_ &m, const char *name, const Extra &...extra) {
  nb::class_<M, nn::Module>(m, name).def(nb::init<Args...>(), extra...);
}

template <typename M> void bind_convolution(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, int64_t in, int64_t out, const IntArray &kernel,
         const IntArray &stride, const IntArray &padding,
         const IntArray &dilation, int64_t groups, bool bias) {
        nn::ConvOptions options;
        options.stride = stride;
        options.padding = padding;
        options.dilation = dilation;
        options.groups = groups;
        options.bias = bias;
        new (self) M(in, out, kernel, options);
      },
      nb::arg("channels_in"), nb::arg("channels_out"), nb::arg("kernel"),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, nb::arg("bias") = true);
}

template <typename M> void bind_batch_norm(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, int64_t channels, double eps, double momentum, bool affine) {
        nn::BatchNormOptions options;
        options.eps = eps;
        options.momentum = momentum;
        options.affine = affine;
        new (self) M(channels, options);
      },
      nb::arg("channels"), nb::arg("eps") = 1e-5, nb::arg("momentum") = 0.1,
      nb::arg("affine") = true);
}

template <typename M, typename Options>
void bind_pool(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, const IntArray &kernel, const IntArray &stride,
         const IntArray &padding) {
        Options options;
        options.stride = stride;
        options.padding = padding;
        new (self) M(kernel, options);
      },
      nb::arg("kernel"), nb::arg("stride") = nb::none(),
      nb::arg("padding") = 0);
}

void bind_layers(nb::module_ &m) {
  using namespace nn;
  m.attr("inferred") = inferred;
  bind_layer<Linear, int64_t, int64_t, bool>(
      m, "Linear", nb::arg("features_in"), nb::arg("features_out"),
      nb::arg("bias") = true);
  bind_layer<Embedding, int64_t, int64_t, std::optional<int64_t>>(
      m, "Embedding", nb::arg("count"), nb::arg("width"),
      nb::arg("padding") = nb::none());
  bind_layer<Dropout, double>(m, "Dropout", nb::arg("probability") = 0.5);
  bind_layer<Flatten, int64_t, int64_t>(m, "Flatten", nb::arg("first") = 1,
                                        nb::arg("last") = -1);
  bind_layer<ReLU>(m, "ReLU");
  bind_layer<LeakyReLU, double>(m, "LeakyReLU", nb::arg("slope") = 0.01);
  bind_layer<ELU, double>(m, "ELU", nb::arg("alpha") = 1.0);
  bind_layer<GELU, bool>(m, "GELU", nb::arg("tanh_approximation") = false);
  bind_layer<SiLU>(m, "SiLU");
  bind_layer<Sigmoid>(m, "Sigmoid");
  bind_layer<Tanh>(m, "Tanh");
  bind_layer<Softplus>(m, "Softplus");
  bind_layer<Softmax, int64_t>(m, "Softmax", nb::arg("axis"));
  bind_layer<LogSoftmax, int64_t>(m, "LogSoftmax", nb::arg("axis"));
  bind_convolution<Conv1d>(m, "Conv1d");
  bind_convolution<Conv2d>(m, "Conv2d");
  bind_batch_norm<BatchNorm1d>(m, "BatchNorm1d");
  bind_batch_norm<BatchNorm2d>(m, "BatchNorm2d");
  bind_pool<MaxPool2d, MaxPoolOptions>(m, "MaxPool2d");
  bind_pool<AvgPool2d, AvgPoolOptions>(m, "AvgPool2d");
  bind_layer<AdaptiveAvgPool2d, const IntArray &>(m, "AdaptiveAvgPool2d",
                                                  nb::arg("extents"));
  nb::class_<LayerNorm, nn::Module>(m, "LayerNorm")
      .def(
          "__init__",
          [](LayerNorm *self, const Shape &shape, double eps, bool affine,
             bool bias) {
            LayerNormOptions options;
            options.eps = eps;
            options.elementwise_affine = affine;
            options.bias = bias;
            new (self) LayerNorm(shape, options);
          },
          nb::arg("shape"), nb::arg("eps") = 1e-5, nb::arg("affine") = true,
          nb::arg("bias") = true);
}

//===----------------------------------------------------------------------===//
// Optimizers and random numbers
//===----------------------------------------------------------------------===//

Options to_options(const nb::kwargs &given) {
  Options options;
  for (auto [name, value] : given) {
    bool is_flag = PyBool_Check(value.ptr());
    std::string text = nb::str(value).c_str();
    if (is_flag)
      text = text == "True" ? "true" : "false";
    options.push_back({nb::cast<std::string>(name), text});
  }
  return options;
}

/// A rule of optim::Rule, as Python holds it.
struct PythonRule {
  optim::Rule rule;
};

void bind_optim(nb::module_ &m) {
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
  nb::class_<optim::Optimizer>(m, "Optimizer",
                               "Changes parameters by a rule and their "
                               "gradients, and keeps its state of them.")
      .def(
          "__init__",
          [](optim::Optimizer *self, std::vector<Tensor> parameters,
             const PythonRule &rule) {
            new (self)
                optim::Optimizer(std::move(parameters), rule.rule, here());
          },
          nb::arg("parameters"), nb::arg("rule"))
      .def("step",
           [](optim::Optimizer &self) {
             At at = here();
             AtScope scope(at);
             without_gil([&] { self.step(at); });
           })
      .def("zero_grad",
           [](optim::Optimizer &self) {
             At at = here();
             without_gil([&] { self.zero_grad(at); });
           })
      .def_prop_rw(
          "learning_rate",
          [](const optim::Optimizer &self) { return self.learning_rate(); },
          [](const optim::Optimizer &self, double lr) {
            self.set_learning_rate(lr);
          })
      .def("state_dict",
           [](const optim::Optimizer &self) {
             return to_dict(self.state_dict());
           })
      .def(
          "load_state_dict",
          [](optim::Optimizer &self, const nb::dict &state) {
            self.load_state_dict(from_dict(state), here());
          },
          nb::arg("state"));
}

void bind_random(nb::module_ &m) {
  nb::class_<Generator>(m, "Generator",
                        "Which random numbers come next: by one thread at a "
                        "time.")
      .def(nb::init<uint64_t, uint64_t>(), nb::arg("seed"),
           nb::arg("counter") = 0)
      .def_prop_ro("seed", &Generator::seed)
      .def_prop_ro("counter", &Generator::counter);
  m.def(
      "normal",
      [](const Shape &shape, const Generator &generator, double mean,
         double deviation, DType dtype) {
        return normal(shape, generator, mean, deviation, dtype, here());
      },
      nb::arg("shape"), nb::arg("generator"), nb::arg("mean") = 0.0,
      nb::arg("deviation") = 1.0, nb::arg("dtype") = "f32");
  m.def(
      "uniform",
      [](const Shape &shape, const Generator &generator, double low,
         double high, DType dtype) {
        return uniform(shape, generator, low, high, dtype, here());
      },
      nb::arg("shape"), nb::arg("generator"), nb::arg("low") = 0.0,
      nb::arg("high") = 1.0, nb::arg("dtype") = "f32");
  m.def(
      "randint",
      [](int64_t low, int64_t high, const Shape &shape,
         const Generator &generator, DType dtype) {
        return randint(low, high, shape, generator, dtype, here());
      },
      nb::arg("low"), nb::arg("high"), nb::arg("shape"), nb::arg("generator"),
      nb::arg("dtype") = "i64");
}

} // namespace

void bind_nn(nb::module_ &module) {
  bind_random(module);
  nb::module_ nn = module.def_submodule("nn");
  bind_module(nn);
  bind_layers(nn);
  nb::module_ optim = module.def_submodule("optim");
  bind_optim(optim);
}

} // namespace tinh::python
