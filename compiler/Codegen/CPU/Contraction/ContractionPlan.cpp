//===- ContractionPlan.cpp - Cutting products -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product is cut into blocks of rows by groups of panels, one for each chunk.
// What a division costs is estimated in cycles: each block of rows packs the
// group's panels, if nobody has packed them, each group of panels stages the
// block's rows, if they have to be, and the fewer chunks there are, the longer
// some workers wait for others in the end. Where weights are packed and rows
// are read where they lie, nothing but the last counts.
//
// All of k is summed in registers, unless the input's rows lie side by side:
// then each step of k reads from another page, and only so much of k is done at
// a time that what a tile has read is still there for the next one.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

#include <limits>
#include <numeric>

using namespace mlir;

namespace tinh::cpu {

int64_t panelWidth(const Contraction &c, const Target &target) {
  int64_t lanes = c.lanes(target), n = c.columns();
  int64_t rows = c.extentOf(c.left.loops);
  // Few rows have too few accumulators to hide the latency of the FMAs.
  int64_t vectors = rows <= 3 ? kRowVectors : kTileVectors;
  while (vectors > 1 && (vectors - 1) * lanes >= n)
    --vectors;
  return vectors * lanes;
}

int64_t stepCost(const Contraction &c, const ContractionPlan &p,
                 const Target &target) {
  return p.panels * stepOfTiles(c.rowsOfLine(), p.tileRows,
                                p.panelWidth / c.lanes(target),
                                /*isFull=*/false);
}

namespace {

class ContractionPlanner {
public:
  ContractionPlanner(const Contraction &c, const Target &target, bool packed,
                     Multiplier multiplier = Multiplier::Vectors)
      : c(c), target(target), packed(packed), depth(c.extentOf(c.depth)),
        inner(c.extents[c.left.loops.back()]) {
    p.multiplier = multiplier;
  }

  ContractionPlan plan();
  /// What panels hold becomes f32 in scratch memory first.
  void unpackFirst() { unpacks = true; }
  /// The left factor is copied though it could be read where it lies.
  void stageLeft() { copiesLeft = true; }
  /// Whether weights that are not packed had better be, by a kernel before.
  bool packsBefore();

private:
  void chooseTiles();
  int64_t rowsInL1() const;
  void chooseAmxTiles();
  void chooseOperands();
  void cutEvenly();
  void cut();
  void setBlocks(int64_t lineBlocks, int64_t tileBlocks, int64_t groups);
  void chooseDepth();
  void fitLines();
  void fitSlab();
  /// Chunks of at least a million operations, some 32 of them. To load or store
  /// an element takes as long as some operations with it.
  int64_t wantedChunks() const {
    constexpr int64_t kLeast = 16;
    double rows = p.outer * std::max(p.lines * inner, kLeast);
    double operations = 2.0 * rows * c.columns() * std::max(depth, kLeast);
    return chunksFor(operations, 32);
  }
  bool hasLargeWeights() const {
    return depth * c.columns() * c.factorBytes() > (1 << 20);
  }
  /// The product as it is cut into blocks, its operands found as planned.
  ProductSizes sizes() const;
  /// The bytes of a slab, with what it is extended to.
  int64_t slabBytes() const {
    ContractionPlan cut = p;
    cut.slab = slabOf(c, p);
    return p.left == LeftAccess::Extended ? extendedBytes(c, cut).end
                                          : cpu::slabBytes(c, cut.slab);
  }

