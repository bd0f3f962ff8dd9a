//===- ContractionPlan.cpp - Dividing products into blocks ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Machine.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cuda {

Tiles tilesOf(const Product &p, ContractionPlanAttr plan) {
  auto count = [&](const Loops &loops, int64_t each) {
    return static_cast<int64_t>(llvm::divideCeil(p.extentOf(loops), each));
  };
  return {count(p.left.loops, plan.getTileRows()),
          count(p.right.loops, plan.getTileColumns()), p.extentOf(p.batch)};
}

Tile tileOf(ContractionPlanAttr plan) {
  return {plan.getTileRows(), plan.getTileColumns(), plan.getThread()[0],
          plan.getThread()[1]};
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

static ArrayRef<Tile> tilesFor(const Product &p, const Target &target) {
  // The smallest first: one that is not full may take as long. With 128 × 128
  // sums a block would multiply no faster than with half of them.
  static constexpr Tile kFloats[] = {{32, 32, 4, 4},
                                     {32, 64, 4, 4},
                                     {64, 64, 8, 4},
                                     {64, 128, 8, 8},
                                     {128, 64, 8, 8}};
  static constexpr Tile kScalar[] = {
      {128, 128, 8, 8}, {64, 64, 4, 4}, {32, 32, 4, 4}};
  // Sums of 64 × 64 of a warp reuse most of what it reads. They leave no
  // registers for what is on its way to shared memory.
  static constexpr Tile kCopied[] = {
      {128, 128, 16, 8}, {64, 64, 8, 4}, {32, 32, 4, 4}};
  if (p.element().isF64())
    return ArrayRef(kScalar).drop_front(); // Too many registers.
  if (p.element().isF32() && !p.takesTensorCores(target))
    return kFloats;
  bool copied = cuda::copyBytes(p.left) && cuda::copyBytes(p.right);
  return copied && p.takesTensorCores(target) ? ArrayRef(kCopied)
                                              : ArrayRef(kScalar);
}

/// How many results tensor cores' threads store together, whose warp has so
/// many columns.
static int64_t tensorStores(const Product &p, int64_t warpColumns) {
  int64_t lanes = exchangedLanes(p.kernel(), warpColumns, [&](int64_t lanes) {
    return p.hasColumnVectors(lanes);
  });
  return canStore(p, lanes) ? lanes : 1;
}

static TensorCoresAttr planTensorCores(const Product &p, const Tile &tile) {
  MLIRContext *context = p.result.getContext();
  int64_t warps = tile.threads() / kWarp, across = 1;
  while (across * across < warps)
    across *= 2;
  int64_t columns = tile.columns / across, rows = tile.rows / (warps / across);
  // What is in registers is one step ahead. A large tile's step takes long
  // enough, and two blocks are to fit into the 100 KB that small
  // multiprocessors have.
  bool copies = cuda::copyBytes(p.left) || cuda::copyBytes(p.right);
  int64_t stages = !copies ? 2 : tile.rows < 128 ? 4 : 3;
  int64_t depth = kStepBytes / bytesOf(p);
  int64_t loads[] = {
      copyWidth(p, p.left, tile.rows * depth, tile.threads()),
      copyWidth(p, p.right, tile.columns * depth, tile.threads())};
  return TensorCoresAttr::get(
      context, DenseI64ArrayAttr::get(context, {rows, columns}), stages,
      DenseI64ArrayAttr::get(context, loads), tensorStores(p, columns));
}

static ContractionPlanAttr planWith(const Product &p, const Tile &tile,
                                    const Target &target) {
  constexpr int64_t kStages = 4;
  MLIRContext *context = p.result.getContext();
  // Of bytes that one instruction multiplies four of.
  bool isLarge = std::max(tile.rows, tile.columns) >= 128;
  int64_t depth = (isLarge ? 8 : 16) * (p.isOfBytes() ? 4 : 1);
  int64_t loads[] = {
      loadWidth(p, p.left, tile.rows * depth, tile.threads()),
      loadWidth(p, p.right, tile.columns * depth, tile.threads())};
  TensorCoresAttr tensor;
  WarpgroupsAttr warpgroups;
  if (p.takesTensorCores(target))
    tensor = planTensorCores(p, tile);
  // Those of smaller tiles wait longer for each step than warps do.
  constexpr int64_t kLeastSide = 128;
  if (tensor && target.usesWarpgroups() && takesWarpgroups(p, tile) &&
      std::min(tile.rows, tile.columns) >= kLeastSide)
    warpgroups =
        WarpgroupsAttr::get(context, kStages, tensorStores(p, tile.columns));
  auto list = [&](ArrayRef<int64_t> values) {
    return DenseI64ArrayAttr::get(context, values);
  };
  return ContractionPlanAttr::get(
      context, list({tile.rows, tile.columns}),
      list({tile.threadRows, tile.threadColumns}), depth, list(loads),
      canStore(p, kGroup) ? kGroup : 1, tensor, warpgroups);
}

static SmallVector<ContractionPlanAttr> allPlans(const Product &p,
                                                 const Target &target) {
  return llvm::map_to_vector(tilesFor(p, target), [&](const Tile &tile) {
    return planWith(p, tile, target);
  });
}

bool isWorthTiles(const Product &p) {
  // With less a thread for each sum reads hardly more than a tile would.
  constexpr int64_t kLeast = 8, kLong = 32;
  if (p.extentOf(p.depth) < kLeast)
    return false;
  int64_t rows = p.extentOf(p.left.loops);
  int64_t columns = p.extentOf(p.right.loops);
  if (rows >= kLeast && columns >= kLeast)
    return true;
  // Teams of threads add up along the depth; where the large factor lies along
  // its own loops, only tiles read neighbours together.
  const Factor &large = rows > columns ? p.left : p.right;
  return std::max(rows, columns) >= kLong && p.extentOf(p.depth) >= kLong &&
         !large.alongDepth && !large.isScattered;
}

bool isWorthTiles(func::FuncOp kernel) {
  auto p = ContractionStrategy::match(kernel);
  return p && isWorthTiles(*p);
}

SmallVector<ContractionPlanAttr>
ContractionStrategy::plans(const Product &p, const Target &target) {
  return isWorthTiles(p) ? allPlans(p, target)
                         : SmallVector<ContractionPlanAttr>();
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Cycles for each of the depth with so many blocks on a multiprocessor, one of
/// which multiplies while another one waits.
static double cyclesOfTensorCores(const Product &p, ContractionPlanAttr plan,
                                  double blocks) {
  int64_t side = std::min(plan.getTileRows(), plan.getTileColumns());
  const measured::TensorCoreRate &rate = side >= 128  ? measured::kLargeTile
                                         : side >= 64 ? measured::kTile
                                                      : measured::kSmallTile;
  return std::max(blocks * rate.multiplying, rate.waiting) * bytesOf(p) /
         kStepBytes;
}

static double cyclesOfFloats(ContractionPlanAttr plan, double blocks) {
  int64_t ofThread = plan.getThread()[0] * plan.getThread()[1];
  const measured::FmaRate &rate = ofThread >= 64   ? measured::kLargeThread
                                  : ofThread >= 32 ? measured::kThread
                                                   : measured::kSmallThread;
  double sums = blocks * plan.getTileRows() * plan.getTileColumns();
  return std::max(sums / rate.efficiency / plannedMachine().fmas, rate.waiting);
}

/// Cycles of a product whose sum is in so many parts.
static double cyclesInParts(const Product &p, ContractionPlanAttr plan,
                            int64_t parts) {
  double blocks = llvm::divideCeil(tilesOf(p, plan).blocks() * parts,
                                   plannedMachine().multiprocessors);
  double depth = llvm::divideCeil(p.extentOf(p.depth), parts);
  double each = plan.getTensorCores() ? cyclesOfTensorCores(p, plan, blocks)
                                      : cyclesOfFloats(plan, blocks);
  return guess::kLoad + depth * each;
}

double ContractionStrategy::cost(const Product &p, ContractionPlanAttr plan,
                                 const Target &) {
  return cyclesInParts(p, plan, 1);
}

static ContractionPlanAttr planInParts(const Product &p, const Target &target,
                                       int64_t parts) {
  SmallVector<ContractionPlanAttr> plans = allPlans(p, target);
  return *llvm::min_element(plans, [&](auto x, auto y) {
    return cyclesInParts(p, x, parts) < cyclesInParts(p, y, parts);
  });
}

ContractionPlanAttr planTiles(const Product &p, const Target &target) {
  return planInParts(p, target, 1);
}

double costInParts(const Product &p, const Target &target, int64_t parts) {
  double cycles = cyclesInParts(p, planInParts(p, target, parts), parts);
  if (parts == 1)
    return cycles;
  // Another kernel reads what this one writes.
  constexpr int64_t kSumBytes = 4;
  double sums = p.extentOf(p.left.loops) * p.extentOf(p.right.loops) *
                p.extentOf(p.batch);
  return cycles + measured::kNextKernel +
         2 * parts * sums * kSumBytes / plannedMachine().bytesPerCycle();
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// Whether a thread's sums leave it registers to multiply with.
static LogicalResult checkRegisters(const Product &p, const Tile &tile,
                                    EmitError error) {
  constexpr int64_t kMost = 128;
  int64_t registers = tile.threadRows * tile.threadColumns *
                      graph::elementSize(p.element()) / 4;
  if (registers <= kMost)
    return success();
  return error() << "the sums of a thread take " << registers
                 << " registers, of which " << kMost << " can be for them";
}

/// Whether threads can load both factors so many elements at a time.
static LogicalResult checkLoads(const Product &p, const Tile &tile,
                                ArrayRef<int64_t> loads, int64_t depth,
                                EmitError error) {
  return success(succeeded(checkLoad(p, p.left, loads[0], tile.rows, depth,
                                     tile.threads(), error)) &&
                 succeeded(checkLoad(p, p.right, loads[1], tile.columns, depth,
                                     tile.threads(), error)));
}

static LogicalResult checkTensorCores(const Product &p,
                                      ContractionPlanAttr plan,
                                      const Target &target, EmitError error) {
  TensorCoresAttr tensor = plan.getTensorCores();
  Tile tile = tileOf(plan);
  if (!p.takesTensorCores(target))
    return error() << "tensor cores take factors of f16, bf16 or bytes, or "
                      "with --allow-tf32 of f32, found "
                   << getElementTypeOrSelf(p.left.value) << " and "
                   << getElementTypeOrSelf(p.right.value);
  if (plan.getWarpgroups() &&
      (!target.usesWarpgroups() || !takesWarpgroups(p, tile)))
    return error()
           << "'warpgroups' are for chips with +wgmma, factors of f16, "
              "bf16 or bytes, and 64 rows of the tile for each 128 threads";
  if (failed(checkLoads(p, tile, tensor.getLoads(), kStepBytes / bytesOf(p),
                        error)))
    return failure();
  int64_t columns = tensor.getWarp()[1], stores = tensor.getStores();
  if (stores > columns / 4 || !canStore(p, stores))
    return error() << "'stores' of tensor cores is " << stores
                   << ", which the results do not allow";
  return success();
}

FailureOr<Divided<ContractionPlanAttr>>
ContractionStrategy::expand(const Product &p, ContractionPlanAttr plan,
                            const Target &target, EmitError error) {
  Tile tile = tileOf(plan);
  if (failed(checkRegisters(p, tile, error)) ||
      failed(checkLoads(p, tile, plan.getLoads(), plan.getDepth(), error)))
    return failure();
  if (!canStore(p, plan.getStores()))
    return error() << "the results cannot be stored " << plan.getStores()
                   << " at a time";
  int64_t bytes = scalarShared(p, tile, plan.getDepth());
  if (TensorCoresAttr tensor = plan.getTensorCores()) {
    if (failed(checkTensorCores(p, plan, target, error)))
      return failure();
    bytes = std::max(bytes, pipelineShared(tile, tensor.getStages()));
  }
  if (WarpgroupsAttr groups = plan.getWarpgroups())
    bytes = std::max(bytes, pipelineShared(tile, groups.getStages()));
  return divided(plan, {tilesOf(p, plan).blocks(), tile.threads(), bytes},
                 target, error, kMostRegisters);
}

} // namespace tinh::cuda
