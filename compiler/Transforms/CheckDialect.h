//===- CheckDialect.h - Functions that passes can change --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_TRANSFORMS_CHECKDIALECT_H
#define TINH_COMPILER_TRANSFORMS_CHECKDIALECT_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::transforms {

/// Fails, with an error at the first one, if ops in the body of `function` are
/// of another dialect than graph; what ends it may be. Passes that ask for what
/// is known of an op, whatever it is, check so first: IR in text can have any.
llvm::LogicalResult checkDialect(mlir::func::FuncOp function);

} // namespace tinh::transforms

#endif // TINH_COMPILER_TRANSFORMS_CHECKDIALECT_H
