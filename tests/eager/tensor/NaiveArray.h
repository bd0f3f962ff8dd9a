//===- NaiveArray.h - Elements by their indices -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_TENSOR_NAIVEARRAY_H
#define TINH_TESTS_EAGER_TENSOR_NAIVEARRAY_H

#include "compiler/Eager/Primitives/Attributes.h"

#include <functional>
#include <vector>

namespace tinh::eager {

/// An element of any dtype: `real` if that is floating-point, else `integer`.
struct Element {
  double real = 0;
  __int128 integer = 0;
};

Element loadElement(const void *address, tinh_dtype_t dtype);
/// Rounds to the dtype, or wraps.
void storeElement(void *address, tinh_dtype_t dtype, const Element &element);
Element elementOf(const Scalar &scalar);

using Place = std::vector<int64_t>;

/// A tensor's memory, by indices.
class Array {
public:
  explicit Array(const TensorImpl &tensor) : tensor(tensor) {}

  Element operator[](const Place &place) const {
    return loadElement(addressOf(place), tensor.dtype);
  }
  void set(const Place &place, const Element &element) const {
    storeElement(addressOf(place), tensor.dtype, element);
  }
  /// The element that `place`, of a tensor that this broadcasts to, shows.
  Element broadcast(const Place &place) const;

  const TensorImpl &tensor;

private:
  char *addressOf(const Place &place) const;
};

/// All indices of a shape, in row-major order.
void forEach(const Dims &sizes, const std::function<void(const Place &)> &body);

inline bool isFloating(tinh_dtype_t dtype) { return dtype >= TINH_DTYPE_F16; }

} // namespace tinh::eager

#endif // TINH_TESTS_EAGER_TENSOR_NAIVEARRAY_H
