//===- WinogradGradientPlan.cpp - How such gradients are cut ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CPU/Winograd/KnownMatrix.h"
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"

#include <limits>

using namespace mlir;

namespace tinh::cpu {

static constexpr int64_t kNumberBytes = sizeof(float);

//===----------------------------------------------------------------------===//
// Transforms
//===----------------------------------------------------------------------===//

void allowTransforms(func::FuncOp kernel, AllowedTransforms allowed) {
  // They are to be no less exact than direct sums.
  constexpr double kMostError = 1;
  SmallVector<int64_t> transforms;
  for (const WinogradTransform &t : winogradTransforms())
    if (allowed == AllowedTransforms::Fast ||
        (allowed == AllowedTransforms::Accurate &&
         t.gradientError <= kMostError))
      transforms.push_back(t.outputs);
  if (!transforms.empty() && WinogradGradientStrategy::match(kernel))
    kernel->setAttr(names::kTransforms,
                    DenseI64ArrayAttr::get(kernel.getContext(), transforms));
}

static const WinogradTransform *findTransform(int64_t outputs) {
  for (const WinogradTransform &t : winogradTransforms())
    if (t.outputs == outputs)
      return &t;
  return nullptr;
}

/// By their outputs; none if the kernel does not say.
static ArrayRef<int64_t> allowedTransforms(const WinogradGradient &g) {
  auto allowed =
      g.kernel()->getAttrOfType<DenseI64ArrayAttr>(names::kTransforms);
  return allowed ? allowed.asArrayRef() : ArrayRef<int64_t>();
}

//===----------------------------------------------------------------------===//
// What follows from a plan
//===----------------------------------------------------------------------===//

/// The part of a factor that a block of sums reads; `elements` of its own
/// dimension.
static SmallVector<int64_t> slabShape(const WinogradGradient &g,
                                      const WinogradGradientPlan &plan,
                                      const Factor &factor, int64_t elements) {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : factor.map.getResults().drop_back()) {
    int64_t extent = 1;
    for (auto [level, loop] : llvm::enumerate(g.depth)) {
      if (!expr.isFunctionOfDim(loop))
        continue;
      extent = level < plan.level    ? 1
               : level == plan.level ? plan.sumsPerBlock
                                     : plan.tilesOf(g, loop);
      extent *= plan.unitOf(g, loop);
      if (!isa<AffineDimExpr>(expr)) // Taps.
        extent += plan.transform->side() - plan.transform->outputs;
    }
    shape.push_back(extent);
  }
  shape.push_back(elements);
  return shape;
}

/// Fills in what follows from the decisions of `plan`.
static void follow(const WinogradGradient &g, WinogradGradientPlan &plan,
                   const Target &target) {
  const Factor &ofLanes = plan.lanesSlide ? g.left : g.right;
  const Factor &ofRows = plan.lanesSlide ? g.right : g.left;
  int64_t lanes = target.lanes(), numbers = plan.transform->products();
  plan.laneBlocks =
      llvm::divideCeil(g.extents[ofLanes.loops.front()], plan.lanesPerBlock);
  plan.rowBlocks =
      llvm::divideCeil(g.extents[ofRows.loops.front()], plan.rowsPerBlock);
  plan.chunks = g.extentOf(g.batch) * plan.laneBlocks * plan.rowBlocks;
  plan.paddedRows = llvm::alignTo(plan.rowsPerBlock, plan.tileRows);
  plan.paddedLanes = llvm::alignTo(plan.lanesPerBlock, plan.tileColumns);
  plan.tapStride = plan.paddedRows * plan.paddedLanes;
  plan.tiles = plan.sumsPerBlock;
  for (unsigned loop : ArrayRef(g.depth).drop_front(plan.level + 1))
    plan.tiles *= plan.tilesOf(g, loop);

  int64_t rowElements = llvm::alignTo(plan.rowsPerBlock, lanes),
          rows = rowStride(rowElements, kNumberBytes),
          columns = rowStride(plan.paddedLanes, kNumberBytes);
  plan.slidingSlab =
      slabShape(g, plan, g.left, plan.lanesSlide ? columns : rows);
  plan.plainSlab =
      slabShape(g, plan, g.right, plan.lanesSlide ? rows : columns);
  auto bytesOf = [&](ArrayRef<int64_t> slab) {
    return alignBytes(ShapedType::getNumElements(slab) * kNumberBytes);
  };
  plan.slidingOffset = 0;
  plan.plainOffset = bytesOf(plan.slidingSlab);
  // Neighbouring numbers do not meet in a few sets of the cache, either.
  auto numbersAt = [&](int64_t offset, int64_t tileStride) {
    return WinogradGradientPlan::Numbers{
        offset, tileStride, rowStride(plan.tiles * tileStride, kNumberBytes)};
  };
  plan.rows =
      numbersAt(plan.plainOffset + bytesOf(plan.plainSlab), rowElements);
  // Empty rows of the last register tile read beyond it.
  plan.lanes = numbersAt(
      alignBytes(plan.rows.offset +
                 (numbers * plan.rows.numberStride + plan.paddedRows) *
                     kNumberBytes),
      plan.paddedLanes);
  plan.sumsOffset = alignBytes(
      plan.lanes.offset + numbers * plan.lanes.numberStride * kNumberBytes);
  plan.scratch =
      alignBytes(plan.sumsOffset + numbers * plan.tapStride * kNumberBytes);
}

