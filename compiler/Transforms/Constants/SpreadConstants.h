//===- SpreadConstants.h - Large constants with one value -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_CONSTANTS_SPREADCONSTANTS_H
#define TINH_COMPILER_TRANSFORMS_CONSTANTS_SPREADCONSTANTS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::transforms {

/// The bytes of a function's constants as they are stored: a value that all
/// elements have takes none.
uint64_t storedConstants(mlir::func::FuncOp function);

/// Computes large constants with one value in each run where no kernel reads
/// them: kernels have such constants in their code. Gives the ops that do.
llvm::DenseSet<mlir::Operation *> spreadInRuns(mlir::func::FuncOp function);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_CONSTANTS_SPREADCONSTANTS_H
