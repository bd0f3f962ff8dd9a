//===- OperationsTest.cpp - Gradients of operations -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every operation of tinh/operations.h that has a gradient, against finite
// differences in double precision, and the second derivative of most.
//
//===----------------------------------------------------------------------===//
#include "Testing.h"

using namespace tinh;

namespace {

struct Case {
  const char *name;
  Computation compute;
  Tensors inputs;
};

/// Functions of one operand, on numbers between low and high.
Case unary(const char *name, Tensor (*function)(Operand), double low = -2,
           double high = 2) {
  return {name,
          [=](const Tensors &x) { return function(x[0]); },
          {numbers({2, 5}, low, high)}};
}

Tensors two(const Shape &a, const Shape &b, double low = -2, double high = 2) {
  return {numbers(a, low, high, 1), numbers(b, low, high, 2)};
}

Tensor indices(std::vector<int64_t> values, const Shape &shape) {
  return from_data(values, shape);
}

std::vector<Case> elementwiseCases() {
  using T = const Tensors &;
  return {
      {"add", [](T x) { return x[0] + x[1]; }, two({2, 3}, {3})},
      {"sub", [](T x) { return x[0] - x[1]; }, two({3}, {2, 1})},
      {"mul", [](T x) { return x[0] * x[1]; }, two({2, 3}, {3})},
      {"div", [](T x) { return x[0] / x[1]; }, two({2, 3}, {2, 1}, 0.5, 2)},
      {"remainder",
       [](T x) { return x[0] % x[1]; },
       {numbers({5}, 1, 4), numbers({5}, 0.6, 0.9)}},
      {"fmod",
       [](T x) { return fmod(x[0], x[1]); },
       {numbers({5}, 1, 4), numbers({5}, 0.6, 0.9)}},
      {"pow", [](T x) { return pow(x[0], x[1]); }, two({2, 3}, {3}, 0.5, 2)},
      {"pow_number", [](T x) { return pow(x[0], 3); }, {numbers({6})}},
      {"number_pow", [](T x) { return pow(2, x[0]); }, {numbers({6})}},
      {"minimum", [](T x) { return minimum(x[0], x[1]); }, two({4}, {3, 4})},
      {"maximum", [](T x) { return maximum(x[0], x[1]); }, two({4}, {3, 4})},
      {"lerp",
       [](T x) { return lerp(x[0], x[1], x[2]); },
       {numbers({4}), numbers({4}, 0, 1), numbers({4}, 2, 3)}},
      {"muladd",
       [](T x) { return muladd(x[0], x[1], x[2]); },
       {numbers({4}), numbers({2, 1}), numbers({4}, 2, 3)}},
      {"where", [](T x) { return where(x[0] > x[1], x[0] * x[0], x[1]); },
       two({2, 3}, {3})},
      {"clamp", [](T x) { return clamp(x[0], -1, 1.5); }, {numbers({7})}},
      {"masked_fill",
       [](T x) { return masked_fill(x[0], x[0] > 0, 3) * x[0]; },
       {numbers({7})}},
      {"numbers",
       [](T x) { return 2 / (1 + 3 * x[0] * x[0]) - x[0]; },
       {numbers({5})}},
      {"leaky_relu", [](T x) { return leaky_relu(x[0], 0.2); }, {numbers({7})}},
      {"elu", [](T x) { return elu(x[0], 0.7); }, {numbers({7})}},
      {"gelu", [](T x) { return gelu(x[0]); }, {numbers({7})}},
      {"activation_of_views",
       [](T x) {
         Tensor y = x[0].t().slice(0, 0, 4, 2).expand({3, 2, 3});
         return gelu(y) * where(y > x[1], silu(y), x[1]);
       },
       {numbers({3, 4}), numbers({2, 1})}},
      {"gelu_tanh", [](T x) { return gelu(x[0], true); }, {numbers({7})}},
      {"to", [](T x) { return (x[0] * x[0]).to(float64); }, {numbers({4})}},
  };
}

std::vector<Case> unaryCases() {
  return {
      unary("neg", neg),
      unary("abs", abs),
      unary("square", square),
      unary("relu", relu),
      unary("exp", exp),
      unary("exp2", exp2),
      unary("expm1", expm1),
      unary("log", log, 0.2, 3),
      unary("log2", log2, 0.2, 3),
      unary("log10", log10, 0.2, 3),
      unary("log1p", log1p, -0.5, 3),
      unary("sqrt", sqrt, 0.2, 3),
      unary("rsqrt", rsqrt, 0.2, 3),
      unary("reciprocal", reciprocal, 0.3, 3),
      unary("erf", erf),
      unary("sin", sin),
      unary("cos", cos),
      unary("tan", tan, -1, 1),
      unary("asin", asin, -0.8, 0.8),
      unary("acos", acos, -0.8, 0.8),
      unary("atan", atan),
      unary("sinh", sinh),
      unary("cosh", cosh),
      unary("tanh", tanh),
      unary("asinh", asinh),
      unary("acosh", acosh, 1.5, 3),
      unary("atanh", atanh, -0.8, 0.8),
      unary("sigmoid", sigmoid),
      unary("softplus", softplus),
      unary("softsign", softsign),
      unary("silu", silu),
  };
}

std::vector<Case> reductionCases() {
  using T = const Tensors &;
  Tensors x = {numbers({2, 3, 4})};
  return {
      {"sum", [](T x) { return sum(x[0] * x[0]); }, x},
      {"sum_axes", [](T x) { return square(sum(x[0], {0, 2})); }, x},
      {"sum_keepdims", [](T x) { return square(sum(x[0], 1, true)); }, x},
      {"mean", [](T x) { return square(mean(x[0], 1)); }, x},
      {"prod", [](T x) { return prod(x[0], 1); }, x},
      {"max", [](T x) { return square(max(x[0], 1)); }, x},
      {"min", [](T x) { return square(min(x[0], {0, 2}, true)); }, x},
      {"var", [](T x) { return var(x[0], 1); }, x},
      {"var_biased", [](T x) { return var(x[0], {0, 2}, true, 0); }, x},
      {"std", [](T x) { return tinh::std(x[0], 2); }, x},
      {"norm", [](T x) { return norm(x[0], 2, 1); }, x},
      {"norm_3", [](T x) { return norm(x[0], 3, 1); }, x},
      {"logsumexp", [](T x) { return logsumexp(x[0], 1); }, x},
      {"cumsum", [](T x) { return square(cumsum(x[0], 1)); }, x},
      {"cumprod", [](T x) { return square(cumprod(x[0], 1)); }, x},
  };
}

std::vector<Case> productCases() {
  using T = const Tensors &;
  return {
      {"matmul", [](T x) { return matmul(x[0], x[1]); }, two({3, 4}, {4, 2})},
      {"matmul_batch", [](T x) { return matmul(x[0], x[1]); },
       two({2, 1, 3, 2}, {3, 2, 2})},
      {"matmul_vector", [](T x) { return matmul(x[0], x[1]); },
       two({3, 4}, {4})},
      {"bmm", [](T x) { return bmm(x[0], x[1]); }, two({2, 3, 2}, {2, 2, 3})},
      {"dot", [](T x) { return dot(x[0], x[1]); }, two({5}, {5})},
      {"outer", [](T x) { return outer(x[0], x[1]); }, two({3}, {4})},
      {"linear",
       [](T x) { return linear(x[0], x[1], x[2]); },
       {numbers({3, 4}), numbers({2, 4}), numbers({2})}},
      {"einsum", [](T x) { return einsum("bij,bjk->bik", {x[0], x[1]}); },
       two({2, 2, 3}, {2, 3, 2})},
      {"conv1d",
       [](T x) { return conv1d(x[0], x[1], x[2], 1, 1); },
       {numbers({2, 2, 5}), numbers({3, 2, 3}), numbers({3})}},
      {"conv2d",
       [](T x) { return conv2d(x[0], x[1], x[2], 2, 1); },
       {numbers({1, 2, 5, 5}), numbers({2, 2, 3, 3}), numbers({2})}},
      {"conv2d_groups",
       [](T x) { return conv2d(x[0], x[1], {}, 1, 1, 2, 2); },
       {numbers({1, 4, 5, 4}), numbers({2, 2, 2, 2})}},
      {"conv3d",
       [](T x) { return conv3d(x[0], x[1]); },
       {numbers({1, 1, 3, 3, 3}), numbers({2, 1, 2, 2, 2})}},
      {"conv_transpose",
       [](T x) { return conv_transpose(x[0], x[1], x[2], 2, 1, 1); },
       {numbers({1, 2, 3, 3}), numbers({2, 2, 3, 3}), numbers({2})}},
      {"max_pool1d",
       [](T x) { return square(max_pool1d(x[0], 3, 2, 1)); },
       {numbers({1, 2, 7})}},
      {"max_pool2d",
       [](T x) { return square(max_pool2d(x[0], 2)); },
       {numbers({1, 2, 4, 4})}},
      {"max_pool3d",
       [](T x) { return square(max_pool3d(x[0], 2, 1)); },
       {numbers({1, 1, 3, 3, 3})}},
      {"avg_pool1d",
       [](T x) { return square(avg_pool1d(x[0], 3, 2, 1)); },
       {numbers({1, 2, 7})}},
      {"avg_pool2d",
       [](T x) { return square(avg_pool2d(x[0], 3, 2, 1, true, false)); },
       {numbers({1, 2, 6, 5})}},
      {"avg_pool3d",
       [](T x) { return square(avg_pool3d(x[0], 2, 1)); },
       {numbers({1, 1, 3, 3, 3})}},
      {"adaptive_avg_pool1d",
       [](T x) { return square(adaptive_avg_pool1d(x[0], 3)); },
       {numbers({1, 2, 7})}},
      {"adaptive_avg_pool2d",
       [](T x) { return square(adaptive_avg_pool2d(x[0], {2, 3})); },
       {numbers({1, 2, 5, 6})}},
      {"adaptive_avg_pool3d",
       [](T x) { return square(adaptive_avg_pool3d(x[0], 1)); },
       {numbers({1, 2, 3, 2, 2})}},
  };
}

std::vector<Case> normCases() {
  using T = const Tensors &;
  Tensor scale = numbers({4}, 0.5, 2, 3), bias = numbers({4}, -1, 1, 4);
  return {
      {"softmax", [](T x) { return softmax(x[0], 1); }, {numbers({3, 4})}},
      {"softmax_axis", [](T x) { return softmax(x[0], 0); }, {numbers({3, 4})}},
      {"log_softmax",
       [](T x) { return log_softmax(x[0], -1); },
       {numbers({3, 4})}},
      {"layer_norm",
       [](T x) { return layer_norm(x[0], {4}, x[1], x[2]); },
       {numbers({3, 4}), scale, bias}},
      // These two read tensors of the same shapes.
      {"layer_norm_scale",
       [](T x) { return layer_norm(x[0], {4}, x[1]); },
       {numbers({3, 4}), scale}},
      {"layer_norm_bias",
       [](T x) { return layer_norm(x[0], {4}, {}, x[1]); },
       {numbers({3, 4}), bias}},
      {"layer_norm_plain",
       [](T x) { return layer_norm(x[0], {4}); },
       {numbers({3, 4})}},
      {"rms_norm",
       [](T x) { return rms_norm(x[0], {4}, x[1]); },
       {numbers({3, 4}), scale}},
      {"batch_norm",
       [](T x) { return batch_norm(x[0], x[1], x[2], x[3], x[4]); },
       {numbers({2, 4, 3}), bias.clone(), scale.clone(), scale, bias}},
      {"batch_norm_training",
       [](T x) {
         return batch_norm_training(x[0], zeros({4}, float64),
                                    ones({4}, float64), x[1], x[2]);
       },
       {numbers({2, 4, 3}), scale, bias}},
      {"group_norm",
       [](T x) { return group_norm(x[0], 2, x[1], x[2]); },
       {numbers({2, 4, 3}), scale, bias}},
      {"attention",
       [](T x) {
         return scaled_dot_product_attention(x[0], x[1], x[2], {}, true);
       },
       {numbers({1, 2, 3, 2}), numbers({1, 2, 3, 2}, -1, 1, 5),
        numbers({1, 2, 3, 2}, -1, 1, 6)}},
      {"embedding",
       [](T x) { return square(embedding(x[0], x[1])); },
       {numbers({4, 2}), indices({3, 0, 3, 1}, {2, 2})}},
  };
}

std::vector<Case> movementCases() {
  using T = const Tensors &;
  Tensors x = {numbers({2, 3, 4})};
  return {
      {"clone", [](T x) { return square(x[0].clone()); }, x},
      {"slice", [](T x) { return square(x[0].slice(2, 1, 4, 2)); }, x},
      {"index", [](T x) { return square(x[0].index({1, Slice(), -1})); }, x},
      {"index_tensor",
       [](T x) {
         return square(x[0].index({Slice(), indices({2, 0, 2}, {3})}));
       },
       x},
      {"index_mask", [](T x) { return square(masked_select(x[0], x[0] > 0)); },
       x},
      {"transpose", [](T x) { return square(x[0].transpose(0, 2)); }, x},
      {"permute_reshape",
       [](T x) { return square(x[0].permute({2, 0, 1}).reshape({6, 4})); }, x},
      {"flatten", [](T x) { return square(x[0].flatten(1)); }, x},
      {"squeeze",
       [](T x) { return square(x[0].unsqueeze(1).squeeze(1).narrow(1, 1, 2)); },
       x},
      {"expand",
       [](T x) { return square(x[0].unsqueeze(0).expand({3, -1, -1, -1})); },
       x},
      {"broadcast_to",
       [](T x) { return square(broadcast_to(x[0], {2, 3, 2})); },
       {numbers({3, 1})}},
      {"expand_slice_reshape",
       [](T x) {
         return square(x[0].expand({4, 3}).slice(0, 1, 3).reshape({6}));
       },
       {numbers({3})}},
      {"concat", [](T x) { return square(concat({x[0], x[1], x[0]}, 1)); },
       two({2, 3}, {2, 1})},
      {"stack", [](T x) { return square(stack({x[0], x[1]}, 1)); },
       two({2, 3}, {2, 3})},
      {"split",
       [](T x) {
         Tensors parts = split(x[0], 2, 2);
         return parts[0] * parts[1];
       },
       x},
      {"chunk",
       [](T x) {
         Tensors parts = chunk(x[0], 3, 1);
         return parts[0] * parts[2];
       },
       x},
      {"tile", [](T x) { return square(tile(x[0], {1, 2, 1})); }, x},
      {"repeat_interleave",
       [](T x) { return square(repeat_interleave(x[0], 2, 1)); }, x},
      {"flip", [](T x) { return square(flip(x[0], {0, 2})); }, x},
      {"roll", [](T x) { return square(roll(x[0], {1, 2}, {0, 2})); }, x},
      {"pad", [](T x) { return square(pad(x[0], {0, 1, 2}, {1, 0, 1})); }, x},
      {"pad_edge",
       [](T x) { return square(pad(x[0], {0, 1}, {2, 1}, Padding::Edge)); },
       {numbers({2, 3})}},
      {"pad_reflect",
       [](T x) { return square(pad(x[0], {0, 2}, {0, 1}, Padding::Reflect)); },
       {numbers({2, 4})}},
      {"pad_wrap",
       [](T x) { return square(pad(x[0], {1, 2}, {0, 1}, Padding::Wrap)); },
       {numbers({2, 4})}},
      {"tril", [](T x) { return square(tril(x[0])); }, {numbers({3, 4})}},
      {"triu", [](T x) { return square(triu(x[0], 1)); }, {numbers({3, 4})}},
  };
}

std::vector<Case> indexCases() {
  using T = const Tensors &;
  Tensor along = indices({0, 2, 1, 2, 0, 0}, {2, 3});
  return {
      {"index_select",
       [](T x) { return square(index_select(x[0], 1, x[1])); },
       {numbers({2, 3, 2}), indices({2, 2, 0}, {3})}},
      {"take",
       [](T x) { return square(take(x[0], x[1])); },
       {numbers({2, 3}), indices({5, 0, 5}, {3})}},
      {"gather",
       [](T x) { return square(gather(x[0], 1, x[1])); },
       {numbers({2, 3}), along}},
      {"take_along",
       [](T x) { return square(take_along(x[0], x[1], 1)); },
       {numbers({2, 3}), along}},
      {"scatter",
       [](T x) { return square(scatter(x[0], 1, x[1], x[2])); },
       {numbers({2, 4}), indices({0, 3, 1, 2, 0, 1}, {2, 3}),
        numbers({2, 3}, 1, 2)}},
      {"scatter_add",
       [](T x) { return square(scatter_add(x[0], 1, x[1], x[2])); },
       {numbers({2, 4}), along, numbers({2, 3}, 1, 2)}},
      {"index_add",
       [](T x) { return square(index_add(x[0], 1, x[1], x[2])); },
       {numbers({2, 4}), indices({3, 0, 3}, {3}), numbers({2, 3}, 1, 2)}},
      {"index_put",
       [](T x) {
         Tensor y = x[0] * 2;
         y.index_put_({Slice(), indices({2, 0}, {2})}, x[1]);
         return square(y);
       },
       {numbers({2, 4}), numbers({2, 2}, 1, 2)}},
      {"sort",
       [](T x) { return square(sort(x[0], 0).values); },
       {numbers({4, 2})}},
      {"sort_descending",
       [](T x) { return square(sort(x[0], 1, true).values); },
       {numbers({2, 4})}},
      {"topk",
       [](T x) { return square(topk(x[0], 2, 1).values); },
       {numbers({2, 4})}},
  };
}

std::vector<Case> allCases() {
  std::vector<Case> all;
  for (const std::vector<Case> &some :
       {elementwiseCases(), unaryCases(), reductionCases(), productCases(),
        normCases(), movementCases(), indexCases()})
    all.insert(all.end(), some.begin(), some.end());
  return all;
}

class OperationGradients : public testing::TestWithParam<size_t> {};

TEST_P(OperationGradients, FirstAndSecond) {
  Case tested = allCases()[GetParam()];
  {
    SCOPED_TRACE("first");
    expectGradients(tested.compute, tested.inputs);
  }
  SCOPED_TRACE("second");
  // Of a function that is nowhere linear.
  expectSecondGradients(
      [&](const Tensors &x) { return square(tested.compute(x)); },
      tested.inputs);
}

std::string nameOf(const testing::TestParamInfo<size_t> &info) {
  return allCases()[info.param].name;
}

INSTANTIATE_TEST_SUITE_P(All, OperationGradients,
                         testing::Range<size_t>(0, allCases().size()), nameOf);

} // namespace
