//===- OuterProductsPlan.cpp - Cutting outer products -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

using namespace mlir;

namespace tinh::cpu {

/// Elements between neighbours of rows of so many elements: an odd number of
/// cache lines, so that rows do not meet in a few sets of the cache.
static int64_t rowStride(int64_t elements, int64_t elementBytes) {
  int64_t lines = llvm::divideCeil(elements * elementBytes, 64);
  return (lines | 1) * 64 / elementBytes;
}

/// Whether the elements of neighbouring taps of the last loop, and of all rows,
/// lie side by side in the sliding factor.
static bool mergesTaps(const OuterProducts &p) {
  unsigned rank = p.left.map.getNumResults();
  if (p.taps.empty() || rank < 2)
    return false;
  AffineExpr expr = p.left.map.getResult(rank - 2);
  return loopCoefficient(expr, p.taps.back(), p.extents.size()) == 1;
}

static void chooseLanes(const OuterProducts &p, const Target &target,
                        OuterProductsPlan &plan) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  auto fill = [&](const Factor &factor) {
    int64_t extent = p.extents[factor.loops.front()];
    return static_cast<double>(extent) / llvm::alignTo(extent, lanes);
  };
  AffineMap output = p.output;
  if (p.taps.empty() || isLast(output, p.right.loops.front()))
    plan.lanesSlide = isLast(output, p.left.loops.front());
  else // Results that end with a tap are stored one by one.
    plan.lanesSlide = isLast(output, p.left.loops.front()) ||
                      fill(p.left) >= 0.8 * fill(p.right);
  plan.tapsPerRow = 1;
  int64_t rows = p.extents[p.left.loops.front()];
  if (!plan.lanesSlide && mergesTaps(p) && rows < 16)
    plan.tapsPerRow = p.extents[p.taps.back()];
}

/// Blocks of rows and lanes: their sums stay in the second-level cache, with
/// room for the factors.
static void chooseBlocks(const OuterProducts &p, const Target &target,
                         int64_t enoughChunks, OuterProductsPlan &plan) {
  constexpr int64_t kSumsBytes = 192 << 10, kMost = 128, kLeastRows = 16;
  int64_t width = target.vectorBytes / p.elementBytes();
  const auto &ofLanes = plan.lanesSlide ? p.left : p.right;
  const auto &ofRows = plan.lanesSlide ? p.right : p.left;
  int64_t lanes = p.extents[ofLanes.loops.front()],
          rows = p.extents[ofRows.loops.front()] * plan.tapsPerRow;
  int64_t taps = p.extentOf(p.taps) / plan.tapsPerRow;
  int64_t vectors = std::min<int64_t>(2, llvm::divideCeil(lanes, width));
  int64_t panel = plan.tileColumns = vectors * width;
  int64_t mostLanes = kMost, mostRows = kMost;
  auto choose = [&] {
    plan.lanesPerBlock =
        std::min(lanes, static_cast<int64_t>(
                            llvm::alignTo(evenBlock(lanes, mostLanes), panel)));
    // Taps of a row are not divided.
    plan.rowsPerBlock = plan.tapsPerRow > 1 ? rows : evenBlock(rows, mostRows);
    plan.laneBlocks = llvm::divideCeil(lanes, plan.lanesPerBlock);
    plan.rowBlocks = llvm::divideCeil(rows, plan.rowsPerBlock);
    plan.chunks = p.extentOf(p.batch) * plan.laneBlocks * plan.rowBlocks;
    int64_t bytes =
        taps * plan.rowsPerBlock * plan.lanesPerBlock * p.elementBytes();
    double work = 2.0 * p.extentOf(p.depth) * taps * plan.rowsPerBlock *
                  plan.lanesPerBlock;
    return bytes <= kSumsBytes && (plan.chunks >= enoughChunks || work < 4e6);
  };
  while (!choose()) {
    if (mostRows >= mostLanes && mostRows > kLeastRows)
      mostRows /= 2;
    else if (mostLanes > panel)
      mostLanes /= 2;
    else if (mostRows > kLeastRows)
      mostRows /= 2;
    else
      break;
  }
  constexpr int64_t kMostTileRows = 14;
  int64_t held = (target.vectorRegisters - vectors - 1) / vectors;
  plan.tileRows =
      chooseTileRows(plan.rowsPerBlock, vectors, std::min(held, kMostTileRows),
                     /*isFull=*/true);
}

