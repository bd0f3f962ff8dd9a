//===- DeviceGradientTest.cpp - Training on a GPU -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The tape, modules and optimizers know nothing of GPUs: they give the same
// there.
//
//===----------------------------------------------------------------------===//
#include "DeviceTesting.h"

#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/nn.h"
#include "tinh/optim.h"

using namespace tinh;

namespace {

/// The gradient of `function` by its operand.
Tensor gradient(const Tensor &x,
                const std::function<Tensor(const Tensor &)> &function) {
  Tensor leaf = x.clone();
  requires_grad_(leaf);
  backward(function(leaf).sum());
  return grad_of(leaf);
}

void compareGradient(const std::string &what, const Tensor &x,
                     const std::function<Tensor(const Tensor &)> &function) {
  compare(what, {x},
          [&](auto &operands) { return gradient(operands[0], function); });
}

TEST(DeviceGradientTest, GivesTheGradientsOfTheCpu) {
  compareGradient("functions", numbers({3, 4}),
                  [](const Tensor &x) { return exp(x) * sigmoid(x) + x * x; });
  compareGradient("softmax", numbers({3, 4}), [](const Tensor &x) {
    return square(softmax(x, 1)) + log_softmax(x, 0);
  });
  compareGradient("products", numbers({4, 4}), [](const Tensor &x) {
    return matmul(x, x.t()) * x.slice(0, 0, 1);
  });
  compareGradient("convolutions", numbers({2, 2, 6, 6}), [](const Tensor &x) {
    return max_pool2d(conv2d(x, x.slice(2, 1, 4).slice(3, 2, 5)), 2);
  });
  compareGradient("views", numbers({4, 6}), [](const Tensor &x) {
    return x[0] * x.slice(1, 1, 6, 2).sum() + x.t().slice(1, 0, 1).squeeze();
  });
  compareGradient("reductions", numbers({4, 6}), [](const Tensor &x) {
    return x.max(1) + x.mean(1) * x.prod(1);
  });
}

TEST(DeviceGradientTest, FlowsBetweenDevices) {
  Tensor x = numbers({3});
  requires_grad_(x);
  backward((x.to(kGpu) * 3).sum().to(Device::cpu()) * 2);
  EXPECT_TRUE(grad_of(x).device().is_cpu());
  EXPECT_EQ(grad_of(x).to_vector<float>(), std::vector<float>(3, 6));
}

/// The losses of three steps of training and the parameters after them.
std::vector<Tensor> train(Device device, optim::Rule rule) {
  auto model = nn::make<nn::Sequential>(nn::make<nn::Linear>(8, 16),
                                        nn::make<nn::ReLU>(),
                                        nn::make<nn::Linear>(16, 4));
  model->initialize(Generator(3));
  model->to(device);
  optim::Optimizer optimizer(model->parameters(), std::move(rule));
  Tensor x = numbers({6, 8}).to(device), labels = (arange(6) % 4).to(device);
  std::vector<Tensor> result;
  for (int step = 0; step < 3; ++step) {
    optimizer.zero_grad();
    Tensor loss = cross_entropy(model(x), labels);
    backward(loss);
    optimizer.step();
    result.push_back(detach(loss));
  }
  for (const Tensor &parameter : model->parameters())
    result.push_back(detach(parameter));
  for (const Tensor &tensor : result)
    EXPECT_EQ(tensor.device(), device);
  return result;
}

void compareTraining(const std::function<optim::Rule()> &rule) {
  std::vector<Tensor> found = train(kGpu, rule()),
                      expected = train(Device::cpu(), rule());
  for (size_t i = 0; i < found.size(); ++i)
    expectNear(found[i], expected[i], "result " + std::to_string(i), 1e-4f);
}

TEST(DeviceGradientTest, TrainsAsOnTheCpu) {
  compareTraining([] { return optim::sgd({.lr = 0.05, .momentum = 0.9}); });
  compareTraining([] { return optim::adam({.lr = 0.01}); });
}

TEST(DeviceGradientTest, RunsCompiledFunctions) {
  Tensor state = zeros({3, 4});
  auto graph = function("graph", [&](Tensor x) {
    state += x;
    return matmul(x, state.t()) * 2;
  });
  expectError([&] { graph(numbers({3, 4}).to(kGpu)); },
              "function 'graph' is given, or captures, a tensor of shape "
              "[3, 4] on cpu, and another one on cuda:0");
  state = zeros({3, 4}, float32, kGpu);
  auto onGpu = function("graph", [&, state](Tensor x) {
    state += x;
    return matmul(x, state.t()) * 2;
  });
  Tensor x = numbers({3, 4});
  expectNear(onGpu(x.to(kGpu)), matmul(x, x.t()) * 2, "the first call");
  expectNear(onGpu(x.to(kGpu)), matmul(x, x.t()) * 4, "the second one");
  expectNear(state, x * 2, "what it changes");
}

TEST(DeviceGradientTest, DifferentiatesCompiledFunctions) {
  auto graph = function("graph", [](Tensor x) { return exp(x) * x; });
  compareGradient("compiled", numbers({3, 4}),
                  [&](const Tensor &x) { return graph(x * 2); });
}

TEST(DeviceGradientTest, TrainsInACompiledFunction) {
  Tensor w = ones({4, 2}).to(kGpu), x = numbers({5, 4}).to(kGpu);
  requires_grad_(w);
  auto step = function("step", [&](Tensor x) {
    zero_grad({w});
    Tensor loss = mean(square(matmul(x, w) - 1));
    backward(loss);
    NoGrad guard;
    w -= 0.1 * grad_of(w);
    return loss;
  });
  float first = step(x).item<float>(), second = step(x).item<float>();
  EXPECT_LT(second, first);
  EXPECT_EQ(w.device(), kGpu);
}

} // namespace
