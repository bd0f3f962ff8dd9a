//===- ContractionEmitTensorCores.h - Products on tensor cores --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITTENSORCORES_H
#define TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITTENSORCORES_H

#include "compiler/Codegen/CUDA/Contraction/ContractionEmitPipeline.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

namespace tinh::cuda {

/// Emits a product whose warps have sums in blocks of 16 × 8: of each, a thread
/// has two side by side in a row of the first eight, and below it two in the
/// other ones.
class TensorCoreEmitter : public PipelinedEmitter {
public:
  /// A warp has so many rows and columns of the tile.
  TensorCoreEmitter(EmittedKernel &kernel, const Product &p,
                    const TileCode &code, mlir::OpBuilder &builder,
                    int64_t stages, int64_t ahead, int64_t warpRows,
                    int64_t warpColumns)
      : PipelinedEmitter(kernel, p, code, builder, stages, ahead),
        warpColumns(warpColumns), warpRows(warpRows) {}

protected:
  void findThread() override;
  Values startSums() override;
  Values multiply(mlir::Value base, mlir::ValueRange sums) override;
  mlir::LogicalResult emitResults(const Values &sums) override;
  /// The first row of so many eights that a warp has.
  virtual int64_t rowOfLine(int64_t line) const { return line * 8; }
  /// Whether a thread has neighbours of the depth, each two, of a first factor
  /// of tf32, not the fourth after each.
  virtual bool takesPairs() const { return false; }

  /// What the product takes the elements of a factor for.
  mlir::NVVM::MMATypes typeOf(const Factor &factor) const;
  /// A register of a factor as the product takes it.
  mlir::Value operand(mlir::Value bits);
  /// All registers that the warp's products of this number take of a factor.
  Values fragments(const SharedTile &shared, mlir::Value base, int64_t product);
  /// `sums` with the products of 16 rows and 8 columns.
  mlir::Value multiplyWarp(mlir::ValueRange ofRows, mlir::ValueRange ofColumns,
                           mlir::Value sums);

  int64_t warpColumns, warpRows;
  mlir::Value warpRow, warpColumn; ///< Where they begin.

  /// The thread's line of eight, and its place among the four of a line.
  mlir::Value threadRow, threadPlace;

private:
  Values loadMatrices(const SharedTile &shared, mlir::Value base, int64_t first,
                      int64_t product);
  Values loadWords(const SharedTile &shared, mlir::Value base, int64_t first,
                   int64_t product);
  Values exchange(llvm::ArrayRef<mlir::Value> x, llvm::ArrayRef<mlir::Value> y,
                  int64_t distance);
  mlir::Value vectorOf(llvm::ArrayRef<mlir::Value> sums, int64_t half);

  bool isOfRows(const SharedTile &shared) const { return &shared == &rows; }
  mlir::Value warpFirst(const SharedTile &shared) const {
    return isOfRows(shared) ? warpRow : warpColumn;
  }
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_CONTRACTION_CONTRACTIONEMITTENSORCORES_H
