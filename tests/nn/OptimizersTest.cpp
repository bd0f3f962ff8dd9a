//===- OptimizersTest.cpp - Optimizers against torch.optim ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RecordedModules.h"
#include "tests/eager/tensor/RecordedTensors.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/optim.h"

#include <cmath>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

static Tensors parametersOf(const json &record, DType dtype) {
  Tensors parameters;
  for (const json &parameter : record["parameters"])
    parameters.push_back(requires_grad_(tensorOf(parameter).to(dtype)));
  return parameters;
}

/// The gradients of a step; none where a parameter has none.
static Tensors gradientsOf(const json &step, const Tensors &parameters) {
  Tensors gradients;
  for (size_t i = 0; i < step.size(); ++i) {
    Tensor gradient;
    if (!step[i].is_null())
      gradient =
          from_data(step[i].get<std::vector<double>>(), parameters[i].shape())
              .to(parameters[i].dtype());
    gradients.push_back(gradient);
  }
  return gradients;
}

template <typename Body> static void forEachOptimizer(Body body) {
  for (const json &record : recorded()["optimizers"]) {
    std::string name = record["name"];
    SCOPED_TRACE(name + record["options"].dump());
    body(record, optim::make(name, optionsOf(record)));
  }
}

TEST(Optimizers, AreThoseOfPyTorch) {
  forEachOptimizer([](const json &record, optim::Rule rule) {
    Tensors parameters = parametersOf(record, float64);
    optim::Optimizer optimizer(parameters, rule);
    for (const json &step : record["gradients"]) {
      Tensors gradients = gradientsOf(step, parameters);
      for (size_t i = 0; i < parameters.size(); ++i)
        set_grad(parameters[i], gradients[i]);
      optimizer.step();
    }
    for (size_t i = 0; i < parameters.size(); ++i)
      expectNear(detach(parameters[i]), record["expected"][i], 50);
    StateDict state = optimizer.state_dict();
    for (size_t i = 0; i < parameters.size(); ++i)
      for (const auto &[name, value] : record["state"][i].items()) {
        SCOPED_TRACE(name);
        const Tensor *found =
            find(state, "state." + std::to_string(i) + "." + name);
        ASSERT_TRUE(found);
        expectNear(*found, value, 50);
      }
  });
}

/// The rules as a compiled step runs them: all gradients, one count of steps.
TEST(Optimizers, GiveTheSameTraced) {
  forEachOptimizer([](const json &record, optim::Rule rule) {
    Tensors eager = parametersOf(record, float32);
    Tensors traced = parametersOf(record, float32);
    optim::Optimizer first(eager, rule), second(traced, rule);
    auto step = function([&](const Tensors &gradients) {
      for (size_t i = 0; i < traced.size(); ++i)
        set_grad(traced[i], gradients[i]);
      second.step();
    });
    for (size_t s = 0; s < 3; ++s) {
      Tensors gradients = gradientsOf(record["gradients"][s], eager);
      for (size_t i = 0; i < eager.size(); ++i)
        set_grad(eager[i], gradients[i]);
      first.set_learning_rate(0.1 / double(s + 1));
      second.set_learning_rate(0.1 / double(s + 1));
      first.step();
      step(gradients);
    }
    EXPECT_EQ(step.statistics().traces, 1u);
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_TRUE(allclose(detach(eager[i]), detach(traced[i]), 1e-5, 1e-6));
  });
}

TEST(Optimizers, StateIsLoadedToGoOn) {
  forEachOptimizer([](const json &record, optim::Rule rule) {
    Tensors through = parametersOf(record, float64), parts;
    optim::Optimizer whole(through, rule);
    auto run = [&](optim::Optimizer &optimizer, const Tensors &parameters,
                   size_t begin, size_t end) {
      for (size_t s = begin; s < end; ++s) {
        Tensors gradients = gradientsOf(record["gradients"][s], parameters);
        for (size_t i = 0; i < parameters.size(); ++i)
          set_grad(parameters[i], gradients[i]);
        optimizer.step();
      }
    };
    run(whole, through, 0, 5);
    StateDict state = whole.state_dict();
    for (NamedTensor &entry : state)
      entry.tensor = entry.tensor.clone();
    for (const Tensor &parameter : through)
      parts.push_back(requires_grad_(detach(parameter).clone()));
    run(whole, through, 5, 12);
    optim::Optimizer resumed(parts, rule);
    resumed.load_state_dict(state);
    run(resumed, parts, 5, 12);
    for (size_t i = 0; i < parts.size(); ++i)
      EXPECT_TRUE(equal(detach(through[i]), detach(parts[i])));
  });
}

/// One that has been updated more often than the other keeps its steps.
TEST(Optimizers, StateOfTheirOwnChangesNothing) {
  Tensor a = requires_grad_(zeros(2)), b = requires_grad_(zeros(2));
  optim::Optimizer optimizer({a, b}, optim::nadam());
  set_grad(b, ones(2));
  optimizer.step();
  auto values = [&] {
    std::vector<Reals> all;
    for (const NamedTensor &entry : optimizer.state_dict())
      all.push_back(reals(entry.tensor));
    return all;
  };
  auto before = values();
  optimizer.load_state_dict(optimizer.state_dict());
  EXPECT_EQ(values(), before);
}

