//===- OuterProductsEmitAmx.cpp - Outer products in tiles of AMX ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tiles multiply rows, along which lie the positions that are summed over, by
// pairs of positions of neighbouring columns. Both factors have their positions
// the other way, so they are staged as pairs, and those of the sliding one are
// turned then: a row has all positions of a channel, and each tap begins at
// some distance in it. Positions are the same in both slabs (`PairSlabs`).
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProductsEmit.h"
#include "compiler/Codegen/CPU/Transpose/Transpose.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cpu {

Value OuterProductsEmitter::pairsMemory(int64_t offset, int64_t size,
                                        Type type) {
  return kernel.scratchBuffer(b, offset, size, type).memref;
}

//===----------------------------------------------------------------------===//
// Slabs
//===----------------------------------------------------------------------===//

/// Zeros in all slabs. What no block of sums writes stays so: the positions
/// between lines, and behind the last one.
void OuterProductsEmitter::clearPairs() {
  int64_t size = plan.sumsOffset / p.elementBytes();
  Value memory = pairsMemory(0, size, element), zero = zeroVector();
  (void)loop(size, lanes, [&](Value at) {
    vector::StoreOp::create(b, loc, zero, memory, at);
    return success();
  });
}

/// Stores elements of two positions, the second one of which may be none, with
/// those of one between those of the other.
LogicalResult OuterProductsEmitter::stagePair(const Factor &factor,
                                              Value memory, Value to,
                                              const Indices &first,
                                              const Indices *second,
                                              Value count) {
  auto type = VectorType::get({lanes}, b.getBF16Type());
  SmallVector<int64_t> between;
  for (int64_t lane = 0; lane < lanes; ++lane)
    between.append({lane, lanes + lane});
  auto copy = [&](Value iv, Value mask) -> LogicalResult {
    Values pair;
    for (const Indices *position : {&first, second}) {
      if (!position) {
        pair.push_back(
            arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type)));
        continue;
      }
      Pull pull(b, loc, lanes);
      pull.buffers = buffers;
      pull.mask = mask;
      Indices at = *position;
      at.back() = {scalar.add(at.back().base, iv), 1,
                   std::gcd(at.back().alignment, lanes)};
      auto value = pull.at(factor.value, at);
      if (failed(value))
        return failure();
      pair.push_back(pull.asVector(*value));
    }
    Value both = vector::ShuffleOp::create(b, loc, pair[0], pair[1], between);
    vector::StoreOp::create(b, loc, both, memory,
                            scalar.add(to, scalar.mul(iv, 2)));
    return success();
  };
  Value whole = wholeVectors(count, lanes);
  if (failed(loop(scalar.index(0), whole, lanes,
                  [&](Value iv) { return copy(iv, {}); })))
    return failure();
  return loop(whole, count, lanes, [&](Value iv) {
    return copy(iv, firstLanes(b, loc, sub(count, iv), lanes));
  });
}

/// The pairs of a line, from `position` on.
LogicalResult OuterProductsEmitter::stageLine(const Factor &factor,
                                              Value memory,
                                              const Positions &positions,
                                              Indices at, Value position,
                                              Value count) {
  size_t dim = positions.counts.size() - 1;
  int64_t all = positions.counts[dim], step = positions.steps[dim];
  Value from = scalar.add(at[dim].base, scalar.index(positions.first[dim]));
  auto stage = [&](Value iv, bool hasSecond) {
    Indices first = at, second = at;
    first[dim].base = scalar.add(from, scalar.mul(iv, step));
    second[dim].base = scalar.add(first[dim].base, scalar.index(step));
    Value to = scalar.mul(scalar.add(position, iv), positions.elements);
    return stagePair(factor, memory, to, first, hasSecond ? &second : nullptr,
                     count);
  };
  if (failed(loop(all / 2 * 2, 2, [&](Value iv) { return stage(iv, true); })))
    return failure();
  return all % 2 ? stage(scalar.index(all - 1), false) : success();
}

LogicalResult OuterProductsEmitter::stagePairs(const Factor &factor,
                                               Value memory,
                                               const Positions &positions,
                                               Value count) {
  auto from = startOf(factor);
  if (failed(from))
    return failure();
  Indices at = *from;
  std::function<LogicalResult(size_t, Value)> nest =
      [&](size_t dim, Value position) -> LogicalResult {
    if (dim + 1 == positions.counts.size())
      return stageLine(factor, memory, positions, at, position, count);
    return loop(positions.counts[dim], 1, [&](Value iv) {
      Value index = scalar.add(scalar.mul(iv, positions.steps[dim]),
                               scalar.index(positions.first[dim]));
      at[dim].base = scalar.add((*from)[dim].base, index);
      return nest(dim + 1, scalar.add(position,
                                      scalar.mul(iv, plan.pairs.pitches[dim])));
    });
  };
  return nest(0, scalar.index(positions.position));
}

