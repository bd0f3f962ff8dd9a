//===- RecordedOperations.cpp - Operations by name --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RecordedOperations.h"

#include <cmath>
#include <limits>

using namespace tinh;
using namespace tinh::test;

using Table = std::map<std::string, Operation>;
#define CASE(name, ...)                                                        \
  {name, [](const Inputs &x) -> Tensor { return __VA_ARGS__; }}
#define UNARY(name)                                                            \
  {#name, [](const Inputs &x) -> Tensor { return tinh::name(x[0]); }}

static const Table kElementwise = {
    CASE("add", x[0] + x[1]),
    CASE("sub", x[0] - x[1]),
    CASE("mul_int_float", x[0] * x[1]),
    CASE("div_int", x[0] / x[1]),
    CASE("floor_divide_int", floor_divide(x[0], x[1])),
    CASE("floor_divide", floor_divide(x[0], x[1])),
    CASE("remainder_int", x[0] % x[1]),
    CASE("remainder", remainder(x[0], x[1])),
    CASE("fmod", fmod(x[0], x[1])),
    CASE("pow", pow(x[0], x[1])),
    CASE("pow_int", x[0].pow(3)),
    CASE("pow_half", pow(x[0], 0.5)),
    CASE("minimum", minimum(x[0], x[1])),
    CASE("maximum", maximum(x[0], x[1])),
    CASE("lerp", lerp(x[0], x[1], x[2])),
    CASE("less", x[0] < x[1]),
    CASE("equal", x[0] == x[1]),
    CASE("logical", logical_and(x[0], x[1]) | logical_not(x[1])),
    CASE("bitwise", (x[0] & x[1]) ^ (x[0] | ~x[1])),
    CASE("shift", bitwise_right_shift(bitwise_left_shift(x[0], 3), 1)),
    CASE("where", where(x[0], x[1], x[2])),
    CASE("uint8_wraps", x[0] * x[0] + 200),
    CASE("scalar_is_weak", x[0] + 1.5),
    CASE("int_scalar", x[0] + 300),
    UNARY(abs),
    UNARY(sign),
    UNARY(square),
    UNARY(relu),
    UNARY(exp),
    UNARY(exp2),
    UNARY(expm1),
    UNARY(erf),
    UNARY(sin),
    UNARY(cos),
    UNARY(tan),
    UNARY(atan),
    UNARY(sinh),
    UNARY(cosh),
    UNARY(tanh),
    UNARY(asinh),
    UNARY(sigmoid),
    UNARY(floor),
    UNARY(ceil),
    UNARY(trunc),
    UNARY(round),
    UNARY(log),
    UNARY(log2),
    UNARY(log10),
    UNARY(log1p),
    UNARY(sqrt),
    UNARY(rsqrt),
    UNARY(reciprocal),
    UNARY(asin),
    UNARY(acos),
    UNARY(atanh),
    UNARY(acosh),
    UNARY(softplus),
    UNARY(gelu),
    UNARY(silu),
    CASE("expm1_tiny", expm1(x[0])),
    CASE("log1p_tiny", log1p(x[0])),
    CASE("isnan_special", isnan(x[0])),
    CASE("isinf_special", isinf(x[0])),
    CASE("isfinite_special", isfinite(x[0])),
    CASE("relu_special", relu(x[0])),
    CASE("sigmoid_special", sigmoid(x[0])),
    CASE("exp_special", exp(x[0])),
    CASE("sqrt_special", sqrt(x[0])),
    CASE("round_special", round(x[0])),
    CASE("gelu_tanh", gelu(x[0], true)),
    CASE("leaky_relu", leaky_relu(x[0], 0.2)),
    CASE("elu", elu(x[0], 1.5)),
    CASE("clamp", x[0].clamp(-1, 1.5)),
    CASE("exp_of_int", exp(x[0])),
    CASE("f64", sin(x[0]) * x[0]),
};

static const Table kReductions = {
    CASE("sum", x[0].sum()),
    CASE("mean", x[0].mean()),
    CASE("prod", x[0].prod()),
    CASE("amax", x[0].max()),
    CASE("amin", x[0].min()),
    CASE("sum_axes", sum(x[0], {0, 2})),
    CASE("mean_keepdims", mean(x[0], 1, true)),
    CASE("sum_int8", sum(x[0])),
    CASE("sum_bool", sum(x[0])),
    CASE("max_int", max(x[0], 0)),
    CASE("any", (x[0] > 1).any(1)),
    CASE("all", (x[0] > -2).all(0)),
    CASE("argmax", x[0].argmax(1)),
    CASE("argmin_flat", x[0].argmin()),
    CASE("var", var(x[0], 1)),
    CASE("std_biased", tinh::std(x[0], {0, 1}, false, 0)),
    CASE("norm", norm(x[0])),
    CASE("norm1", norm(x[0], 1, 1)),
    CASE("norm3", norm(x[0], 3)),
    CASE("norm_inf", norm(x[0], std::numeric_limits<double>::infinity(), 0)),
    CASE("logsumexp", logsumexp(x[0], 1)),
    CASE("logsumexp_infinite", logsumexp(x[0], 0)),
    CASE("cumsum", cumsum(x[0], 1)),
    CASE("cumsum_int", cumsum(x[0], 0)),
    CASE("cumprod", cumprod(x[0], 1)),
    CASE("cumprod_int", cumprod(x[0], 0)),
    CASE("count_nonzero", count_nonzero(x[0])),
    CASE("sum_empty", sum(x[0], 0)),
};

static const Table kProducts = {
    CASE("matmul", matmul(x[0], x[1])),
    CASE("matmul_vector", matmul(x[0], x[1])),
    CASE("vector_matmul", x[0].matmul(x[1])),
    CASE("matmul_batched", matmul(x[0], x[1])),
    CASE("matmul_int", matmul(x[0], x[1])),
    CASE("matmul_transposed", matmul(x[0].t(), x[1].t())),
    CASE("bmm", bmm(x[0], x[1])),
    CASE("dot", dot(x[0], x[1])),
    CASE("outer", outer(x[0], x[1])),
    CASE("linear", linear(x[0], x[1], x[2])),
    CASE("linear_no_bias", linear(x[0], x[1])),
};

static const Table kWindows = {
    CASE("conv1d", conv1d(x[0], x[1], x[2], 2, 1)),
    CASE("conv2d", conv2d(x[0], x[1], x[2], 1, 1)),
    CASE("conv2d_strided", conv2d(x[0], x[1], {}, {2, 1}, 0, {1, 2})),
    CASE("conv2d_groups", conv2d(x[0], x[1], x[2], 1, 0, 1, 2)),
    CASE("conv2d_unbatched", conv2d(x[0], x[1])),
    CASE("conv3d", conv3d(x[0], x[1], {}, 1, 1)),
    CASE("conv_transpose1d", conv_transpose(x[0], x[1], x[2], 2)),
    CASE("conv_transpose2d", conv_transpose(x[0], x[1], {}, 2, 1, 1, 2, 2)),
    CASE("conv_transpose_padding", conv_transpose(x[0], x[1], {}, 1, 2)),
    CASE("max_pool2d", max_pool2d(x[0], 3, 2, 1)),
    CASE("max_pool2d_ceil", max_pool2d(x[0], 2, {}, 0, 1, true)),
    CASE("max_pool1d", max_pool1d(x[0], 3, 1, 1)),
    CASE("max_pool3d_dilated", max_pool3d(x[0], 2, 1, 0, 2)),
    CASE("avg_pool2d", avg_pool2d(x[0], 3, 2, 1)),
    CASE("avg_pool2d_ceil", avg_pool2d(x[0], 3, 2, 1, true)),
    CASE("avg_pool2d_exclude", avg_pool2d(x[0], 3, 2, 1, true, false)),
    CASE("avg_pool1d", avg_pool1d(x[0], 2)),
    CASE("avg_pool3d", avg_pool3d(x[0], 2)),
    CASE("adaptive_avg_pool2d", adaptive_avg_pool2d(x[0], {2, 3})),
    CASE("adaptive_uneven", adaptive_avg_pool2d(x[0], {3, 2})),
};

static Tensor batchStatistics(const Inputs &x) {
  batch_norm_training(x[0], x[1], x[2], {}, {}, 0.3);
  return stack({x[1], x[2]});
}

static const Table kNorms = {
    CASE("softmax", softmax(x[0], 1)),
    CASE("log_softmax", x[0].log_softmax(-1)),
    CASE("layer_norm", layer_norm(x[0], 4, x[1], x[2])),
    CASE("layer_norm2", layer_norm(x[0], {3, 4})),
    CASE("rms_norm", rms_norm(x[0], 4, x[1])),
    CASE("group_norm", group_norm(x[0], 2, x[1], x[2])),
    CASE("batch_norm", batch_norm(x[0], x[1], x[2], x[3], x[4])),
    CASE("batch_norm_training", batch_norm_training(x[0], {}, {}, x[1], x[2])),
    {"batch_norm_statistics", batchStatistics},
    CASE("attention", scaled_dot_product_attention(x[0], x[1], x[2])),
    CASE("attention_causal",
         scaled_dot_product_attention(x[0], x[1], x[2], {}, true)),
    CASE("attention_mask",
         scaled_dot_product_attention(x[0], x[1], x[2], x[3])),
    CASE("embedding", embedding(x[0], x[1])),
    CASE("one_hot", one_hot(x[0], 4)),
};

static Tensor putValues(const Inputs &x) {
  x[0].index_put_({Slice(), x[1], x[2]}, arange(12.0).reshape({3, 2, 2}));
  return x[0];
}
static Tensor putAdding(const Inputs &x) {
  x[0].index_put_({x[1]}, 1, true);
  return x[0];
}
static Tensor putMask(const Inputs &x) {
  x[0].index_put_({x[0] > 0}, -1);
  return x[0];
}

static const Table kMovement = {
    CASE("concat", concat({x[0], x[1]}, 1)),
    CASE("stack", stack({x[0], x[1]}, 1)),
    CASE("tile", tile(x[0], {2, 1, 3})),
    CASE("repeat_interleave", repeat_interleave(x[0], 2, 1)),
    CASE("flip", flip(x[0], {0, 1})),
    CASE("roll", roll(x[0], {1, -2}, {0, 1})),
    CASE("pad_edge", pad(x[0], {1, 2}, {2, 1}, Padding::Edge)),
    CASE("pad_reflect", pad(x[0], {1, 2}, {2, 1}, Padding::Reflect)),
    CASE("pad_wrap", pad(x[0], {1, 2}, {2, 1}, Padding::Wrap)),
    CASE("pad_constant", pad(x[0], {1, 2}, {2, 1})),
    CASE("pad_cut", pad(x[0], {1, -1}, {-1, 2}, Padding::Constant, 7)),
    CASE("tril", tril(x[0], 1)),
    CASE("triu", triu(x[0], -1)),
    CASE("index_select", index_select(x[0], 1, x[1])),
    CASE("take", take(x[0], x[1])),
    CASE("gather", gather(x[0], 1, x[1])),
    CASE("take_along", take_along(x[0], x[1], 0)),
    CASE("scatter", scatter(x[0], 0, x[1], x[2])),
    CASE("scatter_add", scatter_add(x[0], 1, x[1], x[2])),
    CASE("index_add", index_add(x[0], 1, x[1], x[2])),
    CASE("masked_fill", x[0].masked_fill(x[0] > 0, 9)),
    CASE("sort", sort(x[0], 0).values),
    CASE("argsort", argsort(x[0], 1, true)),
    CASE("topk", topk(x[0], 2, 1).values),
    CASE("topk_smallest", topk(x[0], 2, 0, false).indices),
    CASE("nonzero", nonzero(x[0])),
    CASE("masked_select", masked_select(x[0], x[0] > 0)),
    CASE("unique", unique(x[0])),
    CASE("index_one", x[0].index({Slice(), x[1]})),
    CASE("index_two", x[0].index({x[1], x[2]})),
    CASE("index_apart", x[0].index({x[1], Slice(), x[2]})),
    CASE("index_last", x[0].index({Slice(), x[1], x[2]})),
    CASE("index_mask", x[0].index({Slice(), (x[0] > 0).any(2)[0]})),
    CASE("index_mixed",
         x[0].index({1, Ellipsis, None, Slice(1, 4, 2)})[x[1] - 1]),
    {"put", putValues},
    {"put_accumulate", putAdding},
    {"put_mask", putMask},
};

static const Table kCreation = {
    CASE("arange", arange(2, 11, 3)),
    CASE("arange_down", arange(5, -2, -2)),
    CASE("arange_float", arange(0, 1, 0.25)),
    CASE("linspace", linspace(-1, 1, 7)),
    CASE("eye", eye(3, 5)),
    CASE("eye_tall", eye(5, 3)),
    CASE("full", full({2, 2}, 7)),
};

const Table &tinh::test::recordedOperations() {
  static const Table all = [] {
    Table table;
    for (const Table *part : {&kElementwise, &kReductions, &kProducts,
                              &kWindows, &kNorms, &kMovement, &kCreation})
      table.insert(part->begin(), part->end());
    return table;
  }();
  return all;
}
