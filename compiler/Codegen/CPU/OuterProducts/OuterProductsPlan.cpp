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

#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tinh::cpu {

int64_t rowStride(int64_t elements, int64_t elementBytes) {
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

bool shouldLanesSlide(const OuterProducts &p, const Target &target) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  auto fill = [&](const Factor &factor) {
    int64_t extent = p.extents[factor.loops.front()];
    return static_cast<double>(extent) / llvm::alignTo(extent, lanes);
  };
  bool endsWithSliding = isLast(p.output, p.left.loops.front());
  if (p.taps.empty() || isLast(p.output, p.right.loops.front()))
    return endsWithSliding;
  // Results that end with a tap are stored one by one.
  return endsWithSliding || fill(p.left) >= 0.8 * fill(p.right);
}

static void chooseLanes(const OuterProducts &p, const Target &target,
                        OuterProductsPlan &plan) {
  plan.lanesSlide = shouldLanesSlide(p, target);
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

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

/// The loop that each dimension of the plain factor but its last is indexed by,
/// where the sliding one moves along the same dimension with it, and with no
/// other but taps.
static std::optional<Loops> loopsOfPositions(const OuterProducts &p) {
  unsigned rank = p.right.map.getNumResults(), loops = p.extents.size();
  if (p.left.map.getNumResults() != rank)
    return std::nullopt;
  Loops positions;
  for (unsigned i = 0; i + 1 < rank; ++i) {
    auto position = dyn_cast<AffineDimExpr>(p.right.map.getResult(i));
    if (!position)
      return std::nullopt;
    positions.push_back(position.getPosition());
    for (unsigned loop = 0; loop < loops; ++loop) {
      int64_t step = loopCoefficient(p.left.map.getResult(i), loop, loops);
      bool isTap = llvm::is_contained(p.taps, loop);
      if (step < 0 || (loop == positions.back() ? step == 0 : step && !isTap))
        return std::nullopt;
    }
  }
  return positions;
}

bool hasTilesFor(const OuterProducts &p, const Target &target) {
  return target.hasBf16Tiles() && p.element().isF32() &&
         getElementTypeOrSelf(p.left.value).isBF16() &&
         getElementTypeOrSelf(p.right.value).isBF16() &&
         p.extents[p.left.loops.front()] >= kAmxRows &&
         p.extents[p.right.loops.front()] >= kAmxColumns &&
         loopsOfPositions(p).has_value();
}

/// The iterations of a loop that a block of sums has.
static int64_t rangeOf(const OuterProducts &p, const OuterProductsPlan &plan,
                       unsigned loop) {
  const auto *level = llvm::find(p.depth, loop);
  if (level == p.depth.end() || level - p.depth.begin() < int64_t(plan.level))
    return 1;
  return level - p.depth.begin() == int64_t(plan.level) ? plan.sumsPerBlock
                                                        : p.extents[loop];
}

/// A tile of AMX goes through so many positions at a time.
static constexpr int64_t kStepPositions = 32;

static PairSlabs pairSlabs(const OuterProducts &p,
                           const OuterProductsPlan &plan) {
  PairSlabs slabs;
  Loops loops = *loopsOfPositions(p);
  slabs.planes = 1;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    AffineExpr expr = p.left.map.getResult(i);
    int64_t range = rangeOf(p, plan, loop);
    int64_t step =
        range > 1 ? loopCoefficient(expr, loop, p.extents.size()) : 1;
    slabs.ranges.push_back(range);
    slabs.steps.push_back(step);
    slabs.planes *= step;
    slabs.extents.push_back(llvm::divideCeil(plan.slidingSlab[i], step));
  }
  if (!slabs.extents.empty()) // No pair has positions of two lines.
    slabs.extents.back() = llvm::alignTo(slabs.extents.back(), 2);
  slabs.pitches = computeStrides(slabs.extents);
  slabs.planeSize = llvm::product_of(slabs.extents);
  int64_t last = 0, shift = 0;
  for (auto [i, range] : llvm::enumerate(slabs.ranges)) {
    last += (range - 1) * slabs.pitches[i];
    int64_t tap = plan.slidingSlab[i] - 1 - (range - 1) * slabs.steps[i];
    shift += tap / slabs.steps[i] * slabs.pitches[i];
  }
  slabs.depth = llvm::alignTo(last + 1, kStepPositions);
  int64_t row = (slabs.planes - 1) * slabs.planeSize +
                std::max<int64_t>(slabs.planeSize, shift + slabs.depth);
  slabs.rowPositions = rowStride(llvm::alignTo(row, kStepPositions), 2);
  return slabs;
}

//===----------------------------------------------------------------------===//
// What follows from a plan
//===----------------------------------------------------------------------===//

