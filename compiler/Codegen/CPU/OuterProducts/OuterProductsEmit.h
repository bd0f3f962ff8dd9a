//===- OuterProductsEmit.h - Sums of outer products -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H
#define TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H

#include "compiler/Codegen/CPU/OuterProducts/TapSums.h"

namespace tinh::cpu {

/// Emits the code of a plan.
class OuterProductsEmitter : TapSumsEmitter {
public:
  OuterProductsEmitter(EmittedKernel &kernel, const OuterProducts &p,
                       const OuterProductsPlan &plan, const Target &target,
                       mlir::OpBuilder &b,
                       const llvm::DenseMap<Value, Buffer> &buffers)
      : TapSumsEmitter(kernel, b, p, plan, target, buffers), plan(plan),
        vectors(plan.tileColumns / lanes) {}

  llvm::LogicalResult emitChunk(Value chunk);

private:
  /// What is staged as pairs: of each dimension so many positions, from which
  /// on and how far apart, to `position` on, of so many elements each.
  struct Positions {
    llvm::SmallVector<int64_t> counts, first, steps;
    int64_t position = 0, elements;
  };

  int64_t tapsOfSums() const { return p.extentOf(p.taps) / plan.tapsPerRow; }

  llvm::LogicalResult addSums(size_t level);
  llvm::LogicalResult stageFactor(const Factor &factor, Value count);
  llvm::LogicalResult multiplyBlock(Value sumsEnd);
  llvm::LogicalResult emitTile(Value slidingAt, Value sumsAt, Value row,
                               Value column, Value sumsEnd);
  mlir::FailureOr<Values> multiply(size_t level, Value rowsAt, Value columnsAt,
                                   Value sumsEnd, mlir::ValueRange state);
  /// Its part in scratch memory.
  Slab &slabOf(const Factor &factor) {
    return &factor == &p.left ? slidingSlab : plainSlab;
  }

  // Tiles of AMX (OuterProductsEmitAmx.cpp).
  void clearPairs();
  llvm::LogicalResult stageFactors();
  llvm::LogicalResult stagePairs(const Factor &factor, Value memory,
                                 const Positions &positions, Value count);
  llvm::LogicalResult stageLine(const Factor &factor, Value memory,
                                const Positions &positions, Indices at,
                                Value position, Value count);
  llvm::LogicalResult stagePair(const Factor &factor, Value memory, Value to,
                                const Indices &first, const Indices *second,
                                Value count);
  void turnRows();
  llvm::LogicalResult multiplyTiles();
  Value tapAt(llvm::ArrayRef<Value> taps);
  void multiplyTileOfTap(Value tapAt, Value sumsAt, Value row, Value column);
  Value pairsMemory(int64_t offset, int64_t size, mlir::Type type);

  const OuterProductsPlan &plan;
  int64_t vectors;
  Slab slidingSlab, plainSlab;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H
