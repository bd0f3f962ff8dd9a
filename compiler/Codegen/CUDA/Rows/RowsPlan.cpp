//===- RowsPlan.cpp - Teams of threads for rows -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/CUDA/WorkAnalysis.h"
#include "compiler/Codegen/Kernel/Work.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cuda {

/// What a thread should have to do of a row, in vectors.
static constexpr int64_t kWorkOfThread = 8;
/// Threads that keep a GPU busy.
static constexpr int64_t kEnoughThreads = 1 << 16;
/// ptxas would give more of them 32 registers each, so that a multiprocessor
/// can have two such blocks, and rather spill.
static constexpr int64_t kMostOfTeam = 512;
/// Of what a thread has loaded and not combined yet: half of what each of so
/// many threads may have.
static constexpr int64_t kRegistersInFlight = 64;

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

static RowsPlanAttr withTeam(RowsPlanAttr plan, int64_t team, int64_t threads,
                             int64_t unrolled) {
  return RowsPlanAttr::get(plan.getContext(), plan.getOuter(),
                           plan.getColumns(), plan.getLanes(), team, threads,
                           unrolled);
}

/// Whether the threads of a team meet in shared memory, whatever their number.
static bool needsBlock(const RowsLayout &layout) {
  return layout.columnUnits ||
         llvm::any_of(layout.stages,
                      [](const RowStage &stage) { return stage.inMemory; });
}

static int64_t chooseTeam(const RowsLayout &plan) {
  int64_t work = 1;
  for (const RowStage &stage : plan.stages)
    work = std::max(work, stage.units * stage.steps);
  for (const WrittenValue &written : plan.written) {
    ArrayRef<int64_t> shape = written.type().getShape();
    work = std::max(work, unitsOf(plan, shape, plan.lanesFor(shape)));
  }
  int64_t team = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(work, kWorkOfThread)), 1,
      kMostOfTeam);
  int64_t rows = plan.rows * plan.columnBlocks;
  while (team < kThreads && team < work && rows * team < kEnoughThreads)
    team *= 2;
  return needsBlock(plan) ? std::max<int64_t>(team, kWarp) : team;
}

/// How many iterations may be unrolled: their loads come first, so all that
/// they load, of each of the largest arguments, is in registers at a time.
static int64_t chooseUnrolled(const RowsLayout &plan, func::FuncOp kernel) {
  constexpr int64_t kMostUnrolled = 4;
  SmallVector<int64_t> sizes =
      llvm::map_to_vector(kernel.getArgumentTypes(), [](Type type) {
        return cast<RankedTensorType>(type).getNumElements();
      });
  int64_t largest = sizes.empty() ? 0 : *llvm::max_element(sizes);
  int64_t loaded = llvm::count(sizes, largest) * (plan.lanes > 1 ? 4 : 1);
  return std::clamp<int64_t>(kRegistersInFlight / std::max<int64_t>(loaded, 1),
                             1, kMostUnrolled);
}

/// A plan for teams of one thread: which elements are rows, columns and
/// vectors.
static RowsPlanAttr chooseRows(const RowsKernel &rows, int64_t lanes) {
  int64_t outer = rows.rank, columns = 0;
  if (rows.hasColumns) {
    --outer;
    if (rows.shape().back() % lanes)
      lanes = 1;
    int64_t units = rows.shape().back() / lanes;
    columns = std::min<int64_t>(
        kWarp, llvm::PowerOf2Ceil(std::max<int64_t>(units, 1)));
  }
  func::FuncOp kernel = rows.kernel;
  return RowsPlanAttr::get(kernel.getContext(), outer, columns, lanes,
                           /*team=*/1, kWarp, /*unrolled=*/1);
}

static RowsPlanAttr planRows(const RowsKernel &rows, int64_t lanes) {
  RowsPlanAttr plan = chooseRows(rows, lanes);
  RowsLayout layout = layOutRows(rows, plan);
  int64_t team = chooseTeam(layout), threads = team;
  if (!needsBlock(layout) && team < kWarp * 2)
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(layout.rows * team), kWarp,
                                  kThreads);
  return withTeam(plan, team, threads, chooseUnrolled(layout, rows.kernel));
}

