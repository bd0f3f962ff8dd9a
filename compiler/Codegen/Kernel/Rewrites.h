//===- Rewrites.h - Changes to kernels before code --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_REWRITES_H
#define TINH_CODEGEN_KERNEL_REWRITES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tinh::codegen {

/// Erases the ops of `block` that nothing needs, and then those that only these
/// needed.
inline void eraseDead(mlir::Block &block) {
  for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (mlir::isOpTriviallyDead(&op))
      op.erase();
}

/// Gives `function` the type that its arguments and what it returns have.
inline void updateType(mlir::func::FuncOp function) {
  mlir::Block &body = function.getBody().front();
  function.setType(
      mlir::FunctionType::get(function.getContext(), body.getArgumentTypes(),
                              body.getTerminator()->getOperandTypes()));
}

/// Computes what the body of `op` says from other operands, in other loops.
inline mlir::Value
cloneBody(mlir::OpBuilder &b, mlir::linalg::GenericOp op,
          mlir::ValueRange inputs, mlir::Value init,
          llvm::ArrayRef<mlir::AffineMap> maps,
          llvm::ArrayRef<mlir::utils::IteratorType> iterators) {
  auto clone = mlir::linalg::GenericOp::create(b, op.getLoc(), init.getType(),
                                               inputs, init, maps, iterators);
  mlir::IRMapping mapping;
  op.getRegion().cloneInto(&clone.getRegion(), mapping);
  return clone.getResult(0);
}

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_REWRITES_H
