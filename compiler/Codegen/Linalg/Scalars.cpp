//===- Scalars.cpp - Arithmetic on elements ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/Scalars.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace tinh::codegen {

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return storageType(element);
}

Type accumulatorType(Type element) {
  auto integer = dyn_cast<IntegerType>(element);
  if (integer && integer.getWidth() > 1 && integer.getWidth() < 32)
    return IntegerType::get(element.getContext(), 32);
  return computeType(element);
}

static bool isFloat(Value x) { return isa<FloatType>(x.getType()); }
static bool isBool(Value x) { return x.getType().isInteger(1); }

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

Value Scalars::constant(Type type, double value) {
  auto real = dyn_cast<FloatType>(type);
  if (!real)
    return integer(type, static_cast<int64_t>(value));
  return arith::ConstantOp::create(b, b.getFloatAttr(real, value));
}

Value Scalars::integer(Type type, int64_t value) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt bits(width, static_cast<uint64_t>(value), /*isSigned=*/true,
             /*implicitTrunc=*/true);
  return arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getIntegerAttr(type, bits)));
}

Value Scalars::index(int64_t value) {
  return arith::ConstantIndexOp::create(b, value);
}

Value Scalars::lowest(Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b,
        b.getFloatAttr(real, APFloat::getInf(real.getFloatSemantics(), true)));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt bits = isUnsigned || width == 1 ? APInt::getZero(width)
                                        : APInt::getSignedMinValue(width);
  return arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getIntegerAttr(type, bits)));
}

Value Scalars::highest(Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b, b.getFloatAttr(real, APFloat::getInf(real.getFloatSemantics())));
  unsigned width = type.getIntOrFloatBitWidth();
  APInt bits = isUnsigned || width == 1 ? APInt::getMaxValue(width)
                                        : APInt::getSignedMaxValue(width);
  return arith::ConstantOp::create(
      b, cast<TypedAttr>(b.getIntegerAttr(type, bits)));
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename OfFloats, typename OfSigned, typename OfUnsigned>
Value Scalars::create(Value x, Value y) {
  if (isFloat(x))
    return OfFloats::create(b, x, y);
  if (isUnsigned || isBool(x))
    return OfUnsigned::create(b, x, y);
  return OfSigned::create(b, x, y);
}

Value Scalars::add(Value x, Value y) {
  if (isBool(x))
    return arith::OrIOp::create(b, x, y);
  return create<arith::AddFOp, arith::AddIOp>(x, y);
}

Value Scalars::sub(Value x, Value y) {
  return create<arith::SubFOp, arith::SubIOp>(x, y);
}

Value Scalars::mul(Value x, Value y) {
  return create<arith::MulFOp, arith::MulIOp>(x, y);
}

/// A divisor that no division traps on.
Value Scalars::divisor(Value y, Value isMinusOne, Value isZero) {
  Value unsafe = isMinusOne
                     ? arith::OrIOp::create(b, isMinusOne, isZero).getResult()
                     : isZero;
  return select(unsafe, integer(y.getType(), 1), y);
}

Value Scalars::div(Value x, Value y) {
  if (isFloat(x))
    return arith::DivFOp::create(b, x, y);
  Value zero = integer(x.getType(), 0);
  Value isZero = equal(y, zero);
  if (isUnsigned || isBool(x)) {
    Value safe = divisor(y, nullptr, isZero);
    return select(isZero, zero, arith::DivUIOp::create(b, x, safe));
  }
  Value isMinusOne = equal(y, integer(x.getType(), -1));
  Value quotient = arith::DivSIOp::create(b, x, divisor(y, isMinusOne, isZero));
  return select(isZero, zero, select(isMinusOne, sub(zero, x), quotient));
}

Value Scalars::rem(Value x, Value y) {
  if (isFloat(x))
    return arith::RemFOp::create(b, x, y);
  // Anything modulo 1 is 0, which is what 0 and -1 are to give.
  Value isZero = equal(y, integer(x.getType(), 0));
  if (isUnsigned || isBool(x))
    return arith::RemUIOp::create(b, x, divisor(y, nullptr, isZero));
  Value isMinusOne = equal(y, integer(x.getType(), -1));
  return arith::RemSIOp::create(b, x, divisor(y, isMinusOne, isZero));
}

Value Scalars::max(Value x, Value y) {
  return create<arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>(x, y);
}

Value Scalars::min(Value x, Value y) {
  return create<arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>(x, y);
}

Value Scalars::neg(Value x) {
  if (isFloat(x))
    return arith::NegFOp::create(b, x);
  return sub(integer(x.getType(), 0), x);
}

Value Scalars::abs(Value x) {
  if (isFloat(x))
    return math::AbsFOp::create(b, x);
  if (isUnsigned || isBool(x))
    return x;
  return max(x, neg(x));
}

