//===- Tolerances.h - How far values may be from the reference --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_BISECTION_TOLERANCES_H
#define TINH_COMPILER_BISECTION_TOLERANCES_H

#include "compiler/Reference/Tensor.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace tinh::bisection {

/// A difference relative to the largest expected element, max |reference|;
/// where that is 0, as it is.
double partOf(const reference::Difference &difference);

/// "[0, 3, 7]": the index of an element in a shape.
std::string indexText(int64_t index, llvm::ArrayRef<int64_t> shape);

/// The largest error that passes.
struct Tolerance {
  double limit = 0;
  bool isAbsolute = false; ///< Else errors are relative, as partOf has them.

  double errorOf(const reference::Difference &difference) const {
    return isAbsolute ? difference.absolute : partOf(difference);
  }
};

/// The differences that are to be expected of a function's values: of floats
/// what the narrowest type on the way to them rounds off, many times over; none
/// of integers, but that those of 8 bits, which models are quantised to, may be
/// one off.
class Tolerances {
public:
  /// `precision` is what matmuls compute in, as PhaseOptions have it.
  Tolerances(mlir::func::FuncOp function, llvm::StringRef precision);

  Tolerance of(mlir::Value value) const;

private:
  llvm::DenseMap<mlir::Value, double> coarsest;
};

} // namespace tinh::bisection

#endif // TINH_COMPILER_BISECTION_TOLERANCES_H
