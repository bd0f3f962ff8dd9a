//===- WinogradGradientEmit.cpp - Winograd gradients ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk computes a block of rows by lanes. Its sums of each number are in
// scratch memory while, block by block of tiles, both factors' parts are copied
// there, too, become their numbers, and are multiplied, number by number. In
// the end the sums become those of the taps, in their place.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts/TapSums.h"
#include "compiler/Codegen/CPU/Winograd/KnownMatrix.h"
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class WinogradGradientEmitter : TapSumsEmitter {
public:
  WinogradGradientEmitter(EmittedKernel &kernel, const WinogradGradient &g,
                          const WinogradGradientPlan &plan,
                          const Target &target, OpBuilder &b,
                          const llvm::DenseMap<Value, Buffer> &buffers)
      : TapSumsEmitter(kernel, b, g, plan, target, buffers), g(g), plan(plan),
        t(*plan.transform), vectors(plan.tileColumns / lanes) {}

  LogicalResult emitChunk(Value chunk);

private:
  bool slides(const Factor &factor) const { return &factor == &p.left; }
  Value countOf(const Factor &factor) const {
    return &factor == &rows ? rowCount : columnCount;
  }

  LogicalResult addSums(size_t level);
  LogicalResult addBlock(Value count);

  // Factors.
  LogicalResult stageFactor(const Factor &factor, Value count);
  LogicalResult stageElements(const Factor &factor, Slab &slab,
                              const Indices &at, Value isThere);
  LogicalResult transformFactor(const Factor &factor, Value count);
  LogicalResult transformTile(const Factor &factor, Value from, Value tile);

  // Sums.
  LogicalResult multiplyNumbers(Value tiles);
  LogicalResult multiplyTile(Value number, Value row, Value column,
                             Value tiles);
  LogicalResult transformSums();

  const WinogradGradient &g;
  const WinogradGradientPlan &plan;
  const WinogradTransform &t;
  int64_t vectors; // Of a register tile's columns.
  Slab slidingSlab, plainSlab;
  Value rowNumbers, laneNumbers; // Scratch memory.
};

} // namespace

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Copies what `count` iterations of the plan's level read of a factor, with
/// zeros where there is nothing.
LogicalResult WinogradGradientEmitter::stageFactor(const Factor &factor,
                                                   Value count) {
  Slab &slab = slides(factor) ? slidingSlab : plainSlab;
  auto from = startOf(factor);
  if (failed(from))
    return failure();
  slab.buffer.origin.clear();
  for (const LaneIndex &index : *from)
    slab.buffer.origin.push_back(index.base);
  auto type = cast<RankedTensorType>(factor.value.getType());
  unsigned loopOfLevel = p.depth[plan.level];
  Indices at = *from;
  std::function<LogicalResult(size_t, Value)> nest =
      [&](size_t dim, Value isThere) -> LogicalResult {
    if (dim + 1 == from->size())
      return stageElements(factor, slab, at, isThere);
    AffineExpr expr = factor.map.getResult(dim);
    Value end = scalar.index(slab.shape[dim]);
    if (expr.isFunctionOfDim(loopOfLevel)) {
      int64_t unit = plan.unitOf(g, loopOfLevel);
      int64_t beside = unit > 1 && slides(factor) ? t.side() - unit : 0;
      end = scalar.add(scalar.mul(count, unit), scalar.index(beside));
    }
    bool isPartial = llvm::any_of(g.positions, [&](unsigned loop) {
      return expr.isFunctionOfDim(loop) && p.extents[loop] % t.outputs != 0;
    });
    return loop(scalar.index(0), end, 1, [&](Value iv) {
      at[dim] = {scalar.add((*from)[dim].base, iv), 0, 1};
      Value here = isPartial
                       ? scalar.isBelow(at[dim].base, type.getDimSize(dim))
                       : Value();
      return nest(dim + 1, scalar.both(isThere, here));
    });
  };
  return nest(0, {});
}

