//===- NetworkGradientsTest.cpp - Gradients of networks ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// gradients.json has what PyTorch's gradients are with weights that both sides
// make, by record_gradients.py: of each the norm and a sum with weights. On the
// tape and in a traced function.
//
//===----------------------------------------------------------------------===//
#include "RecordedWeights.h"
#include "examples/nn/vision_models.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/losses.h"

#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

namespace {

class Classifier : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return output(lstm(words(x)).select(1, -1));
  }

private:
  nn::Handle<nn::Embedding> words = add<nn::Embedding>("words", 50, 16);
  nn::Handle<nn::LSTM> lstm =
      add<nn::LSTM>("lstm", 16, 24,
                    nn::RecurrentOptions{.num_layers = 2, .batch_first = true});
  nn::Handle<nn::Linear> output = add<nn::Linear>("output", 24, 5);
};

class Transformer : public nn::Module {
public:
  Tensor forward(const Tensor &x) override {
    return output(layers(words(x)).mean(1));
  }

private:
  static nn::Handle<nn::TransformerEncoderLayer> layer(bool normFirst) {
    nn::TransformerOptions options{.dim_feedforward = 32,
                                   .dropout = 0,
                                   .batch_first = true,
                                   .norm_first = normFirst};
    return nn::make<nn::TransformerEncoderLayer>(16, 4, options);
  }

  nn::Handle<nn::Embedding> words = add<nn::Embedding>("words", 50, 16);
  nn::Handle<nn::Sequential> layers =
      add<nn::Sequential>("layers", layer(false), layer(true));
  nn::Handle<nn::Linear> output = add<nn::Linear>("output", 16, 5);
};

} // namespace

static json recordOf(const std::string &name) {
  for (const json &record : json::parse(std::ifstream(TINH_GRADIENTS)))
    if (record["name"] == name)
      return record;
  throw std::runtime_error("no record of " + name);
}

static void expectGradient(const Tensor &gradient, const json &expected) {
  ASSERT_TRUE(gradient.defined());
  double largest = expected[0];
  Tensor wide = gradient.to(float64);
  EXPECT_NEAR(norm(wide).item<double>(), largest, 1e-3 * largest);
  Tensor weights = patternOf(gradient.shape(), 11).to(float64);
  EXPECT_NEAR((wide * weights).sum().item<double>(), expected[1],
              1e-3 * largest);
}

static void expectGradients(nn::Handle<nn::Module> network, const Tensor &x,
                            const std::string &name) {
  json record = recordOf(name);
  network->initialize(Generator(1));
  StateDict state = network->state_dict();
  for (size_t i = 0; i < state.size(); ++i)
    state[i].tensor =
        weightsOf(state[i].name, state[i].tensor.shape(), int64_t(i));
  network->load_state_dict(state);
  Tensor labels = arange(x.size(0)) % 5;
  StateDict parameters = network->named_parameters();
  ASSERT_EQ(parameters.size(), record["gradients"].size());

  Tensor loss = cross_entropy(network(x), labels);
  backward(loss);
  EXPECT_NEAR(loss.item<double>(), record["loss"], 1e-4);
  for (const NamedTensor &entry : parameters) {
    SCOPED_TRACE(entry.name + " on the tape");
    expectGradient(grad_of(entry.tensor), record["gradients"][entry.name]);
  }

  auto traced = function([&](Tensor input, Tensor target) {
    std::vector<Tensor> inputs;
    for (const NamedTensor &entry : parameters)
      inputs.push_back(entry.tensor);
    Tensor outputs[] = {cross_entropy(network(input), target)};
    return grad(outputs, inputs);
  });
  std::vector<Tensor> gradients = traced(x, labels);
  for (size_t i = 0; i < parameters.size(); ++i) {
    SCOPED_TRACE(parameters[i].name + " in a traced function");
    expectGradient(gradients[i], record["gradients"][parameters[i].name]);
  }
}

static Tensor words() { return (arange(4 * 9) * 7 % 50).reshape({4, 9}); }

TEST(NetworkGradients, OfResNet18ArePyTorchs) {
  expectGradients(vision::resnet18(5), patternOf({4, 3, 64, 64}, 7, 2),
                  "resnet18");
}
TEST(NetworkGradients, OfAnLstmClassifierArePyTorchs) {
  expectGradients(nn::make<Classifier>(), words(), "lstm");
}
TEST(NetworkGradients, OfATransformerArePyTorchs) {
  expectGradients(nn::make<Transformer>(), words(), "transformer");
}
