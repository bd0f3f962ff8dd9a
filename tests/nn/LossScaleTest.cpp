//===- LossScaleTest.cpp - Tests of losses that are scaled ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "tests/eager/tensor/TensorTesting.h"
#include "tinh/autocast.h"
#include "tinh/function.h"
#include "tinh/loss_scale.h"
#include "tinh/losses.h"

using namespace tinh;
using namespace tinh::test;

namespace {

template <typename Body> void expectError(Body body, const std::string &part) {
  try {
    body();
    ADD_FAILURE() << "no error says " << part;
  } catch (const Error &error) {
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
        << error.what();
  }
}

/// A network of two layers, whose products are of `dtype`.
struct Training {
  Training(DType dtype, const optim::Rule &rule, optim::LossScale scale)
      : dtype(dtype),
        parameters{requires_grad_(normal({8, 16}, Generator(1)) * 0.3),
                   requires_grad_(normal({16, 3}, Generator(2)) * 0.3)},
        optimizer(parameters, rule), scaler(std::move(scale)) {}

  Tensor step(const Tensor &x, const Tensor &labels) {
    optimizer.zero_grad();
    Tensor loss;
    {
      Autocast scope(dtype);
      Tensor hidden = relu(matmul(x, parameters[0]));
      loss = cross_entropy(matmul(hidden, parameters[1]), labels);
    }
    backward(scaler.scale(loss));
    scaler.unscale_(optimizer);
    optim::clip_grad_norm_(optimizer.parameters(), 0.5);
    scaler.step(optimizer);
    scaler.update();
    return detach(loss);
  }

  /// What a step changes, but for the scale.
  std::vector<Tensor> values() const {
    NoGrad guard;
    std::vector<Tensor> all;
    for (const Tensor &parameter : parameters)
      all.push_back(parameter.clone());
    for (const NamedTensor &entry : optimizer.state_dict())
      all.push_back(entry.tensor.clone());
    return all;
  }

  double scale() const { return scaler.current_scale().item<double>(); }

  DType dtype;
  std::vector<Tensor> parameters;
  optim::Optimizer optimizer;
  optim::GradScaler scaler;
};

const optim::Rule kAdam = optim::adam({.lr = 0.02});

} // namespace

TEST(LossScale, TrainsInHalfAsInFull) {
  Tensor x = normal({32, 8}, Generator(3));
  Tensor labels = randint(0, 3, 32, Generator(4));
  Training full(float32, kAdam, optim::LossScale(1));
  Training half(float16, kAdam, optim::LossScale());
  Training traced(float16, kAdam, optim::LossScale());
  auto compiled = function([&](Tensor images, Tensor classes) {
    return traced.step(images, classes);
  });
  float first = 0, last = 0;
  for (int i = 0; i < 40; ++i) {
    last = full.step(x, labels).item<float>();
    first = i == 0 ? last : first;
    EXPECT_NEAR(half.step(x, labels).item<float>(), last, 0.01) << i;
    EXPECT_NEAR(compiled(x, labels).item<float>(), last, 0.01) << i;
  }
  EXPECT_LT(last, 0.5 * first);
  EXPECT_EQ(compiled.statistics().traces, 1u);
}

/// The gradient by w is 2⁻²⁷, and f16 has no number between 0 and 2⁻²⁴.
TEST(LossScale, SmallGradientsDoNotVanish) {
  Tensor x = full({4, 8}, 0x1p-15);
  for (double scale : {1.0, 1024.0}) {
    Tensor w = requires_grad_(ones({8, 2}));
    optim::Optimizer optimizer({w}, optim::sgd({.lr = 0x1p20}));
    optim::GradScaler scaler{optim::LossScale(scale)};
    {
      Autocast scope(float16);
      Tensor loss = mean(square(matmul(x, w).to(float32)));
      backward(scaler.scale(loss));
    }
    scaler.step(optimizer);
    scaler.update();
    EXPECT_TRUE(equal(detach(w), full({8, 2}, scale == 1 ? 1 : 1 - 0x1p-7)));
  }
}