/// Scratch memory for pairs, which lie turned, as they were, and of the plain
/// factor.
static void followPairs(const OuterProducts &p, OuterProductsPlan &plan) {
  constexpr int64_t kBytes = 2;
  plan.pairs = pairSlabs(p, plan);
  plan.plainOffset =
      alignBytes(plan.paddedRows * plan.pairs.rowPositions * kBytes);
  plan.unturnedOffset =
      plan.plainOffset +
      alignBytes(plan.pairs.depth * plan.paddedLanes * kBytes);
  plan.sumsOffset = plan.unturnedOffset + alignBytes(plan.pairs.rowPositions *
                                                     plan.paddedRows * kBytes);
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
  plan.tapStride = plan.paddedRows * plan.paddedLanes;
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
  if (plan.usesAmx())
    followPairs(p, plan);
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

/// The same for tiles of AMX, whose rows are the sliding factor's.
static OuterProductsPlan planTiles(const OuterProducts &p,
                                   const Target &target) {
  OuterProductsPlan plan;
  plan.multiplier = Multiplier::Amx;
  plan.lanesSlide = false;
  plan.tapsPerRow = 1;
  chooseBlocks(p, target, /*enoughChunks=*/8, plan);
  plan.tileRows = plan.rowsPerBlock > kAmxRows ? 2 * kAmxRows : kAmxRows;
  chooseSums(p, plan);
  int64_t sums = p.extents[p.depth[plan.level]];
  while (sums % plan.sumsPerBlock != 0)
    --plan.sumsPerBlock;
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
      list({rowsPerBlock, lanesPerBlock}), level, sumsPerBlock, multiplier);
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

static LogicalResult checkTiles(const OuterProducts &p,
                                const OuterProductsPlan &plan,
                                const Target &target, EmitError emitError) {
  if (!hasTilesFor(p, target))
    return emitError() << "'multiplier' must be vectors, as " << target.name
                       << " has no tiles for the factors, or these no 16 rows "
                          "and columns of bf16 at equal positions, found amx";
  if (plan.lanesSlide || plan.tapsPerRow > 1)
    return emitError() << "'lanes' must be plain and 'taps' 1, as tiles find "
                          "each tap at a distance in the factor of the rows";
  int64_t sums = p.extents[p.depth[plan.level]];
  if (plan.tileRows % kAmxRows || plan.tileRows > 2 * kAmxRows ||
      plan.tileColumns > 2 * kAmxColumns)
    return emitError() << "'tile' must be one or two tiles of 16 rows by 16 "
                          "columns each way";
  if (sums % plan.sumsPerBlock)
    return emitError() << "'sums' must divide " << sums << ", found "
                       << plan.sumsPerBlock;
  return success();
}

bool canStage(const OuterProducts &p, int64_t lanes) {
  LaneAnalysis analysis(p.kernel(), lanes);
  return llvm::all_of(ArrayRef{&p.left, &p.right}, [&](auto *factor) {
    return analysis.computes(
        factor->value, factor->map,
        analysis.indicesAlong(p.extents.size(), factor->loops.front()));
  });
}

LogicalResult checkBlocks(const OuterProducts &p, const TapSumsPlan &plan,
                          int64_t mostTileRows,
                          llvm::function_ref<int64_t(unsigned)> iterations,
                          const Target &target, EmitError emitError) {
  const auto &ofLanes = plan.lanesSlide ? p.left : p.right;
  const auto &ofRows = plan.lanesSlide ? p.right : p.left;
  int64_t rows =
      p.extents[ofRows.loops.front()] * std::max<int64_t>(plan.tapsPerRow, 1);
  int64_t lanes = p.extents[ofLanes.loops.front()];
  int64_t level = plan.level, levels = p.depth.size();
  if (failed(checkNumbers(
          emitError, {{"rows of block", plan.rowsPerBlock, within(1, rows)},
                      {"lanes of block", plan.lanesPerBlock, within(1, lanes)},
                      {"rows of tile", plan.tileRows, within(1, mostTileRows)},
                      {"level", level, within(0, levels - 1)}})) ||
      failed(checkColumns(p, plan.tileColumns, target, emitError)))
    return failure();
  if (plan.lanesPerBlock < lanes && plan.lanesPerBlock % plan.tileColumns)
    return emitError() << "'lanes of block' must be all " << lanes
                       << " or whole tiles of " << plan.tileColumns
                       << " columns, found " << plan.lanesPerBlock;
  int64_t sums = iterations(p.depth[plan.level]);
  if (failed(checkNumbers(emitError,
                          {{"sums", plan.sumsPerBlock, within(1, sums)}})))
    return failure();
  if (!canStage(p, target.vectorBytes / p.elementBytes()))
    return emitError()
           << "some element of a factor is not found at a step from "
              "its neighbour, so that there are no vectors";
  return success();
}

static LogicalResult checkPlan(const OuterProducts &p,
                               const OuterProductsPlan &plan,
                               const Target &target, EmitError emitError) {
  if (failed(checkTaps(p, plan, emitError)) ||
      failed(checkBlocks(
          p, plan, plan.usesAmx() ? 2 * kAmxRows : plan.rowsPerBlock,
          [&](unsigned loop) { return p.extents[loop]; }, target, emitError)))
    return failure();
  return plan.usesAmx() ? checkTiles(p, plan, target, emitError) : success();
}

SmallVector<OuterProductsPlanAttr>
OuterProductsStrategy::plans(const OuterProducts &p, const Target &target) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  if (!hasWholeVectors(p.result, lanes) || !canStage(p, lanes))
    return {};
  SmallVector<OuterProductsPlanAttr> plans;
  if (hasTilesFor(p, target))
    plans.push_back(planTiles(p, target).attribute(p.op->getContext()));
  plans.push_back(planOuterProducts(p, target).attribute(p.op->getContext()));
  return plans;
}

