//===- EmulateVectors.cpp - Products of vectors -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// As Intel's manual describes them. Products of bf16 take and give zeros for
// denormals, whatever the mode of the thread, and round to the nearest.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Emulate/EmulateIntrinsics.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// The type of vectors with as many lanes as `x`.
static Type *lanesOf(Value *x, Type *element) {
  return x->getType()->getWithNewType(element);
}

/// Element `i`, of so many bits, of each lane.
static Value *elementOfLanes(IRBuilderBase &b, Value *lanes, unsigned i,
                             unsigned bits, bool isSigned) {
  unsigned width = lanes->getType()->getScalarSizeInBits();
  Value *upper = b.CreateShl(lanes, width - bits * (i + 1));
  return isSigned ? b.CreateAShr(upper, width - bits)
                  : b.CreateLShr(upper, width - bits);
}

static Value *multiplyElements(IRBuilderBase &b, Value *left, Value *right,
                               unsigned i, unsigned bits, Signs signs) {
  return b.CreateMul(elementOfLanes(b, left, i, bits, signs.left),
                     elementOfLanes(b, right, i, bits, signs.right));
}

Value *addProducts(IRBuilderBase &b, Value *sum, Value *left, Value *right,
                   unsigned bits, Signs signs) {
  left = b.CreateBitCast(left, sum->getType());
  right = b.CreateBitCast(right, sum->getType());
  for (unsigned i = 0; i < 32 / bits; ++i)
    sum = b.CreateAdd(sum, multiplyElements(b, left, right, i, bits, signs));
  return sum;
}

/// vpmaddubsw: no product is too large for its lane, but the sum of two may be.
static Value *addBytesSaturated(IRBuilderBase &b, Type *type, Value *left,
                                Value *right) {
  left = b.CreateBitCast(left, type);
  right = b.CreateBitCast(right, type);
  auto product = [&](unsigned i) {
    return multiplyElements(b, left, right, i, 8, {false, true});
  };
  return b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, product(0), product(1));
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

Value *flushDenormals(IRBuilderBase &b, Value *x) {
  Value *bits = b.CreateBitCast(x, lanesOf(x, b.getInt32Ty()));
  Value *isSmall = b.CreateIsNull(b.CreateAnd(bits, 0x7f800000));
  bits = b.CreateSelect(isSmall, b.CreateAnd(bits, 0x80000000), bits);
  return b.CreateBitCast(bits, x->getType());
}

Value *addBf16Product(IRBuilderBase &b, Value *left, Value *right, Value *sum,
                      unsigned element) {
  auto factor = [&](Value *pairs) {
    Value *bits =
        element ? b.CreateAnd(pairs, 0xffff0000) : b.CreateShl(pairs, 16);
    return flushDenormals(b,
                          b.CreateBitCast(bits, lanesOf(bits, b.getFloatTy())));
  };
  return flushDenormals(b, b.CreateIntrinsic(sum->getType(), Intrinsic::fma,
                                             {factor(left), factor(right),
                                              flushDenormals(b, sum)}));
}

/// vdpbf16ps: the second of each pair first.
static Value *addBf16Pairs(IRBuilderBase &b, Value *sum, Value *left,
                           Value *right) {
  Type *pairs = lanesOf(sum, b.getInt32Ty());
  left = b.CreateBitCast(left, pairs);
  right = b.CreateBitCast(right, pairs);
  for (unsigned element : {1, 0})
    sum = addBf16Product(b, left, right, sum, element);
  return sum;
}

Value *roundToBf16(IRBuilderBase &b, Value *x) {
  Type *i32 = lanesOf(x, b.getInt32Ty());
  Value *bits = b.CreateBitCast(flushDenormals(b, x), i32);
  Value *isOdd = b.CreateAnd(b.CreateLShr(bits, 16), 1);
  Value *rounded =
      b.CreateAdd(b.CreateAdd(bits, ConstantInt::get(i32, 0x7fff)), isOdd);
  Value *quiet = b.CreateOr(bits, 0x400000);
  Value *result = b.CreateSelect(b.CreateFCmpUNO(x, x), quiet, rounded);
  result = b.CreateTrunc(b.CreateLShr(result, 16), lanesOf(x, b.getInt16Ty()));
  return b.CreateBitCast(result, lanesOf(x, b.getBFloatTy()));
}

//===----------------------------------------------------------------------===//
// Permutations
//===----------------------------------------------------------------------===//

/// vpermps: each lane of `x` that the low bits of an index say.
static Value *permuteLanes(IRBuilderBase &b, Value *x, Value *indices) {
  uint64_t lanes = cast<FixedVectorType>(x->getType())->getNumElements();
  Value *places = b.CreateAnd(indices, lanes - 1);
  Value *result = PoisonValue::get(x->getType());
  for (uint64_t i = 0; i < lanes; ++i) {
    Value *lane = b.CreateExtractElement(x, b.CreateExtractElement(places, i));
    result = b.CreateInsertElement(result, lane, i);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Intrinsics
//===----------------------------------------------------------------------===//

Value *emulateVector(IRBuilderBase &b, CallInst &call) {
  auto x = [&](unsigned i) { return call.getArgOperand(i); };
  constexpr Signs kBoth{true, true}, kRight{false, true};
  switch (call.getIntrinsicID()) {
  case Intrinsic::x86_avx512_vpdpbusd_128:
  case Intrinsic::x86_avx512_vpdpbusd_256:
  case Intrinsic::x86_avx512_vpdpbusd_512:
    return addProducts(b, x(0), x(1), x(2), 8, kRight);
  case Intrinsic::x86_avx512_vpdpwssd_128:
  case Intrinsic::x86_avx512_vpdpwssd_256:
  case Intrinsic::x86_avx512_vpdpwssd_512:
    return addProducts(b, x(0), x(1), x(2), 16, kBoth);
  case Intrinsic::x86_avx512_pmaddw_d_512:
    return addProducts(b, Constant::getNullValue(call.getType()), x(0), x(1),
                       16, kBoth);
  case Intrinsic::x86_avx512_pmaddubs_w_512:
    return addBytesSaturated(b, call.getType(), x(0), x(1));
  case Intrinsic::x86_avx512bf16_dpbf16ps_128:
  case Intrinsic::x86_avx512bf16_dpbf16ps_256:
  case Intrinsic::x86_avx512bf16_dpbf16ps_512:
    return addBf16Pairs(b, x(0), x(1), x(2));
  case Intrinsic::x86_avx512bf16_cvtneps2bf16_256:
  case Intrinsic::x86_avx512bf16_cvtneps2bf16_512:
    return roundToBf16(b, x(0));
  case Intrinsic::x86_avx512_permvar_sf_512:
    return permuteLanes(b, x(0), x(1));
  default:
    return nullptr;
  }
}

} // namespace tinh::cpu
