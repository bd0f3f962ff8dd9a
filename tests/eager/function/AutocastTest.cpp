//===- AutocastTest.cpp - Tests of products in lower precision --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is computed in a scope, eagerly and compiled, beside the same in f32.
//
//===----------------------------------------------------------------------===//
#include "tinh/autocast.h"
#include "Expect.h"
#include "tinh/autograd.h"
#include "tinh/function.h"
#include "tinh/operations.h"

#include <thread>

using namespace tinh;
using namespace tinh::test;
using Tensors = std::vector<Tensor>;

namespace {

/// Expects a difference of at most `tolerance` of the largest element.
void expectNear(const Tensor &found, const Tensor &expected, double tolerance) {
  ASSERT_EQ(to_string(found.shape()), to_string(expected.shape()));
  double scale = max(abs(expected)).item<double>();
  EXPECT_LE(max(abs(found - expected)).item<double>(), tolerance * scale);
}

/// Dense layers, a norm and softmax.
Tensor network(const Tensors &p, const Tensor &x) {
  Tensor hidden = relu(linear(x, p[0], p[1]));
  Tensor normal = layer_norm(hidden, {16}, p[2], p[3]);
  return softmax(matmul(normal, p[4]), -1);
}

Tensors parameters() {
  Tensors made = {numbers({16, 8}, 0.5), numbers({16}, 0.1),
                  ones({16}) + numbers({16}, 0.1), numbers({16}, 0.2),
                  numbers({16, 5}, 0.5)};
  for (Tensor &parameter : made)
    requires_grad_(parameter);
  return made;
}

Tensor lossOf(const Tensors &p, const Tensor &x) {
  return mean(square(network(p, x) - 0.1));
}

struct Case {
  DType dtype;
  double tolerance;
};

class AutocastTo : public testing::TestWithParam<Case> {};

} // namespace

TEST_P(AutocastTo, ClassesOfOperations) {
  DType low = GetParam().dtype;
  Autocast scope(low);
  Tensor x = numbers({4, 16}), image = numbers({1, 2, 6, 6});
  Tensor y = matmul(x, numbers({16, 16}));
  Tensor z = conv2d(image, numbers({3, 2, 3, 3}), numbers({3}));
  // Products, and what follows them.
  for (const Tensor &tensor :
       {y, z, linear(x, numbers({4, 16}), numbers({4})), relu(y) + y,
        max_pool2d(z, 2), tanh(y) * 2, y.reshape({16, 4}),
        bmm(y.reshape({1, 4, 16}), numbers({1, 16, 2})),
        conv_transpose(z, numbers({3, 1, 2, 2}), numbers({1}))})
    EXPECT_EQ(tensor.dtype(), low);
  // Norms and means of windows are rounded in the end.
  for (const Tensor &tensor :
       {layer_norm(y, {16}, ones({16}), zeros({16})), rms_norm(y, {16}),
        batch_norm(z, zeros({3}), ones({3})), group_norm(z, 3),
        avg_pool2d(z, 2), adaptive_avg_pool2d(z, 3)})
    EXPECT_EQ(tensor.dtype(), low);
  // The rest is float32, as what meets it is.
  for (const Tensor &tensor :
       {softmax(y, -1), log_softmax(y, -1), sum(y), mean(y), max(y), var(y),
        cumsum(y, 0), logsumexp(y), exp(y), log(abs(y)), pow(y, 3),
        sqrt(abs(y)), y + x, relu(x), x})
    EXPECT_EQ(tensor.dtype(), float32);
  EXPECT_EQ(matmul(x.to(float64), x.t().to(float64)).dtype(), float64);
}

TEST_P(AutocastTo, ComputesWhatF32Does) {
  Tensors p = parameters();
  Tensor x = numbers({6, 8}), full = network(p, x);
  Autocast scope(GetParam().dtype);
  Tensor low = network(p, x);
  EXPECT_EQ(low.dtype(), float32);
  EXPECT_FALSE(equal(low, full));
  expectNear(low, full, GetParam().tolerance);
}

TEST_P(AutocastTo, MeansOfUnevenWindowsAreOfF32) {
  Tensor z = numbers({1, 2, 5, 5}).to(GetParam().dtype).to(float32);
  Tensor expected = adaptive_avg_pool2d(z, 3);
  Autocast scope(GetParam().dtype);
  expectClose(adaptive_avg_pool2d(z, 3), expected);
}

TEST_P(AutocastTo, GradientsOnTheTape) {
  Tensors p = parameters(), q = parameters();
  Tensor x = numbers({6, 8});
  backward(lossOf(p, x));
  Tensor loss;
  {
    Autocast scope(GetParam().dtype);
    loss = lossOf(q, x);
    EXPECT_EQ(loss.dtype(), float32);
  }
  backward(loss);
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_EQ(grad_of(q[i]).dtype(), float32);
    EXPECT_FALSE(equal(grad_of(q[i]), grad_of(p[i])));
    expectNear(grad_of(q[i]), grad_of(p[i]), 4 * GetParam().tolerance);
  }
}

