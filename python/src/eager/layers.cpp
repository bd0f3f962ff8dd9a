//===- layers.cpp - Layers for Python ---------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "bindings.h"
#include "names.h"
#include "operations.h"
#include "tinh/autograd.h"
#include "tinh/nn.h"

namespace tinh::python {

namespace {

Tensor call(nn::Module &module, const Tensor &x) {
  At at = here();
  AtScope scope(at);
  return without_gil([&] { return module(x, at); });
}

/// A parameter or buffer by its name.
Tensor attribute(const nn::Module &module, const std::string &name) {
  At at = here();
  if (!name.starts_with('_') && module.is_initialized()) {
    StateDict state = module.state_dict(at);
    if (const Tensor *found = find(state, name))
      return *found;
  }
  throw nb::attribute_error(
      ("a " + module.type_name() + " has no attribute \"" + name + "\"")
          .c_str());
}

void bind_module(nb::module_ &m) {
  nb::class_<nn::Module>(m, "Layer", "A module of tinh/nn.h.")
      .def(
          "__call__",
          [](nn::Module &self, const Tensor &x) { return call(self, x); },
          nb::arg("x"))
      .def("_set_name", &nn::Module::set_name, nb::arg("name"))
      .def(
          "initialize",
          [](nn::Module &self, const Generator &generator) {
            without_gil([&] { self.initialize(generator); });
          },
          nb::arg("generator"),
          "Gives all parameters and buffers their initial values.")
      .def("parameters",
           [](const nn::Module &self) { return self.parameters(here()); })
      .def("named_parameters",
           [](const nn::Module &self) {
             return from_state_dict(self.named_parameters(here()));
           })
      .def("state_dict",
           [](const nn::Module &self) {
             return from_state_dict(self.state_dict(here()));
           })
      .def(
          "load_state_dict",
          [](nn::Module &self, const nb::dict &state, bool strict) {
            At at = here();
            StateDict values = to_state_dict(state);
            without_gil([&] { self.load_state_dict(values, strict, at); });
          },
          nb::arg("state"), nb::arg("strict") = true)
      .def("num_parameters",
           [](const nn::Module &self) { return self.num_parameters(here()); })
      .def("train", &nn::Module::train, nb::arg("mode") = true,
           "How dropout and batch norm behave.")
      .def("eval", &nn::Module::eval)
      .def_prop_ro("training", &nn::Module::is_training)
      .def("generators", &nn::Module::generators,
           "Those that it was initialized with.")
      .def("freeze", &nn::Module::freeze)
      .def("unfreeze", &nn::Module::unfreeze)
      .def(
          "to",
          [](nn::Module &self, nb::handle target) {
            At at = here();
            if (is_device(target)) {
              Device device = to_device(target);
              without_gil([&] { self.to(device, at); });
            } else {
              DType dtype = to_dtype(target);
              without_gil([&] { self.to(dtype, at); });
            }
          },
          nb::arg("target"),
          "Converts floating-point parameters and buffers to a dtype, or "
          "moves\n"
          "all to a device. The tensors are other ones then: make the "
          "optimizer\n"
          "later.")
      .def(
          "summary",
          [](nn::Module &self, std::optional<Tensor> x) {
            return self.summary(x.value_or(Tensor()), here());
          },
          nb::arg("x") = nb::none())
      .def("__getattr__", &attribute, nb::arg("name"), "A parameter, a buffer.")
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

nn::PaddingMode padding_mode_of(const std::string &name) {
  return by_name<nn::PaddingMode>("padding_mode", name,
                                  {{"zeros", nn::PaddingMode::Zeros},
                                   {"reflect", nn::PaddingMode::Reflect},
                                   {"replicate", nn::PaddingMode::Replicate},
                                   {"circular", nn::PaddingMode::Circular}});
}

template <typename M> void bind_convolution(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, int64_t in, int64_t out, const IntArray &kernel,
         const IntArray &stride, const IntArray &padding,
         const IntArray &dilation, int64_t groups, bool bias,
         const std::string &padding_mode) {
        new (self)
            M(in, out, kernel,
              nn::ConvOptions{.stride = stride,
                              .padding = padding,
                              .dilation = dilation,
                              .groups = groups,
                              .bias = bias,
                              .padding_mode = padding_mode_of(padding_mode)});
      },
      nb::arg("channels_in"), nb::arg("channels_out"), nb::arg("kernel"),
      nb::arg("stride") = 1, nb::arg("padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, nb::arg("bias") = true,
      nb::arg("padding_mode") = "zeros");
}

template <typename M>
void bind_transposed_convolution(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, int64_t in, int64_t out, const IntArray &kernel,
         const IntArray &stride, const IntArray &padding,
         const IntArray &output_padding, const IntArray &dilation,
         int64_t groups, bool bias) {
        new (self) M(in, out, kernel,
                     nn::ConvTransposeOptions{.stride = stride,
                                              .padding = padding,
                                              .output_padding = output_padding,
                                              .dilation = dilation,
                                              .groups = groups,
                                              .bias = bias});
      },
      nb::arg("channels_in"), nb::arg("channels_out"), nb::arg("kernel"),
      nb::arg("stride") = 1, nb::arg("padding") = 0,
      nb::arg("output_padding") = 0, nb::arg("dilation") = 1,
      nb::arg("groups") = 1, nb::arg("bias") = true);
}

