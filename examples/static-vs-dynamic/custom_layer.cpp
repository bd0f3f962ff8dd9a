//===- custom_layer.cpp - A layer of one's own ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   custom_layer
//
// A linear layer whose weights are rounded to -1, 0 or 1 when it computes, and
// whose gradient passes the rounding by (a straight-through estimator). It is
// used like any other one: its sizes are found at the first call, its
// parameters are inspected, initialised, shared, frozen, saved and loaded.
//
//===----------------------------------------------------------------------===//
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/nn.h"
#include "tinh/optim.h"
#include "tinh/random.h"

#include <cstdio>
#include <filesystem>
#include <iostream>
#include <unistd.h>

using tinh::Shape;
using tinh::Tensor;
namespace nn = tinh::nn;

/// Rounds, with the gradient of the identity.
static Tensor roundStraightThrough(const Tensor &x) {
  auto forward = [](std::span<const Tensor> in) {
    return std::vector{tinh::round(in[0].clamp(-1, 1))};
  };
  auto gradient = [](std::span<const Tensor>, std::span<const Tensor>,
                     std::span<const Tensor> gradients) {
    return std::vector{gradients[0]};
  };
  return tinh::custom_gradient(forward, gradient, std::vector{x})[0];
}

namespace {

class TernaryLinear : public nn::Module {
public:
  explicit TernaryLinear(int64_t out) : out(out) {
    register_parameter("weight", weight, {out, nn::inferred},
                       nn::init::uniform(-1, 1));
    register_parameter("scale", scale, {}, nn::init::constant(0.1));
  }
  std::string type_name() const override { return "TernaryLinear"; }

  Tensor weight, scale;

protected:
  void infer(const Shape &input) override {
    set_shape(weight, {out, input[input.size() - 1]});
  }
  Tensor forward(const Tensor &x) override {
    return matmul(x, roundStraightThrough(weight).t()) * scale;
  }

private:
  int64_t out;
};

} // namespace

/// Trains to tell whether more than half of an example's numbers are positive.
static void train(nn::Module &network, tinh::Generator &generator) {
  tinh::optim::Optimizer optimizer(network.parameters(),
                                   tinh::optim::adam({.lr = 0.01}));
  auto step = tinh::function("step", [&](Tensor x, Tensor y) {
    Tensor loss = tinh::binary_cross_entropy_with_logits(network(x), y);
    backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    return loss;
  });
  for (int i = 0; i <= 200; ++i) {
    Tensor x = tinh::normal({64, 16}, generator);
    Tensor y =
        ((x > 0).to(tinh::float32).mean(1, true) > 0.5).to(tinh::float32);
    Tensor loss = step(x, y);
    if (i % 100 == 0)
      std::printf("step %3d  loss %.3f\n", i, loss.item<double>());
  }
}

int main() {
  tinh::Generator generator(7);
  auto hidden = nn::make<TernaryLinear>(32);
  auto network = nn::make<nn::Sequential>(
      hidden, nn::make<nn::ReLU>(), nn::make<nn::Linear>(nn::inferred, 1));
  network->initialize(generator);
  std::cout << network->summary(tinh::zeros({64, 16})) << '\n';

  train(*network, generator);
  Tensor weight = hidden->weight;
  std::cout << "\nweights as they compute:\n"
            << tinh::round(tinh::detach(weight).clamp(-1, 1)).slice(0, 0, 3)
            << '\n';

  std::string path =
      std::filesystem::temp_directory_path() /
      ("custom_layer-" + std::to_string(::getpid()) + ".safetensors");
  network->save(path);
  auto second = nn::make<TernaryLinear>(32);
  auto copy = nn::make<nn::Sequential>(second, nn::make<nn::ReLU>(),
                                       nn::make<nn::Linear>(nn::inferred, 1));
  copy->load(path);
  std::filesystem::remove(path);
  Tensor x = tinh::normal({4, 16}, generator);
  tinh::NoGrad guard;
  bool same = (network(x) == copy(x)).all().item<bool>();
  std::printf("\nloaded from a file, it gives %s results\n",
              same ? "the same" : "other");
  second->freeze();
  std::printf("frozen, %s needs a gradient\n",
              requires_grad(second->weight) ? "the layer" : "nothing of it");
  return same ? 0 : 1;
}
