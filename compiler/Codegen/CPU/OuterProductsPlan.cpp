//===- OuterProductsPlan.cpp - Recognising and cutting outer products -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether a result of `map` is this loop alone.
static bool isIndexedBy(AffineMap map, unsigned loop) {
  return llvm::any_of(map.getResults(), [&](AffineExpr expr) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    return dim && dim.getPosition() == loop;
  });
}

bool isLast(AffineMap map, unsigned loop) {
  auto dim = dyn_cast<AffineDimExpr>(map.getResults().back());
  return dim && dim.getPosition() == loop;
}

/// Fills in the loops' roles with operand `s` as the sliding factor.
static std::optional<OuterProducts> assignRoles(linalg::GenericOp op,
                                                unsigned s) {
  OuterProducts p;
  p.op = op;
  p.result = op.getResult(0);
  p.extents = op.getStaticLoopRanges();
  for (auto [factor, i] :
       {std::pair(&p.sliding, s), std::pair(&p.plain, 1 - s)}) {
    OpOperand *operand = op.getDpsInputOperand(i);
    factor->value = operand->get();
    factor->map = op.getMatchingIndexingMap(operand);
    if (factor->map.getNumResults() == 0)
      return std::nullopt;
  }
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!output.isProjectedPermutation() ||
      !p.plain.map.isProjectedPermutation() || llvm::is_contained(p.extents, 0))
    return std::nullopt;
  op.getReductionDims(p.sums);
  SmallVector<unsigned> ofSliding, ofPlain;
  for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
    bool slides = p.sliding.map.isFunctionOfDim(loop),
         plain = p.plain.map.isFunctionOfDim(loop);
    bool isSum = llvm::is_contained(p.sums, loop);
    if (isSum ? !slides || !plain : !slides && !plain)
      return std::nullopt;
    if (isSum)
      continue;
    if (slides && plain)
      p.batch.push_back(loop);
    else if (plain)
      ofPlain.push_back(loop);
    else if (isIndexedBy(p.sliding.map, loop))
      ofSliding.push_back(loop);
    else
      p.taps.push_back(loop);
  }
  if (p.sums.empty() || ofSliding.size() != 1 || ofPlain.size() != 1)
    return std::nullopt;
  p.sliding.loop = ofSliding[0];
  p.plain.loop = ofPlain[0];
  // Too small for tiles: as in depthwise convolutions.
  if (std::max(p.extents[p.sliding.loop], p.extents[p.plain.loop]) < 8)
    return std::nullopt;
  if (!isLast(p.sliding.map, p.sliding.loop) ||
      !isLast(p.plain.map, p.plain.loop))
    return std::nullopt;
  for (unsigned loop : p.batch)
    if (!isIndexedBy(p.sliding.map, loop))
      return std::nullopt;
  return p;
}

std::optional<OuterProducts> matchOuterProducts(func::FuncOp kernel) {
  return matchProducts<OuterProducts>(kernel, 0, assignRoles);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Elements between neighbours of rows of so many elements: an odd number of
/// cache lines, so that rows do not meet in a few sets of the cache.
static int64_t rowStride(int64_t elements, int64_t elementBytes) {
  int64_t lines = llvm::divideCeil(elements * elementBytes, 64);
  return (lines | 1) * 64 / elementBytes;
}

/// Rows of a register tile with which all tiles of `extent` rows take the least
/// time; the last one may be partly empty.
static int64_t chooseTileRows(int64_t extent, int64_t vectors,
                              const Target &target) {
  int64_t most = (target.vectorRegisters - vectors - 1) / vectors;
  most = std::clamp<int64_t>(std::min<int64_t>(most, 14), 1, extent);
  int64_t best = 1, least = INT64_MAX;
  for (int64_t rows = 1; rows <= most; ++rows) {
    // Under eight accumulators a unit waits for the latency of its FMAs.
    int64_t total = llvm::divideCeil(extent, rows) *
                    (std::max<int64_t>(rows * vectors, 8) + vectors);
    if (total <= least) {
      least = total;
      best = rows;
    }
  }
  return best;
}

/// Whether the elements of neighbouring taps of the last loop, and of all rows,
/// lie side by side in the sliding factor.
static bool mergesTaps(const OuterProducts &p) {
  unsigned rank = p.sliding.map.getNumResults();
  if (p.taps.empty() || rank < 2)
    return false;
  AffineExpr expr = p.sliding.map.getResult(rank - 2);
  return loopCoefficient(expr, p.taps.back(), p.extents.size()) == 1;
}

static void chooseLanes(const OuterProducts &p, const Target &target,
                        OuterProductsPlan &plan) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  auto fill = [&](const OuterProducts::Factor &factor) {
    int64_t extent = p.extents[factor.loop];
    return static_cast<double>(extent) / llvm::alignTo(extent, lanes);
  };
  AffineMap output = p.output();
  if (p.taps.empty() || isLast(output, p.plain.loop))
    plan.lanesSlide = isLast(output, p.sliding.loop);
  else // Results that end with a tap are stored one by one.
    plan.lanesSlide = isLast(output, p.sliding.loop) ||
                      fill(p.sliding) >= 0.8 * fill(p.plain);
  plan.tapsPerRow = 1;
  int64_t rows = p.extents[p.sliding.loop];
  if (!plan.lanesSlide && mergesTaps(p) && rows < 16)
    plan.tapsPerRow = p.extents[p.taps.back()];
}

