//===- ElementwiseNames.h - Names of element-wise operations ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ELEMENTWISENAMES_H
#define TINH_EAGER_ELEMENTWISENAMES_H

#include "compiler/Eager/Primitives/Attributes.h"

#include <iterator>

namespace tinh::eager {

/// The graph dialect's names of all ElementwiseOps, in their order; of
/// comparisons, the predicates'. What is a formula of several ops has a name of
/// its own.
inline constexpr const char *kElementwiseNames[] = {
#define UNARY_OP(NAME, MNEMONIC, ...) #MNEMONIC,
#define UNARY_TEST(NAME, MNEMONIC) #MNEMONIC,
#include "dialects/graph/ElementwiseOps.inc"
    "gelu_tanh",  "silu",
#define BINARY_OP(NAME, MNEMONIC, ...) #MNEMONIC,
#define COMPARISON(NAME, MNEMONIC) #MNEMONIC,
#include "dialects/graph/ElementwiseOps.inc"
    "leaky_relu", "elu",  "where", "clamp", "mul_add"};
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
