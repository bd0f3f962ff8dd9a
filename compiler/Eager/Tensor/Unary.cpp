//===- Unary.cpp - Functions of one operand ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Most are one primitive, whose function is made of what the op says of its
// dtype (eagerDType in ElementwiseOps.td, of which write_ops.py makes
// ElementwiseOps.inc); integers become floating-point where they must. What a
// kernel computes of an element is the op's scalar function there.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"

#include <cmath>
#include <numbers>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// One operation, by its dtype
//===----------------------------------------------------------------------===//

/// Of integers, too.
static Tensor unaryArithmetic(ElementwiseOp op, const Operand &x,
                              const Call &call) {
  BinaryOp how = arithmetic(op, commonDType(call, x), call);
  const Operand operands[] = {x};
  return elementwise(how.op, operands, how.dtype, how.dtype, call);
}

/// Integers are rounded already.
static Tensor unaryRounded(ElementwiseOp op, const Operand &x,
                           const Call &call) {
  tinh_dtype_t dtype = commonDType(call, x);
  if (categoryOf(dtype) == 2)
    return elementwise(op, {x}, dtype, call);
  Tensor tensor = toTensor(x, call);
  return copied(use(tensor, call), dtype, call);
}

static Tensor unaryFloating(ElementwiseOp op, const Operand &x,
                            const Call &call) {
  tinh_dtype_t dtype = floatingDType(commonDType(call, x));
  const Operand operands[] = {x};
  return elementwise(op, operands, dtype, dtype, call);
}

static Tensor unaryTest(ElementwiseOp op, const Operand &x, const Call &call) {
  tinh_dtype_t dtype = commonDType(call, x);
  const Operand operands[] = {x};
  if (categoryOf(dtype) == 2)
    return elementwise(op, operands, dtype, TINH_DTYPE_BOOL, call);
  Tensor tensor = toTensor(x, call);
  LikeScope scope(use(tensor, call));
  return filled(use(tensor, call).sizes, {TINH_DTYPE_BOOL, {}}, call);
}

#define UNARY_FUNCTION(NAME, MNEMONIC, DTYPE)                                  \
  Tensor tinh::MNEMONIC(Operand x) {                                           \
    return unary##DTYPE(ElementwiseOp::NAME, x, {#MNEMONIC, x.at});            \
  }
#include "dialects/graph/ElementwiseOps.inc"

//===----------------------------------------------------------------------===//
// One operation
//===----------------------------------------------------------------------===//

Tensor tinh::square(Operand x) {
  Call call{"square", x.at};
  BinaryOp how = arithmetic(ElementwiseOp::Mul, commonDType(call, x), call);
  return elementwise(how.op, {x, x}, how.dtype, call);
}
Tensor tinh::clamp(Operand x, Operand low, Operand high) {
  Call call{"clamp", x.at};
  BinaryOp how =
      arithmetic(ElementwiseOp::Clamp, commonDType(call, x, low, high), call);
  return elementwise(how.op, {x, low, high}, how.dtype, call);
}

Tensor tinh::trunc(Operand x) {
  Call call{"trunc", x.at};
  if (categoryOf(commonDType(call, x)) != 2)
    return unaryRounded(ElementwiseOp::Floor, x, call);
  Tensor isNegative = lt(x, 0), up = ceil(x), down = floor(x);
  return where(sameCall(isNegative, call), sameCall(up, call),
               sameCall(down, call));
}

Tensor tinh::isfinite(Operand x) {
  Call call{"isfinite", x.at};
  Tensor nan = isnan(x), inf = isinf(x);
  Tensor either = logical_or(sameCall(nan, call), sameCall(inf, call));
  return logical_not(sameCall(either, call));
}

Tensor tinh::silu(Operand x) {
  return unaryFloating(ElementwiseOp::Silu, x, {"silu", x.at});
}
Tensor tinh::gelu(Operand x, bool tanh_approximation) {
  return unaryFloating(tanh_approximation ? ElementwiseOp::GeluTanh
                                          : ElementwiseOp::Gelu,
                       x, {"gelu", x.at});
}
Tensor tinh::leaky_relu(Operand x, double slope) {
  Call call{"leaky_relu", x.at};
  return elementwise(ElementwiseOp::LeakyRelu, {x, slope},
                     floatingDType(commonDType(call, x)), call);
}
Tensor tinh::elu(Operand x, double alpha) {
  Call call{"elu", x.at};
  return elementwise(ElementwiseOp::Elu, {x, alpha},
                     floatingDType(commonDType(call, x)), call);
}

//===----------------------------------------------------------------------===//
// Of several steps
//===----------------------------------------------------------------------===//

Tensor tinh::exp2(Operand x) {
  Tensor scaled = mul(x, std::numbers::ln2);
  return exp(Operand(scaled, x.at));
}
Tensor tinh::log2(Operand x) {
  Tensor natural = log(x);
  return mul(Operand(natural, x.at), std::numbers::log2e);
}
Tensor tinh::log10(Operand x) {
  Tensor natural = log(x);
  return mul(Operand(natural, x.at), std::numbers::log10e);
}

// e^x - 1 = tanh(x / 2) · (e^x + 1), which loses nothing near 0; from 1 on,
// where that may be ∞ / ∞, and below -1 e^x - 1 is as good.
Tensor tinh::expm1(Operand x) {
  Call call{"expm1", x.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor power = exp(x), half = mul(x, 0.5);
  Tensor precise = mul(op(tanh(op(half))), op(add(op(power), 1)));
  Tensor isSmall = lt(op(abs(op(half))), 0.5);
  return where(op(isSmall), op(precise), op(sub(op(power), 1)));
}

// log(1 + x) = 2 · atanh(x / (x + 2)), which loses nothing near 0, of a number
// nor of its gradient; elsewhere the logarithm is as good.
Tensor tinh::log1p(Operand x) {
  Call call{"log1p", x.at};
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor value = toTensor(x, floatingDType(commonDType(call, x)), call);
  Tensor isSmall = lt(op(abs(op(value))), 0.5);
  // Of what is not small, atanh and its gradient may be infinite.
  Tensor small = where(op(isSmall), op(value), 0);
  Tensor part = div(op(small), op(add(op(small), 2)));
  Tensor precise = mul(op(atanh(op(part))), 2);
  return where(op(isSmall), op(precise), op(log(op(add(op(value), 1)))));
}
