//===- ContractionCost.cpp - What products cost -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Costs.h"

using namespace mlir;

namespace tinh::cpu {

/// How long a step takes, in those that are one FMA for each vector.
static double stepCycles(const Contraction &c, const Target &target) {
  if (!c.isOfBytes() && c.group() > 1)
    return target.machine->fmasPerCycle / target.machine->bf16DotsPerCycle;
  // Without an instruction for bytes, two products of pairs are added, or one
  // of bytes and then another one: cycles seen on Zen 3. Of groups that have an
  // order, some fit into 16 bits, taken as half of them.
  constexpr double kExtended = 2.8, kPairs = 2.1;
  if (!c.extendsBytes(target))
    return 1;
  return c.groupOrder ? (kExtended + kPairs) / 2 : kExtended;
}

double amxCycles(const Contraction &c, const ContractionPlan &p, int64_t lines,
                 const Target &target) {
  const Machine &machine = *target.machine;
  AmxBlock block;
  block.rows = p.tileRows;
  block.lines = lines;
  block.panels = llvm::divideCeil(p.panelWidth, kAmxColumns);
  auto [level, bytes] = tileDepth(c, p);
  int64_t step = amxStepBytes(bytes);
  double steps =
      double(c.extentOf(ArrayRef(c.depth).take_front(level))) * (bytes / step);
  double rows = block.rowTiles() * block.rowsOfTile(), panels = block.panels;
  double columns = panels * step / Contraction::kGroupBytes;
  double multiply = panels * rows / machine.tileRowsPerCycle,
         loads = (rows + columns) / machine.loadsPerCycle;
  // A panel that the first level does not keep comes from the second one.
  constexpr double kRow = 64;
  if (steps * columns * kRow > machine.l1.bytes / 2.0)
    loads = std::max(loads, columns * kRow / machine.l2.bytesPerCycle);
  // Sums are stored and loaded again.
  double sums =
      panels * rows * (1 / machine.storesPerCycle + 1 / machine.loadsPerCycle);
  return steps * std::max(multiply, loads) + sums;
}

/// To multiply from factors that are where the tiles find them.
static double productCycles(const Contraction &c, const ContractionPlan &p,
                            const Target &target) {
  if (p.usesAmx()) {
    int64_t whole = p.lines / p.tileLines, left = p.lines % p.tileLines;
    return double(p.outer) * p.tiles * p.panels *
           (whole * amxCycles(c, p, p.tileLines, target) +
            left * amxCycles(c, p, 1, target));
  }
  int64_t lanes = c.lanes(target), vectors = p.panelWidth / lanes;
  double columns = llvm::divideCeil(c.columns(), lanes);
  double depth = c.steps() * stepCycles(c, target);
  int64_t whole = c.rowsOfLine() / p.tileRows,
          tail = c.rowsOfLine() % p.tileRows;
  double tiles = double(p.outer) * p.lines * columns / vectors;
  double cycles = tileCycles(tiles * whole, p.tileRows, vectors, depth, target);
  if (tail)
    cycles += tileCycles(tiles, tail, vectors, depth, target);
  // To make f32 of what panels hold goes on beside FMAs, of which these cycles
  // for a vector of columns were seen on Zen 5.
  constexpr double kUnpack = 0.12, kWiden = 0.4;
  if (c.isUnpacked() && p.right == RightAccess::Packed)
    cycles += (c.quantized ? kUnpack : kWiden) * p.outer * p.lines * p.tiles *
              columns * depth;
  return cycles;
}

bool hasAliasingSteps(const Contraction &c, const Target &target) {
  const Machine &machine = *target.machine;
  int64_t stride = c.left.access->steps[c.depth.back()];
  return stride * c.factorBytes() % machine.aliasBytes == 0 &&
         c.extents[c.depth.back()] > machine.l1Ways;
}

/// Where steps of k alias in the left factor, all that a tile reads of it
/// shares few sets of the first level: each panel finds it in the second one
/// again, a line at a time, or, where so many lines share few sets of that,
/// too, in the third.
static double aliasingCycles(const Contraction &c, const ContractionPlan &p,
                             const Target &target) {
  const Machine &machine = *target.machine;
  if (p.stages() || !hasAliasingSteps(c, target))
    return 0;
  constexpr double kLine = 64;
  double lines = double(p.outer) * p.lines * p.tiles * c.extentOf(c.depth);
  double stride = c.left.access->steps[c.depth.back()] * c.factorBytes();
  bool keeps = p.depthPerBlock * stride <= machine.l2.bytes;
  return lines * p.panels * kLine /
         (keeps ? machine.l2 : machine.l3).bytesPerCycle;
}

/// To bring both factors to the first-level cache, as often as blocks need.
static double operandCycles(const Contraction &c, const ContractionPlan &p,
                            const Target &target) {
  const Machine &machine = *target.machine;
  double bytes = c.factorBytes(), depth = c.extentOf(c.depth);
  double n = c.columns();
  double groups = llvm::divideCeil(p.panels, p.panelsPerGroup);
  double rowBlocks = p.chunks / groups;
  double right = depth * n * c.weightBytes() * c.extentOf(c.batch);
  double left = c.extentOf(c.left.loops) * depth * bytes * c.extentOf(c.batch);
  // Each block of rows reads all of its panels, from where they all lie.
  double cycles =
      machine.readCycles(rowBlocks / c.extentOf(c.batch) * right, right);
  cycles += machine.readCycles(groups * std::min(left, right + left), left);
  cycles += aliasingCycles(c, p, target);
  // Each line of tiles reads a panel again, from the second level at best.
  double inTiles =
      p.right == RightAccess::Packed ? c.weightBytes() : c.factorBytes();
  double panel = double(p.panelWidth) * p.depthPerBlock *
                 (depth / c.extents[c.depth.front()]) * inTiles;
  if (panel > machine.l1.bytes / 2)
    cycles +=
        machine.readCycles(right * p.tiles * p.lines / p.tileLines, panel) / 2;
  return cycles;
}

/// To copy factors to scratch memory.
static double copyCycles(const Contraction &c, const ContractionPlan &p,
                         const Target &target) {
  // A vector is loaded, maybe computed, and stored.
  double each = cpu::copyCycles(*target.machine, c.elementBytes());
  double depth = c.extentOf(c.depth), cycles = 0;
  double groups = llvm::divideCeil(p.panels, p.panelsPerGroup);
  // What makes floats of integers takes half as long again.
  double right = c.quantized ? 1.5 * each : each;
  if (p.right == RightAccess::Copied)
    cycles += right * p.chunks / groups * depth * c.columns();
  if (p.stages()) {
    double parts =
        llvm::divideCeil(c.extents[c.depth.front()], p.depthPerBlock);
    cycles += 2 * each * p.chunks * parts * ShapedType::getNumElements(p.slab);
  }
  return cycles;
}

/// What is not computed beside the product: itself, and where its weights are
/// packed, what says how.
static llvm::DenseSet<Operation *> ownOps(const Contraction &c,
                                          const ContractionPlan &p) {
  llvm::DenseSet<Operation *> own = opsOfProduct(c.op->getResult(0), c.result);
  if (p.right == RightAccess::Packed || c.isUnpacked())
    for (Operation *op = c.right.value.getDefiningOp();
         op && op->getNumOperands(); op = op->getOperand(0).getDefiningOp())
      own.insert(op);
  return own;
}

double stageCycles(const Contraction &c, const ContractionPlan &p,
                   const Target &target) {
  const Machine &machine = *target.machine;
  ContractionPlan one = p;
  one.chunks = llvm::divideCeil(p.panels, p.panelsPerGroup);
  double batch = c.extentOf(c.batch);
  // Its results go by way of scratch memory.
  double vectors =
      batch * c.extentOf(c.left.loops) * c.columns() / c.lanes(target);
  return productCycles(c, one, target) + batch * copyCycles(c, one, target) +
         vectors * (1 / machine.loadsPerCycle + 1 / machine.storesPerCycle);
}

double ContractionStrategy::cost(const Contraction &c,
                                 const ContractionPlan &plan,
                                 const Target &target) {
  // Both go on at the same time.
  return std::max(productCycles(c, plan, target),
                  operandCycles(c, plan, target)) +
         copyCycles(c, plan, target) +
         elementwiseCycles(c.kernel(), ownOps(c, plan), {c.lanes(target)},
                           target) +
         dispatchCycles(target, plan.chunks);
}

} // namespace tinh::cpu