Value Scalars::select(Value condition, Value x, Value y) {
  return arith::SelectOp::create(b, condition, x, y);
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

namespace {
struct Predicates {
  arith::CmpFPredicate ofFloats;
  arith::CmpIPredicate ofSigned, ofUnsigned;
};
} // namespace

/// Greater is less the other way round.
static Predicates predicatesOf(graph::ComparePredicate predicate) {
  using graph::ComparePredicate;
  using OfFloats = arith::CmpFPredicate;
  using OfIntegers = arith::CmpIPredicate;
  switch (predicate) {
  case ComparePredicate::Equal:
    return {OfFloats::OEQ, OfIntegers::eq, OfIntegers::eq};
  case ComparePredicate::NotEqual:
    return {OfFloats::UNE, OfIntegers::ne, OfIntegers::ne};
  case ComparePredicate::Less:
  case ComparePredicate::Greater:
    return {OfFloats::OLT, OfIntegers::slt, OfIntegers::ult};
  case ComparePredicate::LessEqual:
  case ComparePredicate::GreaterEqual:
    return {OfFloats::OLE, OfIntegers::sle, OfIntegers::ule};
  }
  llvm_unreachable("all predicates are listed");
}

Value Scalars::compare(ComparePredicate predicate, Value x, Value y) {
  if (predicate == ComparePredicate::Greater ||
      predicate == ComparePredicate::GreaterEqual)
    std::swap(x, y);
  Predicates predicates = predicatesOf(predicate);
  if (isFloat(x))
    return arith::CmpFOp::create(b, predicates.ofFloats, x, y);
  return arith::CmpIOp::create(
      b, isUnsigned || isBool(x) ? predicates.ofUnsigned : predicates.ofSigned,
      x, y);
}

Value Scalars::isNan(Value x) {
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x);
}

//===----------------------------------------------------------------------===//
// Conversions and indices
//===----------------------------------------------------------------------===//

static Value floatToInteger(Scalars &s, Value x, IntegerType to,
                            bool toUnsigned) {
  unsigned width = to.getWidth();
  if (toUnsigned && width == 64)
    return arith::FPToUIOp::create(s.b, to, x);
  // Through a wider signed type, so that narrow targets wrap as on a CPU.
  unsigned through = toUnsigned && width == 32 ? 64 : std::max(width, 32u);
  Type wide = IntegerType::get(to.getContext(), through);
  Value value = arith::FPToSIOp::create(s.b, wide, x);
  if (through == width)
    return value;
  return arith::TruncIOp::create(s.b, to, value);
}

static Value integerToFloat(Scalars &s, Value x, FloatType to) {
  // Vector units convert from 32 bits on.
  if (cast<IntegerType>(x.getType()).getWidth() < 32) {
    Type wide = IntegerType::get(x.getContext(), 32);
    x = s.isUnsigned || isBool(x)
            ? arith::ExtUIOp::create(s.b, wide, x).getResult()
            : arith::ExtSIOp::create(s.b, wide, x).getResult();
    return arith::SIToFPOp::create(s.b, to, x);
  }
  if (s.isUnsigned)
    return arith::UIToFPOp::create(s.b, to, x);
  return arith::SIToFPOp::create(s.b, to, x);
}

static Value convertFloat(Scalars &s, Value x, FloatType to) {
  unsigned from = x.getType().getIntOrFloatBitWidth(), width = to.getWidth();
  Type f32 = Float32Type::get(to.getContext());
  if (from == width) // f16 and bf16
    return arith::TruncFOp::create(s.b, to, arith::ExtFOp::create(s.b, f32, x));
  // Few CPUs do it in one step.
  if (from == 64 && width == 16)
    x = arith::TruncFOp::create(s.b, f32, x);
  if (from == 16 && width == 64)
    x = arith::ExtFOp::create(s.b, f32, x);
  if (from < width)
    return arith::ExtFOp::create(s.b, to, x);
  return arith::TruncFOp::create(s.b, to, x);
}

static Value convertInteger(Scalars &s, Value x, IntegerType to) {
  unsigned from = cast<IntegerType>(x.getType()).getWidth();
  if (from > to.getWidth())
    return arith::TruncIOp::create(s.b, to, x);
  if (from == to.getWidth())
    return x;
  if (s.isUnsigned || from == 1)
    return arith::ExtUIOp::create(s.b, to, x);
  return arith::ExtSIOp::create(s.b, to, x);
}

Value Scalars::convert(Value x, Type to, bool toUnsigned) {
  if (x.getType() == to)
    return x;
  if (to.isInteger(1)) {
    Value wide = convert(x, computeType(x.getType()));
    return notEqual(wide, constant(wide.getType(), 0));
  }
  auto toFloat = dyn_cast<FloatType>(to);
  if (isFloat(x) && toFloat)
    return convertFloat(*this, x, toFloat);
  if (isFloat(x)) {
    Value wide = convert(x, computeType(x.getType()));
    return floatToInteger(*this, wide, cast<IntegerType>(to), toUnsigned);
  }
  if (!toFloat)
    return convertInteger(*this, x, cast<IntegerType>(to));
  Value value = integerToFloat(*this, x, cast<FloatType>(computeType(to)));
  return convert(value, to);
}

Value Scalars::convertWithin(Value x, Type to) {
  Value converted = convert(x, to);
  Operation *op = converted.getDefiningOp();
  if (converted != x && isa_and_nonnull<arith::ExtFOp, arith::TruncFOp>(op))
    op->setAttr("fastmath",
                arith::FastMathFlagsAttr::get(op->getContext(),
                                              arith::FastMathFlags::contract));
  return converted;
}

Value Scalars::fromIndex(Value x, Type to) {
  if (to.isIndex())
    return x;
  Type integer = isa<FloatType>(to) ? b.getI32Type() : to;
  Value value = arith::IndexCastOp::create(b, integer, x);
  return Scalars(b).convert(value, to);
}

Value Scalars::floorMod(Value x, int64_t n) {
  Value size = index(n);
  Value r = arith::RemSIOp::create(b, x, size);
  Value isNegative =
      arith::CmpIOp::create(b, arith::CmpIPredicate::slt, r, index(0));
  return select(isNegative, arith::AddIOp::create(b, r, size), r);
}

Value Scalars::clampIndex(Value x, int64_t n) {
  Value low = arith::MaxSIOp::create(b, x, index(0));
  return arith::MinSIOp::create(b, low, index(n - 1));
}

} // namespace tinh::codegen
