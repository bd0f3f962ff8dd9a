//===- Choosing.h - What choosing strategies has in common ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_CHOOSING_H
#define TINH_CODEGEN_KERNEL_CHOOSING_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"

namespace tinh::codegen {

/// Makes a kernel what its strategy wants; returns the dispatches to look at
/// next, the last one first: those whose kernels are new or have changed.
using PrepareKernel = llvm::function_ref<llvm::SmallVector<graph::DispatchOp>(
    mlir::SymbolTable &symbols, mlir::func::FuncOp kernel,
    graph::DispatchOp dispatch)>;

/// Prepares the kernels of all dispatches of `module` that are on the GPU, or
/// those that are not.
mlir::LogicalResult prepareKernels(mlir::ModuleOp module, bool onCuda,
                                   PrepareKernel prepare);

/// Says of a kernel with one result which of its inputs may share memory with
/// it: those of its shape and size, both dense, that `mayShare`.
void setInplace(mlir::func::FuncOp kernel,
                llvm::function_ref<bool(mlir::BlockArgument)> mayShare);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_CHOOSING_H
