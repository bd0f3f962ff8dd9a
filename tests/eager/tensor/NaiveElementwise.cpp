//===- NaiveElementwise.cpp - Element by element, plainly -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "NaiveArray.h"
#include "NaiveBackend.h"

#include <cmath>

using namespace tinh;
using namespace tinh::eager;

static double realUnary(ElementwiseOp op, double x) {
  switch (op) {
  case ElementwiseOp::Neg:
    return -x;
  case ElementwiseOp::Abs:
    return std::abs(x);
  case ElementwiseOp::Sign:
    return std::isnan(x) ? x : (x > 0) - (x < 0);
  case ElementwiseOp::Relu:
    return x > 0 || std::isnan(x) ? x : 0;
  case ElementwiseOp::Exp:
    return std::exp(x);
  case ElementwiseOp::Log:
    return std::log(x);
  case ElementwiseOp::Sqrt:
    return std::sqrt(x);
  case ElementwiseOp::Rsqrt:
    return 1 / std::sqrt(x);
  case ElementwiseOp::Reciprocal:
    return 1 / x;
  case ElementwiseOp::Erf:
    return std::erf(x);
  case ElementwiseOp::Tanh:
    return std::tanh(x);
  case ElementwiseOp::Sigmoid:
    return 1 / (1 + std::exp(-x));
  case ElementwiseOp::Softplus:
    return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x)));
  case ElementwiseOp::Softsign:
    return x / (1 + std::abs(x));
  case ElementwiseOp::Floor:
    return std::floor(x);
  case ElementwiseOp::Ceil:
    return std::ceil(x);
  case ElementwiseOp::Round:
    return std::nearbyint(x);
  case ElementwiseOp::Sin:
    return std::sin(x);
  case ElementwiseOp::Cos:
    return std::cos(x);
  case ElementwiseOp::Tan:
    return std::tan(x);
  case ElementwiseOp::Asin:
    return std::asin(x);
  case ElementwiseOp::Acos:
    return std::acos(x);
  case ElementwiseOp::Atan:
    return std::atan(x);
  case ElementwiseOp::Sinh:
    return std::sinh(x);
  case ElementwiseOp::Cosh:
    return std::cosh(x);
  case ElementwiseOp::Asinh:
    return std::asinh(x);
  case ElementwiseOp::Acosh:
    return std::acosh(x);
  case ElementwiseOp::Atanh:
    return std::atanh(x);
  case ElementwiseOp::Gelu:
    return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
  case ElementwiseOp::GeluTanh:
    return x / 2 *
           (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  case ElementwiseOp::Silu:
    return x / (1 + std::exp(-x));
  default:
    throw Error(TINH_INTERNAL, "not an operation on one real number");
  }
}

