//===- ElementwiseNames.h - Names of element-wise operations ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ELEMENTWISENAMES_H
#define TINH_EAGER_ELEMENTWISENAMES_H

#include "compiler/Eager/Backend.h"

#include <iterator>

namespace tinh::eager {

/// The graph dialect's names of all ElementwiseOps, in their order; of
/// comparisons, the predicates'. What is a formula of several ops has a name of
/// its own.
inline constexpr const char *kElementwiseNames[] = {
    "neg",        "abs",         "sign",          "not",        "relu",
    "exp",        "log",         "sqrt",          "rsqrt",      "reciprocal",
    "erf",        "tanh",        "sigmoid",       "softplus",   "floor",
    "ceil",       "round",       "sin",           "cos",        "tan",
    "asin",       "acos",        "atan",          "sinh",       "cosh",
    "asinh",      "acosh",       "atanh",         "gelu",       "gelu_tanh",
    "silu",       "isnan",       "isinf",         "add",        "sub",
    "mul",        "div",         "pow",           "max",        "min",
    "mod",        "fmod",        "and",           "or",         "xor",
    "shift_left", "shift_right", "equal",         "not_equal",  "less",
    "less_equal", "greater",     "greater_equal", "leaky_relu", "elu",
    "where",      "clamp",       "mul_add"};
static_assert(std::size(kElementwiseNames) ==
              static_cast<size_t>(ElementwiseOp::MulAdd) + 1);

inline const char *nameOf(ElementwiseOp op) {
  return kElementwiseNames[static_cast<size_t>(op)];
}

inline bool isComparison(ElementwiseOp op) {
  return op >= ElementwiseOp::Equal && op <= ElementwiseOp::GreaterEqual;
}

} // namespace tinh::eager

#endif // TINH_EAGER_ELEMENTWISENAMES_H
