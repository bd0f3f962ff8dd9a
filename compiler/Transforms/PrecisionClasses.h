//===- PrecisionClasses.h - Which ops take lower precision ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_PRECISIONCLASSES_H
#define TINH_COMPILER_TRANSFORMS_PRECISIONCLASSES_H

#include "mlir/IR/OperationSupport.h"

#include <optional>

namespace tinh::transforms {

/// How an op takes part in a model of lower precision.
enum class PrecisionClass {
  /// Products: operands and result are of the lower precision, and kernels sum
  /// in f32.
  Lowered,
  /// Of the lower precision where what it reads is.
  Follows,
  /// Computed in f32; the result is rounded if the first operand was.
  Rounded,
  /// In f32, whatever it reads.
  Full
};

/// The class of an op of the dialect that may be in phase normalised; nothing
/// for others.
std::optional<PrecisionClass> precisionClassOf(mlir::OperationName op);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_PRECISIONCLASSES_H