/// As much of the sums at a time as the caches have room for.
static void chooseSums(const OuterProducts &p, OuterProductsPlan &plan) {
  constexpr int64_t kPositions = 512;
  int64_t left = kPositions;
  plan.level = p.depth.size() - 1;
  while (plan.level > 0 && p.extents[p.depth[plan.level]] * 2 <= left)
    left /= p.extents[p.depth[plan.level--]];
  int64_t extent = p.extents[p.depth[plan.level]];
  plan.sumsPerBlock = evenBlock(extent, std::min(left, extent));
}

/// The part of a factor that one block of sums reads; `elements` of its own
/// dimension.
static SmallVector<int64_t> slabShape(const OuterProducts &p,
                                      const OuterProductsPlan &plan,
                                      const Factor &factor, int64_t elements) {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : factor.map.getResults().drop_back()) {
    int64_t extent = 1;
    for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
      int64_t range = llvm::is_contained(p.taps, loop) ? p.extents[loop] : 1;
      for (auto [level, sum] : llvm::enumerate(p.depth))
        if (sum == loop && level >= plan.level)
          range = level == plan.level ? plan.sumsPerBlock : p.extents[loop];
      extent += loopCoefficient(expr, loop, p.extents.size()) * (range - 1);
    }
    shape.push_back(extent);
  }
  shape.push_back(elements);
  return shape;
}

/// Fills in what follows from the decisions of `plan`.
static void follow(const OuterProducts &p, OuterProductsPlan &plan) {
  const auto &ofLanes = plan.lanesSlide ? p.left : p.right;
  const auto &ofRows = plan.lanesSlide ? p.right : p.left;
  plan.laneBlocks =
      llvm::divideCeil(p.extents[ofLanes.loops.front()], plan.lanesPerBlock);
  plan.rowBlocks = llvm::divideCeil(
      p.extents[ofRows.loops.front()] * plan.tapsPerRow, plan.rowsPerBlock);
  plan.chunks = p.extentOf(p.batch) * plan.laneBlocks * plan.rowBlocks;
  plan.paddedRows = llvm::alignTo(plan.rowsPerBlock, plan.tileRows);
  plan.paddedLanes = llvm::alignTo(plan.lanesPerBlock, plan.tileColumns);
  int64_t bytes = p.elementBytes();
  int64_t rows = rowStride(plan.paddedRows, bytes);
  int64_t lanes = rowStride(plan.paddedLanes, bytes);
  if (plan.tapsPerRow > 1) // Taps lie side by side.
    rows = p.extents[p.left.loops.front()];
  plan.slidingSlab = slabShape(p, plan, p.left, plan.lanesSlide ? lanes : rows);
  plan.plainSlab = slabShape(p, plan, p.right, plan.lanesSlide ? rows : lanes);
  auto slabBytes = [&](ArrayRef<int64_t> slab) {
    // Empty rows of the last tile read beyond it.
    return alignBytes((ShapedType::getNumElements(slab) + plan.paddedRows) *
                      bytes);
  };
  plan.slidingOffset = 0;
  plan.plainOffset = slabBytes(plan.slidingSlab);
  plan.sumsOffset = plan.plainOffset + slabBytes(plan.plainSlab);
  plan.scratch = alignBytes(plan.sumsOffset +
                            p.extentOf(p.taps) / plan.tapsPerRow *
                                plan.paddedRows * plan.paddedLanes * bytes);
}

