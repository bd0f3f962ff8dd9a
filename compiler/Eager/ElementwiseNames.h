//===- ElementwiseNames.h - What element-wise operations are called *- C++
//-*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ELEMENTWISENAMES_H
#define TINH_EAGER_ELEMENTWISENAMES_H

#include "compiler/Eager/Backend.h"

namespace tinh::eager {

/// The op's name in the graph dialect; of a comparison, the predicate's. Some
/// are formulas of several ops there, and only called so here.
inline const char *nameOf(ElementwiseOp op) {
  switch (op) {
#define TINH_NAME(OP, NAME)                                                    \
  case ElementwiseOp::OP:                                                      \
    return NAME;
    TINH_NAME(Neg, "neg")
    TINH_NAME(Abs, "abs")
    TINH_NAME(Sign, "sign")
    TINH_NAME(Not, "not")
    TINH_NAME(Relu, "relu")
    TINH_NAME(Exp, "exp")
    TINH_NAME(Log, "log")
    TINH_NAME(Sqrt, "sqrt")
    TINH_NAME(Rsqrt, "rsqrt")
    TINH_NAME(Reciprocal, "reciprocal")
    TINH_NAME(Erf, "erf")
    TINH_NAME(Tanh, "tanh")
    TINH_NAME(Sigmoid, "sigmoid")
    TINH_NAME(Softplus, "softplus")
    TINH_NAME(Floor, "floor")
    TINH_NAME(Ceil, "ceil")
    TINH_NAME(Round, "round")
    TINH_NAME(Sin, "sin")
    TINH_NAME(Cos, "cos")
    TINH_NAME(Tan, "tan")
    TINH_NAME(Asin, "asin")
    TINH_NAME(Acos, "acos")
    TINH_NAME(Atan, "atan")
    TINH_NAME(Sinh, "sinh")
    TINH_NAME(Cosh, "cosh")
    TINH_NAME(Asinh, "asinh")
    TINH_NAME(Acosh, "acosh")
    TINH_NAME(Atanh, "atanh")
    TINH_NAME(Gelu, "gelu")
    TINH_NAME(GeluTanh, "gelu_tanh")
    TINH_NAME(Silu, "silu")
    TINH_NAME(IsNan, "isnan")
    TINH_NAME(IsInf, "isinf")
    TINH_NAME(Add, "add")
    TINH_NAME(Sub, "sub")
    TINH_NAME(Mul, "mul")
    TINH_NAME(Div, "div")
    TINH_NAME(Pow, "pow")
    TINH_NAME(Max, "max")
    TINH_NAME(Min, "min")
    TINH_NAME(Mod, "mod")
    TINH_NAME(Fmod, "fmod")
    TINH_NAME(And, "and")
    TINH_NAME(Or, "or")
    TINH_NAME(Xor, "xor")
    TINH_NAME(ShiftLeft, "shift_left")
    TINH_NAME(ShiftRight, "shift_right")
    TINH_NAME(Equal, "equal")
    TINH_NAME(NotEqual, "not_equal")
    TINH_NAME(Less, "less")
    TINH_NAME(LessEqual, "less_equal")
    TINH_NAME(Greater, "greater")
    TINH_NAME(GreaterEqual, "greater_equal")
    TINH_NAME(LeakyRelu, "leaky_relu")
    TINH_NAME(Elu, "elu")
    TINH_NAME(Where, "where")
    TINH_NAME(Clamp, "clamp")
    TINH_NAME(MulAdd, "mul_add")
#undef TINH_NAME
  }
  return nullptr;
}

inline bool isComparison(ElementwiseOp op) {
  return op >= ElementwiseOp::Equal && op <= ElementwiseOp::GreaterEqual;
}

} // namespace tinh::eager

#endif // TINH_EAGER_ELEMENTWISENAMES_H
