//===- Trigonometric.cpp - sin, cos -----------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// π/2 is taken from |x| as often as it fits, as a sum of three floats: without
// an FMA's rounding in between, that is exact for the first. Where a lane is
// beyond kLargest, all are computed by libm, one after the other.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Math/Functions.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu::lanes {

static constexpr double kLargest = 65536;
// π/2 = 1.57079637 - 4.37113883e-8 - 1.71512451e-15, and 2/π.
static constexpr double kHigh = 1.57079637, kMiddle = -4.37113883e-8,
                        kLow = -1.71512451e-15, kInverse = 0.636619747;

// From coefficients.py, for |r| up to π/4 and a little more.
/// (sin r / r - 1) / r² in r²: relative error of sin: 2^-27.7.
static constexpr double kSin[] = {-0.166666538, 0.00833209325, -0.000195051471};
/// (cos r - 1 + r²/2) / r⁴ in r²: relative error of cos: 2^-32.6.
static constexpr double kCos[] = {1, -0.5, 0.0416666418, -0.00138871302,
                                  2.44120856e-5};

/// sin(x + quarters π/2) for x from 0 on, with the sign that `sign` has.
static Float sinOfTurned(Float x, int64_t quarters, Int sign) {
  Float shifted = fma(x, kInverse, kRounding), n = shifted - kRounding;
  Float r = fma(n, -kLow, fma(n, -kMiddle, fma(n, -kHigh, x)));
  Float square = r * r;
  Float sin = fma(r * square, polynomial(square, kSin), r);
  Float cos = polynomial(square, kCos);
  Int turns = quarters ? shifted.bits() + quarters : shifted.bits();
  Float result = select(turns.isOdd(), cos, sin);
  Int changed = (turns << 30) & 0x80000000;
  return (result.bits() ^ changed ^ sign).bits();
}

/// Whether any lane is.
static Value any(Mask mask) {
  if (!isa<VectorType>(mask.value.getType()))
    return mask.value;
  return vector::ReductionOp::create(*mask.b, vector::CombiningKind::OR,
                                     mask.value);
}

/// `fast` where all lanes are in its range, else LLVM's op, a call for each
/// lane.
template <typename LibmOp>
static Float orOfLibm(Float x, Float magnitude,
                      llvm::function_ref<Float()> fast) {
  ImplicitLocOpBuilder &b = *x.b;
  Value isLarge = any(magnitude.isNotBelow(kLargest));
  auto choice = scf::IfOp::create(b, x.value.getType(), isLarge,
                                  /*addThenBlock=*/true,
                                  /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Value libm = LibmOp::create(b, x.value.getType(), x.value);
  scf::YieldOp::create(b, libm);
  b.setInsertionPointToStart(choice.elseBlock());
  scf::YieldOp::create(b, fast().value);
  return {{x.b, choice.getResult(0)}};
}

Float sinOf(Float x, Quality) {
  Float magnitude = abs(x);
  return orOfLibm<LLVM::SinOp>(x, magnitude, [&] {
    return sinOfTurned(magnitude, 0, x.bits() & 0x80000000);
  });
}

Float cosOf(Float x, Quality) {
  Float magnitude = abs(x);
  return orOfLibm<LLVM::CosOp>(x, magnitude, [&] {
    return sinOfTurned(magnitude, 1, x.bits().like(0));
  });
}

} // namespace tinh::cpu::lanes