TEST_P(AutocastTo, BackwardWithinTheScopeIsTheSame) {
  Tensors p = parameters(), q = parameters();
  Tensor x = numbers({6, 8});
  Autocast scope(GetParam().dtype);
  backward(lossOf(p, x));
  Tensor loss = lossOf(q, x);
  {
    Autocast full(float32);
    backward(loss);
  }
  for (size_t i = 0; i < p.size(); ++i)
    EXPECT_TRUE(equal(grad_of(p[i]), grad_of(q[i])));
}

TEST_P(AutocastTo, CompiledFunctions) {
  Tensors p = parameters();
  Tensor x = numbers({6, 8});
  auto compiled = function([&](Tensor x) { return network(p, x); });
  Tensor full = compiled(x);
  Autocast scope(GetParam().dtype);
  // The scope is a part of the signature.
  Tensor low = compiled(x);
  EXPECT_EQ(compiled.statistics().traces, 2u);
  EXPECT_EQ(compiled.statistics().retraces[0],
            "autocast to " + std::string(GetParam().dtype.name()) +
                " instead of f32");
  EXPECT_FALSE(equal(low, full));
  // Kernels add up in another order, and sums may be rounded to a neighbour.
  expectNear(low, network(p, x), GetParam().tolerance);
  EXPECT_NE(compiled.graph(x).find(GetParam().dtype.name()), std::string::npos);
}

TEST_P(AutocastTo, CompiledTrainingSteps) {
  Tensors p = parameters(), q = parameters();
  Tensor x = numbers({6, 8});
  auto step = [&](const Tensors &of, Tensor x) {
    zero_grad(of);
    Autocast scope(GetParam().dtype);
    Tensor loss = lossOf(of, x);
    backward(loss);
    NoGrad guard;
    for (Tensor parameter : of)
      parameter -= 0.5 * grad_of(parameter);
    return loss;
  };
  auto compiled = function([&](Tensor x) { return step(q, x); });
  for (int i = 0; i < 3; ++i)
    expectNear(compiled(x), step(p, x), GetParam().tolerance);
  for (size_t i = 0; i < p.size(); ++i) {
    EXPECT_EQ(q[i].dtype(), float32);
    expectNear(q[i], p[i], GetParam().tolerance);
  }
}

TEST_P(AutocastTo, FunctionsOnTheTape) {
  Tensors p = parameters(), q = parameters();
  Tensor x = numbers({6, 8});
  Autocast scope(GetParam().dtype);
  auto compiled = function([&](Tensor x) { return lossOf(q, x); });
  backward(compiled(x));
  backward(lossOf(p, x));
  for (size_t i = 0; i < p.size(); ++i)
    expectNear(grad_of(q[i]), grad_of(p[i]), 4 * GetParam().tolerance);
}

TEST_P(AutocastTo, MasksWithTheLowestNumber) {
  Autocast scope(GetParam().dtype);
  Tensor q = matmul(numbers({1, 4, 8}), numbers({8, 8}));
  Tensor mask = full({4, 4}, -3.4028234e38);
  Tensor y = scaled_dot_product_attention(q, q, q, mask);
  EXPECT_EQ(y.dtype(), GetParam().dtype);
  EXPECT_TRUE(isfinite(y).all().item<bool>());
}

INSTANTIATE_TEST_SUITE_P(DTypes, AutocastTo,
                         testing::Values(Case{bfloat16, 3e-2},
                                         Case{float16, 4e-3}),
                         [](const auto &info) {
                           return std::string(info.param.dtype.name());
                         });

TEST(Autocast, ScopesNest) {
  EXPECT_EQ(autocast_dtype(), float32);
  Tensor x = numbers({2, 2});
  {
    Autocast outer(bfloat16);
    {
      Autocast inner(float32);
      EXPECT_EQ(matmul(x, x).dtype(), float32);
    }
    EXPECT_EQ(autocast_dtype(), bfloat16);
    EXPECT_EQ(matmul(x, x).dtype(), bfloat16);
  }
  EXPECT_EQ(matmul(x, x).dtype(), float32);
}

TEST(Autocast, IsOfOneThread) {
  Autocast scope(bfloat16);
  DType other = bfloat16;
  std::thread([&] { other = autocast_dtype(); }).join();
  EXPECT_EQ(other, float32);
}

TEST(Autocast, RefusesOtherDTypes) {
  expectError([] { Autocast scope(float64); },
              "Autocast: matmuls do not round to f64");
  expectError([] { Autocast scope(int32); }, "they can to bf16 and f16");
  EXPECT_EQ(autocast_dtype(), float32);
}
