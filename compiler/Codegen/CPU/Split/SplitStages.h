//===- SplitStages.h - Kernels that become two ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where work could be shared among more workers if some of a kernel were done
// before the rest. Each function takes a kernel and the dispatch that alone
// uses it, and returns the new dispatch before that; null if it changed
// nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_SPLIT_SPLITSTAGES_H
#define TINH_CODEGEN_CPU_SPLIT_SPLITSTAGES_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Split.h"

namespace tinh::cpu {

/// Lets a kernel of its own compute the parts of a long reduction that is most
/// of a kernel of rows, which would be few chunks; null if it changed nothing.
graph::DispatchOp splitReduction(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                                 mlir::func::FuncOp kernel,
                                 graph::DispatchOp dispatch);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_SPLIT_SPLITSTAGES_H