/// Copies the elements of the last dimension from `at` on, or zeros if they are
/// not there.
LogicalResult WinogradGradientEmitter::stageElements(const Factor &factor,
                                                     Slab &slab,
                                                     const Indices &at,
                                                     Value isThere) {
  auto copy = [&] {
    return stageLine(factor.value, slab.buffer, at, countOf(factor));
  };
  if (!isThere)
    return copy();
  if (failed(buildIf(b, loc, isThere, copy)))
    return failure();
  return buildIf(b, loc, scalar.negate(isThere), [&] {
    return loop(scalar.index(0), countOf(factor), lanes, [&](Value iv) {
      Pull pull(b, loc, lanes);
      Indices to = at;
      to.back() = {scalar.add(at.back().base, iv), 1, 1};
      return pull.store({zeroVector(), false, {}}, slab.buffer, to);
    });
  });
}

/// Makes numbers of the tiles of `count` iterations of the plan's level.
LogicalResult WinogradGradientEmitter::transformFactor(const Factor &factor,
                                                       Value count) {
  const Buffer &slab = (slides(factor) ? slidingSlab : plainSlab).buffer;
  std::function<LogicalResult(size_t, Value, Value)> nest =
      [&](size_t level, Value from, Value tile) -> LogicalResult {
    if (level == p.depth.size())
      return transformTile(factor, from, tile);
    unsigned dim = p.depth[level];
    int64_t tiles = plan.tilesOf(g, dim);
    int64_t distance = step(factor, slab, dim) * plan.unitOf(g, dim);
    Value end = level == plan.level ? count : scalar.index(tiles);
    return loop(scalar.index(0), end, 1, [&](Value iv) {
      return nest(level + 1, scalar.add(from, scalar.mul(iv, distance)),
                  scalar.add(scalar.mul(tile, tiles), iv));
    });
  };
  return nest(plan.level, scalar.index(0), scalar.index(0));
}

