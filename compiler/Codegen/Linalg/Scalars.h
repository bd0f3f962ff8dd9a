//===- Scalars.h - Arithmetic on elements -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the bodies of linalg.generic ops are built with: arithmetic on signless
// scalars whose signedness is known from the graph's type. Two signed formats
// narrower than they should be for arithmetic (f16, bf16) are computed in f32;
// floats of 8 and 4 bits (StorageFloats.h) are bytes here.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_LINALG_SCALARS_H
#define TINH_CODEGEN_LINALG_SCALARS_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tinh::codegen {

using graph::storageType;

/// The type that sums and products of `element` are accumulated in: f32 for
/// narrower floats, i32 for narrower integers, else `element`.
mlir::Type accumulatorType(mlir::Type element);

/// The type that scalar formulas on `element` are computed in: f32 for narrower
/// floats, else `element`.
mlir::Type computeType(mlir::Type element);

/// Builds scalar operations. Methods choose between the float, signed, unsigned
/// and boolean form of an operation by the operands' type and `isUnsigned`.
class Scalars {
public:
  Scalars(mlir::ImplicitLocOpBuilder &builder, bool isUnsigned = false)
      : b(builder), isUnsigned(isUnsigned) {}

  mlir::ImplicitLocOpBuilder &b;
  bool isUnsigned;

  using Value = mlir::Value;
  using Type = mlir::Type;
  using ComparePredicate = graph::ComparePredicate;

  Value constant(Type type, double value);
  Value integer(Type type, int64_t value);
  Value index(int64_t value);
  /// A constant of the type of `like`.
  Value like(Value like, double value) {
    return constant(like.getType(), value);
  }

  Value add(Value x, Value y);
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  /// Integers: toward zero; by zero is 0 and the smallest by -1 wraps, so that
  /// no division traps.
  Value div(Value x, Value y);
  /// The remainder with the sign of `x`; integers by zero: 0.
  Value rem(Value x, Value y);
  /// NaN if either is.
  Value max(Value x, Value y);
  Value min(Value x, Value y);
  Value neg(Value x);
  Value abs(Value x);
  Value select(Value condition, Value x, Value y);

  Value compare(ComparePredicate predicate, Value x, Value y);
  Value equal(Value x, Value y) {
    return compare(ComparePredicate::Equal, x, y);
  }
  Value notEqual(Value x, Value y) {
    return compare(ComparePredicate::NotEqual, x, y);
  }
  Value less(Value x, Value y) { return compare(ComparePredicate::Less, x, y); }
  Value lessEqual(Value x, Value y) {
    return compare(ComparePredicate::LessEqual, x, y);
  }
  Value isNan(Value x);

  /// C's conversion; signedness of the source from `isUnsigned`, of the target
  /// from `toUnsigned`.
  Value convert(Value x, Type to, bool toUnsigned = false);
  /// The same between floats where an op computes in wider ones than it has:
  /// the next op of a kernel may take what has not been rounded yet.
  Value convertWithin(Value x, Type to);
  /// An index as a value of `to`.
  Value fromIndex(Value x, Type to);

  /// x modulo n in [0, n), for indices.
  Value floorMod(Value x, int64_t n);
  /// x limited to [0, n), for indices.
  Value clampIndex(Value x, int64_t n);

  /// The smallest value: what a maximum starts from.
  Value lowest(Type type);
  /// The largest value: what a minimum starts from.
  Value highest(Type type);

private:
  template <typename OfFloats, typename OfSigned,
            typename OfUnsigned = OfSigned>
  Value create(Value x, Value y);
  Value divisor(Value y, Value isMinusOne, Value isZero);
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_LINALG_SCALARS_H