/// Brings what the current block of sums reads of both factors to pairs.
LogicalResult OuterProductsEmitter::stageFactors() {
  const PairSlabs &pairs = plan.pairs;
  Positions plain;
  plain.counts = pairs.ranges;
  plain.first.assign(pairs.ranges.size(), 0);
  plain.steps.assign(pairs.ranges.size(), 1);
  plain.elements = plan.paddedLanes;
  if (failed(stagePairs(columns, plainSlab.buffer.memref, plain, columnCount)))
    return failure();
  Value unturned =
      pairsMemory(plan.unturnedOffset, pairs.rowPositions * plan.paddedRows,
                  b.getBF16Type());
  for (int64_t plane = 0; plane < pairs.planes; ++plane) {
    Positions sliding;
    sliding.steps = pairs.steps;
    sliding.first = delinearize(plane, computeStrides(pairs.steps));
    for (auto [i, step] : llvm::enumerate(pairs.steps))
      sliding.counts.push_back(
          llvm::divideCeil(plan.slidingSlab[i] - sliding.first[i], step));
    sliding.position = plane * pairs.planeSize;
    sliding.elements = plan.paddedRows;
    if (failed(stagePairs(rows, unturned, sliding, rowCount)))
      return failure();
  }
  turnRows();
  return success();
}

/// Puts all positions of a row side by side, a pair of them moved as one.
void OuterProductsEmitter::turnRows() {
  constexpr int64_t kSide = 16;
  const PairSlabs &pairs = plan.pairs;
  int64_t perRow = pairs.rowPositions / 2, size = perRow * plan.paddedRows;
  Squares squares;
  squares.source = pairsMemory(plan.unturnedOffset, size, b.getI32Type());
  squares.result = pairsMemory(plan.slidingOffset, size, b.getI32Type());
  squares.fromStep = b.getIndexAttr(plan.paddedRows);
  squares.toStep = b.getIndexAttr(perRow);
  squares.type = VectorType::get({kSide}, b.getI32Type());
  squares.element = b.getI32Type();
  int64_t staged = llvm::divideCeil(pairs.planes * pairs.planeSize, 2);
  (void)loop(plan.paddedRows, kSide, [&](Value row) {
    return loop(llvm::alignTo(staged, kSide), kSide, [&](Value pair) {
      emitSquare(b, loc, squares,
                 scalar.add(scalar.mul(pair, plan.paddedRows), row),
                 scalar.add(scalar.mul(row, perRow), pair), kSide, kSide);
      return success();
    });
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Where a tap's positions begin in a row.
Value OuterProductsEmitter::tapAt(ArrayRef<Value> taps) {
  const PairSlabs &pairs = plan.pairs;
  SmallVector<int64_t> planes = computeStrides(pairs.steps);
  Value at = scalar.index(0);
  for (auto [i, step] : llvm::enumerate(pairs.steps)) {
    Value moved = scalar.index(0);
    for (auto [tap, iv] : llvm::zip(p.taps, taps))
      moved = scalar.add(
          moved, scalar.mul(iv, loopCoefficient(p.left.map.getResult(i), tap,
                                                p.extents.size())));
    if (step > 1) {
      Value by = scalar.index(step);
      Value plane = b.createOrFold<arith::RemUIOp>(loc, moved, by);
      at = scalar.add(at, scalar.mul(plane, planes[i] * pairs.planeSize));
      moved = b.createOrFold<arith::DivUIOp>(loc, moved, by);
    }
    at = scalar.add(at, scalar.mul(moved, pairs.pitches[i]));
  }
  return at;
}

/// Adds the products of the block of sums to those of a tile, for one tap.
void OuterProductsEmitter::multiplyTileOfTap(Value tapAt, Value sumsAt,
                                             Value row, Value column) {
  AmxBlock block;
  block.left = slidingSlab.buffer.memref;
  block.leftStride = plan.pairs.rowPositions;
  block.right = plainSlab.buffer.memref;
  block.columns = plan.paddedLanes;
  block.panelStride = 2 * kAmxColumns;
  block.rows = plan.tileRows;
  block.panels = plan.tileColumns / kAmxColumns;
  block.sumStride = plan.paddedLanes;
  AmxEmitter tiles(b, loc, block);
  Value rowAt = scalar.add(scalar.mul(row, block.leftStride), tapAt);
  auto added = tiles.multiply(rowAt, scalar.mul(column, 2),
                              plan.pairs.depth / block.stepElements(),
                              tiles.loadSums(sums, sumsAt));
  tiles.storeSums(added, sums, sumsAt);
}

/// All tiles of the chunk, each for all taps, which read the same rows.
LogicalResult OuterProductsEmitter::multiplyTiles() {
  int64_t plane = plan.paddedRows * plan.paddedLanes;
  return loop(plan.paddedLanes, plan.tileColumns, [&](Value column) {
    return loop(plan.paddedRows, plan.tileRows, [&](Value row) {
      Value tile = scalar.add(scalar.mul(row, plan.paddedLanes), column);
      Values taps;
      std::function<LogicalResult(Value)> nest = [&](Value tap) {
        if (taps.size() == p.taps.size()) {
          Value sumsAt = scalar.add(scalar.mul(tap, plane), tile);
          multiplyTileOfTap(tapAt(taps), sumsAt, row, column);
          return success();
        }
        int64_t extent = p.extents[p.taps[taps.size()]];
        return loop(extent, 1, [&](Value iv) {
          taps.push_back(iv);
          LogicalResult done = nest(scalar.add(scalar.mul(tap, extent), iv));
          taps.pop_back();
          return done;
        });
      };
      return nest(scalar.index(0));
    });
  });
}

} // namespace tinh::cpu
