//===- OuterProductsEmit.h - Sums of outer products -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H
#define TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H

#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

namespace tinh::cpu {

/// Emits the code of a plan.
class OuterProductsEmitter : TileEmitter {
public:
  OuterProductsEmitter(EmittedKernel &kernel, const OuterProducts &p,
                       const OuterProductsPlan &plan, const Target &target,
                       mlir::OpBuilder &b,
                       const llvm::DenseMap<Value, Buffer> &buffers)
      : TileEmitter(kernel, b, p.element(),
                    target.vectorBytes / p.elementBytes(), buffers),
        p(p), plan(plan), vectors(plan.tileColumns / lanes),
        rows(plan.lanesSlide ? p.right : p.left),
        columns(plan.lanesSlide ? p.left : p.right) {}

  llvm::LogicalResult emitChunk(Value chunk);

private:
  /// What is staged as pairs: of each dimension so many positions, from which
  /// on and how far apart, to `position` on, of so many elements each.
  struct Positions {
    llvm::SmallVector<int64_t> counts, first, steps;
    int64_t position = 0, elements;
  };

  int64_t tapsOfSums() const { return p.extentOf(p.taps) / plan.tapsPerRow; }
  llvm::ArrayRef<unsigned> outerTaps() const {
    return llvm::ArrayRef(p.taps).drop_back(plan.tapsPerRow > 1);
  }

  llvm::LogicalResult addSums(size_t level);
  mlir::FailureOr<Indices> startOf(const Factor &factor);
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

  bool storesVectors() const;
  llvm::LogicalResult store();
  llvm::LogicalResult storeVectors();
  llvm::LogicalResult storeLine(Value line, Value firstColumn);
  llvm::LogicalResult storeElements();
  llvm::LogicalResult eachTap(size_t level, Value plane, Value row, Body body);

  const OuterProducts &p;
  const OuterProductsPlan &plan;
  int64_t vectors;
  const Factor &rows, &columns;

  Indices dims; // Of the loops, at the code being emitted.
  Slab slidingSlab, plainSlab;
  Value rowCount, columnCount; // Of the chunk.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_OUTERPRODUCTS_OUTERPRODUCTSEMIT_H
