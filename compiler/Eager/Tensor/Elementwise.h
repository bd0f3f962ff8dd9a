//===- Elementwise.h - Operations element by element ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operands are converted to one dtype and broadcast to one shape; the result is
// a new tensor, or is written in place.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_ELEMENTWISE_H
#define TINH_EAGER_TENSOR_ELEMENTWISE_H

#include "compiler/Eager/Tensor/Promotion.h"

namespace tinh::eager {

/// Computes in `compute`; a new tensor of `result`. The operands of Where are
/// the condition, which is boolean, and two others.
Tensor elementwise(ElementwiseOp op, std::span<const Operand> operands,
                   tinh_dtype_t compute, tinh_dtype_t result, const Call &call);
inline Tensor elementwise(ElementwiseOp op,
                          std::initializer_list<Operand> operands,
                          tinh_dtype_t dtype, const Call &call) {
  return elementwise(op, {operands.begin(), operands.size()}, dtype, dtype,
                     call);
}

/// As elementwise, the result written to `out`, whose shape it must have.
void elementwiseInto(const Tensor &out, ElementwiseOp op,
                     std::span<const Operand> operands, tinh_dtype_t compute,
                     const Call &call);

/// What an arithmetic operation of two operands is, for a dtype: boolean ones
/// are logical, or refused.
struct BinaryOp {
  ElementwiseOp op;
  tinh_dtype_t dtype;
};
BinaryOp arithmetic(ElementwiseOp op, tinh_dtype_t dtype, const Call &call);

/// Fails unless `x`, which messages call `name`, is boolean.
void requireBoolean(const Operand &x, const char *name, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_ELEMENTWISE_H
