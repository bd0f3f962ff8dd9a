//===- QuantizationTest.cpp - Training for integers -------------*- C++ -*-===//
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

#include <cmath>

using namespace tinh;
using namespace tinh::test;

namespace {

/// One number by PyTorch's formulas, and its gradients for 1.
struct Expected {
  double y, dx, dscale;
};

Expected expected(double x, double scale, double zero, double low,
                  double high) {
  double q = std::nearbyint(x / scale) + zero;
  if (q < low)
    return {(low - zero) * scale, 0, low - zero};
  if (q > high)
    return {(high - zero) * scale, 0, high - zero};
  return {(q - zero) * scale, 1, (q - zero) - x / scale};
}

const std::vector<float> kNumbers = {-3.1f, -0.92f, -0.26f, 0.f,  0.13f,
                                     0.3f,  0.77f,  1.61f,  2.9f, 4.f};

/// The values, the gradients by x, and those by the scales.
using Results = std::vector<std::vector<float>>;

Results run(const Tensor &x, const Tensor &scale, const Tensor &zero,
            const FakeQuantizeOptions &options) {
  requires_grad_(x);
  requires_grad_(scale);
  Tensor y = fake_quantize(x, scale, zero, options);
  std::vector<Tensor> gradients = grad(sum(y), {x, scale});
  return {detach(y).to_vector<float>(), gradients[0].to_vector<float>(),
          gradients[1].to_vector<float>()};
}

template <typename Body> void expectError(Body body, const std::string &part) {
  std::string message = errorOf(body);
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

} // namespace

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

TEST(FakeQuantize, HasPyTorchsValuesAndGradients) {
  FakeQuantizeOptions options{.quant_min = -4, .quant_max = 11};
  Results found = run(from_data(kNumbers), tensor(0.25f), tensor(2.f), options);
  double dscale = 0;
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    Expected one = expected(kNumbers[i], 0.25, 2, -4, 11);
    EXPECT_FLOAT_EQ(found[0][i], float(one.y)) << kNumbers[i];
    EXPECT_EQ(found[1][i], float(one.dx)) << kNumbers[i];
    dscale += one.dscale;
  }
  EXPECT_NEAR(found[2][0], dscale, 1e-5);
  options.grad_factor = 0.5;
  Results halved =
      run(from_data(kNumbers), tensor(0.25f), tensor(2.f), options);
  EXPECT_NEAR(halved[2][0], dscale / 2, 1e-5);
  EXPECT_EQ(halved[1], found[1]);
}

TEST(FakeQuantize, HasAScaleForEachIndexOfAnAxis) {
  std::vector<float> scales = {0.25f, 0.5f}, zeros = {0, 3};
  Tensor x = from_data(kNumbers).reshape({5, 2});
  Results found = run(x.clone(), from_data(scales), from_data(zeros),
                      {.quant_min = -4, .quant_max = 11, .axis = -1});
  std::vector<double> dscale(2);
  for (size_t i = 0; i < kNumbers.size(); ++i) {
    Expected one = expected(kNumbers[i], scales[i % 2], zeros[i % 2], -4, 11);
    EXPECT_FLOAT_EQ(found[0][i], float(one.y)) << kNumbers[i];
    EXPECT_EQ(found[1][i], float(one.dx)) << kNumbers[i];
    dscale[i % 2] += one.dscale;
  }
  EXPECT_NEAR(found[2][0], dscale[0], 1e-5);
  EXPECT_NEAR(found[2][1], dscale[1], 1e-5);
}

/// Where all is clipped, nothing is rounded, and differences say what gradients
/// are.
TEST(FakeQuantize, HasTheSlopeOfDifferencesWhereItClips) {
  Tensor x = from_data(std::vector<float>{-9, -8, 7, 9, 8});
  FakeQuantizeOptions options{.quant_min = -8, .quant_max = 7};
  auto at = [&](double scale) {
    return sum(fake_quantize(x, scale, 1.0, options)).item<double>();
  };
  double slope = (at(0.26) - at(0.24)) / 0.02;
  Results found = run(x.clone(), tensor(0.25f), tensor(1.f), options);
  EXPECT_NEAR(found[2][0], slope, 1e-3);
  EXPECT_EQ(found[1], std::vector<float>(5, 0.f));
}

