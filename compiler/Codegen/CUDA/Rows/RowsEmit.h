//===- RowsEmit.h - Code of kernels of rows ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_ROWS_ROWSEMIT_H
#define TINH_CODEGEN_CUDA_ROWS_ROWSEMIT_H

#include "compiler/Codegen/CUDA/Rows/Rows.h"

namespace tinh::cuda {

/// Emits what a plan says: the stages (RowsEmitStages.cpp), then the results.
class RowsEmitter {
public:
  RowsEmitter(EmittedKernel &kernel, RowsLayout layout, mlir::OpBuilder &b)
      : kernel(kernel), plan(std::move(layout)), b(b),
        loc(kernel.source.getLoc()), scalar(b, loc, 1) {}

  mlir::LogicalResult emit();

private:
  /// An iteration's number, and whether it is one of this thread's; null if it
  /// always is.
  struct Unit {
    mlir::Value number, takesPart;
  };
  using Step =
      llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
          Unit unit, mlir::ValueRange state)>;
  using Values = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

  void findRow();
  /// What of a stage is this thread's.
  struct Part {
    mlir::Value place, share;
  };
  Part findPart(const RowStage &stage);
  Pull makePull(int64_t lanes);
  Unit unitAt(mlir::Value number, int64_t count, bool all);
  Values forShare(int64_t count, int64_t threads, mlir::Value number,
                  mlir::ValueRange initial, Step step);
  Indices place(llvm::ArrayRef<int64_t> shape, mlir::Value unit, int64_t lanes);
  void syncFor(mlir::Operation *op);
  bool readsUnsynchronised(mlir::Operation *op);

  llvm::SmallVector<Buffer> allocate(const RowStage &stage);
  mlir::LogicalResult emitStage(const RowStage &stage);
  mlir::FailureOr<llvm::SmallVector<LaneValue>>
  computeUnit(const RowStage &stage, const Indices &at, mlir::Value share);
  mlir::FailureOr<mlir::Value> reducePartly(const RowStage &stage, Pull &pull,
                                            const Indices &at,
                                            mlir::Value share);
  mlir::Value combineShares(const RowStage &stage, mlir::Value partial);
  mlir::Value exchangeWarps(const RowStage &stage, mlir::Value partial,
                            mlir::Value place);
  mlir::LogicalResult emitResults(llvm::ArrayRef<unsigned> results);

  EmittedKernel &kernel;
  RowsLayout plan;
  mlir::OpBuilder &b;
  mlir::Location loc;
  Pull scalar;
  mlir::Value thread; // Its number in the team.
  Indices row;
  mlir::Value rowExists;   // Null if it always does.
  mlir::Value firstColumn; // In vectors, if rows are cut into columns.
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  llvm::DenseMap<mlir::Value, LaneValue> registers;
  llvm::DenseSet<mlir::Value>
      unsynchronised; // Written to shared memory just now.
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_ROWS_ROWSEMIT_H
