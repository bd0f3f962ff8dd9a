//===- Split.h - A kernel as several, one after the other -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function becomes two where each alone is divided better: what one
// dispatch then computes, the other one reads.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_SPLIT_H
#define TINH_CODEGEN_KERNEL_SPLIT_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace tinh::codegen {

/// The ops of the kernel's block that `stage` depends on, and itself.
llvm::DenseSet<mlir::Operation *> dependencies(mlir::Operation *stage);

/// The values, all of one op, that a kernel would have to hand over if `stage`
/// were one of its own: its results, or what alone follows from them element by
/// element. None if nothing else is computed of them.
llvm::SmallVector<mlir::Value> handedOver(mlir::linalg::GenericOp stage);

/// Elements of the largest tensor that `kernel` computes or reduces, apart from
/// what `without` depends on.
int64_t largestValue(mlir::func::FuncOp kernel,
                     mlir::Operation *without = nullptr);

/// Makes a kernel, outside of any module, of what computes `results`, which are
/// of one op, from those arguments of `kernel` whose numbers `inputs` receives.
mlir::func::FuncOp outlineStage(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                                mlir::StringRef suffix,
                                mlir::ValueRange results,
                                llvm::SmallVectorImpl<unsigned> &inputs);

/// Lets a kernel of its own compute `values`, which are of one op. Its name
/// ends in `suffix`.
graph::DispatchOp dispatchStage(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                                mlir::func::FuncOp kernel,
                                graph::DispatchOp dispatch,
                                mlir::StringRef suffix,
                                mlir::ValueRange values);

/// Whether `op` combines elements, which it is given, one by one, so that it
/// can do so in parts.
bool combinesElements(mlir::linalg::GenericOp op);

/// Whether `loop` can be two: it alone indexes a dimension of each operand that
/// it indexes at all.
bool isDivisible(mlir::linalg::GenericOp op, unsigned loop);

/// The least number that divides `extent` and gives `wanted` parts; else the
/// largest one up to `most`.
int64_t countParts(int64_t extent, int64_t wanted, int64_t most);

/// Lets a dispatch of its own compute the parts of `loop` of `op`.
graph::DispatchOp dispatchParts(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                                mlir::func::FuncOp kernel,
                                graph::DispatchOp dispatch,
                                mlir::linalg::GenericOp op, unsigned loop,
                                int64_t parts);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_SPLIT_H
