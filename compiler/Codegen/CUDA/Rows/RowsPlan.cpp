//===- RowsPlan.cpp - Which threads compute what of a row -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Scan.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::cuda {

/// What a thread should have to do of a row, in vectors.
static constexpr int64_t kWorkOfThread = 8;
/// Threads that keep a GPU busy.
static constexpr int64_t kEnoughThreads = 1 << 16;
/// ptxas would give more of them 32 registers each, so that a multiprocessor
/// can have two such blocks, and rather spill.
static constexpr int64_t kMostThreads = 512, kUsualThreads = 256;
/// Of what a thread has loaded and not combined yet: half of what each of so
/// many threads may have.
static constexpr int64_t kRegistersInFlight = 64;
/// Shared memory that a block may have on any chip without asking for more.
static constexpr int64_t kMostShared = 48 << 10;

static int64_t roundUp(int64_t bytes) { return llvm::alignTo(bytes, 16); }

static SmallVector<int64_t> reducedExtents(linalg::GenericOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return llvm::map_to_vector(
      loops, [&](unsigned loop) { return op.getStaticLoopRanges()[loop]; });
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

/// Whether `value` depends on a reduction.
static bool followsReduction(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return (generic && generic.getNumReductionLoops() > 0) ||
         llvm::any_of(op->getOperands(), followsReduction);
}

/// Whether a reduction computes `op` much more often than once an element.
static bool isReadAgainAndAgain(linalg::GenericOp op) {
  constexpr int64_t kOften = 4;
  if (op.getNumResults() != 1 || !followsReduction(op.getResult(0)))
    return false;
  int64_t elements =
      cast<RankedTensorType>(op.getResult(0).getType()).getNumElements();
  return llvm::any_of(op.getResult(0).getUsers(), [&](Operation *user) {
    auto reader = dyn_cast<linalg::GenericOp>(user);
    return reader && reader.getNumReductionLoops() > 0 &&
           ShapedType::getNumElements(reader.getStaticLoopRanges()) >=
               kOften * elements;
  });
}

/// The reductions, and what they would compute again and again. What else is
/// read more than once is cheaper computed again than kept.
static SmallVector<linalg::GenericOp> findStages(func::FuncOp kernel) {
  SmallVector<linalg::GenericOp> stages;
  kernel.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() > 0 || isReadAgainAndAgain(op))
      stages.push_back(op);
  });
  return stages;
}

//===----------------------------------------------------------------------===//
// Rows and columns
//===----------------------------------------------------------------------===//

/// Whether the last dimension, too, is common to all: then it has columns.
static bool hasColumns(const RowsPlan &plan,
                       ArrayRef<linalg::GenericOp> stages) {
  auto isWhole = [&](Value value) {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() == plan.rank &&
           type.getShape() == plan.written[0].type().getShape();
  };
  return plan.rank > 0 &&
         llvm::all_of(
             plan.written,
             [&](const WrittenValue &w) { return isWhole(w.value); }) &&
         llvm::all_of(stages, [&](linalg::GenericOp op) {
           return !reducesLanes(op) && llvm::all_of(op.getResults(), isWhole);
         });
}

static void chooseRows(RowsPlan &plan, func::FuncOp kernel,
                       ArrayRef<linalg::GenericOp> stages) {
  plan.written = writtenValues(kernel);
  plan.rank = sharedRank(kernel, stages, plan.written);
  ArrayRef<int64_t> shape = plan.written[0].type().getShape();
  if (hasColumns(plan, stages)) {
    --plan.rank;
    if (shape.back() % plan.lanes)
      plan.lanes = 1;
    int64_t units = shape.back() / plan.lanes;
    plan.columnUnits = std::min<int64_t>(
        kWarp, llvm::PowerOf2Ceil(std::max<int64_t>(units, 1)));
    plan.columnBlocks = llvm::divideCeil(units, plan.columnUnits);
  }
  for (int64_t extent : shape.take_front(plan.rank))
    plan.rows *= extent;
}

/// Vectors of `shape` that a team has to compute.
static int64_t unitsOf(const RowsPlan &plan, ArrayRef<int64_t> shape,
                       int64_t lanes) {
  if (plan.columnUnits)
    return plan.columnUnits;
  if (static_cast<int64_t>(shape.size()) <= plan.rank)
    return 1;
  return ShapedType::getNumElements(shape.drop_front(plan.rank)) / lanes;
}

static RowStage planStage(const RowsPlan &plan, linalg::GenericOp op) {
  RowStage stage;
  stage.op = op;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  stage.along = reducesLanes(op) && matchCombiner(op);
  SmallVector<int64_t> reduced = reducedExtents(op);
  int64_t steps = ShapedType::getNumElements(reduced);
  if (stage.along) {
    stage.lanes = reduced.back() % plan.lanes == 0 ? plan.lanes : 1;
    stage.units = unitsOf(plan, shape, 1);
    stage.steps = steps / stage.lanes;
  } else {
    stage.lanes = plan.lanesFor(shape);
    stage.units = unitsOf(plan, shape, stage.lanes);
    stage.steps = steps;
  }
  stage.inMemory = !plan.columnUnits && stage.units * stage.lanes > 1 &&
                   !(stage.along && stage.units == 1);
  return stage;
}

