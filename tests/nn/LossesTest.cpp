//===- LossesTest.cpp - Losses against PyTorch's ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tinh/losses.h"
#include "RecordedModules.h"
#include "tests/eager/tensor/RecordedTensors.h"
#include "tinh/autograd.h"
#include "tinh/function.h"

#include <cmath>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

TEST(Losses, AreThoseOfPyTorch) {
  for (const json &record : recorded()["losses"]) {
    SCOPED_TRACE(record["name"].get<std::string>() + record["options"].dump());
    Loss loss =
        losses::make(record["name"].get<std::string>(), optionsOf(record));
    Tensor x = requires_grad_(tensorOf(record["prediction"]));
    Tensor target = tensorOf(record["target"]);
    Tensor found = loss(x, target);
    expectNear(detach(found), record["expected"], 2);
    Tensor weights = cos(arange(found.numel()).to(float32));
    backward(sum(found * weights.reshape(found.shape())));
    expectNear(grad_of(x), record["gradient"], 4);

    Loss::Target wanted = loss.target(x.shape(), x.dtype());
    EXPECT_EQ(wanted.shape, target.shape());
    EXPECT_STREQ(wanted.dtype.name(), target.dtype().name());

    auto traced = function([&](Tensor a, Tensor b) { return loss(a, b); });
    expectNear(traced(detach(x), target), record["expected"], 2);
  }
}

TEST(Losses, TakeWeightsAsPyTorchDoes) {
  using Case = std::function<Tensor(const Tensors &x)>;
  const std::map<std::string, Case> cases = {
      {"class_weights",
       [](const Tensors &x) {
         return cross_entropy(x[0], x[1], {.weight = x[2]});
       }},
      {"smooth_class_weights",
       [](const Tensors &x) {
         return cross_entropy(
             x[0], x[1],
             {.weight = x[2], .ignore_index = 1, .label_smoothing = 0.1});
       }},
      {"soft_class_weights",
       [](const Tensors &x) {
         return cross_entropy(x[0], x[1], {.weight = x[2]});
       }},
      {"bce_weights",
       [](const Tensors &x) {
         return binary_cross_entropy_with_logits(
             x[0], x[1], {.weight = x[2], .pos_weight = x[3]});
       }},
  };
  EXPECT_EQ(cases.size(), recorded()["weighted_losses"].size());
  for (const json &record : recorded()["weighted_losses"]) {
    SCOPED_TRACE(record["name"]);
    Tensors inputs;
    for (const json &input : record["inputs"])
      inputs.push_back(tensorOf(input));
    expectNear(cases.at(record["name"])(inputs), record["expected"], 2);
  }
}

