//===- TapSums.cpp - Results of sums for taps -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts/TapSums.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

void TapSumsEmitter::startChunk(Value chunk) {
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
}

FailureOr<Indices> TapSumsEmitter::startOf(const Factor &factor) {
  Indices start = dims;
  for (unsigned tap : p.taps)
    start[tap].base = scalar.index(0);
  return scalar.apply(factor.map, start);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Runs `body` for all taps from loop `level` on, which are `plane` before,
/// with the place of the sums of `row`.
LogicalResult TapSumsEmitter::eachTap(size_t level, Value plane, Value row,
                                      Body body) {
  constexpr int64_t kUnrolled = 8;
  if (level == p.taps.size()) {
    Value sumsAt = scalar.mul(plane, plan.tapStride);
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
LogicalResult TapSumsEmitter::storeLine(Value line, Value firstColumn) {
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
bool TapSumsEmitter::storesVectors() const {
  return isLast(p.output, columns.loops.front());
}

LogicalResult TapSumsEmitter::storeVectors() {
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
LogicalResult TapSumsEmitter::storeElements() {
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

LogicalResult TapSumsEmitter::storeResults() {
  return storesVectors() ? storeVectors() : storeElements();
}

} // namespace tinh::cpu