RowsPlanAttr planRows(const RowsKernel &rows) {
  for (int64_t lanes : {widestVector(rows.kernel), int64_t(1)}) {
    RowsPlanAttr plan = planRows(rows, lanes);
    RowsLayout layout = layOutRows(rows, plan);
    if (layout.scratch > kMostShared)
      return {};
    if (takesVectors(rows, layout))
      return plan;
  }
  return {};
}

bool isWorthTeams(func::FuncOp kernel) {
  constexpr int64_t kLongReduction = 32;
  auto rows = RowsStrategy::match(kernel);
  if (!rows)
    return false;
  int64_t results = 0;
  for (Type type : kernel.getResultTypes())
    results += cast<RankedTensorType>(type).getNumElements();
  return (!chooseStages(kernel).empty() ||
          (reducedElements(kernel) >= kLongReduction &&
           results < kEnoughThreads)) &&
         planRows(*rows);
}

SmallVector<RowsPlanAttr> RowsStrategy::plans(const RowsKernel &rows,
                                              const Target &target) {
  if (!isWorthTeams(rows.kernel) || isForTiles(rows.kernel, target))
    return {};
  return {planRows(rows)};
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Of a row: a thread loads what its share of each stage is, one round of
/// iterations after the other, and waits for those it shares it with.
static double chainOf(const RowsLayout &layout) {
  double chain = guess::kLoad;
  for (const RowStage &stage : layout.stages) {
    int64_t units =
        stage.inMemory ? llvm::divideCeil(stage.units, stage.places) : 1;
    int64_t rounds = llvm::divideCeil(stage.steps, stage.shares);
    if (matchCombiner(stage.op))
      rounds = llvm::divideCeil(rounds, layout.unrolled);
    chain += static_cast<double>(units) *
             (guess::kLoad * rounds +
              guess::kShuffle * std::min<int64_t>(stage.shareBits(), 5));
    if (stage.warpShares() > 1 || stage.inMemory)
      chain += guess::kBarrier;
  }
  return chain;
}

double RowsStrategy::cost(const RowsKernel &rows, const RowsLayout &layout,
                          const Target &) {
  WorkAnalysis analysis(rows.kernel);
  for (linalg::GenericOp op : rows.stages)
    analysis.keep(op);
  return cyclesOf(
      {operandBytes(rows.kernel), analysis.cacheBytes(), chainOf(layout)},
      plannedMachine());
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

FailureOr<RowsLayout> RowsStrategy::expand(const RowsKernel &rows,
                                           RowsPlanAttr plan,
                                           const Target &target,
                                           EmitError error) {
  int64_t most = rows.rank - (plan.getColumns() ? 1 : 0);
  if (plan.getColumns() && !rows.hasColumns)
    return error() << "the last dimension is not one that all its values have "
                      "in common, so 'columns' must be 0";
  if (failed(
          checkNumbers(error, {{"outer", plan.getOuter(), within(0, most)}})))
    return failure();
  if (plan.getColumns() && rows.shape().back() % plan.getLanes() != 0)
    return error() << "vectors of " << plan.getLanes() << " do not divide "
                   << rows.shape().back() << " columns";
  RowsLayout layout = layOutRows(rows, plan);
  if (needsBlock(layout) && plan.getTeam() != plan.getThreads())
    return error() << "its threads meet in shared memory, so a block has one "
                      "team, found teams of "
                   << plan.getTeam() << " in " << plan.getThreads()
                   << " threads";
  if (plan.getTeam() > kWarp && plan.getTeam() != plan.getThreads())
    return error() << "teams of more than a warp are a block, found "
                   << plan.getTeam() << " of " << plan.getThreads()
                   << " threads";
  if (!takesVectors(rows, layout))
    return error() << "it cannot be computed in vectors of " << plan.getLanes();
  if (failed(checkLimits(layout, target, error)))
    return failure();
  return layout;
}

} // namespace tinh::cuda
