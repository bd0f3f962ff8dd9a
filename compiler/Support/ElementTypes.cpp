//===- ElementTypes.cpp - Element types of IR and of the runtime *- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Support/ElementTypes.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tinh {

namespace {

struct ElementType {
  tinh_dtype_t dtype;
  Type (*get)(MLIRContext *context);
};

template <typename Float> Type real(MLIRContext *context) {
  return Float::get(context);
}
template <unsigned bits> Type integer(MLIRContext *context) {
  return IntegerType::get(context, bits);
}
template <unsigned bits> Type natural(MLIRContext *context) {
  return IntegerType::get(context, bits, IntegerType::Unsigned);
}

constexpr ElementType kTypes[] = {
    {TINH_DTYPE_F32, real<Float32Type>},
    {TINH_DTYPE_I64, integer<64>},
    {TINH_DTYPE_BOOL, integer<1>},
    {TINH_DTYPE_I8, integer<8>},
    {TINH_DTYPE_U8, natural<8>},
    {TINH_DTYPE_I16, integer<16>},
    {TINH_DTYPE_U16, natural<16>},
    {TINH_DTYPE_I32, integer<32>},
    {TINH_DTYPE_U32, natural<32>},
    {TINH_DTYPE_U64, natural<64>},
    {TINH_DTYPE_F16, real<Float16Type>},
    {TINH_DTYPE_BF16, real<BFloat16Type>},
    {TINH_DTYPE_F64, real<Float64Type>},
    {TINH_DTYPE_F8E4M3FN, real<Float8E4M3FNType>},
    {TINH_DTYPE_F8E4M3FNUZ, real<Float8E4M3FNUZType>},
    {TINH_DTYPE_F8E5M2, real<Float8E5M2Type>},
    {TINH_DTYPE_F8E5M2FNUZ, real<Float8E5M2FNUZType>},
    {TINH_DTYPE_F8E8M0FNU, real<Float8E8M0FNUType>},
    {TINH_DTYPE_F4E2M1FN, real<Float4E2M1FNType>}};

} // namespace

tinh_dtype_t dtypeOf(Type type) {
  for (const ElementType &known : kTypes)
    if (known.get(type.getContext()) == type)
      return known.dtype;
  llvm_unreachable("the dialect has no other element types");
}

Type elementType(MLIRContext *context, tinh_dtype_t dtype) {
  for (const ElementType &known : kTypes)
    if (known.dtype == dtype)
      return known.get(context);
  llvm_unreachable("no such dtype");
}

} // namespace tinh