OuterProductsPlan planOuterProducts(const OuterProducts &p,
                                    const Target &target,
                                    int64_t enoughChunks) {
  OuterProductsPlan plan;
  chooseLanes(p, target, plan);
  chooseBlocks(p, target, enoughChunks, plan);
  chooseSums(p, plan);
  follow(p, plan);
  return plan;
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

OuterProductsPlanAttr OuterProductsPlan::attribute(MLIRContext *context) const {
  auto list = [&](ArrayRef<int64_t> numbers) {
    return DenseI64ArrayAttr::get(context, numbers);
  };
  return OuterProductsPlanAttr::get(
      context, lanesSlide ? LanesOf::Sliding : LanesOf::Plain,
      list({tileRows, tileColumns}), tapsPerRow,
      list({rowsPerBlock, lanesPerBlock}), level, sumsPerBlock);
}

/// Whether the taps of a row lie side by side, and none is cut.
static LogicalResult checkTaps(const OuterProducts &p,
                               const OuterProductsPlan &plan,
                               EmitError emitError) {
  if (plan.tapsPerRow == 1)
    return success();
  if (plan.lanesSlide || !mergesTaps(p) ||
      plan.tapsPerRow != p.extents[p.taps.back()])
    return emitError() << "'taps' must be 1, or all taps of the last loop if "
                          "they lie side by side in the factor of the rows, "
                          "found "
                       << plan.tapsPerRow;
  int64_t rows = p.extents[p.left.loops.front()] * plan.tapsPerRow;
  return checkNumbers(
      emitError, {{"rows of block", plan.rowsPerBlock, within(rows, rows)}});
}

static LogicalResult checkPlan(const OuterProducts &p,
                               const OuterProductsPlan &plan,
                               EmitError emitError) {
  const auto &ofLanes = plan.lanesSlide ? p.left : p.right;
  const auto &ofRows = plan.lanesSlide ? p.right : p.left;
  int64_t rows =
      p.extents[ofRows.loops.front()] * std::max<int64_t>(plan.tapsPerRow, 1);
  int64_t lanes = p.extents[ofLanes.loops.front()];
  int64_t level = plan.level, levels = p.depth.size();
  if (failed(checkTaps(p, plan, emitError)) ||
      failed(checkNumbers(
          emitError,
          {{"rows of block", plan.rowsPerBlock, within(1, rows)},
           {"lanes of block", plan.lanesPerBlock, within(1, lanes)},
           {"rows of tile", plan.tileRows, within(1, plan.rowsPerBlock)},
           {"level", level, within(0, levels - 1)}})))
    return failure();
  if (plan.lanesPerBlock < lanes && plan.lanesPerBlock % plan.tileColumns)
    return emitError() << "'lanes of block' must be all " << lanes
                       << " or whole tiles of " << plan.tileColumns
                       << " columns, found " << plan.lanesPerBlock;
  int64_t sums = p.extents[p.depth[plan.level]];
  return checkNumbers(emitError,
                      {{"sums", plan.sumsPerBlock, within(1, sums)}});
}

/// Whether vectors of both factors can be copied.
static bool canStage(const OuterProducts &p, int64_t lanes) {
  LaneAnalysis analysis(p.kernel(), lanes);
  return llvm::all_of(ArrayRef{&p.left, &p.right}, [&](auto *factor) {
    return analysis.computes(
        factor->value, factor->map,
        analysis.indicesAlong(p.extents.size(), factor->loops.front()));
  });
}

SmallVector<OuterProductsPlanAttr>
OuterProductsStrategy::plans(const OuterProducts &p, const Target &target) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  if (!hasWholeVectors(p.result, lanes) || !canStage(p, lanes))
    return {};
  return {planOuterProducts(p, target).attribute(p.op->getContext())};
}

FailureOr<OuterProductsPlan>
OuterProductsStrategy::expand(const OuterProducts &p,
                              OuterProductsPlanAttr attribute,
                              const Target &target, EmitError emitError) {
  OuterProductsPlan plan;
  plan.lanesSlide = attribute.getLanes() == LanesOf::Sliding;
  plan.tapsPerRow = attribute.getTaps();
  plan.tileRows = attribute.getTileRows();
  plan.tileColumns = attribute.getTileColumns();
  plan.rowsPerBlock = attribute.getRowsPerBlock();
  plan.lanesPerBlock = attribute.getLanesPerBlock();
  plan.level = attribute.getLevel();
  plan.sumsPerBlock = attribute.getSums();
  if (failed(checkPlan(p, plan, emitError)) ||
      failed(checkColumns(p, plan.tileColumns, target, emitError)))
    return failure();
  if (!canStage(p, target.vectorBytes / p.elementBytes()))
    return emitError()
           << "some element of a factor is not found at a step from "
              "its neighbour, so that there are no vectors";
  follow(p, plan);
  return plan;
}

double OuterProductsStrategy::cost(const OuterProducts &p,
                                   const OuterProductsPlan &plan,
                                   const Target &target) {
  auto kernel = p.kernel();
  const Machine &machine = *target.machine;
  int64_t lanes = target.vectorBytes / p.elementBytes();
  double tiles = double(plan.paddedRows / plan.tileRows) *
                 (plan.paddedLanes / plan.tileColumns) * plan.chunks *
                 p.extentOf(p.taps) / plan.tapsPerRow;
  double cycles = tileCycles(tiles, plan.tileRows, plan.tileColumns / lanes,
                             p.extentOf(p.depth), target);
  // Both factors are copied for each block.
  double each = copyCycles(machine, p.elementBytes());
  double copied = double(p.extentOf(p.depth)) *
                  (plan.paddedRows + plan.paddedLanes) * plan.chunks;
  return cycles + 2 * each * copied + trafficCycles(kernel, target) +
         elementwiseCycles(kernel, opsOfProduct(p.op->getResult(0), p.result),
                           {lanes}, target) +
         dispatchCycles(target, plan.chunks);
}

} // namespace tinh::cpu