TEST(Optimizers, GroupsHaveRatesOfTheirOwn) {
  Tensor a = requires_grad_(zeros(2)), b = requires_grad_(zeros(2));
  optim::Optimizer optimizer(
      {{{a}, optim::sgd({.lr = 1})}, {{b}, optim::sgd({.lr = 10})}});
  set_grad(a, ones(2));
  set_grad(b, ones(2));
  optimizer.step();
  EXPECT_EQ(reals(a), (Reals{-1, -1}));
  EXPECT_EQ(reals(b), (Reals{-10, -10}));
  optimizer.set_learning_rate(0, 1);
  optimizer.step();
  EXPECT_EQ(reals(a), (Reals{-2, -2}));
  EXPECT_EQ(reals(b), (Reals{-10, -10}));
  optimizer.zero_grad();
  EXPECT_FALSE(grad_of(a).defined());
  EXPECT_EQ(optimizer.num_groups(), 2u);
}

//===----------------------------------------------------------------------===//
// Clipping and schedules
//===----------------------------------------------------------------------===//

TEST(Clipping, ScalesByTheNormOfAllGradients) {
  for (const json &record : recorded()["clipping"]) {
    Tensors gradients;
    for (const json &gradient : record["gradients"])
      gradients.push_back(tensorOf(gradient));
    double p = std::stod(record["p"].get<std::string>());
    SCOPED_TRACE(p);
    Tensor total = optim::clip_norm_(gradients, record["max_norm"], p);
    EXPECT_NEAR(total.item<double>(), record["total"], 1e-12);
    for (size_t i = 0; i < gradients.size(); ++i)
      expectNear(gradients[i], record["expected"][i], 10);
  }
}

TEST(Clipping, ChangesTheGradientsOfParameters) {
  Tensor a = requires_grad_(zeros(2)), unused = requires_grad_(zeros(2));
  Tensors parameters = {a, unused};
  set_grad(a, tensor({3.0, -4.0}));
  EXPECT_FLOAT_EQ(optim::clip_grad_norm_(parameters, 10).item<float>(), 5);
  EXPECT_EQ(reals(grad_of(a)), (Reals{3, -4}));
  optim::clip_grad_value_(parameters, 2);
  EXPECT_EQ(reals(grad_of(a)), (Reals{2, -2}));
  EXPECT_FALSE(grad_of(unused).defined());
}

TEST(Schedules, AreThoseOfPyTorch) {
  for (const json &record : recorded()["schedules"]) {
    std::string name = record["name"];
    SCOPED_TRACE(name + record["options"].dump());
    Tensor parameter = zeros(1, float64);
    optim::Optimizer optimizer({parameter}, optim::sgd({.lr = 0.1}));
    optim::Scheduler scheduler(optimizer,
                               optim::make_schedule(name, optionsOf(record)));
    for (const json &rate : record["rates"]) {
      EXPECT_NEAR(optimizer.learning_rate().item<double>(), rate, 1e-15);
      scheduler.step();
    }
    scheduler.set_step(3);
    EXPECT_NEAR(optimizer.learning_rate().item<double>(), record["rates"][3],
                1e-15);
  }
}

TEST(Schedules, AreChained) {
  optim::Schedule both = optim::chained_schedule(
      {optim::linear_schedule(4, 0.5), optim::exponential_schedule(0.9)});
  EXPECT_DOUBLE_EQ(both(1, 2), 0.75 * 0.9 * 0.9);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

template <typename Body>
static void expectError(Body body, const std::string &part) {
  std::string message = errorOf(body);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Optimizers, SayWhatIsWrong) {
  expectError([] { optim::make("adamm"); },
              "no optimizer \"adamm\"; there are sgd, adam");
  expectError([] { optim::make("sgd", {{"beta", 1}}); },
              "sgd has no option \"beta\"; it has lr, momentum");
  expectError([] { optim::make("adam", {{"beta1", 1}}); }, "from 0 to below 1");
  expectError([] { optim::sgd({.lr = -1}); }, "lr is -1");
  expectError([] { optim::sgd({.lr = INFINITY}); },
              "lr is inf; it must be 0 or more, and finite in float32");
  expectError([] { optim::sgd({.lr = 1e39}); }, "finite in float32");
  expectError([] { optim::sgd({.dampening = NAN}); },
              "dampening is nan; it must be finite in float32");
  expectError([] { optim::sgd({.nesterov = true}); }, "needs a momentum");
  expectError([] { optim::make_schedule("cos"); }, "no schedule \"cos\"");
  expectError(
      [] { optim::make_schedule("multi_step", {{"milestones", "3:x"}}); },
      "integers separated by colons");
  expectError([] { optim::make_schedule("cosine"); },
              "cosine: option steps is missing");
  expectError([] { optim::make_schedule("step", {{"step_size", 0}}); },
              "step_size is 0; it must be 1 or more");
  expectError([] { optim::cosine_schedule(-1); },
              "steps is -1; it must be 1 or more");
  EXPECT_EQ(optim::make_schedule("constant", {{"warmup", 1}})(2, 0), 2);
  Tensor x = zeros(2);
  expectError([&] { optim::Optimizer({x, x}, optim::sgd()); },
              "are the same tensor");
  expectError([&] { optim::Optimizer({Tensor()}, optim::sgd()); },
              "no floating-point tensor");
  expectError([&] { optim::Optimizer(Tensors{}, optim::sgd()); },
              "no parameters");
  optim::Optimizer optimizer({x}, optim::adam());
  optim::Optimizer other({x, zeros(3)}, optim::sgd());
  expectError([&] { optimizer.load_state_dict(other.state_dict()); },
              "missing: \"state.0.exp_avg\" and 1 more; unexpected: "
              "\"state.1.step\"");
}
