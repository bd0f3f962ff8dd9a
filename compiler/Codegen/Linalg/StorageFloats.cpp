//===- StorageFloats.cpp - Floats of 8 and 4 bits, by integers --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/StorageFloats.h"

#include <cmath>

using namespace mlir;

namespace tinh::codegen {
namespace {

/// The bits of numbers without their sign: an exponent before a fraction.
struct Format {
  int width, fractionBits, bias;
  int64_t largest;
  /// That of 4 bits has none; 0 stands for it.
  bool hasNan;
  int64_t nan;
  bool hasInfinity;
  /// Else the bits of -0 are NaN.
  bool hasNegativeZero;

  explicit Format(const llvm::fltSemantics &semantics)
      : width(static_cast<int>(APFloat::semanticsSizeInBits(semantics))),
        fractionBits(static_cast<int>(APFloat::semanticsPrecision(semantics)) -
                     1),
        bias(1 - APFloat::semanticsMinExponent(semantics)),
        largest(bitsOf(APFloat::getLargest(semantics))),
        hasNan(APFloat::semanticsHasNaN(semantics)),
        nan(hasNan ? bitsOf(APFloat::getNaN(semantics)) : 0),
        hasInfinity(APFloat::semanticsHasInf(semantics)),
        hasNegativeZero(nan != sign()) {}

  int64_t sign() const { return int64_t(1) << (width - 1); }

  static int64_t bitsOf(const APFloat &value) {
    return static_cast<int64_t>(value.bitcastToAPInt().getZExtValue());
  }
  /// The least number with a full fraction, and what less ones are multiples
  /// of.
  double leastNormal() const { return std::ldexp(1.0, 1 - bias); }
  double leastStep() const { return std::ldexp(1.0, 1 - bias - fractionBits); }
};

Format formatOf(Type type) {
  return Format(cast<FloatType>(type).getFloatSemantics());
}

/// Floats of 32 or 64 bits as integers of as many.
class Words {
public:
  Words(Scalars &s, Type real)
      : b(s.b), s(s.b), real(cast<FloatType>(real)),
        word(s.b.getIntegerType(this->real.getWidth())) {}

  Value bits(Value x) { return arith::BitcastOp::create(b, word, x); }
  Value number(Value x) { return arith::BitcastOp::create(b, real, x); }
  Value constant(int64_t value) { return s.integer(word, value); }
  Value shiftLeft(Value x, int by) {
    return arith::ShLIOp::create(b, x, constant(by));
  }
  Value shiftRight(Value x, int by) {
    return arith::ShRUIOp::create(b, x, constant(by));
  }
  Value both(Value x, int64_t mask) {
    return arith::AndIOp::create(b, x, constant(mask));
  }
  Value either(Value x, Value y) { return arith::OrIOp::create(b, x, y); }
  Value plus(Value x, int64_t y) { return s.add(x, constant(y)); }
  Value choose(Value condition, int64_t x, Value y) {
    return s.select(condition, constant(x), y);
  }

  int width() { return static_cast<int>(real.getWidth()); }
  int fractionBits() { return static_cast<int>(real.getFPMantissaWidth()) - 1; }
  int bias() { return width() == 32 ? 127 : 1023; }
  /// The bits of what is not negative.
  int64_t bitsOf(double x) {
    return width() == 32 ? int64_t(llvm::bit_cast<uint32_t>(float(x)))
                         : llvm::bit_cast<int64_t>(x);
  }