/// By hand, for two classes, of which p is the first one's probability.
TEST(Losses, DistillsByTheDivergenceOfSoftenedProbabilities) {
  auto first = [](double a, double b) { return 1 / (1 + std::exp(b - a)); };
  Tensor student = requires_grad_(tensor({{1.0, -2.0}, {0.5, 3.0}}));
  Tensor teacher = requires_grad_(tensor({{4.0, 0.0}, {-1.0, 1.0}}));
  double expected = 0, slope = 0;
  for (auto [s, t] : {std::pair(first(0.5, -1), first(2, 0)),
                      std::pair(first(0.25, 1.5), first(-0.5, 0.5))}) {
    expected +=
        4 * (t * std::log(t / s) + (1 - t) * std::log((1 - t) / (1 - s)));
    slope = slope == 0 ? 2 * (s - t) : slope;
  }
  Tensor loss = distillation_loss(student, teacher, {.temperature = 2});
  EXPECT_NEAR(detach(loss).item<double>(), expected / 2, 1e-5);
  backward(loss);
  EXPECT_NEAR(grad_of(student).to_vector<double>()[0], slope / 2, 1e-5);
  EXPECT_FALSE(grad_of(teacher).defined());
  Loss named = losses::make("distillation", {{"temperature", 2.0}});
  EXPECT_NEAR(detach(named(student, teacher)).item<double>(), expected / 2,
              1e-5);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

template <typename Body>
static void expectError(Body body, const std::string &part) {
  std::string message = errorOf(body);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Losses, LabelsOutOfRangeAreErrors) {
  for (int64_t wrong : {3, -1, 1000}) {
    Tensor labels = tensor({int64_t(0), wrong});
    std::string message = "cross_entropy: label " + std::to_string(wrong) +
                          " of example 1 is no class; there are 3";
    expectError([&] { cross_entropy(zeros({2, 3}), labels).item<float>(); },
                message);
    expectError([&] { nll_loss(zeros({2, 3}), labels).item<float>(); },
                "nll_loss: label");
  }
  Tensor ignored = tensor({-100, -100});
  EXPECT_EQ(cross_entropy(zeros({2, 3}), ignored, {.reduction = Reduction::Sum})
                .item<float>(),
            0);
}

TEST(Losses, LabelsOutOfRangeMakeCompiledLossesNan) {
  auto traced = function([](Tensor x, Tensor labels) {
    return cross_entropy(x, labels, {.reduction = Reduction::None});
  });
  std::vector<float> losses =
      traced(zeros({4, 3}), tensor({1, 3, -1, -100})).to_vector<float>();
  EXPECT_FLOAT_EQ(losses[0], std::log(3.0f));
  EXPECT_TRUE(std::isnan(losses[1]));
  EXPECT_TRUE(std::isnan(losses[2]));
  EXPECT_EQ(losses[3], 0);
}

TEST(Losses, SayWhatDoesNotFit) {
  Tensor x = zeros({2, 3});
  expectError([&] { mse_loss(x, zeros({3})); }, "does not broadcast");
  expectError([&] { l1_loss(x, zeros({2, 1})); }, "does not broadcast");
  expectError([&] { cross_entropy(x, tensor({0, 1, 2})); }, "class indices");
  expectError([&] { cross_entropy(x, zeros({2})); }, "probabilities of shape");
  expectError([&] { cross_entropy(x, tensor({true, false})); }, "integers");
  expectError([&] { cross_entropy(x, zeros(2, int64), {.weight = zeros(2)}); },
              "one number for each class");
  expectError(
      [&] { cross_entropy(x, zeros(2, int64), {.label_smoothing = 1.5}); },
      "from 0 to 1");
  expectError([&] { nll_loss(x, zeros(2, int64), {.label_smoothing = 0.1}); },
              "use cross_entropy");
  expectError([&] { huber_loss(x, x, 0); }, "above 0");
  expectError([&] { smooth_l1_loss(x, x, -1); }, "not be negative");
  expectError([&] { distillation_loss(x, zeros({2, 4})); },
              "does not broadcast");
  expectError([&] { distillation_loss(x, x, {.temperature = 0}); }, "above 0");
}

TEST(Losses, SayWhichThereAre) {
  expectError([] { losses::make("mae"); }, "there are mse, l1, huber");
  expectError([] { losses::make("huber", {{"beta", 1}}); },
              "huber has no option \"beta\"; it has delta, reduction");
  expectError([] { losses::make("huber", {{"delta", "x"}}); },
              "option delta is \"x\"; it must be a number");
  expectError([] { losses::make("mse", {{"reduction", "avg"}}); },
              "one of mean, sum, none");
  expectError([] { losses::make("mse", parse_options("=3")); }, "has no name");
  expectError([] { losses::make("nll", {{"ignore_index", 0.5}}); },
              "must be an integer");
  expectError([] { losses::make("kl_div", {{"log_target", "yes"}}); },
              "true or false");
  expectError([] { losses::make("huber", parse_options("delta=1,delta=2")); },
              "given twice");
  for (const std::string &name : losses::names())
    EXPECT_EQ(losses::make(name).name(), name);
}
