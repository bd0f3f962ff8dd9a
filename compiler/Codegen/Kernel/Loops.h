//===- Loops.h - Indices, loops and masks for their ends --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_LOOPS_H
#define TINH_CODEGEN_KERNEL_LOOPS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace tinh::codegen {

/// Computes indices, which are unsigned; what is known of them is folded. With
/// no builder there is no code, and all values are null.
class IndexBuilder {
public:
  IndexBuilder(mlir::OpBuilder *builder, mlir::Location loc)
      : b(builder), loc(loc) {}

  mlir::Value index(int64_t value);
  mlir::Value add(mlir::Value x, mlir::Value y);
  mlir::Value sub(mlir::Value x, mlir::Value y);
  mlir::Value mul(mlir::Value x, int64_t factor);
  mlir::Value mul(mlir::Value x, mlir::Value y);
  mlir::Value minimum(mlir::Value x, mlir::Value y);
  mlir::Value minimum(mlir::Value x, int64_t y) { return minimum(x, index(y)); }
  /// `rest` modulo `count`; `rest` becomes the quotient.
  mlir::Value takeDigit(mlir::Value &rest, int64_t count);
  mlir::Value remainder(mlir::Value x, int64_t count);
  /// The largest multiple of `unit`, a power of two, that `x` has room for.
  mlir::Value roundDown(mlir::Value x, int64_t unit);

  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value x,
                      mlir::Value y);
  mlir::Value isBelow(mlir::Value x, int64_t y) {
    return compare(mlir::arith::CmpIPredicate::ult, x, index(y));
  }
  mlir::Value isEqual(mlir::Value x, int64_t y) {
    return compare(mlir::arith::CmpIPredicate::eq, x, index(y));
  }
  /// Of two conditions, or masks; one that is null always holds.
  mlir::Value both(mlir::Value x, mlir::Value y);
  mlir::Value negate(mlir::Value condition);
  mlir::Value select(mlir::Value condition, mlir::Value x, mlir::Value y);

  mlir::OpBuilder &builder() { return *b; }
  mlir::Location location() const { return loc; }

protected:
  mlir::OpBuilder *b;
  mlir::Location loc;

private:
  template <typename Op, typename... Arguments>
  mlir::Value fold(Arguments... arguments) {
    return b ? b->createOrFold<Op>(loc, arguments...) : mlir::Value();
  }
};

/// Builds `for (iv = 0; iv < extent; iv += step)` with the given iteration
/// values and leaves the builder after it; returns the loop's results.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildLoop(mlir::OpBuilder &builder, mlir::Location loc, int64_t extent,
          int64_t step, mlir::ValueRange initial,
          llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
              mlir::Value iv, mlir::ValueRange values)>
              body);

/// The same from one value to another.
mlir::FailureOr<llvm::SmallVector<mlir::Value>>
buildLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
          mlir::Value to, int64_t step, mlir::ValueRange initial,
          llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
              mlir::Value iv, mlir::ValueRange values)>
              body);

/// The same without iteration values.
llvm::LogicalResult
buildLoop(mlir::OpBuilder &builder, mlir::Location loc, int64_t extent,
          int64_t step,
          llvm::function_ref<llvm::LogicalResult(mlir::Value iv)> body);
llvm::LogicalResult
buildLoop(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value from,
          mlir::Value to, int64_t step,
          llvm::function_ref<llvm::LogicalResult(mlir::Value iv)> body);

/// Builds `if (condition)`, and leaves the builder after it; without a
/// condition `body` alone.
llvm::LogicalResult buildIf(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value condition,
                            llvm::function_ref<llvm::LogicalResult()> body);

/// The first `count` of so many lanes, as a mask; none if these are all.
mlir::Value firstLanes(mlir::OpBuilder &b, mlir::Location loc, int64_t count,
                       int64_t lanes);
/// The same for a count that is an index.
mlir::Value firstLanes(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value count, int64_t lanes);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_LOOPS_H
