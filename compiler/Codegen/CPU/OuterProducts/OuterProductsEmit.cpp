//===- OuterProductsEmit.cpp - Sums of outer products -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk computes a block of rows by lanes for all taps. Their sums lie in
// scratch memory while, some of the summed indices after the other, both
// factors' parts are copied there, too, without padding and as close as a tile
// reads them. Register tiles take their sums up, add the products of all these
// indices and put them back. In the end what follows is computed from the sums.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts/OuterProductsEmit.h"

#include "compiler/Codegen/Kernel/Forms/Product.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Copies what the current block of sums reads of a factor: `count` elements of
/// its last dimension.
LogicalResult OuterProductsEmitter::stageFactor(const Factor &factor,
                                                Value count) {
  auto from = startOf(factor);
  if (failed(from))
    return failure();
  return stage(factor.value, slabOf(factor), *from, count);
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

/// The sums over the loops from `level` on.
LogicalResult OuterProductsEmitter::addSums(size_t level) {
  unsigned dim = p.depth[level];
  int64_t extent = p.extents[dim];
  if (level < plan.level)
    return loop(extent, 1, [&](Value iv) {
      dims[dim].base = iv;
      return addSums(level + 1);
    });
  return loop(extent, plan.sumsPerBlock, [&](Value iv) {
    dims[dim].base = iv;
    for (unsigned inner : ArrayRef(p.depth).drop_front(level + 1))
      dims[inner].base = scalar.index(0);
    if (plan.usesAmx())
      return failed(stageFactors()) ? failure() : multiplyTiles();
    if (failed(stageFactor(rows, rowCount)) ||
        failed(stageFactor(columns, columnCount)))
      return failure();
    return multiplyBlock(minimum(sub(scalar.index(extent), iv),
                                 scalar.index(plan.sumsPerBlock)));
  });
}

/// All tiles of the chunk, for all taps.
LogicalResult OuterProductsEmitter::multiplyBlock(Value sumsEnd) {
  int64_t plane = plan.paddedRows * plan.paddedLanes;
  std::function<LogicalResult(size_t, Value, Value)> nest =
      [&](size_t level, Value slidingAt, Value tap) -> LogicalResult {
    if (level < outerTaps().size()) {
      unsigned dim = outerTaps()[level];
      int64_t distance = step(p.left, slabOf(p.left).buffer, dim);
      return loop(p.extents[dim], 1, [&](Value iv) {
        return nest(level + 1, scalar.add(slidingAt, scalar.mul(iv, distance)),
                    scalar.add(scalar.mul(tap, p.extents[dim]), iv));
      });
    }
    return loop(plan.paddedLanes, vectors * lanes, [&](Value column) {
      return loop(plan.paddedRows, plan.tileRows, [&](Value row) {
        return emitTile(slidingAt, scalar.mul(tap, plane), row, column,
                        sumsEnd);
      });
    });
  };
  return nest(0, scalar.index(0), scalar.index(0));
}

LogicalResult OuterProductsEmitter::emitTile(Value slidingAt, Value sumsAt,
                                             Value row, Value column,
                                             Value sumsEnd) {
  sumsAt =
      scalar.add(sumsAt, scalar.add(scalar.mul(row, plan.paddedLanes), column));
  auto at = [&](int64_t r, int64_t v) {
    return scalar.add(sumsAt, scalar.index(r * plan.paddedLanes + v * lanes));
  };
  Values state;
  for (int64_t r = 0; r < plan.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      state.push_back(
          vector::LoadOp::create(b, loc, vectorType(), sums, at(r, v)));
  Value rowsAt = plan.lanesSlide ? row : scalar.add(slidingAt, row);
  Value columnsAt = plan.lanesSlide ? scalar.add(slidingAt, column) : column;
  auto added = multiply(plan.level, rowsAt, columnsAt, sumsEnd, state);
  if (failed(added))
    return failure();
  for (int64_t r = 0; r < plan.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      vector::StoreOp::create(b, loc, (*added)[r * vectors + v], sums,
                              at(r, v));
  return success();
}

/// Adds the products over the sums from `level` on to the tile in `state`.
FailureOr<SmallVector<Value>>
OuterProductsEmitter::multiply(size_t level, Value rowsAt, Value columnsAt,
                               Value sumsEnd, ValueRange state) {
  unsigned dim = p.depth[level];
  int64_t rowStep = step(rows, slabOf(rows).buffer, dim),
          columnStep = step(columns, slabOf(columns).buffer, dim);
  Value end = level == plan.level ? sumsEnd : scalar.index(p.extents[dim]);
  bool isInner = level + 1 == p.depth.size();
  return buildLoop(
      b, loc, scalar.index(0), end, 1, state,
      [&](Value iv, ValueRange values) -> FailureOr<Values> {
        Value rowAt = scalar.add(rowsAt, scalar.mul(iv, rowStep));
        Value columnAt = scalar.add(columnsAt, scalar.mul(iv, columnStep));
        if (!isInner)
          return multiply(level + 1, rowAt, columnAt, sumsEnd, values);
        Values loaded, elements, sums(values);
        for (int64_t v = 0; v < vectors; ++v)
          loaded.push_back(vector::LoadOp::create(
              b, loc, vectorType(), slabOf(columns).buffer.memref,
              scalar.add(columnAt, scalar.index(v * lanes))));
        for (int64_t r = 0; r < plan.tileRows; ++r)
          elements.push_back(scalar.add(rowAt, scalar.index(r)));
        multiplyTile(b, loc, slabOf(rows).buffer.memref, elements, loaded,
                     sums);
        return sums;
      });
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

LogicalResult OuterProductsEmitter::emitChunk(Value chunk) {
  startChunk(chunk);
  auto slab = [&](int64_t offset, ArrayRef<int64_t> shape, Type type) {
    return Slab{kernel.scratchBuffer(b, offset, shape, type), shape};
  };
  if (plan.usesAmx()) {
    Type type = b.getBF16Type();
    slidingSlab = slab(plan.slidingOffset,
                       {plan.paddedRows * plan.pairs.rowPositions}, type);
    plainSlab =
        slab(plan.plainOffset, {plan.pairs.depth * plan.paddedLanes}, type);
    clearPairs();
  } else {
    slidingSlab = slab(plan.slidingOffset, plan.slidingSlab, element);
    plainSlab = slab(plan.plainOffset, plan.plainSlab, element);
  }
  clearSums(plan.sumsOffset, tapsOfSums() * plan.paddedRows * plan.paddedLanes);
  return failed(addSums(0)) ? failure() : storeResults();
}

LogicalResult OuterProductsStrategy::emit(EmittedKernel &kernel,
                                          const OuterProducts &products,
                                          const OuterProductsPlan &plan,
                                          const Target &target) {
  return emitChunks<OuterProductsEmitter>(kernel, products, plan, target);
}

} // namespace tinh::cpu
