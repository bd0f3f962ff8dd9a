//===- Promotion.h - Which dtype operands have in common --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's rules: the category (boolean < integers < floating-point) decides
// first, and within the highest category tensors with dimensions count before
// tensors of rank 0, and these before numbers.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_PROMOTION_H
#define TINH_EAGER_TENSOR_PROMOTION_H

#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

/// 0: boolean, 1: integers, 2: floating-point.
inline int categoryOf(tinh_dtype_t dtype) {
  return dtype == TINH_DTYPE_BOOL ? 0 : dtype < TINH_DTYPE_F16 ? 1 : 2;
}

/// The dtype that operations on both dtypes compute in.
tinh_dtype_t promote(tinh_dtype_t a, tinh_dtype_t b, const Call &call);

/// Collects operands. Two tensors of one dtype, the common case, cost nothing.
class CommonDType {
public:
  explicit CommonDType(const Call &call) : call(call) {}

  void add(const Operand &operand) {
    if (const Tensor *tensor = operand.tensor()) {
      const TensorImpl &x = use(*tensor, call);
      add(x.rank() != 0 ? withDimensions : scalars, x.dtype);
    } else {
      add(numbers, operand.number().dtype);
    }
  }
  tinh_dtype_t get() const {
    return combine(withDimensions, combine(scalars, numbers));
  }

private:
  static constexpr int kNone = -1;

  void add(int &group, tinh_dtype_t dtype) {
    if (group == kNone)
      group = dtype;
    else if (group != dtype)
      group = promote(static_cast<tinh_dtype_t>(group), dtype, call);
  }
  /// `lower` only counts if its category is higher.
  static tinh_dtype_t combine(int higher, int lower) {
    if (lower == kNone ||
        (higher != kNone && categoryOf(static_cast<tinh_dtype_t>(lower)) <=
                                categoryOf(static_cast<tinh_dtype_t>(higher))))
      return static_cast<tinh_dtype_t>(higher);
    return static_cast<tinh_dtype_t>(lower);
  }

  const Call &call;
  int withDimensions = kNone, scalars = kNone, numbers = kNone;
};

template <typename... Operands>
tinh_dtype_t commonDType(const Call &call, const Operands &...operands) {
  CommonDType common(call);
  (common.add(operands), ...);
  return common.get();
}

/// The dtype of functions that are not of integers.
inline tinh_dtype_t floatingDType(tinh_dtype_t dtype) {
  return categoryOf(dtype) == 2 ? dtype : TINH_DTYPE_F32;
}
/// The dtype of sums.
inline tinh_dtype_t sumDType(tinh_dtype_t dtype) {
  return categoryOf(dtype) == 2 ? dtype : TINH_DTYPE_I64;
}

/// Throws unless a result of `computed` may be written to `out`.
void requireFits(tinh_dtype_t computed, tinh_dtype_t out, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_PROMOTION_H