template <typename M> void bind_batch_norm(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, int64_t channels, double eps, double momentum, bool affine,
         bool track_running_stats) {
        new (self) M(channels, nn::BatchNormOptions{.eps = eps,
                                                    .momentum = momentum,
                                                    .affine = affine,
                                                    .track_running_stats =
                                                        track_running_stats});
      },
      nb::arg("channels"), nb::arg("eps") = 1e-5, nb::arg("momentum") = 0.1,
      nb::arg("affine") = true, nb::arg("track_running_stats") = true);
}

template <typename M> void bind_max_pool(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, const IntArray &kernel, const IntArray &stride,
         const IntArray &padding, const IntArray &dilation, bool ceil_mode) {
        new (self) M(kernel, nn::MaxPoolOptions{.stride = stride,
                                                .padding = padding,
                                                .dilation = dilation,
                                                .ceil_mode = ceil_mode});
      },
      nb::arg("kernel"), nb::arg("stride") = nb::none(), nb::arg("padding") = 0,
      nb::arg("dilation") = 1, nb::arg("ceil_mode") = false);
}

template <typename M> void bind_avg_pool(nb::module_ &m, const char *name) {
  nb::class_<M, nn::Module>(m, name).def(
      "__init__",
      [](M *self, const IntArray &kernel, const IntArray &stride,
         const IntArray &padding, bool ceil_mode, bool count_include_pad) {
        new (self) M(
            kernel, nn::AvgPoolOptions{.stride = stride,
                                       .padding = padding,
                                       .ceil_mode = ceil_mode,
                                       .count_include_pad = count_include_pad});
      },
      nb::arg("kernel"), nb::arg("stride") = nb::none(), nb::arg("padding") = 0,
      nb::arg("ceil_mode") = false, nb::arg("count_include_pad") = true);
}

