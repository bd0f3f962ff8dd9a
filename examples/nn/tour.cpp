//===- tour.cpp - What docs/nn.md shows -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The document quotes this program block by block, and what it prints.
//
//===----------------------------------------------------------------------===//
#include <filesystem>
#include <iostream>
#include <tinh/autocast.h>
#include <tinh/autograd.h>
#include <tinh/function.h>
#include <tinh/loss_scale.h>
#include <tinh/losses.h>
#include <tinh/nn.h>
#include <tinh/optim.h>

namespace nn = tinh::nn;
namespace optim = tinh::optim;
using tinh::Tensor;

class Net : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return output(relu(norm(hidden(x))));
  }

  nn::Handle<nn::Linear> hidden = add<nn::Linear>("hidden", nn::inferred, 32);
  nn::Handle<nn::BatchNorm1d> norm = add<nn::BatchNorm1d>("norm", 32);
  nn::Handle<nn::Linear> output = add<nn::Linear>("output", 32, 3);
};

/// Scales by a parameter of its own.
class Scale : public nn::Module {
public:
  Scale() { register_parameter("factor", factor, 1, nn::init::ones()); }
  Tensor forward(const Tensor &x) override { return x * factor; }

private:
  Tensor factor;
};

static void make() {
  tinh::Generator generator(1);
  auto net = nn::make<Net>();
  net->initialize(generator);
  Tensor y = net(tinh::normal({16, 8}, generator));
  std::cout << net->summary(tinh::ones({16, 8}));
}

static void list() {
  auto net = nn::make<nn::Sequential>(
      nn::make<nn::Conv2d>(1, 4, 3), nn::make<nn::ReLU>(),
      nn::make<nn::Flatten>(), nn::make<nn::Linear>(nn::inferred, 10),
      nn::make<Scale>());
  net->initialize(tinh::Generator(1));
  net(tinh::ones({1, 1, 8, 8}));
  for (const auto &[name, parameter] : net->named_parameters())
    std::cout << name << ' ' << parameter.shape() << '\n';
}

static void keep() {
  auto net = nn::make<Net>(), other = nn::make<Net>();
  net->initialize(tinh::Generator(1));
  net(tinh::ones({4, 8}));
  net->save("net.safetensors");
  other->load("net.safetensors");
  std::cout << tinh::equal(net->hidden->weight, other->hidden->weight) << '\n';
  std::filesystem::remove("net.safetensors");
  try {
    other->load_state_dict({{"hidden.weight", tinh::ones({32, 9})}});
  } catch (const tinh::Error &error) {
    std::string message = error.what();
    std::cout << message.substr(message.find("load_state_dict")) << '\n';
  }
}

static void share() {
  struct Tied : nn::Module {
    nn::Handle<nn::Embedding> words = add<nn::Embedding>("words", 100, 16);
    nn::Handle<nn::Linear> scores = add<nn::Linear>("scores", 16, 100, false);
    Tied() { share_parameter(scores->weight, words->weight); }
    Tensor forward(const Tensor &x) override { return scores(words(x)); }
  };
  auto tied = nn::make<Tied>();
  tied->initialize(tinh::Generator(1));
  std::cout << tied->num_parameters() << '\n';
  tied->words->freeze();
  std::cout << tinh::requires_grad(tied->scores->weight) << '\n';
}

static void lose() {
  Tensor logits = tinh::tensor({{2.0, 0.0, 0.0}, {0.0, 0.0, 2.0}});
  Tensor labels = tinh::tensor({0, 1});
  std::cout << tinh::cross_entropy(logits, labels) << '\n';
  tinh::Loss loss = tinh::losses::make(
      "cross_entropy", {{"label_smoothing", 0.1}, {"reduction", "none"}});
  std::cout << loss(logits, labels) << '\n';
}

/// Points in three clusters, and which they belong to.
static std::pair<Tensor, Tensor> clusters(const tinh::Generator &generator) {
  Tensor labels = tinh::randint(0, 3, 256, generator);
  Tensor centres = 3 * tinh::normal({3, 8}, generator);
  return {tinh::embedding(centres, labels) + tinh::normal({256, 8}, generator),
          labels};
}

static void train() {
  tinh::Generator generator(1);
  auto [points, labels] = clusters(generator);
  auto net = nn::make<Net>();
  net->initialize(generator);
  net(points);

  optim::Optimizer optimizer(net->parameters(), optim::adam({.lr = 0.01}));
  optim::Scheduler scheduler(optimizer, optim::cosine_schedule(50));
  for (int epoch = 0; epoch < 50; ++epoch) {
    Tensor loss = tinh::cross_entropy(net(points), labels);
    optimizer.zero_grad();
    tinh::backward(loss);
    optim::clip_grad_norm_(optimizer.parameters(), 1);
    optimizer.step();
    scheduler.step();
  }
  net->eval();
  Tensor right = net(points).argmax(1) == labels;
  std::cout << (right.to(tinh::float32).mean() > 0.95) << '\n';
}

static void trainInHalf() {
  tinh::Generator generator(1);
  auto [points, labels] = clusters(generator);
  auto net = nn::make<Net>();
  net->initialize(generator);
  net(points);

  optim::Optimizer optimizer(net->parameters(), optim::adam({.lr = 0.01}));
  optim::GradScaler scaler;
  for (int epoch = 0; epoch < 50; ++epoch) {
    Tensor loss;
    {
      tinh::Autocast scope(tinh::float16);
      loss = tinh::cross_entropy(net(points), labels);
    }
    optimizer.zero_grad();
    tinh::backward(scaler.scale(loss));
    scaler.unscale_(optimizer);
    optim::clip_grad_norm_(optimizer.parameters(), 1);
    scaler.step(optimizer);
    scaler.update();
  }
  net->eval();
  Tensor right = net(points).argmax(1) == labels;
  std::cout << (right.to(tinh::float32).mean() > 0.95) << '\n';
}

static void group() {
  auto net = nn::make<Net>();
  net->initialize(tinh::Generator(1));
  net(tinh::ones({4, 8}));
  optim::Optimizer optimizer(
      {{net->hidden->parameters(), optim::sgd({.lr = 0.1, .momentum = 0.9})},
       {net->output->parameters(), optim::make("adamw", {{"lr", 0.001}})}});
  for (const auto &[name, tensor] : optimizer.state_dict())
    if (name.starts_with("state.3") || name.ends_with(".lr"))
      std::cout << name << ' ' << tensor.shape() << '\n';
}

static void quantize() {
  Tensor x = tinh::tensor({-1.3, 0.1, 0.26, 7.0});
  std::cout << tinh::fake_quantize(x, 0.5, 0, {.quant_min = -8, .quant_max = 7})
            << '\n';

  tinh::Generator generator(1);
  auto [points, labels] = clusters(generator);
  auto net = nn::make<Net>();
  net->initialize(generator);
  nn::prepare_quantization(*net, {.learn_scales = true});
  net(points);                    // Scales follow what is seen.
  nn::set_observing(*net, false); // From now on they are learned.

  optim::Optimizer optimizer(net->parameters(), optim::sgd({.lr = 0.05}));
  for (int epoch = 0; epoch < 50; ++epoch) {
    Tensor loss = tinh::cross_entropy(net(points), labels);
    optimizer.zero_grad();
    tinh::backward(loss);
    optimizer.step();
  }
  net->eval();
  Tensor right = net(points).argmax(1) == labels;
  std::cout << (right.to(tinh::float32).mean() > 0.95) << '\n';
}

int main() {
  make();
  list();
  keep();
  share();
  lose();
  train();
  group();
  trainInHalf();
  quantize();
}