/// Blocks of rows and lanes: their sums stay in the second-level cache, with
/// room for the factors.
static void chooseBlocks(const OuterProducts &p, const Target &target,
                         int64_t enoughChunks, OuterProductsPlan &plan) {
  constexpr int64_t kSumsBytes = 192 << 10, kMost = 128, kLeastRows = 16;
  int64_t width = target.vectorBytes / p.elementBytes();
  const auto &ofLanes = plan.lanesSlide ? p.sliding : p.plain;
  const auto &ofRows = plan.lanesSlide ? p.plain : p.sliding;
  int64_t lanes = p.extents[ofLanes.loop],
          rows = p.extents[ofRows.loop] * plan.tapsPerRow;
  int64_t taps = p.extentOf(p.taps) / plan.tapsPerRow;
  plan.vectors = std::min<int64_t>(2, llvm::divideCeil(lanes, width));
  int64_t panel = plan.vectors * width;
  auto even = [](int64_t all, int64_t most) {
    return llvm::divideCeil(all, llvm::divideCeil(all, most));
  };
  int64_t mostLanes = kMost, mostRows = kMost;
  auto choose = [&] {
    plan.lanesPerBlock = std::min(lanes, static_cast<int64_t>(llvm::alignTo(
                                             even(lanes, mostLanes), panel)));
    // Taps of a row are not divided.
    plan.rowsPerBlock = plan.tapsPerRow > 1 ? rows : even(rows, mostRows);
    plan.laneBlocks = llvm::divideCeil(lanes, plan.lanesPerBlock);
    plan.rowBlocks = llvm::divideCeil(rows, plan.rowsPerBlock);
    plan.chunks = p.extentOf(p.batch) * plan.laneBlocks * plan.rowBlocks;
    int64_t bytes =
        taps * plan.rowsPerBlock * plan.lanesPerBlock * p.elementBytes();
    double work = 2.0 * p.extentOf(p.sums) * taps * plan.rowsPerBlock *
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
  plan.tileRows = chooseTileRows(plan.rowsPerBlock, plan.vectors, target);
  plan.paddedRows = llvm::alignTo(plan.rowsPerBlock, plan.tileRows);
  plan.paddedLanes = llvm::alignTo(plan.lanesPerBlock, panel);
}

/// As much of the sums at a time as the caches have room for.
static void chooseSums(const OuterProducts &p, OuterProductsPlan &plan) {
  constexpr int64_t kPositions = 512;
  int64_t left = kPositions;
  plan.level = p.sums.size() - 1;
  while (plan.level > 0 && p.extents[p.sums[plan.level]] * 2 <= left)
    left /= p.extents[p.sums[plan.level--]];
  int64_t extent = p.extents[p.sums[plan.level]];
  plan.sumsPerBlock = std::min(left, extent);
  plan.sumsPerBlock =
      llvm::divideCeil(extent, llvm::divideCeil(extent, plan.sumsPerBlock));
}

/// The part of a factor that one block of sums reads; `elements` of its own
/// dimension.
static SmallVector<int64_t> slabShape(const OuterProducts &p,
                                      const OuterProductsPlan &plan,
                                      const OuterProducts::Factor &factor,
                                      int64_t elements) {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : factor.map.getResults().drop_back()) {
    int64_t extent = 1;
    for (unsigned loop = 0; loop < p.extents.size(); ++loop) {
      int64_t range = llvm::is_contained(p.taps, loop) ? p.extents[loop] : 1;
      for (auto [level, sum] : llvm::enumerate(p.sums))
        if (sum == loop && level >= plan.level)
          range = level == plan.level ? plan.sumsPerBlock : p.extents[loop];
      extent += loopCoefficient(expr, loop, p.extents.size()) * (range - 1);
    }
    shape.push_back(extent);
  }
  shape.push_back(elements);
  return shape;
}

OuterProductsPlan planOuterProducts(const OuterProducts &p,
                                    const Target &target,
                                    int64_t enoughChunks) {
  OuterProductsPlan plan;
  chooseLanes(p, target, plan);
  chooseBlocks(p, target, enoughChunks, plan);
  chooseSums(p, plan);
  int64_t bytes = p.elementBytes();
  int64_t rows = rowStride(plan.paddedRows, bytes);
  int64_t lanes = rowStride(plan.paddedLanes, bytes);
  if (plan.tapsPerRow > 1) // Taps lie side by side.
    rows = p.extents[p.sliding.loop];
  plan.slidingSlab =
      slabShape(p, plan, p.sliding, plan.lanesSlide ? lanes : rows);
  plan.plainSlab = slabShape(p, plan, p.plain, plan.lanesSlide ? rows : lanes);
  auto slabBytes = [&](ArrayRef<int64_t> slab) {
    // Empty rows of the last tile read beyond it.
    return alignBytes((ShapedType::getNumElements(slab) + plan.paddedRows) *
                      bytes);
  };
  plan.slidingOffset = 0;
  plan.plainOffset = slabBytes(plan.slidingSlab);
  plan.sumsOffset = plan.plainOffset + slabBytes(plan.plainSlab);
  plan.scratch = plan.sumsOffset + p.extentOf(p.taps) / plan.tapsPerRow *
                                       plan.paddedRows * plan.paddedLanes *
                                       bytes;
  plan.scratch = alignBytes(plan.scratch);
  return plan;
}

} // namespace tinh::cpu