/// One that takes a sequence and, if given, a state.
template <typename M, typename... Extra>
void bind_recurrent(nb::module_ &m, const char *name, const char *text) {
  auto layer = nb::class_<M, nn::Module>(m, name, text);
  auto define = [&](auto init, const auto &...extra) {
    layer.def("__init__", init, nb::arg("width"), nb::arg("hidden"),
              nb::arg("num_layers") = 1, nb::arg("bias") = true,
              nb::arg("batch_first") = false, nb::arg("dropout") = 0.0,
              nb::arg("bidirectional") = false, extra...);
  };
  if constexpr (std::is_same_v<M, nn::RNN>)
    define(
        [](M *self, int64_t width, int64_t hidden, int64_t num_layers,
           bool bias, bool batch_first, double dropout, bool bidirectional,
           bool relu) {
          new (self) M(width, hidden,
                       {num_layers, bias, batch_first, dropout, bidirectional},
                       relu ? nn::Nonlinearity::ReLU : nn::Nonlinearity::Tanh);
        },
        nb::arg("relu") = false);
  else
    define(
        [](M *self, int64_t width, int64_t hidden, int64_t num_layers,
           bool bias, bool batch_first, double dropout, bool bidirectional,
           int64_t proj_size) {
          new (self) M(width, hidden,
                       {num_layers, bias, batch_first, dropout, bidirectional,
                        proj_size});
        },
        nb::arg("proj_size") = 0);
  layer.def(
      "__call__",
      [](nn::Module &self, const Tensor &x) { return call(self, x); },
      nb::arg("x"), "The output, from a state of zeros.");
  layer.def(
      "__call__",
      [](M &self, const Tensor &x, const std::vector<Tensor> &state) {
        At at = here();
        AtScope scope(at);
        nn::RecurrentResult result =
            without_gil([&] { return self(x, state, at); });
        return std::pair(std::move(result.output), std::move(result.state));
      },
      nb::arg("x"), nb::arg("state"),
      "The output and the last state, a list as the one that is given (an\n"
      "empty one: zeros).");
}

nn::AttentionMask mask_of(const OptionalTensor &mask, bool causal) {
  return {or_none(mask), causal};
}

void bind_attention(nb::module_ &m) {
  using nn::MultiHeadAttention, nn::TransformerEncoderLayer;
  nb::class_<MultiHeadAttention, nn::Module>(m, "MultiHeadAttention")
      .def(
          "__init__",
          [](MultiHeadAttention *self, int64_t width, int64_t heads,
             double dropout, bool bias, bool batch_first) {
            new (self)
                MultiHeadAttention(width, heads, {dropout, bias, batch_first});
          },
          nb::arg("width"), nb::arg("heads"), nb::arg("dropout") = 0.0,
          nb::arg("bias") = true, nb::arg("batch_first") = false)
      .def(
          "__call__",
          [](nn::Module &self, const Tensor &x) { return call(self, x); },
          nb::arg("x"), "Self-attention.")
      .def(
          "__call__",
          [](MultiHeadAttention &self, const Tensor &query, const Tensor &key,
             const Tensor &value, const OptionalTensor &mask, bool causal) {
            At at = here();
            AtScope scope(at);
            return without_gil([&] {
              return self(query, key, value, mask_of(mask, causal), at);
            });
          },
          nb::arg("query"), nb::arg("key"), nb::arg("value"),
          nb::arg("mask") = nb::none(), nb::arg("causal") = false,
          "mask: booleans, what is seen, or numbers that are added to the\n"
          "scores; broadcasts to [N, heads, queries, keys]. causal: query i\n"
          "sees keys up to i + (keys - queries), as PyTorch's "
          "causal_lower_right.");
  nb::class_<TransformerEncoderLayer, nn::Module>(m, "TransformerEncoderLayer")
      .def(
          "__init__",
          [](TransformerEncoderLayer *self, int64_t width, int64_t heads,
             int64_t dim_feedforward, double dropout, bool gelu,
             double layer_norm_eps, bool batch_first, bool norm_first) {
            new (self) TransformerEncoderLayer(width, heads,
                                               {dim_feedforward, dropout, gelu,
                                                layer_norm_eps, batch_first,
                                                norm_first});
          },
          nb::arg("width"), nb::arg("heads"), nb::arg("dim_feedforward") = 2048,
          nb::arg("dropout") = 0.1, nb::arg("gelu") = false,
          nb::arg("layer_norm_eps") = 1e-5, nb::arg("batch_first") = false,
          nb::arg("norm_first") = false)
      .def(
          "__call__",
          [](TransformerEncoderLayer &self, const Tensor &x,
             const OptionalTensor &mask, bool causal) {
            At at = here();
            AtScope scope(at);
            return without_gil(
                [&] { return self(x, mask_of(mask, causal), at); });
          },
          nb::arg("x"), nb::arg("mask") = nb::none(),
          nb::arg("causal") = false);
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
  bind_layer<Identity>(m, "Identity");
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
  bind_transposed_convolution<ConvTranspose1d>(m, "ConvTranspose1d");
  bind_transposed_convolution<ConvTranspose2d>(m, "ConvTranspose2d");
  bind_batch_norm<BatchNorm1d>(m, "BatchNorm1d");
  bind_batch_norm<BatchNorm2d>(m, "BatchNorm2d");
  bind_max_pool<MaxPool1d>(m, "MaxPool1d");
  bind_max_pool<MaxPool2d>(m, "MaxPool2d");
  bind_avg_pool<AvgPool1d>(m, "AvgPool1d");
  bind_avg_pool<AvgPool2d>(m, "AvgPool2d");
  bind_layer<AdaptiveAvgPool1d, const IntArray &>(m, "AdaptiveAvgPool1d",
                                                  nb::arg("extents"));
  bind_layer<AdaptiveAvgPool2d, const IntArray &>(m, "AdaptiveAvgPool2d",
                                                  nb::arg("extents"));
  bind_recurrent<RNN>(m, "RNN", "tanh, or relu, of x W_ih + h W_hh.");
  bind_recurrent<LSTM>(m, "LSTM", "Its state is [h, c].");
  bind_recurrent<GRU>(m, "GRU", "Its state is [h].");
  bind_attention(m);
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
  nb::class_<GroupNorm, nn::Module>(m, "GroupNorm")
      .def(
          "__init__",
          [](GroupNorm *self, int64_t groups, int64_t channels, double eps,
             bool affine) {
            new (self) GroupNorm(groups, channels, {eps, affine});
          },
          nb::arg("groups"), nb::arg("channels"), nb::arg("eps") = 1e-5,
          nb::arg("affine") = true);
}

