//===- PlaceKernels.h - Which device runs a kernel, and when ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_PLACEKERNELS_H
#define TINH_CODEGEN_PLACEKERNELS_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tinh::codegen {

/// Takes those of `kernels`, which are on the GPU, to the CPU that conditions
/// and numbers of iterations depend on and that only count: all that they read
/// and compute is a few integers or booleans, which lie on the CPU and which no
/// kernel on the GPU needs.
void placeNumbers(mlir::ModuleOp module,
                  llvm::ArrayRef<graph::KernelOp> kernels);

/// Orders the ops of a function, and of its branches and loops, by how often
/// what they need has come from the GPU to the CPU: what one device need not
/// wait for the other one for comes first.
void orderByCrossings(mlir::func::FuncOp function);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_PLACEKERNELS_H
