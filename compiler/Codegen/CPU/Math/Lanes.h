//===- Lanes.h - Arithmetic as one writes it --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Numbers, or vectors of them, whose operators emit ops of arith and math.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_MATH_LANES_H
#define TINH_CODEGEN_CPU_MATH_LANES_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tinh::cpu::lanes {

/// Elements of one type in all lanes.
struct Lanes {
  mlir::ImplicitLocOpBuilder *b;
  mlir::Value value;

protected:
  /// The type with other elements.
  mlir::Type with(mlir::Type element) const;
  mlir::Value integer(int64_t number) const;
  template <typename Op> mlir::Value make(mlir::Value y) const {
    return Op::create(*b, value, y);
  }
};

/// One bit for each lane.
struct Mask : Lanes {
  Mask operator&(Mask other) const;
  Mask operator|(Mask other) const;
};

struct Float;

/// Integers of 32 bits. Constants are bits: 0xff800000 is one.
struct Int : Lanes {
  Int operator+(Int other) const;
  Int operator-(Int other) const;
  Int operator&(Int other) const;
  Int operator|(Int other) const;
  Int operator^(Int other) const;
  Int operator+(int64_t number) const { return *this + like(number); }
  Int operator-(int64_t number) const { return *this - like(number); }
  Int operator&(int64_t number) const { return *this & like(number); }
  Int operator<<(int64_t bits) const;
  /// Keeps the sign.
  Int operator>>(int64_t bits) const;
  Mask isOdd() const;
  Int like(int64_t number) const;
  /// The floats of these bits.
  Float bits() const;
  /// The floats that are these numbers.
  Float number() const;
};

/// f32, or f64. A comparison with what is no number is false.
struct Float : Lanes {
  Float operator+(Float other) const;
  Float operator-(Float other) const;
  Float operator*(Float other) const;
  Float operator/(Float other) const;
  Float operator+(double number) const { return *this + like(number); }
  Float operator-(double number) const { return *this - like(number); }
  Float operator*(double number) const { return *this * like(number); }
  Mask operator<(Float other) const;
  Mask operator<(double number) const { return *this < like(number); }
  Mask operator>(double number) const { return like(number) < *this; }
  Mask operator==(Float other) const;
  Mask operator==(double number) const { return *this == like(number); }
  /// Also of what is no number.
  Mask isNotBelow(double number) const;
  Float like(double number) const;
  Int bits() const;
  /// f32 as f64, and back.
  Float wide() const;
  Float narrow() const;
};

/// x y + z, rounded once.
Float fma(Float x, Float y, Float z);
Float fma(Float x, double y, Float z);
Float fma(Float x, double y, double z);

Float abs(Float x);
/// -|x|.
Float minusAbs(Float x);
Float roundEven(Float x);
/// `magnitude`'s, with the sign of `sign`.
Float copySign(Float magnitude, Float sign);

Float select(Mask mask, Float x, Float y);
Float select(Mask mask, Float x, double y);
Int select(Mask mask, Int x, Int y);

/// The smaller, or the larger; what is no number stays. One instruction each.
Float atMost(Float x, double bound);
Float atLeast(Float x, double bound);
Int atLeast(Int x, int64_t bound);

/// Σ coefficients[i] xⁱ, by Horner's rule: the fewest instructions, and
/// coefficients are operands in memory. Estrin's scheme has half the latency,
/// but other vectors hide that, and it is slower for what it multiplies and
/// loads.
Float polynomial(Float x, llvm::ArrayRef<double> coefficients);

} // namespace tinh::cpu::lanes

#endif // TINH_CODEGEN_CPU_MATH_LANES_H
