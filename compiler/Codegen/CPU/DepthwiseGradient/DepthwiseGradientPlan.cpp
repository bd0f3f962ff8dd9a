//===- DepthwiseGradientPlan.cpp - Cutting them -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// What follows from a plan
//===----------------------------------------------------------------------===//

/// The part of the left factor that one block of sums reads.
static SmallVector<int64_t> slabShape(const DepthwiseGradient &g,
                                      const DepthwiseGradientPlan &plan) {
  SmallVector<int64_t> ranges(g.extents.size(), 1);
  for (unsigned loop : g.left.loops)
    ranges[loop] = g.extents[loop];
  for (unsigned loop : ArrayRef(g.depth).drop_front(plan.level))
    ranges[loop] = g.extents[loop];
  ranges[g.depth[plan.level]] = plan.sumsPerBlock;
  ranges[g.channel] = plan.channelsPerBlock;
  SmallVector<int64_t> shape;
  for (AffineExpr expr : g.left.map.getResults()) {
    int64_t extent = 1;
    for (auto [loop, range] : llvm::enumerate(ranges))
      extent += loopCoefficient(expr, loop, ranges.size()) * (range - 1);
    shape.push_back(extent);
  }
  return shape;
}

/// Fills in what follows from the decisions of `plan`.
static void follow(const DepthwiseGradient &g, DepthwiseGradientPlan &plan) {
  int64_t bytes = g.elementBytes();
  plan.channelBlocks = llvm::divideCeil(g.channels(), plan.channelsPerBlock);
  plan.chunks = g.extentOf(g.batch) / g.channels() * plan.channelBlocks;
  plan.slab = slabShape(g, plan);
  plan.sumsOffset = alignBytes(ShapedType::getNumElements(plan.slab) * bytes);
  plan.scratch =
      plan.sumsOffset + alignBytes(g.taps() * plan.channelsPerBlock * bytes);
}

/// Whether vectors of channels of both factors can be loaded.
static bool hasVectors(const DepthwiseGradient &g, int64_t lanes) {
  LaneAnalysis analysis(g.kernel(), lanes);
  return llvm::all_of(ArrayRef{&g.left, &g.right}, [&](const Factor *factor) {
    return analysis.computes(
        factor->value, factor->map,
        analysis.indicesAlong(g.extents.size(), g.channel));
  });
}

FailureOr<DepthwiseGradientPlan>
DepthwiseGradientStrategy::expand(const DepthwiseGradient &g,
                                  DepthwiseGradientPlanAttr attribute,
                                  const Target &target, EmitError emitError) {
  DepthwiseGradientPlan plan;
  plan.tapsPerTile = attribute.getTile()[0];
  plan.channelsPerBlock = attribute.getTile()[1];
  plan.level = attribute.getLevel();
  plan.sumsPerBlock = attribute.getSums();
  int64_t last = g.depth.size() - 1;
  if (failed(checkNumbers(
          emitError, {{"taps of tile", plan.tapsPerTile, within(1, g.taps())},
                      {"level", attribute.getLevel(), within(0, last)}})))
    return failure();
  int64_t sums = g.extents[g.depth[plan.level]];
  if (failed(checkNumbers(emitError,
                          {{"sums", plan.sumsPerBlock, within(1, sums)}})))
    return failure();
  follow(g, plan);
  int64_t lanes = target.vectorBytes / g.elementBytes();
  if (failed(checkColumns(emitError, "channels of tile", plan.channelsPerBlock,
                          lanes, target)))
    return failure();
  if (!hasVectors(g, lanes))
    return emitError() << "some element is not found at a step from its "
                          "neighbour, so that there are no vectors";
  return plan;
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// As many sums in registers as hide the latency of FMAs, and, where there are
/// more, as many as registers hold beside one vector of each factor.
static void chooseTile(const DepthwiseGradient &g, const Target &target,
                       DepthwiseGradientPlan &plan) {
  const Machine &machine = *target.machine;
  int64_t lanes = target.vectorBytes / g.elementBytes();
  int64_t most = target.vectorRegisters - 2;
  plan.tapsPerTile =
      llvm::divideCeil(g.taps(), llvm::divideCeil(g.taps(), most));
  int64_t wanted = std::llround(machine.fmaLatency * machine.fmasPerCycle);
  int64_t vectors = llvm::divideCeil(wanted, plan.tapsPerTile);
  int64_t held = most / (plan.tapsPerTile + 1);
  int64_t all = llvm::divideCeil(g.channels(), lanes);
  vectors = std::clamp<int64_t>(std::min(vectors, held), 1, all);
  plan.channelsPerBlock = vectors * lanes;
}

/// As much of the sums at a time as leaves the slab in half of the second-level
/// cache.
static void chooseSums(const DepthwiseGradient &g, const Target &target,
                       DepthwiseGradientPlan &plan) {
  auto fits = [&] {
    return ShapedType::getNumElements(slabShape(g, plan)) * g.elementBytes() <=
           target.machine->l2.bytes / 2;
  };
  for (plan.level = 0;; ++plan.level) {
    plan.sumsPerBlock = g.extents[g.depth[plan.level]];
    while (plan.sumsPerBlock > 1 && !fits())
      plan.sumsPerBlock = llvm::divideCeil(plan.sumsPerBlock, 2);
    if (plan.level + 1 == g.depth.size() || fits())
      return;
  }
}

SmallVector<DepthwiseGradientPlanAttr>
DepthwiseGradientStrategy::plans(const DepthwiseGradient &g,
                                 const Target &target) {
  if (columnsOfPanels(g.result) ||
      !hasVectors(g, target.vectorBytes / g.elementBytes()))
    return {};
  DepthwiseGradientPlan plan;
  chooseTile(g, target, plan);
  chooseSums(g, target, plan);
  MLIRContext *context = g.op->getContext();
  return {DepthwiseGradientPlanAttr::get(
      context,
      DenseI64ArrayAttr::get(context,
                             {plan.tapsPerTile, plan.channelsPerBlock}),
      plan.level, plan.sumsPerBlock)};
}

double DepthwiseGradientStrategy::cost(const DepthwiseGradient &g,
                                       const DepthwiseGradientPlan &plan,
                                       const Target &target) {
  func::FuncOp kernel = g.kernel();
  const Machine &machine = *target.machine;
  int64_t lanes = target.vectorBytes / g.elementBytes();
  double vectors = plan.channelsPerBlock / lanes, taps = plan.tapsPerTile;
  double step = std::max({taps * vectors / machine.fmasPerCycle,
                          (taps + 1) * vectors / machine.loadsPerCycle,
                          double(machine.fmaLatency)});
  double tiles = llvm::divideCeil(g.taps(), plan.tapsPerTile);
  double depth = g.extentOf(g.depth);
  // A vector of the left factor is loaded, maybe computed, and stored.
  double each = copyCycles(machine, g.elementBytes());
  double blocks =
      g.extentOf(ArrayRef(g.depth).take_front(plan.level)) *
      llvm::divideCeil(g.extents[g.depth[plan.level]], plan.sumsPerBlock);
  double copied = blocks * ShapedType::getNumElements(plan.slab);
  return plan.chunks * (tiles * depth * step + 2 * each * copied) +
         trafficCycles(kernel, target) +
         elementwiseCycles(kernel, opsOfProduct(g.op->getResult(0), g.result),
                           {lanes}, target) +
         dispatchCycles(target, plan.chunks);
}

} // namespace tinh::cpu
