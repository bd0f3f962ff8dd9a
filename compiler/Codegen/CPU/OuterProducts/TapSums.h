//===- TapSums.h - Results of sums for taps ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_OUTERPRODUCTS_TAPSUMS_H
#define TINH_CODEGEN_CPU_OUTERPRODUCTS_TAPSUMS_H

#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

namespace tinh::cpu {

/// Goes through the blocks of such a plan: where each begins in the factors,
/// and what is computed from its sums, [taps, rows, lanes], when they are
/// there.
class TapSumsEmitter : protected TileEmitter {
protected:
  TapSumsEmitter(EmittedKernel &kernel, mlir::OpBuilder &b,
                 const OuterProducts &p, const TapSumsPlan &plan,
                 const Target &target,
                 const llvm::DenseMap<Value, Buffer> &buffers)
      : TileEmitter(kernel, b, p.element(),
                    target.vectorBytes / p.elementBytes(), buffers),
        p(p), rows(plan.lanesSlide ? p.right : p.left),
        columns(plan.lanesSlide ? p.left : p.right), plan(plan) {}

  void startChunk(Value chunk);
  /// Where the current block of sums begins in a factor.
  mlir::FailureOr<Indices> startOf(const Factor &factor);
  llvm::ArrayRef<unsigned> outerTaps() const {
    return llvm::ArrayRef(p.taps).drop_back(plan.tapsPerRow > 1);
  }
  llvm::LogicalResult storeResults();

  const OuterProducts &p;
  const Factor &rows, &columns;
  Indices dims;                // Of the loops, at the code being emitted.
  Value rowCount, columnCount; // Of the chunk.

private:
  bool storesVectors() const;
  llvm::LogicalResult storeVectors();
  llvm::LogicalResult storeLine(Value line, Value firstColumn);
  llvm::LogicalResult storeElements();
  llvm::LogicalResult eachTap(size_t level, Value plane, Value row, Body body);

  const TapSumsPlan &plan;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_OUTERPRODUCTS_TAPSUMS_H
