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

#include "compiler/Codegen/Kernel/Strategy.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
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
mlir::func::FuncOp outlineStage(mlir::func::FuncOp kernel,
                                mlir::StringRef suffix,
                                mlir::ValueRange results,
                                llvm::SmallVectorImpl<unsigned> &inputs);

/// Lets a kernel of its own compute `values`, which are of one op. Its name
/// ends in `suffix`.
graph::DispatchOp dispatchStage(DispatchedKernel dispatched,
                                mlir::StringRef suffix,
                                mlir::ValueRange values);

/// Lets a kernel of its own compute the first of `stages` whose values, as they
/// are handed over, `isWorth` a kernel; null if there is none.
graph::DispatchOp
splitStage(DispatchedKernel dispatched,
           llvm::ArrayRef<mlir::linalg::GenericOp> stages,
           llvm::function_ref<bool(mlir::ValueRange)> isWorth);

/// Whether `op` combines elements, which it is given, one by one, so that it
/// can do so in parts.
bool combinesElements(mlir::linalg::GenericOp op);

/// The parts that a device wants of a reduction.
struct Parts {
  int64_t wanted; ///< So many, or as many as there can be.
  /// Elements that one combines at least, to repay that its result is stored.
  int64_t leastReduced;
  /// Of several loops the first that will do is divided, not the one that can
  /// be divided into most parts.
  bool ofFirstLoop = false;
};

/// How many parts there would be, of one of `loops`; 1 if none can be divided.
int64_t countParts(mlir::linalg::GenericOp op, llvm::ArrayRef<unsigned> loops,
                   const Parts &parts);
/// Lets a dispatch of its own compute parts of the reduction `op`, of one of
/// `loops`; null if none can be divided.
graph::DispatchOp dispatchParts(DispatchedKernel dispatched,
                                mlir::linalg::GenericOp op,
                                llvm::ArrayRef<unsigned> loops,
                                const Parts &parts);

/// The same of the first reduction of the kernel that goes through so many
/// elements, if nothing after it does; null if there is none.
graph::DispatchOp
splitReduction(DispatchedKernel dispatched, int64_t leastElements,
               llvm::function_ref<Parts(mlir::linalg::GenericOp)> partsOf);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_SPLIT_H