TEST(FakeQuantize, IsTheSameTraced) {
  Tensor scale = tensor(0.25f), zero = tensor(2.f);
  FakeQuantizeOptions options{.quant_min = -4, .quant_max = 11};
  Results eager = run(from_data(kNumbers), scale, zero, options);
  auto compiled = function([&](Tensor x, Tensor s) {
    Tensor y = fake_quantize(x, s, zero, options);
    std::vector<Tensor> all = grad(sum(y), {x, s});
    all.push_back(detach(y));
    return all;
  });
  Tensor x = requires_grad_(from_data(kNumbers)),
         s = requires_grad_(tensor(0.25f));
  std::vector<Tensor> found = compiled(x, s);
  EXPECT_EQ(found[2].to_vector<float>(), eager[0]);
  EXPECT_EQ(found[0].to_vector<float>(), eager[1]);
  EXPECT_NEAR(found[1].item<float>(), eager[2][0], 1e-5);
}

TEST(FakeQuantize, SaysWhatDoesNotFit) {
  Tensor x = ones({2, 3});
  expectError([&] { fake_quantize(x, ones({2}), 0.0); }, "one number");
  expectError([&] { fake_quantize(x, ones({2}), ones({2}), {.axis = 1}); },
              "axis 1 of shape [2, 3] has 3 indices");
  expectError([&] { fake_quantize(x, ones({3}), ones({3}), {.axis = 2}); },
              "there is no axis 2");
  expectError([&] { fake_quantize(ones({2}, int32), 1.0, 0.0); },
              "only floating-point");
  expectError(
      [&] { fake_quantize(x, 1.0, 0.0, {.quant_min = 5, .quant_max = 5}); },
      "must be larger");
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

static nn::Handle<nn::FakeQuantize>
made(const nn::FakeQuantizeOptions &options) {
  auto module = nn::make<nn::FakeQuantize>(options);
  module->initialize(Generator(1));
  return module;
}

TEST(FakeQuantizeModule, FollowsTheRange) {
  auto module = made({.averaging_constant = 0.25});
  module(from_data(std::vector<float>{-1, 3}));
  EXPECT_FLOAT_EQ(module->scale.item<float>(), 4 / 255.f);
  EXPECT_EQ(module->zero_point.item<float>(), 64);
  module(from_data(std::vector<float>{1, 7}));
  EXPECT_FLOAT_EQ(module->min_val.item<float>(), -0.75f);
  EXPECT_FLOAT_EQ(module->max_val.item<float>(), 4);
  EXPECT_FLOAT_EQ(module->scale.item<float>(), 4.75f / 255);
  auto stays = [&] {
    module(from_data(std::vector<float>{-100, 100}));
    EXPECT_FLOAT_EQ(module->max_val.item<float>(), 4);
  };
  module->eval();
  stays();
  module->train();
  module->set_observing(false);
  stays();
}

TEST(FakeQuantizeModule, HasSymmetricScalesOfChannels) {
  auto module = made({.quant_min = -128,
                      .quant_max = 127,
                      .symmetric = true,
                      .axis = 0,
                      .averaging_constant = 1});
  Tensor x =
      from_data(std::vector<float>{1, -254, 0, 127, 0, 0}).reshape({3, 2});
  Tensor y = module(x);
  std::vector<float> scales = module->scale.to_vector<float>();
  EXPECT_FLOAT_EQ(scales[0], 2);
  EXPECT_FLOAT_EQ(scales[1], 1);
  EXPECT_GT(scales[2], 0); // Zeros have some scale.
  EXPECT_EQ(y.to_vector<float>(), (std::vector<float>{0, -254, 0, 127, 0, 0}));
}

TEST(FakeQuantizeModule, LearnsTheScaleOnceNothingIsObserved) {
  auto module = made({.averaging_constant = 1, .learn_scale = true});
  Tensor x = from_data(std::vector<float>{0, 0.4f, 1, 100});
  auto loss = [&] { return mse_loss(module(x), x); };
  EXPECT_FALSE(requires_grad(loss())); // The scale follows the range.
  float before = module->scale.item<float>();
  module->set_observing(false);
  x = from_data(std::vector<float>{0, 0.4f, 1, 200});
  backward(loss());
  // Half of what is clipped at 100 is missing: the scale is to grow.
  Tensor gradient = grad_of(module->scale);
  ASSERT_TRUE(gradient.defined());
  EXPECT_LT(gradient.item<float>(), 0);
  optim::Optimizer optimizer(module->parameters(), optim::sgd({.lr = 1e-3}));
  float first = loss().item<float>();
  optimizer.step();
  EXPECT_GT(module->scale.item<float>(), before);
  EXPECT_LT(loss().item<float>(), first);
}

//===----------------------------------------------------------------------===//
// Networks
//===----------------------------------------------------------------------===//

static nn::Handle<nn::Sequential> network() {
  auto net = nn::make<nn::Sequential>(
      nn::make<nn::Conv2d>(1, 4, 3), nn::make<nn::ReLU>(),
      nn::make<nn::Flatten>(), nn::make<nn::Linear>(nn::inferred, 3));
  net->initialize(Generator(3));
  return net;
}

TEST(PrepareQuantization, ComputesWhatIntegersGive) {
  auto net = nn::make<nn::Linear>(6, 4);
  net->initialize(Generator(1));
  nn::prepare_quantization(*net);
  Tensor x = normal({5, 6}, Generator(2));
  net(x);
  net->eval();
  NoGrad guard;
  StateDict state = net->state_dict();
  auto get = [&](const char *name) { return detach(*find(state, name)); };
  auto levels = [](const Tensor &x, const Tensor &scale, const Tensor &zero,
                   double low, double high) {
    return clamp(round(x / scale) + zero, low, high) - zero;
  };
  Tensor scale = get("input_fake_quant.scale"),
         scales = get("weight_fake_quant.scale");
  Tensor q = levels(x, scale, get("input_fake_quant.zero_point"), 0, 255),
         w = levels(get("weight"), scales.unsqueeze(1), zeros({}), -128, 127);
  EXPECT_EQ(max(abs(w)).item<float>(), 127);
  Tensor y = matmul(q, w.t()) * scale * scales + get("bias");
  EXPECT_TRUE(allclose(net(x), y, 1e-5, 1e-5));
}

TEST(PrepareQuantization, TrainsAlikeTraced) {
  Tensor x = normal({8, 1, 6, 6}, Generator(1));
  Tensor labels = randint(0, 3, 8, Generator(2));
  auto train = [&](bool isTraced, bool learns) {
    auto net = network();
    nn::prepare_quantization(*net, {.learn_scales = learns});
    net(x);
    nn::set_observing(*net, !learns);
    optim::Optimizer optimizer(net->parameters(), optim::sgd({.lr = 0.05}));
    auto step = [&](Tensor images, Tensor classes) {
      optimizer.zero_grad();
      Tensor loss = cross_entropy(net(images), classes);
      backward(loss);
      optimizer.step();
      return detach(loss);
    };
    auto compiled = function(step);
    std::vector<float> losses;
    for (int i = 0; i < 5; ++i)
      losses.push_back((isTraced ? compiled(x, labels) : step(x, labels))
                           .template item<float>());
    EXPECT_LT(losses.back(), losses.front());
    losses.push_back(find(net->state_dict(), "3.weight_fake_quant.scale")
                         ->to_vector<float>()[0]);
    return losses;
  };
  for (bool learns : {false, true}) {
    std::vector<float> eager = train(false, learns),
                       traced = train(true, learns);
    for (size_t i = 0; i < eager.size(); ++i)
      EXPECT_NEAR(eager[i], traced[i], 2e-3) << learns << " " << i;
  }
}

TEST(PrepareQuantization, LeavesWhatIsNamed) {
  auto net = network();
  nn::prepare_quantization(*net, {.keep = {"0"}});
  net(ones({1, 1, 6, 6}));
  StateDict state = net->state_dict();
  EXPECT_EQ(find(state, "0.input_fake_quant.scale"), nullptr);
  EXPECT_NE(find(state, "3.input_fake_quant.scale"), nullptr);
  expectError([&] { nn::prepare_quantization(*net, {.keep = {"fc"}}); },
              "there is no module \"fc\"");
}