LogicalResult WinogradGradientEmitter::transformTile(const Factor &factor,
                                                     Value from, Value tile) {
  const Buffer &slab = (slides(factor) ? slidingSlab : plainSlab).buffer;
  bool ofRows = &factor == &rows;
  Value to = ofRows ? rowNumbers : laneNumbers;
  const auto &numbers = ofRows ? plan.rows : plan.lanes;
  Matrix matrix = slides(factor) ? t.input : t.output.transposed();
  int64_t down = step(factor, slab, g.positions[0]),
          across = step(factor, slab, g.positions[1]);
  return loop(scalar.index(0), countOf(factor), lanes, [&](Value iv) {
    Values elements;
    Value first = scalar.add(from, iv);
    for (int64_t y = 0; y < matrix.columns; ++y)
      for (int64_t x = 0; x < matrix.columns; ++x)
        elements.push_back(
            load(slab.memref,
                 scalar.add(first, scalar.index(y * down + x * across))));
    Value at = scalar.add(scalar.mul(tile, numbers.tileStride), iv);
    for (auto [i, value] :
         llvm::enumerate(multiplyBothSides(b, loc, matrix, elements)))
      store(value, to, scalar.add(at, scalar.index(i * numbers.numberStride)));
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

LogicalResult WinogradGradientEmitter::addSums(size_t level) {
  unsigned dim = p.depth[level];
  int64_t tiles = plan.tilesOf(g, dim), unit = plan.unitOf(g, dim);
  bool isOuter = level < plan.level;
  return loop(tiles, isOuter ? 1 : plan.sumsPerBlock, [&](Value iv) {
    dims[dim].base = scalar.mul(iv, unit);
    if (isOuter)
      return addSums(level + 1);
    for (unsigned inner : ArrayRef(p.depth).drop_front(level + 1))
      dims[inner].base = scalar.index(0);
    return addBlock(
        minimum(sub(scalar.index(tiles), iv), scalar.index(plan.sumsPerBlock)));
  });
}

/// Adds the products of `count` iterations of the plan's level.
LogicalResult WinogradGradientEmitter::addBlock(Value count) {
  for (const Factor *factor : {&p.left, &p.right})
    if (failed(stageFactor(*factor, count)) ||
        failed(transformFactor(*factor, count)))
      return failure();
  return multiplyNumbers(scalar.mul(count, plan.tiles / plan.sumsPerBlock));
}

LogicalResult WinogradGradientEmitter::multiplyNumbers(Value tiles) {
  return loop(t.products(), 1, [&](Value number) {
    return loop(plan.paddedLanes, plan.tileColumns, [&](Value column) {
      return loop(plan.paddedRows, plan.tileRows, [&](Value row) {
        return multiplyTile(number, row, column, tiles);
      });
    });
  });
}

/// Adds the products of so many tiles to a register tile of sums.
LogicalResult WinogradGradientEmitter::multiplyTile(Value number, Value row,
                                                    Value column, Value tiles) {
  Value sumsAt =
      scalar.add(scalar.mul(number, plan.tapStride),
                 scalar.add(scalar.mul(row, plan.paddedLanes), column));
  auto at = [&](int64_t r, int64_t v) {
    return scalar.add(sumsAt, scalar.index(r * plan.paddedLanes + v * lanes));
  };
  Values state;
  for (int64_t r = 0; r < plan.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      state.push_back(load(sums, at(r, v)));
  Value firstRow = scalar.add(scalar.mul(number, plan.rows.numberStride), row),
        firstColumn =
            scalar.add(scalar.mul(number, plan.lanes.numberStride), column);
  auto added = buildLoop(
      b, loc, scalar.index(0), tiles, 1, state,
      [&](Value tile, ValueRange values) -> FailureOr<Values> {
        Values columns, rowAt, sums(values);
        Value columnAt =
            scalar.add(firstColumn, scalar.mul(tile, plan.lanes.tileStride));
        Value element =
            scalar.add(firstRow, scalar.mul(tile, plan.rows.tileStride));
        for (int64_t v = 0; v < vectors; ++v)
          columns.push_back(
              load(laneNumbers, scalar.add(columnAt, scalar.index(v * lanes))));
        for (int64_t r = 0; r < plan.tileRows; ++r)
          rowAt.push_back(scalar.add(element, scalar.index(r)));
        cpu::multiplyTile(b, loc, rowNumbers, rowAt, columns, sums);
        return sums;
      });
  if (failed(added))
    return failure();
  for (int64_t r = 0; r < plan.tileRows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      store((*added)[r * vectors + v], sums, at(r, v));
  return success();
}

/// Makes the sums of the taps of those of the numbers, in place.
LogicalResult WinogradGradientEmitter::transformSums() {
  Matrix matrix = t.filter.transposed();
  return loop(scalar.index(0), rowCount, 1, [&](Value row) {
    Value line = scalar.mul(row, plan.paddedLanes);
    return loop(scalar.index(0), columnCount, lanes, [&](Value column) {
      auto at = [&](int64_t number) {
        return scalar.add(scalar.add(line, column),
                          scalar.index(number * plan.tapStride));
      };
      Values numbers;
      for (int64_t i = 0; i < t.products(); ++i)
        numbers.push_back(load(sums, at(i)));
      for (auto [i, tap] :
           llvm::enumerate(multiplyBothSides(b, loc, matrix, numbers)))
        store(tap, sums, at(i));
      return success();
    });
  });
}

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

LogicalResult WinogradGradientEmitter::emitChunk(Value chunk) {
  startChunk(chunk);
  auto slab = [&](int64_t offset, ArrayRef<int64_t> shape) {
    return Slab{kernel.scratchBuffer(b, offset, shape, element), shape};
  };
  slidingSlab = slab(plan.slidingOffset, plan.slidingSlab);
  plainSlab = slab(plan.plainOffset, plan.plainSlab);
  rowNumbers = scratch(plan.rows.offset, t.products() * plan.rows.numberStride);
  laneNumbers =
      scratch(plan.lanes.offset, t.products() * plan.lanes.numberStride);
  clearSums(plan.sumsOffset, t.products() * plan.tapStride);
  if (failed(addSums(0)) || failed(transformSums()))
    return failure();
  return storeResults();
}

LogicalResult WinogradGradientStrategy::emit(EmittedKernel &kernel,
                                             const WinogradGradient &g,
                                             const WinogradGradientPlan &plan,
                                             const Target &target) {
  return emitChunks<WinogradGradientEmitter>(kernel, g, plan, target);
}

} // namespace tinh::cpu
