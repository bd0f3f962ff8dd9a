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

/// Where the current block of sums begins in a factor.
FailureOr<Indices> OuterProductsEmitter::startOf(const Factor &factor) {
  Indices start = dims;
  for (unsigned tap : p.taps)
    start[tap].base = scalar.index(0);
  return scalar.apply(factor.map, start);
}

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
// Results
//===----------------------------------------------------------------------===//

/// Runs `body` for all taps from loop `level` on, which are `plane` before,
/// with the place of the sums of `row`.
LogicalResult OuterProductsEmitter::eachTap(size_t level, Value plane,
                                            Value row, Body body) {
  constexpr int64_t kUnrolled = 8;
  if (level == p.taps.size()) {
    Value sumsAt = scalar.mul(plane, plan.paddedRows * plan.paddedLanes);
    return body(scalar.add(sumsAt, scalar.mul(row, plan.paddedLanes)));
  }
  unsigned dim = p.taps[level];
  int64_t extent = p.extents[dim];
  bool isRow = level >= outerTaps().size();
  auto withTap = [&](Value tap) {
    dims[dim].base = tap;
    if (isRow)
      return eachTap(
          level + 1, plane,
          scalar.add(row, scalar.mul(tap, p.extents[rows.loops.front()])),
          body);
    return eachTap(level + 1, scalar.add(scalar.mul(plane, extent), tap), row,
                   body);
  };
  // Neighbours in memory, if the results end with the taps.
  if (extent > kUnrolled || storesVectors())
    return loop(extent, 1, withTap);
  for (int64_t tap = 0; tap < extent; ++tap)
    if (failed(withTap(scalar.index(tap))))
      return failure();
  return success();
}

/// Results along the lanes, from the sums at `line` on. Those in panels have
/// zeros for what is left of the last one, for kernels that go through all of
/// it.
LogicalResult OuterProductsEmitter::storeLine(Value line, Value firstColumn) {
  auto goTo = [&](Value column) {
    dims[columns.loops.front()] = {scalar.add(firstColumn, column), 1, lanes};
    return scalar.add(line, column);
  };
  Value whole = wholeVectors(columnCount, lanes);
  auto storeWhole = [&](Value column) {
    Value at = goTo(column);
    return finish(p, dims,
                  vector::LoadOp::create(b, loc, vectorType(), sums, at));
  };
  if (failed(loop(scalar.index(0), whole, lanes, storeWhole)))
    return failure();
  std::optional<int64_t> all = columnsOfPanels(p.result);
  Value end = columnCount;
  if (all) {
    Value left =
        sub(scalar.index(p.extents[columns.loops.front()]), firstColumn);
    Value isLast = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                                 left, columnCount);
    end = b.createOrFold<arith::SelectOp>(
        loc, isLast, sub(scalar.index(*all), firstColumn), columnCount);
  }
  Value zero = zeroVector();
  return loop(whole, end, lanes, [&](Value column) {
    Value count = sub(columnCount, minimum(column, columnCount));
    Value mask = firstLanes(b, loc, count, lanes), at = goTo(column);
    Value sum = vector::MaskedLoadOp::create(b, loc, vectorType(), sums,
                                             ValueRange(at), mask, zero);
    return finish(p, dims, sum, all ? Value() : mask);
  });
}

/// Whether results are contiguous along the lanes.
bool OuterProductsEmitter::storesVectors() const {
  return isLast(p.output, columns.loops.front());
}

LogicalResult OuterProductsEmitter::storeVectors() {
  Value firstRow = dims[rows.loops.front()].base,
        firstColumn = dims[columns.loops.front()].base;
  return eachTap(0, scalar.index(0), scalar.index(0), [&](Value sumsAt) {
    return loop(scalar.index(0), rowCount, 1, [&](Value row) {
      dims[rows.loops.front()].base = scalar.add(firstRow, row);
      Value line = scalar.add(sumsAt, scalar.mul(row, plan.paddedLanes));
      return storeLine(line, firstColumn);
    });
  });
}

/// One element after the other, in the order in which the results lie.
LogicalResult OuterProductsEmitter::storeElements() {
  Value firstRow = dims[rows.loops.front()].base,
        firstColumn = dims[columns.loops.front()].base;
  auto eachRow = [&](Body body) {
    return loop(scalar.index(0), rowCount, 1, [&](Value row) {
      dims[rows.loops.front()].base = scalar.add(firstRow, row);
      return body(row);
    });
  };
  auto eachColumn = [&](Body body) {
    return loop(scalar.index(0), columnCount, 1, [&](Value column) {
      dims[columns.loops.front()].base = scalar.add(firstColumn, column);
      return body(column);
    });
  };
  auto storeAt = [&](Value row, Value column) {
    return eachTap(0, scalar.index(0), row, [&](Value sumsAt) {
      Value at = scalar.add(sumsAt, column);
      return finish(p, dims, memref::LoadOp::create(b, loc, sums, at));
    });
  };
  auto position = [&](const Factor &factor) {
    return *p.output.getResultPosition(
        getAffineDimExpr(factor.loops.front(), b.getContext()));
  };
  if (position(rows) < position(columns))
    return eachRow([&](Value row) {
      return eachColumn([&](Value column) { return storeAt(row, column); });
    });
  return eachColumn([&](Value column) {
    return eachRow([&](Value row) { return storeAt(row, column); });
  });
}

LogicalResult OuterProductsEmitter::store() {
  return storesVectors() ? storeVectors() : storeElements();
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

LogicalResult OuterProductsEmitter::emitChunk(Value chunk) {
  dims.assign(p.extents.size(), {scalar.index(0), 0, 1});
  Value rest = chunk;
  int64_t rowsPerBlock =
      plan.tapsPerRow > 1 ? p.extents[rows.loops.front()] : plan.rowsPerBlock;
  auto takeBlock = [&](const Factor &factor, int64_t blocks, int64_t size) {
    Value start = scalar.mul(scalar.takeDigit(rest, blocks), size);
    dims[factor.loops.front()].base = start;
    return minimum(sub(scalar.index(p.extents[factor.loops.front()]), start),
                   scalar.index(size));
  };
  columnCount = takeBlock(columns, plan.laneBlocks, plan.lanesPerBlock);
  rowCount = takeBlock(rows, plan.rowBlocks, rowsPerBlock);
  for (unsigned dim : llvm::reverse(p.batch))
    dims[dim].base = scalar.takeDigit(rest, p.extents[dim]);

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
  return failed(addSums(0)) ? failure() : store();
}

LogicalResult OuterProductsStrategy::emit(EmittedKernel &kernel,
                                          const OuterProducts &products,
                                          const OuterProductsPlan &plan,
                                          const Target &target) {
  OpBuilder b = kernel.builder();
  Value chunk = kernel.loopOverUnits(b, plan.chunks, 1);
  auto inputs = kernel.inputs();
  return OuterProductsEmitter(kernel, products, plan, target, b, inputs)
      .emitChunk(chunk);
}

} // namespace tinh::cpu
