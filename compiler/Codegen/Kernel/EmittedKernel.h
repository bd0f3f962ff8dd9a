//===- EmittedKernel.h - Kernels while code is emitted ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_EMITTEDKERNEL_H
#define TINH_CODEGEN_KERNEL_EMITTEDKERNEL_H

#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tinh::codegen {

/// A kernel function while code for it is being emitted into `function`, whose
/// first arguments are its operands as flat memory. Each device adds what else
/// its code is given.
struct EmittedKernel {
  mlir::func::FuncOp source;
  mlir::FunctionOpInterface function;

  /// Where its code goes.
  mlir::OpBuilder builder();
  /// Memory of the kernel's operand `i`: its inputs, then its results.
  Buffer operand(unsigned i);
  /// Where its inputs lie.
  llvm::DenseMap<mlir::Value, Buffer> inputs();
  /// What pulls from them.
  Pull makePull(mlir::OpBuilder &b, int64_t lanes);
  /// Stores these results at `at`, as soon as all of them are computed; from
  /// then on `pull` has them in registers.
  mlir::LogicalResult storeResults(Pull &pull, const Indices &at,
                                   llvm::ArrayRef<unsigned> results);
  /// Whether result `i` lies elsewhere than `value`; null if it always does, as
  /// the value is none of the operands.
  mlir::Value liesElsewhere(mlir::OpBuilder &b, unsigned i, mlir::Value value);

protected:
  /// A buffer of `shape` at `offset` bytes of `memory`.
  Buffer bufferIn(mlir::Value memory, mlir::OpBuilder &b, int64_t offset,
                  llvm::ArrayRef<int64_t> shape, mlir::Type element);
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_EMITTEDKERNEL_H
