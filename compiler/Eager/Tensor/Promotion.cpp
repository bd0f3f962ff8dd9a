//===- Promotion.cpp - Which dtype operands have in common ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A table for each pair of dtypes, made when this is compiled.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Promotion.h"

#include <array>

using namespace tinh;
using namespace tinh::eager;

namespace {

constexpr int kNumDTypes = TINH_DTYPE_F64 + 1;
constexpr uint8_t kNoCommonDType = 0xFF;
using Table = std::array<std::array<uint8_t, kNumDTypes>, kNumDTypes>;

constexpr uint8_t promoteFloats(DType a, DType b) {
  if (a == b)
    return a;
  // f16 and bf16 hold what the other does not.
  return std::max({tinh_dtype_t(a), tinh_dtype_t(b), TINH_DTYPE_F32});
}

constexpr uint8_t promoteIntegers(DType a, DType b) {
  if (a.is_unsigned() == b.is_unsigned())
    return a.size() >= b.size() ? a : b;
  DType withoutSign = a.is_unsigned() ? a : b;
  DType withSign = a.is_unsigned() ? b : a;
  if (withSign.size() > withoutSign.size())
    return withSign;
  switch (withoutSign.size()) {
  case 1:
    return TINH_DTYPE_I16;
  case 2:
    return TINH_DTYPE_I32;
  case 4:
    return TINH_DTYPE_I64;
  default:
    return kNoCommonDType;
  }
}

constexpr Table makeTable() {
  Table table = {};
  for (int i = 0; i < kNumDTypes; ++i)
    for (int j = 0; j < kNumDTypes; ++j) {
      DType a = static_cast<tinh_dtype_t>(i), b = static_cast<tinh_dtype_t>(j);
      if (a.is_floating_point() && b.is_floating_point())
        table[i][j] = promoteFloats(a, b);
      else if (a.is_integer() && b.is_integer())
        table[i][j] = promoteIntegers(a, b);
      else // The higher category; dtypes are numbered by it.
        table[i][j] = std::max(i, j);
    }
  return table;
}

constexpr Table kTable = makeTable();

} // namespace

tinh_dtype_t eager::promote(tinh_dtype_t a, tinh_dtype_t b, const Call &call) {
  requireDType(a, call);
  requireDType(b, call);
  uint8_t result = kTable[a][b];
  if (result == kNoCommonDType)
    fail(call, "no integer dtype holds both ", DType(a), " and ", DType(b),
         "; convert one of them with to()");
  return static_cast<tinh_dtype_t>(result);
}

DType tinh::promote_types(DType a, DType b, At at) {
  return promote(a, b, {"promote_types", at});
}

void eager::requireFits(tinh_dtype_t computed, tinh_dtype_t out,
                        const Call &call) {
  if (categoryOf(computed) > categoryOf(out))
    fail(call, "a result of dtype ", DType(computed),
         " cannot be written in place to one of ", DType(out),
         "; use the function that makes a new tensor, or convert with to()");
}