TEST(LossScale, OverflowsChangeTheScaleAlone) {
  Tensor x = normal({32, 8}, Generator(3));
  Tensor labels = randint(0, 3, 32, Generator(4));
  optim::LossScale rule({.init_scale = 0x1p40, .growth_interval = 3});
  Training eager(float16, kAdam, rule), traced(float16, kAdam, rule);
  auto compiled = function([&](Tensor images, Tensor classes) {
    return traced.step(images, classes);
  });
  double expected = 0x1p40;
  int inARow = 0, skipped = 0, grown = 0;
  std::vector<Tensor> before = eager.values();
  for (int i = 0; i < 50; ++i) {
    eager.step(x, labels);
    compiled(x, labels);
    std::vector<Tensor> after = eager.values();
    // The first of the state is the count of steps.
    bool isGood = !equal(before[2], after[2]);
    for (size_t k = 0; k < after.size(); ++k)
      if (!isGood)
        EXPECT_TRUE(equal(before[k], after[k])) << k;
    EXPECT_EQ(equal(before[0], after[0]), !isGood);
    inARow = isGood ? inARow + 1 : 0;
    skipped += isGood ? 0 : 1;
    expected *= isGood ? 1 : 0.5;
    if (inARow == 3) {
      ++grown;
      inARow = 0;
      expected *= 2;
    }
    EXPECT_EQ(eager.scale(), expected) << i;
    EXPECT_EQ(traced.scale(), expected) << i;
    before = after;
  }
  EXPECT_GT(skipped, 10);
  EXPECT_GT(grown, 2);
  std::vector<Tensor> same = traced.values();
  for (size_t k = 0; k < same.size(); ++k)
    EXPECT_TRUE(allclose(same[k], before[k], 1e-2, 1e-3)) << k;
}

/// The scale follows the gradients of all; a step those of its optimizer.
TEST(LossScale, SeveralOptimizers) {
  Tensor a = requires_grad_(ones({2})), b = requires_grad_(ones({2}));
  optim::Optimizer first({a}, optim::sgd({.lr = 1}));
  optim::Optimizer second({b}, optim::sgd({.lr = 1}));
  optim::GradScaler scaler{optim::LossScale({.init_scale = 8})};
  set_grad(a, full({2}, 4.0));
  set_grad(b, tensor({1.0F, INFINITY}));
  scaler.step(first);
  scaler.step(second);
  scaler.update();
  EXPECT_TRUE(equal(detach(a), full({2}, 0.5)));
  EXPECT_TRUE(equal(detach(b), ones({2})));
  EXPECT_EQ(scaler.current_scale().item<double>(), 4);
}

TEST(LossScale, StateIsKept) {
  Tensor w = requires_grad_(ones({2}));
  optim::Optimizer optimizer({w}, optim::sgd());
  optim::LossScale rule({.init_scale = 8, .growth_interval = 2});
  optim::GradScaler scaler(rule), other(rule);
  auto step = [&](optim::GradScaler &which) {
    set_grad(w, zeros({2}));
    which.step(optimizer);
    which.update();
    return which.current_scale().item<double>();
  };
  EXPECT_EQ(step(scaler), 8);
  other.load_state_dict(scaler.state_dict());
  EXPECT_EQ(step(scaler), 16);
  EXPECT_EQ(step(other), 16);
  expectError([&] { other.load_state_dict({}); }, "scale");
}

TEST(LossScale, IsBetweenTheLeastAndTheLargest) {
  for (auto [initial, isFinite] :
       {std::pair(0x1p126, true), {0x1p-126, false}}) {
    optim::LossScale rule({.init_scale = initial, .growth_interval = 1});
    Tensor scale = full({}, rule.initial(), float32),
           tracker = zeros({}, int32);
    rule.update(scale, tracker, full({}, isFinite, boolean));
    EXPECT_EQ(scale.item<double>(), initial);
  }
}

TEST(LossScale, FiniteGradients) {
  Tensor good = tensor({1.0F, -3.0F}), none = zeros({0});
  EXPECT_TRUE(optim::all_finite({}).item<bool>());
  EXPECT_TRUE(optim::all_finite(std::vector{good, none}).item<bool>());
  for (float wrong : {INFINITY, -INFINITY, NAN})
    for (const DType &dtype : {float64, float32, float16}) {
      Tensor bad = tensor({0.0F, wrong, 2.0F}).to(dtype);
      EXPECT_FALSE(optim::all_finite(std::vector{good, bad}).item<bool>());
    }
}

TEST(LossScale, SaysWhatIsWrong) {
  expectError([] { optim::LossScale(3.0); }, "the scale is 3; it must be a");
  expectError([] { optim::LossScale::make("dynamic", {{"growth", 2}}); },
              "dynamic has no option \"growth\"; it has init_scale");
  Tensor half = requires_grad_(ones({2}, float16)),
         w = requires_grad_(ones({2}));
  optim::Optimizer wrong({half}, optim::sgd()), optimizer({w}, optim::sgd());
  optim::GradScaler scaler;
  expectError([&] { scaler.step(wrong); }, "a parameter is f16");
  expectError([&] { scaler.update(); }, "there was no step");
  set_grad(w, ones({2}));
  scaler.step(optimizer);
  expectError([&] { scaler.step(optimizer); }, "made a step since the last");
  expectError([&] { scaler.unscale_(optimizer); }, "already");
  expectError([&] { optimizer.step_if(w); }, "expected one boolean");
}