  ImplicitLocOpBuilder &b;
  Scalars s; // Signed, whatever the elements of other operands are.
  FloatType real;
  Type word;
};

} // namespace

/// 2^(byte - 127): the exponent of an f32 but for the least, which is half of
/// its least normal number, and for NaN.
static Value decodePower(Scalars &s, Value byte) {
  Words w(s, s.b.getF32Type());
  Value x = arith::ExtUIOp::create(s.b, w.word, byte);
  Value number = w.shiftLeft(x, w.fractionBits());
  number = w.choose(w.s.equal(x, w.constant(0)), w.bitsOf(0x1p-127), number);
  return w.number(
      w.choose(w.s.equal(x, w.constant(0xff)), w.bitsOf(std::nan("")), number));
}

Value decodeStorageFloat(Scalars &s, Value byte, Type type) {
  if (isa<Float8E8M0FNUType>(type))
    return decodePower(s, byte);
  Format format = formatOf(type);
  Words w(s, s.b.getF32Type());
  int shift = w.fractionBits() - format.fractionBits;
  int64_t rebias = int64_t(w.bias() - format.bias) << w.fractionBits();
  Value x = arith::ExtUIOp::create(s.b, w.word, byte);
  Value sign = w.shiftLeft(w.both(x, format.sign()), 32 - format.width);
  Value magnitude = w.both(x, format.sign() - 1);
  Value number = w.plus(w.shiftLeft(magnitude, shift), rebias);
  if (format.hasInfinity) // Such, and NaN, have the highest exponent.
    number = w.s.select(w.s.less(w.constant(format.largest), magnitude),
                        w.plus(number, rebias), number);
  Value steps = arith::SIToFPOp::create(s.b, w.real, magnitude);
  Value small =
      w.bits(w.s.mul(steps, w.s.constant(w.real, format.leastStep())));
  Value isSmall =
      w.s.less(magnitude, w.constant(int64_t(1) << format.fractionBits));
  number = w.either(w.s.select(isSmall, small, number), sign);
  if (format.hasNan && !format.hasInfinity) {
    Value bits = format.hasNegativeZero ? magnitude : x;
    number = w.choose(w.s.equal(bits, w.constant(format.nan)),
                      w.bitsOf(std::nan("")), number);
  }
  return w.number(number);
}

/// The bits of the nearest number to one without a sign, as if exponents had no
/// end.
static Value roundToFloat8(Words &w, const Format &format, Value magnitude) {
  int dropped = w.fractionBits() - format.fractionBits;
  Value isOdd = w.both(w.shiftRight(magnitude, dropped), 1);
  Value half = w.plus(magnitude, (int64_t(1) << (dropped - 1)) - 1);
  Value normal =
      w.plus(w.shiftRight(w.s.add(half, isOdd), dropped),
             -(int64_t(w.bias() - format.bias) << format.fractionBits));
  // Next to this, neighbours are as far apart as the least numbers are.
  double large = std::ldexp(format.leastStep(), w.fractionBits());
  Value sum = w.s.add(w.number(magnitude), w.s.constant(w.real, large));
  Value small = w.plus(w.bits(sum), -w.bitsOf(large));
  Value isSmall =
      w.s.less(magnitude, w.constant(w.bitsOf(format.leastNormal())));
  return w.s.select(isSmall, small, normal);
}

Value encodeStorageFloat(Scalars &s, Value x, Type type, bool saturate) {
  Format format = formatOf(type);
  Words w(s, x.getType());
  Value bits = w.bits(x);
  Value sign =
      w.both(w.shiftRight(bits, w.width() - format.width), format.sign());
  Value magnitude = w.both(bits, w.width() == 32 ? INT32_MAX : INT64_MAX);
  Value isNan = w.s.less(w.constant(w.bitsOf(HUGE_VAL)), magnitude);
  Value y = roundToFloat8(w, format, magnitude);
  saturate |= !format.hasNan;
  if (saturate || format.hasInfinity)
    y = w.s.min(y, w.constant(format.largest + (saturate ? 0 : 1)));
  else
    isNan = w.either(isNan, w.s.less(w.constant(format.largest), y));
  if (format.hasNegativeZero) {
    y = w.either(w.choose(isNan, format.nan, y), sign);
  } else {
    y = w.choose(w.s.equal(y, w.constant(0)), 0, w.either(y, sign));
    y = w.choose(isNan, format.nan, y);
  }
  return arith::TruncIOp::create(s.b, s.b.getI8Type(), y);
}

/// What is added to the bits of an f32 to round its exponent.
static int64_t roundingBump(graph::Rounding rounding, int fractionBits) {
  switch (rounding) {
  case graph::Rounding::Nearest:
    return int64_t(1) << (fractionBits - 1);
  case graph::Rounding::Up:
    return (int64_t(1) << fractionBits) - 1;
  case graph::Rounding::Down:
    return 0;
  }
  llvm_unreachable("all directions are listed");
}

Value encodePower(Scalars &s, Value x, graph::Rounding rounding,
                  bool saturate) {
  constexpr int64_t kLargest = 0xfe, kNan = 0xff;
  Words w(s, s.b.getF32Type());
  Value bits = w.bits(x), magnitude = w.both(bits, INT32_MAX);
  // Of what is less than the least normal number, half of it is the least
  // power, and the fraction has a bit less.
  int64_t bump = roundingBump(rounding, w.fractionBits());
  Value isSmall = w.s.less(magnitude, w.constant(w.bitsOf(0x1p-126)));
  Value rounded =
      w.s.add(magnitude, w.choose(isSmall, bump / 2, w.constant(bump)));
  Value y = w.shiftRight(rounded, w.fractionBits());
  Value isTooSmall = w.s.less(magnitude, w.constant(w.bitsOf(0x1p-127)));
  y = w.choose(isTooSmall, saturate ? 0 : kNan, y);
  if (saturate)
    y = w.s.min(y, w.constant(kLargest));
  Value isNan = w.s.less(w.constant(w.bitsOf(HUGE_VAL)), magnitude);
  Value isNegative =
      arith::AndIOp::create(s.b, w.s.less(bits, w.constant(0)),
                            w.s.notEqual(magnitude, w.constant(0)));
  y = w.choose(w.either(isNan, isNegative), kNan, y);
  return arith::TruncIOp::create(s.b, s.b.getI8Type(), y);
}

} // namespace tinh::codegen
