//===- Normalization.cpp - Norms, softmax, attention ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Softmax and the norms over last dimensions are primitives, for they read and
// write memory once; the others are made of these and of sums.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"
#include "tinh/autograd.h"

#include <cmath>

using namespace tinh;
using namespace tinh::eager;

static void requireFloating(const TensorImpl &x, const Call &call) {
  if (!DType(x.dtype).is_floating_point())
    fail(call, "is not defined for ", DType(x.dtype),
         "; convert the operand with to(float32)");
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

static Tensor softmaxLike(SoftmaxOp op, const Operand &x, int64_t axis,
                          const Call &call) {
  Tensor given = toTensor(x, call);
  Tensor tensor =
      converted(use(given, call), fullDType(use(given, call).dtype), call);
  const TensorImpl &impl = use(tensor, call);
  requireFloating(impl, call);
  axis = checkedAxis(axis, impl.rank(), call);
  if (impl.rank() == 0) // Of one number: 1, or its logarithm.
    return filled({}, toScalar(op == SoftmaxOp::Softmax, impl.dtype), call);
  Tensor out = makeTensor(impl.dtype, impl.sizes);
  if (impl.numElements() != 0)
    perform(primitives::Softmax{op, axis}, {&impl}, use(out, call), call);
  return out;
}

Tensor tinh::softmax(Operand x, int64_t axis) {
  return softmaxLike(SoftmaxOp::Softmax, x, axis, {"softmax", x.at});
}
Tensor tinh::log_softmax(Operand x, int64_t axis) {
  return softmaxLike(SoftmaxOp::LogSoftmax, x, axis, {"log_softmax", x.at});
}

//===----------------------------------------------------------------------===//
// Norms over the last dimensions
//===----------------------------------------------------------------------===//

/// `parameter` in x's dtype, of shape `sizes`; null if it is not given.
static Tensor parameterOf(const char *what, const Tensor &parameter,
                          const Dims &sizes, const TensorImpl &x,
                          const Call &call) {
  if (!parameter.defined())
    return {};
  const TensorImpl &impl = use(parameter, call);
  if (!(impl.sizes == sizes))
    fail(call, what, " of shape ", impl.sizes, " must be of shape ", sizes,
         " for an operand of shape ", x.sizes);
  return converted(impl, x.dtype, call);
}

static Tensor normalize(const Operand &x, const Shape &shape,
                        const Tensor &weights, const Tensor &bias,
                        double epsilon, bool rms, const Call &call) {
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  requireFloating(impl, call);
  Dims sizes = checkedSizes(shape, impl.dtype, call);
  bool fits = !sizes.empty() && sizes.size() <= impl.rank();
  for (uint32_t i = 0; fits && i < sizes.size(); ++i)
    fits = impl.sizes[impl.rank() - sizes.size() + i] == sizes[i];
  if (!fits)
    fail(call, "the last dimensions of shape ", impl.sizes, " are not ", sizes);
  Tensor scale = parameterOf("weight", weights, sizes, impl, call);
  Tensor shift = parameterOf("bias", bias, sizes, impl, call);
  Tensor out = makeTensor(impl.dtype, impl.sizes);
  if (impl.numElements() != 0)
    perform(
        primitives::LayerNorm{{sizes.size(), epsilon, rms}, scale.defined()},
        {&impl, TensorAccess::get(scale), TensorAccess::get(shift)},
        use(out, call), call);
  return out;
}

Tensor tinh::layer_norm(Operand x, const Shape &shape, const Tensor &weights,
                        const Tensor &bias, double epsilon) {
  Call call{"layer_norm", x.at};
  return roundedAfter(x, call, [&](const Operand &wide) {
    return normalize(wide, shape, weights, bias, epsilon, false, call);
  });
}
Tensor tinh::rms_norm(Operand x, const Shape &shape, const Tensor &weights,
                      double epsilon) {
  Call call{"rms_norm", x.at};
  return roundedAfter(x, call, [&](const Operand &wide) {
    return normalize(wide, shape, weights, {}, epsilon, true, call);
  });
}

//===----------------------------------------------------------------------===//
// Norms by channel
//===----------------------------------------------------------------------===//

/// A vector over the channels, so that it broadcasts against x.
static Tensor byChannel(const Tensor &vector, const TensorImpl &x,
                        const Call &call) {
  Dims sizes = Dims::filled(x.rank() - 1, 1);
  sizes[0] = x.sizes[1];
  return reshaped(use(vector, call), sizes, call);
}

static const TensorImpl &requireChannels(const Tensor &tensor,
                                         const Call &call) {
  const TensorImpl &x = use(tensor, call);
  requireFloating(x, call);
  if (x.rank() < 2)
    fail(call, "shape ", x.sizes, " must be [N, channels, …]");
  return x;
}

/// x · factor + shift, in which statistics and parameters are folded.
static Tensor applyStatistics(const TensorImpl &x, const Tensor &mean,
                              const Tensor &variance, const Tensor &weights,
                              const Tensor &bias, double epsilon,
                              const Call &call) {
  Dims channels = Dims::filled(1, x.sizes[1]);
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor center = parameterOf("mean", mean, channels, x, call);
  Tensor spread = parameterOf("variance", variance, channels, x, call);
  Tensor scale = parameterOf("weight", weights, channels, x, call);
  Tensor offset = parameterOf("bias", bias, channels, x, call);
  Tensor factor = rsqrt(op(add(op(spread), epsilon)));
  if (scale.defined())
    factor = mul(op(factor), op(scale));
  Tensor shift = neg(op(mul(op(center), op(factor))));
  if (offset.defined())
    shift = add(op(shift), op(offset));
  return muladd(op(TensorAccess::share(x)), op(byChannel(factor, x, call)),
                op(byChannel(shift, x, call)));
}

Tensor tinh::batch_norm(Operand x, const Tensor &mean, const Tensor &variance,
                        const Tensor &weights, const Tensor &bias,
                        double epsilon) {
  Call call{"batch_norm", x.at};
  use(mean, call);
  use(variance, call);
  return roundedAfter(x, call, [&](const Operand &wide) {
    Tensor tensor = toTensor(wide, call);
    const TensorImpl &impl = requireChannels(tensor, call);
    return applyStatistics(impl, mean, variance, weights, bias, epsilon, call);
  });
}

/// Moves a running statistic toward what a batch has, which is no part of what
/// gradients are of.
static void moveTowards(const Tensor &statistic, const Tensor &value,
                        double momentum, const Call &call) {
  if (!statistic.defined())
    return;
  statistic.mul_({Number(1 - momentum), call.at});
  Tensor constant = stop_gradient(sameCall(value, call));
  statistic.addmul_(sameCall(constant, call), momentum);
}

static Tensor normalizeBatch(const Operand &x, const Tensor &mean,
                             const Tensor &variance, const Tensor &weights,
                             const Tensor &bias, double momentum,
                             double epsilon, const Call &call) {
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = requireChannels(tensor, call);
  Axes axes = 0;
  for (int64_t i = 2; i < impl.rank(); ++i)
    axes.push_back(i);
  double count = impl.sizes[1] ? double(impl.numElements() / impl.sizes[1]) : 0;
  Tensor batchMean = tinh::mean(sameCall(tensor, call), axes);
  Tensor batchVariance = var(sameCall(tensor, call), axes, false, 0);
  moveTowards(mean, batchMean, momentum, call);
  Tensor unbiased =
      mul(sameCall(batchVariance, call), count / std::max(count - 1, 1.0));
  moveTowards(variance, unbiased, momentum, call);
  return applyStatistics(impl, batchMean, batchVariance, weights, bias, epsilon,
                         call);
}

Tensor tinh::batch_norm_training(Operand x, const Tensor &mean,
                                 const Tensor &variance, const Tensor &weights,
                                 const Tensor &bias, double momentum,
                                 double epsilon) {
  Call call{"batch_norm_training", x.at};
  return roundedAfter(x, call, [&](const Operand &wide) {
    return normalizeBatch(wide, mean, variance, weights, bias, momentum,
                          epsilon, call);
  });
}

static Tensor normalizeGroups(const Operand &x, int64_t groups,
                              const Tensor &weights, const Tensor &bias,
                              double epsilon, const Call &call) {
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = requireChannels(tensor, call);
  if (groups < 1 || impl.sizes[1] % groups != 0)
    fail(call, impl.sizes[1], " channels of shape ", impl.sizes,
         " do not make ", groups, " equal groups");
  if (impl.numElements() == 0)
    return copied(impl, impl.dtype, call);
  auto op = [&](const Tensor &value) { return sameCall(value, call); };
  Dims channels = Dims::filled(1, impl.sizes[1]);
  Tensor scale = parameterOf("weight", weights, channels, impl, call);
  Tensor shift = parameterOf("bias", bias, channels, impl, call);
  int64_t size = impl.numElements() / impl.sizes[0] / groups;
  Shape parts = {impl.sizes[0], groups, size};
  Tensor grouped = reshaped(impl, Dims(parts), call);
  Tensor normalized =
      normalize(op(grouped), size, {}, {}, epsilon, false, call);
  Tensor out = reshaped(use(normalized, call), impl.sizes, call);
  if (scale.defined())
    out = mul(op(out), op(byChannel(scale, impl, call)));
  if (shift.defined())
    out = add(op(out), op(byChannel(shift, impl, call)));
  return out;
}

Tensor tinh::group_norm(Operand x, int64_t groups, const Tensor &weights,
                        const Tensor &bias, double epsilon) {
  Call call{"group_norm", x.at};
  return roundedAfter(x, call, [&](const Operand &wide) {
    return normalizeGroups(wide, groups, weights, bias, epsilon, call);
  });
}

//===----------------------------------------------------------------------===//
// Attention and embeddings
//===----------------------------------------------------------------------===//

/// What is added to the scores: 0 where a boolean mask holds, else -∞.
static Tensor additiveMask(const Tensor &mask, DType dtype, const Call &call) {
  const TensorImpl &impl = use(mask, call);
  if (impl.dtype != TINH_DTYPE_BOOL)
    return converted(impl, dtype, call);
  Tensor zeros = filled({}, toScalar(0, dtype), call);
  return where(sameCall(mask, call), sameCall(zeros, call), -INFINITY);
}

/// Boolean [queries, keys]: key ≤ query + (keys - queries).
static Tensor causalMask(int64_t queries, int64_t keys, const Call &call) {
  Tensor all =
      filled(Dims(Shape{queries, keys}), toScalar(true, boolean), call);
  return tril(sameCall(all, call), keys - queries);
}

Tensor tinh::scaled_dot_product_attention(Operand query, Operand key,
                                          Operand value, const Tensor &mask,
                                          bool causal,
                                          std::optional<double> scale) {
  Call call{"scaled_dot_product_attention", query.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor q = toTensor(query, call), k = toTensor(key, call);
  const TensorImpl &queries = use(q, call), &keys = use(k, call);
  requireFloating(queries, call);
  if (queries.rank() < 2 || keys.rank() < 2 ||
      queries.sizes.back() != keys.sizes.back())
    fail(call, "query of shape ", queries.sizes, " and key of shape ",
         keys.sizes, " must be [batch…, length, width] of one width");
  // Masks often have the lowest number of float32.
  DType maskDType = fullDType(queries.dtype);
  double factor = scale.value_or(1 / std::sqrt(double(queries.sizes.back())));
  Tensor scaled = mul(op(q), factor);
  Tensor scores = matmul(op(scaled), op(k.mT(call.at)));
  if (mask.defined())
    scores = add(op(scores), op(additiveMask(mask, maskDType, call)));
  if (causal) {
    LikeScope scope(queries);
    Tensor seen = causalMask(queries.sizes[queries.rank() - 2],
                             keys.sizes[keys.rank() - 2], call);
    scores = add(op(scores), op(additiveMask(seen, maskDType, call)));
  }
  return matmul(op(softmax(op(scores), -1)), value);
}

Tensor tinh::embedding(Operand weights, Operand indices) {
  Call call{"embedding", weights.at};
  Tensor table = toTensor(weights, call), places = toTensor(indices, call);
  const TensorImpl &impl = use(table, call);
  if (impl.rank() != 2)
    fail(call, "a weight of shape ", impl.sizes, " must be [count, width]");
  if (!DType(use(places, call).dtype).is_integer())
    fail(call, "indices have dtype ", DType(use(places, call).dtype),
         "; they must be integers");
  places = converted(use(places, call), int64, call);
  return gathered(impl, use(places, call), 0, call);
}

Tensor tinh::one_hot(Operand indices, int64_t classes) {
  Call call{"one_hot", indices.at};
  Tensor places = toTensor(indices, call);
  if (!DType(use(places, call).dtype).is_integer())
    fail(call, "indices have dtype ", DType(use(places, call).dtype),
         "; they must be integers");
  LikeScope scope(use(places, call));
  Tensor columns = arange(classes, call.at);
  Tensor rows = places.unsqueeze(-1, call.at);
  Tensor hits = eq(sameCall(rows, call), sameCall(columns, call));
  return hits.to(int64, call.at);
}
