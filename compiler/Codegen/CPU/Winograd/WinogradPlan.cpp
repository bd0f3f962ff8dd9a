//===- WinogradPlan.cpp - How such convolutions are cut ---------*- C++ -*-===//
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
#include "compiler/Codegen/CPU/Winograd/Winograd.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include <limits>

using namespace mlir;

namespace tinh::cpu {

static constexpr int64_t kFloat = sizeof(float);

//===----------------------------------------------------------------------===//
// What follows from a plan
//===----------------------------------------------------------------------===//

/// Between rows of transformed images: whole vectors, and not such that the
/// rows of a register tile share few sets of the first-level cache.
static int64_t channelStride(const Winograd &w, const Target &target) {
  int64_t stride = llvm::alignTo(w.channels(), target.lanes());
  bool aliases = stride * kFloat % (target.machine->aliasBytes / 4) == 0;
  return aliases ? stride + target.lanes() : stride;
}

static void divide(const Winograd &w, WinogradPlan &p, const Target &target) {
  int64_t products = w.transform->products();
  p.panels = llvm::divideCeil(w.columns(), w.panelWidth);
  p.blocks = llvm::divideCeil(w.tiles(), p.tilesPerBlock);
  p.chunks = p.blocks * llvm::divideCeil(p.panels, p.panelsPerGroup);
  p.channelStride = channelStride(w, target);
  p.imagesOffset = 0;
  p.productsOffset =
      alignBytes(products * p.tilesPerBlock * p.channelStride * kFloat);
  p.tileOffset =
      p.productsOffset + alignBytes(products * p.tilesPerBlock *
                                    p.panelsPerGroup * w.panelWidth * kFloat);
  p.scratch = p.tileOffset + alignBytes(products * target.vectorBytes);
}

/// Whether images and what follows can be computed in vectors.
static bool hasVectors(const Winograd &w, const Target &target) {
  LaneAnalysis analysis(w.kernel(), target.lanes());
  auto along = [&](Value value) {
    int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
    return analysis.indicesAlong(rank, rank - 1);
  };
  if (!analysis.computes(w.image, along(w.image)) ||
      !analysis.computes(w.left.value, along(w.left.value)))
    return false;
  analysis.registers[w.result] = analysis.inRegisters();
  return analysis.computesResults(along(w.result));
}

FailureOr<WinogradPlan> WinogradStrategy::expand(const Winograd &w, Plan plan,
                                                 const Target &target,
                                                 EmitError emitError) {
  WinogradPlan p;
  p.tileRows = plan.getRows();
  p.tilesPerBlock = plan.getTilesPerBlock();
  p.panelsPerGroup = plan.getPanelsPerBlock();
  int64_t panels = llvm::divideCeil(w.columns(), w.panelWidth);
  if (failed(checkNumbers(
          emitError,
          {{"rows of tile", p.tileRows, within(1, w.tiles())},
           {"tiles of block", p.tilesPerBlock,
            graph::multipleOf(p.tileRows,
                              llvm::alignTo(w.tiles(), p.tileRows))},
           {"panels of block", p.panelsPerGroup, within(1, panels)}})) ||
      failed(checkColumns(w, w.panelWidth, target, emitError)))
    return failure();
  if (!hasVectors(w, target))
    return emitError() << "some element is not found at a step from its "
                          "neighbour, so that there are no vectors";
  divide(w, p, target);
  return p;
}

//===----------------------------------------------------------------------===//
// Cost
//===----------------------------------------------------------------------===//

/// To transform the images of one tile.
static double imageCycles(const Winograd &w, const Target &target) {
  double products = w.transform->products();
  return llvm::divideCeil(w.channels(), target.lanes()) *
         transformCycles(w.transform->input, products, products, target);
}

/// To multiply the tiles of all blocks by all panels.
static double multiplyCycles(const Winograd &w, const WinogradPlan &p,
                             const Target &target) {
  const Machine &machine = *target.machine;
  double products = w.transform->products();
  int64_t vectors = w.panelWidth / target.lanes();
  double columns = llvm::divideCeil(w.columns(), target.lanes());
  double compute = tileCycles(products * columns / vectors *
                                  llvm::divideCeil(w.tiles(), p.tileRows),
                              p.tileRows, vectors, w.channels(), target);
  // Each block reads all filters; each group all that a block's images have
  // become, from where these and the products lie, and each panel then from
  // where those of one product and its filters do.
  double panel = 1.0 * w.channels() * w.panelWidth * kFloat,
         filters = products * panel * p.panels,
         images = 1.0 * p.tilesPerBlock * p.channelStride * kFloat;
  double groups = llvm::divideCeil(p.panels, p.panelsPerGroup);
  double read =
      machine.readCycles(p.blocks * filters, filters) +
      machine.readCycles(p.blocks * groups * products * images, p.tileOffset) +
      machine.readCycles(p.blocks * (p.panels - groups) * products * images,
                         images + panel);
  // A part of what is read is waited for (seen on Zen 4, blocks of 11 to 55
  // tiles of 512 channels).
  constexpr double kWaited = 0.25;
  return std::max(compute, read) + kWaited * std::min(compute, read);
}

/// To transform images and products.
static double transformsCycles(const Winograd &w, const WinogradPlan &p,
                               const Target &target) {
  const Machine &machine = *target.machine;
  const WinogradTransform &t = *w.transform;
  double products = t.products(), outputs = t.outputs * t.outputs;
  double columns = llvm::divideCeil(w.columns(), target.lanes());
  double groups = llvm::divideCeil(p.panels, p.panelsPerGroup);
  double each = transformCycles(t.output, products + outputs, outputs, target);
  // Products were written to where they are read from.
  double bytes = products * w.tiles() * w.columns() * kFloat;
  double beyondL1 = machine.readCycles(2 * bytes, p.tileOffset) -
                    machine.readCycles(2 * bytes, 0);
  return groups * w.tiles() * imageCycles(w, target) +
         w.tiles() * columns * each + beyondL1;
}

double WinogradStrategy::cost(const Winograd &w, const WinogradPlan &p,
                              const Target &target) {
  llvm::DenseSet<Operation *> own = opsOfProduct(w.op->getResult(0), w.result);
  for (Operation *op = w.right.value.getDefiningOp();
       op && op->getNumOperands(); op = op->getOperand(0).getDefiningOp())
    own.insert(op);
  return multiplyCycles(w, p, target) + transformsCycles(w, p, target) +
         elementwiseCycles(w.kernel(), own, {target.lanes()}, target) +
         dispatchCycles(target, p.chunks);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Sets the block of `p` that costs least.
static void chooseBlock(const Winograd &w, WinogradPlan &p,
                        const Target &target) {
  // How many chunks keep some workers at work to the end; there are more only
  // where their scratch memory would leave the second-level cache.
  constexpr int64_t kMostChunks = 64;
  int64_t registerTiles = llvm::divideCeil(w.tiles(), p.tileRows),
          panels = llvm::divideCeil(w.columns(), w.panelWidth);
  double operations =
      2.0 * w.transform->products() * w.tiles() * w.columns() * w.channels();
  int64_t most = chunksFor(operations, kMostChunks);
  double least = std::numeric_limits<double>::infinity();
  WinogradPlan best = p;
  auto consider = [&](int64_t blocks, int64_t groups) {
    p.tilesPerBlock = divideUp(registerTiles, blocks) * p.tileRows;
    p.panelsPerGroup = divideUp(panels, groups);
    divide(w, p, target);
    bool isTooFine = p.chunks > most && p.scratch < target.machine->l2.bytes;
    double cycles =
        multiplyCycles(w, p, target) + transformsCycles(w, p, target);
    cycles += Device::idleCycles(cycles, p);
    if (isTooFine || cycles >= least)
      return;
    least = cycles;
    best = p;
  };
  for (int64_t blocks = 1; blocks <= registerTiles;
       blocks += std::max<int64_t>(1, blocks / 16))
    for (int64_t groups = 1; groups <= panels; groups *= 2)
      consider(blocks, groups);
  p = best;
}

SmallVector<WinogradPlanAttr> WinogradStrategy::plans(const Winograd &w,
                                                      const Target &target) {
  int64_t vectors = w.panelWidth / target.lanes();
  if (w.panelWidth % target.lanes() || !hasVectors(w, target))
    return {};
  WinogradPlan p;
  p.tileRows = chooseTileRows(w.tiles(), vectors,
                              mostTileRows(vectors, target.vectorRegisters),
                              /*isFull=*/false);
  chooseBlock(w, p, target);
  MLIRContext *context = w.op->getContext();
  int64_t block[] = {p.tilesPerBlock, p.panelsPerGroup};
  return {WinogradPlanAttr::get(context, p.tileRows,
                                DenseI64ArrayAttr::get(context, block))};
}

} // namespace tinh::cpu
