//===- numerics.h - Looking for numbers that are not finite -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a tensor in memory holds a NaN or an infinity. For the runtime's steps
// and for the operations of eager programs.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NUMERICS_H
#define TINH_RUNTIME_NUMERICS_H

#include "tinh/runtime.h"

#include <optional>
#include <string>
#include <vector>

namespace tinh::runtime {

struct NumberArray {
  const void *data;
  uint32_t dtype; ///< tinh_dtype_t
  size_t rank;
  const int64_t *dims, *strides; ///< In elements.
};

struct NotFinite {
  double value; ///< The first one, and
  std::vector<int64_t> index;
  uint64_t count; ///< of these among
  uint64_t total;

  /// "NaN at [2, 17], the first of 3 among 640 numbers"
  std::string text() const;
};

/// What `wanted` asks for, if it is there. Only floating-point arrays have any.
std::optional<NotFinite> find_not_finite(const NumberArray &array,
                                         tinh_check_numerics_t wanted);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_NUMERICS_H
