//===- Stages.h - What a kernel computes before the rest --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A stage is an op of a kernel whose results are kept, as they would be pulled
// more than once. Where all tensors that depend on stages have leading
// dimensions in common, in which each index is computed from that index alone,
// a unit of work needs only its own part of what the stages give.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_STAGES_H
#define TINH_CODEGEN_KERNEL_STAGES_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tinh::codegen {

/// What a result of the kernel is read from, and the strides, in elements, with
/// which it is written.
struct WrittenValue {
  mlir::Value value;
  llvm::SmallVector<int64_t> strides;
  mlir::RankedTensorType type() const {
    return llvm::cast<mlir::RankedTensorType>(value.getType());
  }
};
llvm::SmallVector<WrittenValue> writtenValues(mlir::func::FuncOp kernel);

/// Whether lanes should lie along the reduction: its first input is contiguous
/// there.
bool reducesLanes(mlir::linalg::GenericOp op);

/// The generics of `kernel` that are stages, in order: reductions, and what is
/// read more than once; none if each reduction is pulled once.
llvm::SmallVector<mlir::linalg::GenericOp>
chooseStages(mlir::func::FuncOp kernel);

/// Leading dimensions in which these have the same extents.
int64_t commonRank(llvm::ArrayRef<WrittenValue> written);

/// Leading dimensions that all that depends on `stages` has in common.
int64_t sharedRank(mlir::func::FuncOp kernel,
                   llvm::ArrayRef<mlir::linalg::GenericOp> stages,
                   llvm::ArrayRef<WrittenValue> written);

/// How many elements a result of `op` is made of.
int64_t reducedElements(mlir::linalg::GenericOp op);
/// The same of all reductions in `kernel`, at most.
int64_t reducedElements(mlir::func::FuncOp kernel);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_STAGES_H