//===----------------------------------------------------------------------===//
// Teams
//===----------------------------------------------------------------------===//

static int64_t chooseTeam(const RowsPlan &plan) {
  int64_t work = 1;
  for (const RowStage &stage : plan.stages)
    work = std::max(work, stage.units * stage.steps);
  for (const WrittenValue &written : plan.written) {
    ArrayRef<int64_t> shape = written.type().getShape();
    work = std::max(work, unitsOf(plan, shape, plan.lanesFor(shape)));
  }
  int64_t team = std::clamp<int64_t>(
      llvm::PowerOf2Ceil(llvm::divideCeil(work, kWorkOfThread)), 1,
      kMostThreads);
  int64_t rows = plan.rows * plan.columnBlocks;
  while (team < kUsualThreads && team < work && rows * team < kEnoughThreads)
    team *= 2;
  bool needsBlock =
      plan.columnUnits || llvm::any_of(plan.stages, [](const RowStage &stage) {
        return stage.inMemory;
      });
  return needsBlock ? std::max<int64_t>(team, kWarp) : team;
}

/// How many iterations may be unrolled: their loads come first, so all that
/// they load, of each of the largest arguments, is in registers at a time.
static int64_t chooseUnrolled(const RowsPlan &plan, func::FuncOp kernel) {
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

static void divideTeam(RowStage &stage, int64_t team) {
  stage.places = std::min<int64_t>(team, llvm::PowerOf2Ceil(stage.units));
  stage.shares = matchCombiner(stage.op) && stage.op.getNumReductionLoops() > 0
                     ? team / stage.places
                     : 1;
}

/// Gives each stage its part of the shared memory; returns what all need.
static int64_t layOutShared(RowsPlan &plan) {
  int64_t size = 0;
  for (RowStage &stage : plan.stages) {
    auto type = cast<RankedTensorType>(stage.op.getResult(0).getType());
    int64_t element = graph::elementSize(type.getElementType());
    int64_t lanes = stage.along ? 1 : stage.lanes;
    if (stage.warpShares() > 1) {
      stage.exchange = size;
      size += roundUp(stage.warpShares() * stage.places * lanes * element);
    }
    if (stage.inMemory) {
      stage.offset = size;
      for (Value result : stage.op.getResults())
        size += roundUp(stage.units * lanes *
                        graph::elementSize(getElementTypeOrSelf(result)));
    }
  }
  return size;
}

static std::optional<RowsPlan> planRows(func::FuncOp kernel, int64_t lanes) {
  RowsPlan plan;
  plan.lanes = lanes;
  SmallVector<linalg::GenericOp> stages = findStages(kernel);
  auto isPossible = [](linalg::GenericOp op) {
    return !matchScan(op) && !llvm::is_contained(op.getStaticLoopRanges(), 0) &&
           (op.getNumResults() == 1 || op.getNumReductionLoops() > 0);
  };
  if (stages.empty() || !llvm::all_of(stages, isPossible) ||
      kernel.getNumResults() == 0)
    return std::nullopt;
  chooseRows(plan, kernel, stages);
  for (linalg::GenericOp op : stages)
    plan.stages.push_back(planStage(plan, op));
  plan.team = chooseTeam(plan);
  plan.unrolled = chooseUnrolled(plan, kernel);
  for (RowStage &stage : plan.stages)
    divideTeam(stage, plan.team);
  int64_t threads = plan.team;
  if (plan.team < kWarp * 2 && !plan.columnUnits &&
      llvm::none_of(plan.stages, [](auto &stage) { return stage.inMemory; }))
    threads = std::clamp<int64_t>(llvm::PowerOf2Ceil(plan.rows * plan.team),
                                  kWarp, kUsualThreads);
  plan.division = {
      static_cast<int64_t>(llvm::divideCeil(plan.rows, threads / plan.team)) *
          plan.columnBlocks,
      threads, layOutShared(plan)};
  if (plan.rows == 0 || plan.division.shared > kMostShared)
    return std::nullopt;
  return plan;
}

std::optional<RowsPlan> planRows(func::FuncOp kernel) {
  for (int64_t lanes : {widestVector(kernel), int64_t(1)}) {
    auto plan = planRows(kernel, lanes);
    if (!plan)
      return std::nullopt;
    if (canEmit(kernel,
                [&](EmittedKernel &trial) { return emitRowsAs(trial, *plan); }))
      return plan;
  }
  return std::nullopt;
}

bool isWorthTeams(func::FuncOp kernel) {
  constexpr int64_t kLongReduction = 64;
  if (!chooseStages(kernel).empty())
    return planRows(kernel).has_value();
  int64_t results = 0;
  for (Type type : kernel.getResultTypes())
    results += cast<RankedTensorType>(type).getNumElements();
  return reducedElements(kernel) >= kLongReduction &&
         results < kEnoughThreads && planRows(kernel);
}

std::optional<Division> divideRows(func::FuncOp kernel) {
  auto plan = planRows(kernel);
  return plan ? std::optional(plan->division) : std::nullopt;
}

} // namespace tinh::cuda
