//===- PrintNumbers.h - Numbers as NumPy prints them ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// After numpy/_core/arrayprint.py: a first look at all numbers finds a format
// in which they line up, with no more digits than tell them apart and at
// most 8.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_PRINTING_PRINTNUMBERS_H
#define TINH_EAGER_TENSOR_PRINTING_PRINTNUMBERS_H

#include "tinh/tensor_types.h"

#include <functional>
#include <string>

namespace tinh::eager {

/// An element, as text needs it: `real` of floating-point dtypes, else
/// `integer` (of uint64, the same bits).
struct PrintedNumber {
  double real;
  int64_t integer;
};

/// How all elements of an array are printed.
using NumberFormat = std::function<std::string(const PrintedNumber &)>;

NumberFormat makeNumberFormat(const std::vector<PrintedNumber> &numbers,
                              DType dtype);

/// A number alone.
std::string formatNumber(const PrintedNumber &number, DType dtype);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_PRINTING_PRINTNUMBERS_H