FailureOr<OuterProductsPlan>
OuterProductsStrategy::expand(const OuterProducts &p,
                              OuterProductsPlanAttr attribute,
                              const Target &target, EmitError emitError) {
  OuterProductsPlan plan;
  plan.take(attribute);
  plan.tapsPerRow = attribute.getTaps();
  plan.multiplier = attribute.getMultiplier();
  if (failed(checkPlan(p, plan, target, emitError)))
    return failure();
  follow(p, plan);
  return plan;
}

/// To multiply by tiles of AMX, with what brings both factors to pairs.
static double cyclesInTiles(const OuterProducts &p,
                            const OuterProductsPlan &plan,
                            const Target &target) {
  const Machine &machine = *target.machine;
  double rows = plan.paddedRows, lanes = plan.paddedLanes;
  double blocks = double(p.extentOf(p.depth)) * p.extentOf(p.batch);
  for (int64_t range : plan.pairs.ranges)
    blocks /= range;
  blocks *= double(plan.chunks) / p.extentOf(p.batch);
  double tiles = rows / plan.tileRows * lanes / plan.tileColumns;
  int64_t panels = plan.tileColumns / kAmxColumns;
  double steps = double(plan.pairs.depth) / kStepPositions;
  // Both factors' parts of a tile come from the second level.
  constexpr double kRow = 64;
  double step = std::max(plan.tileRows * panels / machine.tileRowsPerCycle,
                         kRow * (plan.tileRows + plan.tileColumns) /
                             machine.l2.bytesPerCycle);
  double sums = plan.tileRows * panels *
                (1 / machine.loadsPerCycle + 1 / machine.storesPerCycle);
  double multiply = p.extentOf(p.taps) * tiles * (steps * step + sums);
  // Pairs are loaded, put between one another and stored; those of rows are
  // turned then.
  double each = copyCycles(machine, 2),
         turned = copyCycles(machine, 4, CopyOrder::Columns);
  double copied =
      plan.pairs.depth * lanes * 3 * each +
      double(plan.pairs.rowPositions) * rows * (3 * each + turned / 2);
  return blocks * (multiply + copied);
}

/// To multiply by vectors, with what copies both factors.
static double cyclesInVectors(const OuterProducts &p,
                              const OuterProductsPlan &plan,
                              const Target &target) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  double tiles = double(plan.paddedRows / plan.tileRows) *
                 (plan.paddedLanes / plan.tileColumns) * plan.chunks *
                 p.extentOf(p.taps) / plan.tapsPerRow;
  // Both factors are copied for each block.
  double copied = double(p.extentOf(p.depth)) *
                  (plan.paddedRows + plan.paddedLanes) * plan.chunks;
  return tileCycles(tiles, plan.tileRows, plan.tileColumns / lanes,
                    p.extentOf(p.depth), target) +
         2 * copyCycles(*target.machine, p.elementBytes()) * copied;
}

double OuterProductsStrategy::cost(const OuterProducts &p,
                                   const OuterProductsPlan &plan,
                                   const Target &target) {
  auto kernel = p.kernel();
  int64_t lanes = target.vectorBytes / p.elementBytes();
  double cycles = plan.usesAmx() ? cyclesInTiles(p, plan, target)
                                 : cyclesInVectors(p, plan, target);
  return cycles + trafficCycles(kernel, target) +
         elementwiseCycles(kernel, opsOfProduct(p.op->getResult(0), p.result),
                           {lanes}, target) +
         dispatchCycles(target, plan.chunks);
}

} // namespace tinh::cpu
