//===- TrainingStepTest.cpp - Whole steps, eager and traced -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/tensor/TensorTesting.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/losses.h"
#include "tinh/nn.h"
#include "tinh/optim.h"

using namespace tinh;
using namespace tinh::test;

namespace {

/// A network with all that changes beside its parameters.
nn::Handle<nn::Module> network(uint64_t seed) {
  // A bias before a norm has no gradient but noise, of which Adam makes steps.
  nn::ConvOptions options{.bias = false};
  auto all = nn::make<nn::Sequential>(
      nn::make<nn::Conv2d>(nn::inferred, 4, 3, options),
      nn::make<nn::BatchNorm2d>(4), nn::make<nn::ReLU>(),
      nn::make<nn::Dropout>(0.25), nn::make<nn::Flatten>(),
      nn::make<nn::Linear>(nn::inferred, 3));
  all->initialize(Generator(seed));
  return all;
}

struct Training {
  explicit Training(optim::Rule rule, const Tensor &x)
      : module(network(3)), optimizer(ready(x), std::move(rule)),
        scheduler(optimizer, optim::linear_schedule(4, 1, 0.1)) {}

  /// The parameters, once their sizes are known.
  std::vector<Tensor> ready(const Tensor &x) const {
    NoGrad guard;
    module(x);
    return module->parameters();
  }

  Tensor step(const Tensor &x, const Tensor &labels) {
    optimizer.zero_grad();
    Tensor loss = cross_entropy(module(x), labels);
    backward(loss);
    optim::clip_grad_norm_(optimizer.parameters(), 0.5);
    optimizer.step();
    return detach(loss);
  }

  nn::Handle<nn::Module> module;
  optim::Optimizer optimizer;
  optim::Scheduler scheduler;
};

} // namespace

static void expectSame(const optim::Rule &rule) {
  Tensor x = normal({8, 1, 6, 6}, Generator(1));
  Tensor labels = randint(0, 3, 8, Generator(2));
  Training eager(rule, x), traced(rule, x);
  auto compiled = function([&](Tensor images, Tensor classes) {
    return traced.step(images, classes);
  });
  float first = 0, last = 0;
  for (int i = 0; i < 6; ++i) {
    last = eager.step(x, labels).item<float>();
    EXPECT_NEAR(compiled(x, labels).item<float>(), last, 1e-3) << "step " << i;
    first = i == 0 ? last : first;
    eager.scheduler.step();
    traced.scheduler.step();
  }
  EXPECT_LT(last, first);
  EXPECT_EQ(compiled.statistics().traces, 1u);
  StateDict state = traced.module->state_dict();
  for (const NamedTensor &entry : eager.module->state_dict())
    EXPECT_TRUE(allclose(detach(entry.tensor), detach(*find(state, entry.name)),
                         1e-2, 1e-3))
        << entry.name;
}

TEST(TrainingStep, TracedOnceIsEagerOnesWithMomentum) {
  expectSame(optim::sgd({.lr = 0.05, .momentum = 0.9}));
}
TEST(TrainingStep, TracedOnceIsEagerOnesWithAdamW) {
  expectSame(optim::adamw({.lr = 0.005}));
}
