//===- Random.cpp - Random tensors ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Counters advance at the call, numbers are drawn when the operation runs.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Random.h"

#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"
#include "tinh/random.h"

using namespace tinh;
using namespace tinh::eager;

static Scalar real(double value) {
  Scalar scalar = {TINH_DTYPE_F64, {}};
  scalar.real = value;
  return scalar;
}

static Tensor drawn(Draw::Kind kind, const Scalar &a, const Scalar &b,
                    const Shape &shape, DType dtype, const Generator &generator,
                    const Call &call) {
  Tensor out = makeTensor(dtype, checkedSizes(shape, dtype, call));
  TensorImpl &impl = use(out, call);
  auto count = static_cast<uint64_t>(impl.numElements());
  if (count == 0)
    return out;
  const std::shared_ptr<Generator::State> &state = generator.state();
  Draw draw = {kind, a, b, state->seed, state->counter, &state};
  perform(primitives::Random{draw}, {}, impl, call);
  state->counter += blocksOfDraw(kind, dtype, count);
  return out;
}

static void requireFloating(DType dtype, const Call &call) {
  if (!dtype.is_floating_point())
    fail(call, "is not defined for ", dtype,
         "; use a floating-point dtype, or randint");
}

Tensor tinh::uniform(const Shape &shape, const Generator &generator, double low,
                     double high, DType dtype, At at) {
  Call call{"uniform", at};
  requireFloating(dtype, call);
  if (!(low <= high))
    fail(call, "there are no numbers from ", low, " to ", high);
  return drawn(Draw::Uniform, real(low), real(high), shape, dtype, generator,
               call);
}

Tensor tinh::normal(const Shape &shape, const Generator &generator, double mean,
                    double deviation, DType dtype, At at) {
  Call call{"normal", at};
  requireFloating(dtype, call);
  if (!(deviation >= 0))
    fail(call, "the deviation is ", deviation, "; it must not be negative");
  return drawn(Draw::Normal, real(mean), real(deviation), shape, dtype,
               generator, call);
}

Tensor tinh::randint(int64_t low, int64_t high, const Shape &shape,
                     const Generator &generator, DType dtype, At at) {
  Call call{"randint", at};
  if (!dtype.is_integer())
    fail(call, "is not defined for ", dtype, "; use an integer dtype");
  if (low >= high)
    fail(call, "there are no integers from ", low, " to ", high - 1);
  return drawn(Draw::Integers, toScalar(low, int64), toScalar(high, int64),
               shape, dtype, generator, call);
}

static void requireProbability(double probability, const Call &call) {
  if (!(probability >= 0 && probability <= 1))
    fail(call, "the probability is ", probability, "; it must be from 0 to 1");
}

Tensor tinh::bernoulli(double probability, const Shape &shape,
                       const Generator &generator, DType dtype, At at) {
  Call call{"bernoulli", at};
  requireProbability(probability, call);
  return drawn(Draw::Bernoulli, real(probability), real(0), shape, dtype,
               generator, call);
}

Tensor tinh::permutation(int64_t count, const Generator &generator, At at) {
  Call call{"permutation", at};
  Scalar all = {TINH_DTYPE_I64, {}};
  Tensor keys = drawn(Draw::Integers, all, all, count, int64, generator, call);
  return argsort(sameCall(keys, call), 0);
}

Tensor tinh::dropout(Operand x, double probability,
                     const Generator &generator) {
  Call call{"dropout", x.at};
  requireProbability(probability, call);
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  requireFloating(impl.dtype, call);
  if (probability == 0)
    return tensor.clone(x.at);
  double scale = probability < 1 ? 1 / (1 - probability) : 0;
  LikeScope scope(impl);
  // Of what gradients need, booleans take the least memory.
  Tensor kept = drawn(Draw::Bernoulli, real(1 - probability), real(0),
                      toArray(impl.sizes), boolean, generator, call);
  Tensor scaled = mul(sameCall(tensor, call), scale);
  return where(sameCall(kept, call), sameCall(scaled, call), 0);
}
