//===- Elementwise.cpp - Element-wise ops, evaluated ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include "llvm/ADT/TypeSwitch.h"

#include <cmath>

using namespace mlir;

namespace tinh::reference {

using namespace graph;

namespace {

template <typename T> using Formula1 = T (*)(T);
template <typename T> using Formula2 = T (*)(T, T);
template <typename T> using Test2 = bool (*)(T, T);

//===----------------------------------------------------------------------===//
// Unary formulas
//===----------------------------------------------------------------------===//

double geluErf(double x) { return x / 2 * (1 + std::erf(x * M_SQRT1_2)); }

double geluTanh(double x) {
  double inner = x + 0.044715 * x * x * x;
  return x / 2 * (1 + std::tanh(M_2_SQRTPI * M_SQRT1_2 * inner));
}

Formula1<double> trigonometric(Operation *op) {
  using F = Formula1<double>;
  return llvm::TypeSwitch<Operation *, F>(op)
      .Case([](SinOp) -> F { return std::sin; })
      .Case([](CosOp) -> F { return std::cos; })
      .Case([](TanOp) -> F { return std::tan; })
      .Case([](AsinOp) -> F { return std::asin; })
      .Case([](AcosOp) -> F { return std::acos; })
      .Case([](AtanOp) -> F { return std::atan; })
      .Case([](SinhOp) -> F { return std::sinh; })
      .Case([](CoshOp) -> F { return std::cosh; })
      .Case([](TanhOp) -> F { return std::tanh; })
      .Case([](AsinhOp) -> F { return std::asinh; })
      .Case([](AcoshOp) -> F { return std::acosh; })
      .Case([](AtanhOp) -> F { return std::atanh; })
      .Default([](Operation *) -> F { return nullptr; });
}

Formula1<double> floatFormula1(Operation *op) {
  using F = Formula1<double>;
  return llvm::TypeSwitch<Operation *, F>(op)
      .Case([](NegOp) -> F { return [](double x) { return -x; }; })
      .Case([](AbsOp) -> F { return std::fabs; })
      .Case([](SignOp) -> F {
        return [](double x) { return x > 0 ? 1 : x < 0 ? -1 : x; };
      })
      .Case([](ReluOp) -> F { return [](double x) { return x < 0 ? 0 : x; }; })
      .Case([](ExpOp) -> F { return std::exp; })
      .Case([](LogOp) -> F { return std::log; })
      .Case([](SqrtOp) -> F { return std::sqrt; })
      .Case([](RsqrtOp) -> F {
        return [](double x) { return 1 / std::sqrt(x); };
      })
      .Case([](ReciprocalOp) -> F { return [](double x) { return 1 / x; }; })
      .Case([](ErfOp) -> F { return std::erf; })
      .Case([](SigmoidOp) -> F {
        return [](double x) { return 1 / (1 + std::exp(-x)); };
      })
      .Case([](SoftplusOp) -> F {
        return [](double x) {
          return larger(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
        };
      })
      .Case([](SoftsignOp) -> F {
        return [](double x) { return x / (1 + std::fabs(x)); };
      })
      .Case([](FloorOp) -> F { return std::floor; })
      .Case([](CeilOp) -> F { return std::ceil; })
      .Case([](RoundOp) -> F { return std::nearbyint; })
      .Case([](GeluOp gelu) -> F {
        return gelu.getTanhApproximation() ? geluTanh : geluErf;
      })
      .Default(trigonometric);
}

Formula1<Integer> integerFormula1(Operation *op) {
  using F = Formula1<Integer>;
  bool isBool = getElementTypeOrSelf(op->getResult(0)).isInteger(1);
  return llvm::TypeSwitch<Operation *, F>(op)
      .Case([](NegOp) -> F { return [](Integer x) { return -x; }; })
      .Case([](AbsOp) -> F { return [](Integer x) { return x < 0 ? -x : x; }; })
      .Case([](SignOp) -> F {
        return [](Integer x) { return Integer((x > 0) - (x < 0)); };
      })
      .Case([](ReluOp) -> F { return [](Integer x) { return x < 0 ? 0 : x; }; })
      .Case([&](NotOp) -> F {
        if (isBool)
          return [](Integer x) { return Integer(x == 0); };
        return [](Integer x) { return ~x; };
      })
      .Default([](Operation *) -> F { return nullptr; });
}

//===----------------------------------------------------------------------===//
// Binary formulas
//===----------------------------------------------------------------------===//

double floorRemainder(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

Formula2<double> floatFormula2(Operation *op) {
  using F = Formula2<double>;
  return llvm::TypeSwitch<Operation *, F>(op)
      .Case([](AddOp) -> F { return [](double a, double b) { return a + b; }; })
      .Case([](SubOp) -> F { return [](double a, double b) { return a - b; }; })
      .Case([](MulOp) -> F { return [](double a, double b) { return a * b; }; })
      .Case([](DivOp) -> F { return [](double a, double b) { return a / b; }; })
      .Case([](PowOp) -> F { return std::pow; })
      .Case([](MaxOp) -> F { return larger<double>; })
      .Case([](MinOp) -> F { return smaller<double>; })
      .Case([](ModOp) -> F { return floorRemainder; })
      .Case([](FmodOp) -> F { return std::fmod; })
      .Default([](Operation *) -> F { return nullptr; });
}

/// Anything divided by 0 is 0, with remainder 0.
Integer divide(Integer a, Integer b) { return b == 0 ? 0 : a / b; }
Integer remainder(Integer a, Integer b) { return b == 0 ? 0 : a % b; }

Integer floorRemainder(Integer a, Integer b) {
  Integer r = remainder(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// Modulo 2^64; 1 / a^-b, toward zero, for a negative exponent.
Integer power(Integer a, Integer b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  Integer result = 1;
  for (; b > 0; b /= 2, a = multiply(a, a))
    if (b % 2)
      result = multiply(result, a);
  return result;
}

/// An amount that is negative or too large shifts everything out; wrapping sees
/// to that in types of fewer than 64 bits.
Integer shiftLeft(Integer a, Integer b) {
  return b < 0 || b > 63 ? 0 : multiply(a, Integer(1) << static_cast<int>(b));
}
Integer shiftRight(Integer a, Integer b) {
  return a >> static_cast<int>(b < 0 || b > 127 ? 127 : b);
}

Formula2<Integer> integerFormula2(Operation *op) {
  using F = Formula2<Integer>;
  using I = Integer;
  return llvm::TypeSwitch<Operation *, F>(op)
      .Case([](AddOp) -> F { return [](I a, I b) { return a + b; }; })
      .Case([](SubOp) -> F { return [](I a, I b) { return a - b; }; })
      .Case([](MulOp) -> F { return multiply; })
      .Case([](DivOp) -> F { return divide; })
      .Case([](PowOp) -> F { return power; })
      .Case([](MaxOp) -> F { return larger<Integer>; })
      .Case([](MinOp) -> F { return smaller<Integer>; })
      .Case([](ModOp) -> F { return floorRemainder; })
      .Case([](FmodOp) -> F { return remainder; })
      .Case([](AndOp) -> F { return [](I a, I b) { return a & b; }; })
      .Case([](OrOp) -> F { return [](I a, I b) { return a | b; }; })
      .Case([](XorOp) -> F { return [](I a, I b) { return a ^ b; }; })
      .Case([](ShiftLeftOp) -> F { return shiftLeft; })
      .Case([](ShiftRightOp) -> F { return shiftRight; })
      .Default([](Operation *) -> F { return nullptr; });
}

template <typename T> Test2<T> comparison(ComparePredicate predicate) {
  switch (predicate) {
  case ComparePredicate::Equal:
    return [](T a, T b) { return a == b; };
  case ComparePredicate::NotEqual:
    return [](T a, T b) { return a != b; };
  case ComparePredicate::Less:
    return [](T a, T b) { return a < b; };
  case ComparePredicate::LessEqual:
    return [](T a, T b) { return a <= b; };
  case ComparePredicate::Greater:
    return [](T a, T b) { return a > b; };
  case ComparePredicate::GreaterEqual:
    return [](T a, T b) { return a >= b; };
  }
  llvm_unreachable("all predicates are listed");
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

template <typename T>
std::optional<Tensor> map1(Type type, const Tensor &x, Formula1<T> formula) {
  if (!formula)
    return std::nullopt;
  Tensor y(type);
  llvm::transform(x.elements<T>(), y.elements<T>().begin(), formula);
  return y;
}

/// y = formula(a, b), with NumPy's broadcasting.
template <typename T, typename Result, typename F>
std::optional<Tensor> map2(Type type, Operands in, F formula) {
  if (!formula)
    return std::nullopt;
  Tensor y(type);
  const T *a = in[0]->elements<T>().data(), *b = in[1]->elements<T>().data();
  Result *to = y.elements<Result>().data();
  std::array<Strides, 2> strides = {
      broadcastStrides(in[0]->shape(), y.shape()),
      broadcastStrides(in[1]->shape(), y.shape())};
  walk(y.shape(), strides, [&](const std::array<int64_t, 2> &at) {
    *to++ = formula(a[at[0]], b[at[1]]);
  });
  return y;
}

template <typename T> Tensor where(WhereOp op, Operands in) {
  Tensor y(op.getType());
  const Integer *condition = in[0]->integers.data();
  const T *a = in[1]->elements<T>().data(), *b = in[2]->elements<T>().data();
  T *to = y.elements<T>().data();
  std::array<Strides, 3> strides;
  for (size_t i = 0; i < 3; ++i)
    strides[i] = broadcastStrides(in[i]->shape(), y.shape());
  walk(y.shape(), strides, [&](const std::array<int64_t, 3> &at) {
    *to++ = condition[at[0]] ? a[at[1]] : b[at[2]];
  });
  return y;
}

/// Toward zero; what no 64 bits hold becomes 0.
Integer truncate(double x) {
  return std::fabs(x) < 0x1p64 ? static_cast<Integer>(x) : 0;
}

Tensor convert(CastOp op, const Tensor &x) {
  if (x.type == op.getType())
    return x;
  Tensor y(op.getType());
  bool toBool = y.element().isInteger(1);
  for (int64_t i = 0; i < x.size(); ++i) {
    if (x.isFloat() && y.isFloat())
      y.floats[i] = x.floats[i];
    else if (y.isFloat())
      y.floats[i] = static_cast<double>(x.integers[i]);
    else if (!x.isFloat())
      y.integers[i] = x.integers[i];
    else
      y.integers[i] = toBool ? x.floats[i] != 0 : truncate(x.floats[i]);
  }
  if (isa<Float8E8M0FNUType>(y.element()))
    roundToPowers(y, op.getRounding(), op.getSaturate());
  else if (op.getSaturate())
    limitElements(y);
  return y;
}

Tensor bitcast(BitcastOp op, const Tensor &x) {
  return fromBytes(op.getType(), toBytes(x));
}

Tensor testFloats(Operation *op, const Tensor &x) {
  Tensor y(op->getResult(0).getType());
  bool nan = isa<IsNanOp>(op);
  for (int64_t i = 0; i < x.size(); ++i)
    y.integers[i] = nan ? std::isnan(x.floats[i]) : std::isinf(x.floats[i]);
  return y;
}

} // namespace

std::optional<Tensor> evaluateElementwise(Operation *op, Operands in) {
  if (!op->hasTrait<ElementwiseOpTrait>())
    return std::nullopt;
  Type type = op->getResult(0).getType();
  if (isa<IsNanOp, IsInfOp>(op))
    return testFloats(op, *in[0]);
  if (auto conversion = dyn_cast<CastOp>(op))
    return convert(conversion, *in[0]);
  if (auto bits = dyn_cast<BitcastOp>(op))
    return bitcast(bits, *in[0]);
  if (auto choice = dyn_cast<WhereOp>(op))
    return in[1]->isFloat() ? where<double>(choice, in)
                            : where<Integer>(choice, in);
  bool isFloat = in[0]->isFloat();
  if (auto compare = dyn_cast<CompareOp>(op)) {
    ComparePredicate predicate = compare.getPredicate();
    return isFloat
               ? map2<double, Integer>(type, in, comparison<double>(predicate))
               : map2<Integer, Integer>(type, in,
                                        comparison<Integer>(predicate));
  }
  if (in.size() == 1)
    return isFloat ? map1<double>(type, *in[0], floatFormula1(op))
                   : map1<Integer>(type, *in[0], integerFormula1(op));
  return isFloat ? map2<double, double>(type, in, floatFormula2(op))
                 : map2<Integer, Integer>(type, in, integerFormula2(op));
}

} // namespace tinh::reference