  const Contraction &c;
  const Target &target;
  bool packed;
  int64_t depth, inner;
  bool rowsAdjacent; // In the input's memory.
  bool isMatrix = false, unpacks = false, copiesLeft = false;
  ContractionPlan p;
};

} // namespace

/// Slabs of this size stay in the second-level cache.
static constexpr int64_t kMostSlab = 512 << 10;

/// The rows of the left factor, where it lies, that the first level keeps:
/// those that are a multiple of a page apart share a set.
int64_t ContractionPlanner::rowsInL1() const {
  const Machine &machine = *target.machine;
  int64_t stride = c.left.access->steps[c.left.loops.back()] * c.factorBytes();
  int64_t period = machine.aliasBytes /
                   std::gcd(std::max<int64_t>(stride, 1), machine.aliasBytes);
  return machine.l1Ways * period;
}

void ContractionPlanner::chooseTiles() {
  p.panelWidth = packed && c.packed ? c.packedWidth : panelWidth(c, target);
  p.panels = llvm::divideCeil(c.columns(), p.panelWidth);
  int64_t vectors = p.panelWidth / c.lanes(target);
  // Sums of a block of integers become part of those of all blocks.
  bool hasBlocks = c.quantized && !unpacks && c.depth.size() > 1;
  int64_t registers = target.vectorRegisters;
  if (c.extendsBytes(target)) // Columns and rows have two halves.
    registers -= vectors + 3;
  int64_t most = mostTileRows(hasBlocks ? 2 * vectors : vectors, registers);
  if (!p.stages())
    most = std::min(most, rowsInL1());
  p.tileRows = chooseTileRows(inner, vectors, most, /*isFull=*/false);
  p.lines = c.lines();
  p.outer = outerProducts(c);
  if (p.usesAmx())
    chooseAmxTiles();
  p.tiles = llvm::divideCeil(inner, p.tileRows);
}

/// As many rows as make all tiles of a line cost least; short lines together.
void ContractionPlanner::chooseAmxTiles() {
  int64_t most = mostRowTiles(p);
  double least = std::numeric_limits<double>::infinity();
  for (int64_t rows = std::min(inner, most * kAmxRows); rows > 0; --rows) {
    ContractionPlan tile = p;
    tile.tileRows = rows;
    double cycles =
        llvm::divideCeil(inner, rows) * amxCycles(c, tile, 1, target);
    if (cycles < least) {
      least = cycles;
      p.tileRows = rows;
    }
  }
  // Rows of several lines are said by their number: whole lines, that is.
  if (p.tileRows == inner && inner <= kAmxRows)
    p.tileLines = std::min(p.lines, most);
}

/// Whether so few rows read the weights, and these lie so, that packing them
/// does not pay.
static bool canReadWeights(const Contraction &c) {
  return c.extentOf(c.left.loops) <= kMostUnpackedRows && c.columns() >= 8 &&
         hasVectorsInPlace(c);
}

bool isWorthTiling(const Contraction &c) {
  return canReadWeights(c) ||
         (c.extentOf(c.left.loops) >= 8 && c.columns() >= 8);
}

void ContractionPlanner::chooseOperands() {
  p.left = c.extendsBytes(target) && !p.usesAmx() ? LeftAccess::Extended
           : isInPlace(c, c.left) && !copiesLeft  ? LeftAccess::InPlace
                                                  : LeftAccess::Staged;
  rowsAdjacent = !p.stages() && hasVectors(c.left, c.left.loops.back()) &&
                 !hasVectors(c.left, c.depth.back());
  p.right = unpacks             ? RightAccess::Copied
            : packed            ? RightAccess::Packed
            : canReadWeights(c) ? RightAccess::InPlace
                                : RightAccess::Copied;
}

void ContractionPlanner::setBlocks(int64_t lineBlocks, int64_t tileBlocks,
                                   int64_t groups) {
  p.linesPerBlock = std::min<int64_t>(
      llvm::alignTo(llvm::divideCeil(p.lines, lineBlocks), p.tileLines),
      p.lines);
  p.tilesPerBlock = llvm::divideCeil(p.tiles, tileBlocks);
  p.panelsPerGroup = llvm::divideCeil(p.panels, groups);
}

/// Nothing is copied but, maybe, lines of images: as many chunks as are wanted.
void ContractionPlanner::cutEvenly() {
  int64_t lineBlocks = 1, tileBlocks = 1, groups = 1;
  auto split = [&](int64_t &blocks, int64_t available) {
    int64_t have = p.outer * lineBlocks * tileBlocks * groups;
    int64_t more = llvm::divideCeil(wantedChunks(), have);
    blocks = std::clamp<int64_t>(more, 1, available);
  };
  // Large weights are read once if the panels are divided among the chunks,
  // small ones stay in the cache whatever is divided.
  if (hasLargeWeights())
    split(groups, p.panels);
  if (!hasLargeWeights() || 2 * p.outer * groups < wantedChunks())
    split(lineBlocks, p.lines);
  // Tiles of one line share a slab.
  if (!p.stages())
    split(tileBlocks, p.tiles);
  if (!hasLargeWeights())
    split(groups, p.panels);
  setBlocks(lineBlocks, tileBlocks, groups);
}

/// Lines of windows share a slab.
void ContractionPlanner::fitLines() {
  while (p.stages() && p.linesPerBlock > p.tileLines && slabBytes() > kMostSlab)
    p.linesPerBlock =
        llvm::alignTo(llvm::divideCeil(p.linesPerBlock, 2), p.tileLines);
}

ProductSizes ContractionPlanner::sizes() const {
  // Cycles to load, maybe convert, and store an element, and to load one that
  // is not in the second-level cache.
  constexpr double kPack = 0.3, kStage = 0.4, kLoad = 0.2, kOrder = 0.1;
  ProductSizes sizes;
  sizes.outer = p.outer;
  sizes.rows = p.lines * inner;
  sizes.columns = c.columns();
  sizes.depth = depth;
  sizes.mostRowBlocks = p.lines > 1 ? p.lines : p.tiles;
  sizes.mostGroups = p.panels;
  sizes.wantedChunks = wantedChunks();
  if (p.right == RightAccess::Copied)
    sizes.rightCycles = kPack;
  else if (hasLargeWeights())
    sizes.rightCycles = kLoad;
  if (c.groupOrder)
    sizes.rightCycles += kOrder;
  sizes.leftCycles = p.stages() ? kStage : 0;
  sizes.operationsPerCycle = 4 * c.lanes(target) * c.group();
  return sizes;
}

/// Each chunk packs its panels, or stages its rows: the division into blocks of
/// rows and groups of panels that costs least.
void ContractionPlanner::cut() {
  ProductBlocks best = chooseBlocks(sizes());
  setBlocks(p.lines > 1 ? best.rowBlocks : 1, p.lines > 1 ? 1 : best.rowBlocks,
            best.groups);
}

/// How much of k is summed at a time.
void ContractionPlanner::chooseDepth() {
  // Of a column of the input each step of k reads a cache line, in a page of
  // its own: those of a tile stay in the first-level cache for the next one.
  constexpr int64_t kColumnDepth = 512;
  // Weights that lie as a matrix are read a few rows at a time: whole pages.
  constexpr int64_t kMatrixBytes = 1 << 20;
  constexpr int64_t kLeastSlabDepth = 64;
  int64_t extent = p.depthPerBlock, below = depth / extent, most = extent;
  auto limit = [&](int64_t steps) {
    most = std::min(most, std::max<int64_t>(steps / below, 1));
  };
  if (rowsAdjacent)
    limit(kColumnDepth);
  if (p.right == RightAccess::InPlace &&
      depth * c.columns() * c.elementBytes() > kMatrixBytes)
    limit(kMatrixDepth);
  if (p.stages() && (isMatrix || !packed) && !c.groupOrder) {
    int64_t perStep = slabBytes() / extent;
    limit(std::max(kMostSlab / 2 / std::max<int64_t>(perStep, 1) * below,
                   kLeastSlabDepth));
  }
  // The innermost loop is unrolled by four.
  int64_t even = evenBlock(extent, most);
  if (below == 1)
    even = llvm::alignTo(even, 4);
  p.depthPerBlock = std::min(extent, even);
}

/// Of one line of windows, a slab may have many lines of the image, of which
/// wide dilations need few: those of fewer taps at a time, then. Where groups
/// have an order, all of k is one: fewer rows, then, but as many as the copies
/// of panels pay for.
void ContractionPlanner::fitSlab() {
  int64_t &steps = c.groupOrder ? p.tilesPerBlock : p.depthPerBlock;
  int64_t least = c.groupOrder ? 16 : 1;
  while (p.stages() && steps > least && slabBytes() > kMostSlab)
    steps = (steps + 1) / 2;
}

ContractionPlan ContractionPlanner::plan() {
  chooseOperands();
  chooseTiles();
  p.depthPerBlock = c.extents[c.depth.front()];
  // Windows of several lines share what is staged; rows do not.
  isMatrix = p.lines == 1;
  if (packed && !unpacks && !c.groupOrder && !(p.stages() && isMatrix))
    cutEvenly();
  else
    cut();
  if (packed)
    fitLines();
  chooseDepth();
  if ((!isMatrix || c.groupOrder) && p.linesPerBlock == 1)
    fitSlab();
  divide(c, p, /*scratchOffset=*/0);
  return p;
}

bool ContractionPlanner::packsBefore() {
  if (!isWorthTiling(c) || canReadWeights(c))
    return false;
  if (c.isOfBytes()) // Nothing else brings groups together.
    return true;
  plan();
  auto last = dyn_cast<AffineDimExpr>(c.right.map.getResults().back());
  if (!last || last.getPosition() != c.column())
    return true;
  // Each element is stored for others to read it, and others wait for that.
  constexpr double kPackBefore = 1, kDispatch = 20e3;
  double elements = 1.0 * c.extentOf(c.batch) * depth * c.columns();
  int64_t groups = llvm::divideCeil(p.panels, p.panelsPerGroup);
  int64_t rowBlocks = p.chunks / p.outer / groups;
  ProductSizes product = sizes();
  return blockCycles(product, {rowBlocks, groups}) +
             idleCycles(product, p.chunks) >
         kPackBefore * elements + kDispatch +
             idleCycles(product, product.wantedChunks);
}

ContractionPlan planContraction(const Contraction &c, const Target &target,
                                bool packed) {
  return ContractionPlanner(c, target, packed).plan();
}

bool isWorthPackingBefore(const Contraction &c, const Target &target) {
  return ContractionPlanner(c, target, /*packed=*/false).packsBefore();
}

//===----------------------------------------------------------------------===//
// The strategy
//===----------------------------------------------------------------------===//

/// Whether the product is for each of several taps of a window over one of the
/// factors: outer products stage that once for all of them.
static bool hasTaps(const Contraction &c) {
  auto products = OuterProductsStrategy::match(c.kernel());
  return products && !products->taps.empty();
}

SmallVector<ContractionPlanAttr>
ContractionStrategy::plans(const Contraction &c, const Target &target) {
  if ((!c.packed && (c.isOfBytes() || !isWorthTiling(c))) || hasTaps(c))
    return {};
  ContractionPlan plan = planContraction(c, target, c.packed.has_value());
  int64_t lanes = c.lanes(target);
  if (!hasVectors(c, plan, lanes) || !hasWholeVectors(c.result, lanes))
    return {};
  SmallVector<ContractionPlanAttr> plans;
  // Of plans that wait for memory alike, the first one is taken.
  if (hasTilesFor(c, target)) {
    ContractionPlan tiles =
        ContractionPlanner(c, target, c.packed.has_value(), Multiplier::Amx)
            .plan();
    bool isWhole = tiles.depthPerBlock == c.extents[c.depth.front()];
    if (isWhole && tiles.panelWidth <= 2 * kAmxColumns)
      plans.push_back(tiles.attribute(c.op->getContext()));
  }
  plans.push_back(plan.attribute(c.op->getContext()));
  if (c.isUnpacked()) {
    ContractionPlanner planner(c, target, /*packed=*/true);
    planner.unpackFirst();
    plans.push_back(planner.plan().attribute(c.op->getContext()));
  }
  if (plan.left == LeftAccess::InPlace && hasAliasingSteps(c, target)) {
    ContractionPlanner planner(c, target, c.packed.has_value());
    planner.stageLeft();
    plans.push_back(planner.plan().attribute(c.op->getContext()));
  }
  return plans;
}

//===----------------------------------------------------------------------===//
// Products within a kernel of rows
//===----------------------------------------------------------------------===//

ContractionPlanAttr planContractionStage(const Contraction &c,
                                         const Target &target,
                                         std::optional<int64_t> rows) {
  ContractionPlan plan = planContraction(c, target, /*packed=*/false);
  plan.linesPerBlock = plan.lines;
  plan.tilesPerBlock = rows ? *rows / plan.tileRows : plan.tiles;
  plan.panelsPerGroup = plan.panels;
  plan.left = LeftAccess::Staged;
  plan.right = RightAccess::Copied;
  plan.depthPerBlock = c.extents[c.depth.front()];
  return plan.attribute(c.op->getContext());
}

} // namespace tinh::cpu