static double realBinary(ElementwiseOp op, double a, double b) {
  switch (op) {
  case ElementwiseOp::Add:
    return a + b;
  case ElementwiseOp::Sub:
    return a - b;
  case ElementwiseOp::Mul:
    return a * b;
  case ElementwiseOp::Div:
    return a / b;
  case ElementwiseOp::Pow:
    return std::pow(a, b);
  case ElementwiseOp::Max:
    return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
  case ElementwiseOp::Min:
    return std::isnan(a) || std::isnan(b) ? NAN : std::min(a, b);
  case ElementwiseOp::Fmod:
    return std::fmod(a, b);
  case ElementwiseOp::Mod: {
    double rest = std::fmod(a, b);
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  case ElementwiseOp::LeakyRelu:
    return a > 0 ? a : a * b;
  case ElementwiseOp::Elu:
    return a > 0 ? a : b * std::expm1(a);
  default:
    throw Error(TINH_INTERNAL, "not an operation on two real numbers");
  }
}

using Wide = __int128;

static Wide integerUnary(ElementwiseOp op, Wide x, bool isBool) {
  switch (op) {
  case ElementwiseOp::Neg:
    return -x;
  case ElementwiseOp::Abs:
    return x < 0 ? -x : x;
  case ElementwiseOp::Sign:
    return (x > 0) - (x < 0);
  case ElementwiseOp::Relu:
    return x > 0 ? x : 0;
  case ElementwiseOp::Not:
    return isBool ? !x : ~x;
  default:
    throw Error(TINH_INTERNAL, "not an operation on one integer");
  }
}

static Wide integerBinary(ElementwiseOp op, Wide a, Wide b) {
  switch (op) {
  case ElementwiseOp::Add:
    return a + b;
  case ElementwiseOp::Sub:
    return a - b;
  case ElementwiseOp::Mul:
    return a * b;
  case ElementwiseOp::Div:
    return b == 0 ? 0 : a / b;
  case ElementwiseOp::Pow: {
    if (b < 0)
      return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
    unsigned __int128 result = 1, base = static_cast<unsigned __int128>(a);
    for (; b > 0; b /= 2, base *= base)
      if (b % 2)
        result *= base;
    return static_cast<Wide>(result);
  }
  case ElementwiseOp::Max:
    return std::max(a, b);
  case ElementwiseOp::Min:
    return std::min(a, b);
  case ElementwiseOp::Fmod:
    return b == 0 ? 0 : a % b;
  case ElementwiseOp::Mod: {
    Wide rest = b == 0 ? 0 : a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
  case ElementwiseOp::And:
    return a & b;
  case ElementwiseOp::Or:
    return a | b;
  case ElementwiseOp::Xor:
    return a ^ b;
  case ElementwiseOp::ShiftLeft:
    return a << b;
  case ElementwiseOp::ShiftRight:
    return a >> b;
  default:
    throw Error(TINH_INTERNAL, "not an operation on two integers");
  }
}

template <typename T> static bool compare(ElementwiseOp op, T a, T b) {
  switch (op) {
  case ElementwiseOp::Equal:
    return a == b;
  case ElementwiseOp::NotEqual:
    return a != b;
  case ElementwiseOp::Less:
    return a < b;
  case ElementwiseOp::LessEqual:
    return a <= b;
  case ElementwiseOp::Greater:
    return a > b;
  default:
    return a >= b;
  }
}

static Element compute(ElementwiseOp op, const Element (&x)[3],
                       tinh_dtype_t dtype) {
  bool isReal = isFloating(dtype);
  if (op == ElementwiseOp::Where)
    return x[0].integer ? x[1] : x[2];
  if (op == ElementwiseOp::IsNan)
    return {0, std::isnan(x[0].real)};
  if (op == ElementwiseOp::IsInf)
    return {0, std::isinf(x[0].real)};
  if (op >= ElementwiseOp::Equal && op <= ElementwiseOp::GreaterEqual)
    return {0, isReal ? compare(op, x[0].real, x[1].real)
                      : compare(op, x[0].integer, x[1].integer)};
  if (op == ElementwiseOp::Clamp) {
    const Element low[3] = {x[0], x[1], {}};
    const Element high[3] = {compute(ElementwiseOp::Max, low, dtype), x[2], {}};
    return compute(ElementwiseOp::Min, high, dtype);
  }
  if (op == ElementwiseOp::MulAdd)
    return {x[0].real * x[1].real + x[2].real,
            x[0].integer * x[1].integer + x[2].integer};
  bool isUnary = op < ElementwiseOp::Add;
  if (isReal)
    return {isUnary ? realUnary(op, x[0].real)
                    : realBinary(op, x[0].real, x[1].real),
            0};
  return {0, isUnary ? integerUnary(op, x[0].integer, dtype == TINH_DTYPE_BOOL)
                     : integerBinary(op, x[0].integer, x[1].integer)};
}

static Element read(const Input &input, const Place &place) {
  return input.tensor ? Array(*input.tensor).broadcast(place)
                      : elementOf(input.scalar);
}

static tinh_dtype_t dtypeOf(const Input &input) {
  return input.tensor ? input.tensor->dtype : input.scalar.dtype;
}

void naive::elementwise(const Primitive &primitive) {
  ElementwiseOp op = primitive.get<primitives::Elementwise>().op;
  std::span<const Input> inputs = primitive.inputs;
  TensorImpl &out = primitive.output();
  tinh_dtype_t dtype = dtypeOf(inputs.back()); // Where: not the condition's.
  forEach(out.sizes, [&](const Place &place) {
    Element operands[3];
    for (size_t i = 0; i < inputs.size(); ++i)
      operands[i] = read(inputs[i], place);
    Array(out).set(place, compute(op, operands, dtype));
  });
}

void naive::cast(const Primitive &primitive) {
  const Input &x = primitive.inputs[0];
  TensorImpl &out = primitive.output();
  bool fromReal = isFloating(dtypeOf(x)), toReal = isFloating(out.dtype);
  forEach(out.sizes, [&](const Place &place) {
    Element element = read(x, place);
    if (fromReal && out.dtype == TINH_DTYPE_BOOL)
      element.integer = element.real != 0;
    else if (fromReal && !toReal)
      element.integer = Wide(element.real);
    else if (!fromReal && toReal)
      element.real = double(element.integer);
    Array(out).set(place, element);
  });
}
