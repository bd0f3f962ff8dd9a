//===- Autocast.h - Operands in a lower precision ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an operation does about an Autocast of the thread. Its class is that of
// the graph dialect's op (dialects/graph/OpFacts.h); what follows
// its operands does so by the promotion of dtypes.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_AUTOCAST_H
#define TINH_EAGER_TENSOR_AUTOCAST_H

#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

/// float32: there is no scope.
extern constinit thread_local tinh_dtype_t autocastDType;

/// Lowered: a factor, or what is added to a product, rounded if it is float32.
Tensor lowered(const Tensor &x, const Call &call);

/// Full: the dtype to compute in.
inline tinh_dtype_t fullDType(tinh_dtype_t dtype) {
  return dtype == autocastDType ? TINH_DTYPE_F32 : dtype;
}

/// Whether an operation element by element is of class Full.
bool isFull(ElementwiseOp op);

/// Rounded: what `compute` makes of x in float32, in x's dtype.
template <typename Compute>
Tensor roundedAfter(const Operand &x, const Call &call, Compute compute) {
  Tensor tensor = toTensor(x, call);
  DType dtype = use(tensor, call).dtype;
  if (fullDType(dtype) == dtype)
    return compute(x);
  Tensor wide = converted(use(tensor, call), fullDType(dtype), call);
  Tensor result = compute(sameCall(wide, call));
  return converted(use(result, call), dtype, call);
}

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_AUTOCAST_H
