//===- Lanes.cpp - Arithmetic as one writes it ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Lanes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace tinh::cpu::lanes {

Type Lanes::with(Type element) const {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

static Value constantOf(ImplicitLocOpBuilder &b, Type type, Attribute number) {
  if (auto vector = dyn_cast<VectorType>(type))
    number = DenseElementsAttr::get(vector, number);
  return arith::ConstantOp::create(b, cast<TypedAttr>(number));
}

Value Lanes::integer(int64_t number) const {
  Type i32 = b->getI32Type();
  APInt bits(32, number, /*isSigned=*/false, /*implicitTrunc=*/true);
  return constantOf(*b, with(i32), IntegerAttr::get(i32, bits));
}

//===----------------------------------------------------------------------===//
// Masks and integers
//===----------------------------------------------------------------------===//

Mask Mask::operator&(Mask other) const {
  return {{b, make<arith::AndIOp>(other.value)}};
}
Mask Mask::operator|(Mask other) const {
  return {{b, make<arith::OrIOp>(other.value)}};
}

Int Int::operator+(Int other) const {
  return {{b, make<arith::AddIOp>(other.value)}};
}
Int Int::operator-(Int other) const {
  return {{b, make<arith::SubIOp>(other.value)}};
}
Int Int::operator&(Int other) const {
  return {{b, make<arith::AndIOp>(other.value)}};
}
Int Int::operator|(Int other) const {
  return {{b, make<arith::OrIOp>(other.value)}};
}
Int Int::operator^(Int other) const {
  return {{b, make<arith::XOrIOp>(other.value)}};
}
Int Int::operator<<(int64_t bits) const {
  return {{b, make<arith::ShLIOp>(integer(bits))}};
}
Int Int::operator>>(int64_t bits) const {
  return {{b, make<arith::ShRSIOp>(integer(bits))}};
}
Mask Int::isOdd() const {
  Int lowest = *this & 1;
  return {{b, arith::CmpIOp::create(*b, arith::CmpIPredicate::ne, lowest.value,
                                    integer(0))}};
}
Int Int::like(int64_t number) const { return {{b, integer(number)}}; }

Float Int::bits() const {
  return {{b, arith::BitcastOp::create(*b, with(b->getF32Type()), value)}};
}
Float Int::number() const {
  return {{b, arith::SIToFPOp::create(*b, with(b->getF32Type()), value)}};
}

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

Float Float::operator+(Float other) const {
  return {{b, make<arith::AddFOp>(other.value)}};
}
Float Float::operator-(Float other) const {
  return {{b, make<arith::SubFOp>(other.value)}};
}
Float Float::operator*(Float other) const {
  return {{b, make<arith::MulFOp>(other.value)}};
}
Float Float::operator/(Float other) const {
  return {{b, make<arith::DivFOp>(other.value)}};
}

static Mask compare(arith::CmpFPredicate predicate, Float x, Float y) {
  return {{x.b, arith::CmpFOp::create(*x.b, predicate, x.value, y.value)}};
}
Mask Float::operator<(Float other) const {
  return compare(arith::CmpFPredicate::OLT, *this, other);
}
Mask Float::operator==(Float other) const {
  return compare(arith::CmpFPredicate::OEQ, *this, other);
}

Mask Float::isNotBelow(double number) const {
  return compare(arith::CmpFPredicate::UGE, *this, like(number));
}

Float Float::like(double number) const {
  auto element = cast<FloatType>(getElementTypeOrSelf(value));
  return {
      {b, constantOf(*b, value.getType(), FloatAttr::get(element, number))}};
}

Int Float::bits() const {
  return {{b, arith::BitcastOp::create(*b, with(b->getI32Type()), value)}};
}
Float Float::wide() const {
  return {{b, arith::ExtFOp::create(*b, with(b->getF64Type()), value)}};
}
Float Float::narrow() const {
  return {{b, arith::TruncFOp::create(*b, with(b->getF32Type()), value)}};
}

Float fma(Float x, Float y, Float z) {
  return {{x.b, math::FmaOp::create(*x.b, x.value, y.value, z.value)}};
}
Float fma(Float x, double y, Float z) { return fma(x, x.like(y), z); }
Float fma(Float x, double y, double z) { return fma(x, x.like(y), x.like(z)); }

Float abs(Float x) { return {{x.b, math::AbsFOp::create(*x.b, x.value)}}; }
Float minusAbs(Float x) {
  Int sign = x.bits().like(0x80000000);
  return (x.bits() | sign).bits();
}
Float roundEven(Float x) {
  return {{x.b, math::RoundEvenOp::create(*x.b, x.value)}};
}
Float copySign(Float magnitude, Float sign) {
  return {
      {sign.b, math::CopySignOp::create(*sign.b, magnitude.value, sign.value)}};
}

static Value choose(Mask mask, Value x, Value y) {
  return arith::SelectOp::create(*mask.b, mask.value, x, y);
}
Float select(Mask mask, Float x, Float y) {
  return {{x.b, choose(mask, x.value, y.value)}};
}
Float select(Mask mask, Float x, double y) {
  return select(mask, x, x.like(y));
}
Int select(Mask mask, Int x, Int y) {
  return {{x.b, choose(mask, x.value, y.value)}};
}

Float atMost(Float x, double bound) {
  return select(x > bound, x.like(bound), x);
}
Float atLeast(Float x, double bound) {
  return select(x < bound, x.like(bound), x);
}

Int atLeast(Int x, int64_t bound) {
  return {{x.b, arith::MaxSIOp::create(*x.b, x.value, x.like(bound).value)}};
}

Float polynomial(Float x, ArrayRef<double> coefficients) {
  Float sum = x.like(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    sum = fma(sum, x, x.like(coefficient));
  return sum;
}

} // namespace tinh::cpu::lanes
