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

tinh_dtype_t dtypeOf(Type type) {
  if (type.isF64())
    return TINH_DTYPE_F64;
  if (type.isF32())
    return TINH_DTYPE_F32;
  if (type.isF16())
    return TINH_DTYPE_F16;
  if (type.isBF16())
    return TINH_DTYPE_BF16;
  if (isa<Float8E4M3FNType>(type))
    return TINH_DTYPE_F8E4M3FN;
  if (isa<Float8E4M3FNUZType>(type))
    return TINH_DTYPE_F8E4M3FNUZ;
  if (isa<Float8E5M2Type>(type))
    return TINH_DTYPE_F8E5M2;
  if (isa<Float8E5M2FNUZType>(type))
    return TINH_DTYPE_F8E5M2FNUZ;
  if (isa<Float8E8M0FNUType>(type))
    return TINH_DTYPE_F8E8M0FNU;
  if (isa<Float4E2M1FNType>(type))
    return TINH_DTYPE_F4E2M1FN;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return TINH_DTYPE_BOOL;
  case 8:
    return isUnsigned ? TINH_DTYPE_U8 : TINH_DTYPE_I8;
  case 16:
    return isUnsigned ? TINH_DTYPE_U16 : TINH_DTYPE_I16;
  case 32:
    return isUnsigned ? TINH_DTYPE_U32 : TINH_DTYPE_I32;
  default:
    return isUnsigned ? TINH_DTYPE_U64 : TINH_DTYPE_I64;
  }
}

Type elementType(MLIRContext *context, tinh_dtype_t dtype) {
  auto integer = [&](unsigned bits, bool isUnsigned) -> Type {
    return IntegerType::get(context, bits,
                            isUnsigned ? IntegerType::Unsigned
                                       : IntegerType::Signless);
  };
  switch (dtype) {
  case TINH_DTYPE_BOOL:
    return integer(1, false);
  case TINH_DTYPE_I8:
    return integer(8, false);
  case TINH_DTYPE_U8:
    return integer(8, true);
  case TINH_DTYPE_I16:
    return integer(16, false);
  case TINH_DTYPE_U16:
    return integer(16, true);
  case TINH_DTYPE_I32:
    return integer(32, false);
  case TINH_DTYPE_U32:
    return integer(32, true);
  case TINH_DTYPE_I64:
    return integer(64, false);
  case TINH_DTYPE_U64:
    return integer(64, true);
  case TINH_DTYPE_F16:
    return Float16Type::get(context);
  case TINH_DTYPE_BF16:
    return BFloat16Type::get(context);
  case TINH_DTYPE_F8E4M3FN:
    return Float8E4M3FNType::get(context);
  case TINH_DTYPE_F8E4M3FNUZ:
    return Float8E4M3FNUZType::get(context);
  case TINH_DTYPE_F8E5M2:
    return Float8E5M2Type::get(context);
  case TINH_DTYPE_F8E5M2FNUZ:
    return Float8E5M2FNUZType::get(context);
  case TINH_DTYPE_F8E8M0FNU:
    return Float8E8M0FNUType::get(context);
  case TINH_DTYPE_F4E2M1FN:
    return Float4E2M1FNType::get(context);
  case TINH_DTYPE_F32:
    return Float32Type::get(context);
  case TINH_DTYPE_F64:
    return Float64Type::get(context);
  }
  llvm_unreachable("no such dtype");
}

} // namespace tinh