/// What gives a parameter its initial values.
struct PythonInitializer {
  nn::Initializer function;
};

void bind_initializers(nb::module_ &layers) {
  nb::module_ m = layers.def_submodule("init");
  namespace init = nn::init;
  nb::class_<PythonInitializer>(m, "Initializer",
                                "Writes a parameter's initial values.")
      .def(
          "__call__",
          [](const PythonInitializer &self, const Tensor &x,
             const Generator &generator) {
            AtScope scope(here());
            NoGrad guard;
            without_gil([&] { self.function(x, generator); });
          },
          nb::arg("x"), nb::arg("generator"));
  using Made = PythonInitializer;
  m.def(
      "constant", [](double value) { return Made{init::constant(value)}; },
      nb::arg("value"));
  m.def("zeros", [] { return Made{init::zeros()}; });
  m.def("ones", [] { return Made{init::ones()}; });
  m.def(
      "uniform",
      [](double low, double high) { return Made{init::uniform(low, high)}; },
      nb::arg("low") = 0.0, nb::arg("high") = 1.0);
  m.def(
      "normal",
      [](double mean, double deviation) {
        return Made{init::normal(mean, deviation)};
      },
      nb::arg("mean") = 0.0, nb::arg("deviation") = 1.0);
  m.def(
      "trunc_normal",
      [](double mean, double deviation, double low, double high) {
        return Made{init::trunc_normal(mean, deviation, low, high)};
      },
      nb::arg("mean") = 0.0, nb::arg("deviation") = 1.0, nb::arg("low") = -2.0,
      nb::arg("high") = 2.0);
  for (auto [name, make] : {std::pair("xavier_uniform", &init::xavier_uniform),
                            {"xavier_normal", &init::xavier_normal},
                            {"orthogonal", &init::orthogonal}})
    m.def(
        name, [make](double gain) { return Made{make(gain)}; },
        nb::arg("gain") = 1.0);
  for (auto [name, make] :
       {std::pair("kaiming_uniform", &init::kaiming_uniform),
        {"kaiming_normal", &init::kaiming_normal}})
    m.def(
        name,
        [make](double slope, bool fan_out) {
          return Made{make(slope, fan_out ? init::Fan::Out : init::Fan::In)};
        },
        nb::arg("slope") = 0.0, nb::arg("fan_out") = false);
}

} // namespace

void bind_nn(nb::module_ &module) {
  nb::module_ nn = module.def_submodule("nn");
  bind_module(nn);
  bind_layers(nn);
  bind_initializers(nn);
}

} // namespace tinh::python