FailureOr<WinogradGradientPlan>
WinogradGradientStrategy::expand(const WinogradGradient &g, Plan attribute,
                                 const Target &target, EmitError emitError) {
  WinogradGradientPlan plan;
  auto allowed = allowedTransforms(g);
  if (!llvm::is_contained(allowed, attribute.getPositions()))
    return emitError() << "'positions' must be those of a transform that '"
                       << names::kTransforms << "' allows, [" << allowed
                       << "], found " << attribute.getPositions();
  plan.transform = findTransform(attribute.getPositions());
  plan.take(attribute);
  auto iterations = [&](unsigned loop) { return plan.tilesOf(g, loop); };
  if (failed(checkBlocks(g, plan, plan.rowsPerBlock, iterations, target,
                         emitError)))
    return failure();
  follow(g, plan, target);
  return plan;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// Blocks of sums that a chunk goes through.
static double countBlocks(const WinogradGradient &g,
                          const WinogradGradientPlan &plan) {
  double blocks = 1;
  for (auto [level, loop] : llvm::enumerate(g.depth))
    if (level <= plan.level)
      blocks *= llvm::divideCeil(plan.tilesOf(g, loop),
                                 level == plan.level ? plan.sumsPerBlock : 1);
  return blocks;
}

static double countTiles(const WinogradGradient &g,
                         const WinogradGradientPlan &plan) {
  double tiles = 1;
  for (unsigned loop : g.depth)
    tiles *= plan.tilesOf(g, loop);
  return tiles;
}

/// For a chunk, to multiply all tiles' numbers.
static double multiplyCycles(const WinogradGradient &g,
                             const WinogradGradientPlan &plan,
                             const Target &target) {
  const Machine &machine = *target.machine;
  double numbers = plan.transform->products(), blocks = countBlocks(g, plan),
         tiles = countTiles(g, plan);
  int64_t vectors = plan.tileColumns / target.lanes();
  double registerTiles = blocks * numbers * (plan.paddedRows / plan.tileRows) *
                         (plan.paddedLanes / plan.tileColumns);
  // Sums are loaded and stored for each block.
  double compute =
      tileCycles(registerTiles, plan.tileRows, vectors, tiles / blocks,
                 target) +
      registerTiles * plan.tileRows * vectors / machine.loadsPerCycle;
  double read = numbers * kNumberBytes *
                (2 * blocks * plan.tapStride +
                 tiles * (plan.rows.tileStride + plan.lanes.tileStride));
  read = machine.readCycles(read, plan.scratch);
  // A part of what is read is waited for.
  constexpr double kWaited = 0.25;
  return std::max(compute, read) + kWaited * std::min(compute, read);
}

/// For a chunk, to copy both factors, to make numbers of them, and taps of the
/// sums.
static double transformsCycles(const WinogradGradient &g,
                               const WinogradGradientPlan &plan,
                               const Target &target) {
  const WinogradTransform &t = *plan.transform;
  double numbers = t.products(), positions = t.outputs * t.outputs,
         taps = t.kTaps * t.kTaps;
  double blocks = countBlocks(g, plan), tiles = countTiles(g, plan);
  double rowVectors = llvm::divideCeil(plan.rowsPerBlock, target.lanes()),
         laneVectors = llvm::divideCeil(plan.lanesPerBlock, target.lanes());
  double sliding = transformCycles(t.input, numbers, numbers, target);
  double plain =
      transformCycles(t.output.transposed(), positions, numbers, target);
  double sums = transformCycles(t.filter.transposed(), numbers, taps, target);
  double copied = ShapedType::getNumElements(plan.slidingSlab) +
                  ShapedType::getNumElements(plan.plainSlab);
  return tiles * ((plan.lanesSlide ? laneVectors : rowVectors) * sliding +
                  (plan.lanesSlide ? rowVectors : laneVectors) * plain) +
         2 * copyCycles(*target.machine, kNumberBytes) * blocks * copied +
         plan.rowsPerBlock * laneVectors * sums;
}

static double ownCycles(const WinogradGradient &g,
                        const WinogradGradientPlan &plan,
                        const Target &target) {
  return plan.chunks *
         (multiplyCycles(g, plan, target) + transformsCycles(g, plan, target));
}

double WinogradGradientStrategy::cost(const WinogradGradient &g,
                                      const WinogradGradientPlan &plan,
                                      const Target &target) {
  auto kernel = g.kernel();
  return ownCycles(g, plan, target) + trafficCycles(kernel, target) +
         elementwiseCycles(kernel, opsOfProduct(g.op->getResult(0), g.result),
                           {target.lanes()}, target) +
         dispatchCycles(target, plan.chunks);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

namespace {

/// Finds the plan of a transform that costs least.
class PlanSearch {
public:
  PlanSearch(const WinogradGradient &g, const WinogradTransform &transform,
             const Target &target)
      : g(g), target(target) {
    plan.transform = &transform;
    plan.lanesSlide = shouldLanesSlide(g, target);
  }

  std::optional<WinogradGradientPlan> run();

private:
  void tryRows(int64_t mostRows);
  void trySums();

  const WinogradGradient &g;
  const Target &target;
  WinogradGradientPlan plan; // That is looked at.
  std::optional<WinogradGradientPlan> best;
  double least = std::numeric_limits<double>::infinity();
};

} // namespace

std::optional<WinogradGradientPlan> PlanSearch::run() {
  const Factor &ofLanes = plan.lanesSlide ? g.left : g.right;
  int64_t lanes = g.extents[ofLanes.loops.front()], width = target.lanes();
  int64_t vectors =
      std::min<int64_t>(kTileVectors, llvm::divideCeil(lanes, width));
  plan.tileColumns = vectors * width;
  constexpr int64_t kMostLanes = 256, kMostRows = 256, kLeastRows = 16;
  for (int64_t most = kMostLanes; most >= plan.tileColumns; most /= 2) {
    plan.lanesPerBlock = std::min<int64_t>(
        lanes, llvm::alignTo(evenBlock(lanes, most), plan.tileColumns));
    for (int64_t rows = kMostRows; rows >= kLeastRows; rows /= 2)
      tryRows(rows);
  }
  return best;
}

void PlanSearch::tryRows(int64_t mostRows) {
  const Factor &ofRows = plan.lanesSlide ? g.right : g.left;
  plan.rowsPerBlock = evenBlock(g.extents[ofRows.loops.front()], mostRows);
  int64_t vectors = plan.tileColumns / target.lanes();
  constexpr int64_t kMostTileRows = 14;
  int64_t held = (target.vectorRegisters - vectors - 1) / vectors;
  plan.tileRows =
      chooseTileRows(plan.rowsPerBlock, vectors, std::min(held, kMostTileRows),
                     /*isFull=*/true);
  constexpr int64_t kMostTiles = 256;
  int64_t inner = 1;
  for (plan.level = g.depth.size(); plan.level-- > 0 && inner <= kMostTiles;) {
    int64_t tiles = plan.tilesOf(g, g.depth[plan.level]);
    for (int64_t most = 1; most < 2 * tiles && most * inner <= kMostTiles;
         most += std::max<int64_t>(1, most / 2)) {
      plan.sumsPerBlock = evenBlock(tiles, std::min(most, tiles));
      trySums();
    }
    inner *= tiles;
  }
}

void PlanSearch::trySums() {
  // How many chunks keep some workers at work to the end.
  constexpr int64_t kMostChunks = 64;
  follow(g, plan, target);
  double operations = 2.0 * countTiles(g, plan) * plan.transform->products() *
                      plan.tapStride * plan.chunks;
  bool isTooFine = plan.chunks > g.extentOf(g.batch) &&
                   plan.chunks > chunksFor(operations, kMostChunks);
  // The rest of the cache is for what passes through.
  if (isTooFine || plan.scratch > target.machine->l2.bytes / 8 * 7)
    return;
  double cycles = ownCycles(g, plan, target);
  cycles += Device::idleCycles(cycles, plan);
  if (cycles >= least)
    return;
  least = cycles;
  best = plan;
}

SmallVector<WinogradGradientPlanAttr>
WinogradGradientStrategy::plans(const WinogradGradient &g,
                                const Target &target) {
  if (!hasWholeVectors(g.result, target.lanes()) ||
      !canStage(g, target.lanes()))
    return {};
  SmallVector<WinogradGradientPlanAttr> plans;
  MLIRContext *context = g.op->getContext();
  auto list = [&](int64_t first, int64_t second) {
    return DenseI64ArrayAttr::get(context, {first, second});
  };
  for (int64_t positions : allowedTransforms(g))
    if (auto plan = PlanSearch(g, *findTransform(positions), target).run())
      plans.push_back(WinogradGradientPlanAttr::get(
          context, positions,
          plan->lanesSlide ? LanesOf::Sliding : LanesOf::Plain,
          list(plan->tileRows, plan->tileColumns),
          list(plan->rowsPerBlock, plan->lanesPerBlock), plan->level,
          plan->sumsPerBlock));
  return plans;
}

} // namespace tinh::cpu
