//===- AttentionPlan.cpp - Dividing attention into blocks -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmit.h"
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

/// Columns of values beyond which a thread has no registers for so many rows.
static constexpr int64_t kManyColumns = 128, kMostColumns = 256;

bool Attention::takesTensorCores(const Target &target) const {
  Type type = getElementTypeOrSelf(values.right.value);
  // Values that lie along the keys are read in another order than tf32 wants.
  return scores.takesTensorCores(target) &&
         type == getElementTypeOrSelf(scores.right.value) &&
         !(type.isF32() && values.right.alongDepth);
}

//===----------------------------------------------------------------------===//
// What a plan says
//===----------------------------------------------------------------------===//

TileCode AttentionCode::ofScores() const {
  return {{rows, keys, threadRows, keys / kSharers},
          rowTiles,
          /*columnTiles=*/1,
          depth,
          {loads[0], loads[1]},
          /*stores=*/1};
}

TileCode AttentionCode::ofValues() const {
  return {{rows, columns, threadRows, columns / kSharers},
          rowTiles,
          /*columnTiles=*/1,
          step,
          {1, loads[2]},
          stores};
}

static int64_t paddedColumns(const Attention &a) {
  return std::max<int64_t>(16, llvm::PowerOf2Ceil(a.width()));
}

static std::array<int64_t, 3> threeOf(DenseI64ArrayAttr list) {
  return {list[0], list[1], list[2]};
}

AttentionCode scalarCode(const Attention &a, AttentionPlanAttr plan) {
  int64_t queries = plan.getQueries();
  return {queries,
          static_cast<int64_t>(llvm::divideCeil(a.queries(), queries)),
          plan.getKeys(),
          paddedColumns(a),
          plan.getRows(),
          plan.getDepth(),
          plan.getStep(),
          threeOf(plan.getLoads()),
          plan.getMasks(),
          plan.getStores()};
}

AttentionCode tensorCode(const Attention &a, AttentionPlanAttr plan) {
  AttentionTensorCoresAttr tensor = plan.getTensorCores();
  AttentionCode code = scalarCode(a, plan);
  code.keys = tensor.getKeys();
  code.depth = code.step = kStepBytes / bytesOf(a.scores);
  code.loads = threeOf(tensor.getLoads());
  code.masks = tensor.getMasks();
  code.stores = tensor.getStores();
  code.keepsQueries = tensor.getQueries() == QueriesIn::Registers;
  return code;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

/// The loops' indices at a query, which no lane differs in.
static Indices atQuery(const Attention &a) {
  Indices loops(a.extents.size(), LaneAnalysis::same(kOfZero));
  for (const Loops *each : {&a.scores.batch, &a.scores.left.loops})
    for (unsigned loop : *each)
      loops[loop] = LaneAnalysis::same();
  return loops;
}

/// Whether so many scores can be masked as a vector.
static bool canMask(const Attention &a, int64_t lanes) {
  const Loops &keys = a.scores.right.loops;
  if (lanes == 1 || keys.empty() || a.scores.extents[keys.back()] % lanes != 0)
    return lanes == 1;
  LaneAnalysis analysis(a.scores.kernel(), lanes);
  analysis.registers[a.scores.result] = analysis.inRegisters();
  Indices loops = atQuery(a);
  for (unsigned loop : keys)
    loops[loop] = LaneAnalysis::same();
  loops[keys.back()] = analysis.along();
  return analysis.computes(a.masked, a.indicesAt(analysis, a.maskedAt, loops));
}

/// Whether so many results can be stored as a vector: along the last dimension.
static bool canStore(const Attention &a, int64_t lanes) {
  if (lanes == 1 || !a.values.hasColumnVectors(lanes))
    return lanes == 1;
  func::FuncOp kernel = a.scores.kernel();
  LaneAnalysis analysis(kernel, lanes);
  analysis.registers[a.values.result] = analysis.inRegisters();
  Indices loops = atQuery(a);
  for (unsigned loop : a.columns)
    loops[loop] = LaneAnalysis::same();
  loops[a.columns.back()] = analysis.along();
  Indices at = a.indicesAt(analysis, a.resultAt, loops);
  return at.back().stride == 1 && analysis.computesResults(at);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// How many keys at a time tensor cores take, so that shared memory is enough
/// and each thread has something to bring there; 0 if that cannot be.
static int64_t chooseTensorKeys(const Attention &a, AttentionCode code) {
  for (int64_t keys : {64, 32}) {
    code.keys = keys;
    if (std::min(keys, code.columns) >= code.rows / 2 &&
        tensorAttentionShared(a, code) <= kMostShared)
      return keys;
  }
  return 0;
}

static AttentionTensorCoresAttr planTensorCores(const Attention &a,
                                                AttentionCode code) {
  MLIRContext *context = a.scores.result.getContext();
  int64_t depth = kStepBytes / bytesOf(a.scores), threads = code.threads();
  int64_t loads[] = {
      copyWidth(a.scores, a.scores.left, code.rows * depth, threads),
      copyWidth(a.scores, a.scores.right, code.keys * depth, threads),
      copyWidth(a.values, a.values.right, code.columns * depth, threads)};
  int64_t stores = exchangedLanes(
      a.scores.kernel(), llvm::alignTo(a.width(), 16),
      [&](int64_t lanes) { return a.values.hasColumnVectors(lanes); });
  return AttentionTensorCoresAttr::get(
      context, code.keys,
      fitsQueries(a) ? QueriesIn::Registers : QueriesIn::Shared,
      DenseI64ArrayAttr::get(context, loads), canMask(a, 2) ? 2 : 1,
      canStore(a, stores) ? stores : 1);
}

/// The code of FFMA with so many queries. Threads that have many sums have few
/// registers for what they load.
static AttentionCode codeWith(const Attention &a, int64_t rows,
                              int64_t threadRows) {
  AttentionCode code{};
  code.rows = rows;
  code.keys = 64;
  code.columns = paddedColumns(a);
  code.threadRows = threadRows;
  code.depth = code.columns <= kManyColumns ? 16 : 8;
  code.step = std::min<int64_t>(16, 1024 / code.columns);
  return code;
}

static AttentionPlanAttr planWith(const Attention &a, const AttentionCode &code,
                                  int64_t tensorKeys) {
  MLIRContext *context = a.scores.result.getContext();
  int64_t threads = code.threads();
  int64_t loads[] = {
      loadWidth(a.scores, a.scores.left, code.rows * code.depth, threads),
      loadWidth(a.scores, a.scores.right, code.keys * code.depth, threads),
      loadWidth(a.values, a.values.right, code.columns * code.step, threads)};
  AttentionTensorCoresAttr tensor;
  if (tensorKeys != 0) {
    AttentionCode other = code;
    other.keys = tensorKeys;
    tensor = planTensorCores(a, other);
  }
  return AttentionPlanAttr::get(
      context, code.rows, code.keys, code.threadRows, code.depth, code.step,
      DenseI64ArrayAttr::get(context, loads), canMask(a, kGroup) ? kGroup : 1,
      canStore(a, kGroup) ? kGroup
      : canStore(a, 2)    ? 2
                          : 1,
      tensor);
}

static SmallVector<AttentionPlanAttr> allPlans(const Attention &a,
                                               const Target &target) {
  constexpr int64_t kRows = 8, kFewRows = 4, kFewest = 32;
  SmallVector<AttentionPlanAttr> plans;
  bool isWide = paddedColumns(a) > kManyColumns;
  bool tensor = a.takesTensorCores(target) &&
                chooseTensorKeys(a, codeWith(a, kFewest, kRows)) != 0;
  for (int64_t rows : {128, 64, 32}) {
    AttentionCode code =
        codeWith(a, rows, isWide && !tensor ? kFewRows : kRows);
    int64_t tensorKeys = tensor ? chooseTensorKeys(a, code) : 0;
    if ((isWide && rows > 64) || (tensor && tensorKeys == 0))
      continue;
    plans.push_back(planWith(a, code, tensorKeys));
  }
  return plans;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// The more queries a block has, the fewer loads of keys and values each costs.
static double efficiencyOf(int64_t queries) {
  return queries >= 128  ? guess::kManyQueries
         : queries >= 64 ? guess::kQueries
                         : guess::kFewQueries;
}

/// What a multiprocessor does, in multiplications of a thread with its peak:
/// blocks in waves, one on each of them at a time.
static double productsOf(const Attention &a, AttentionPlanAttr plan) {
  int64_t queries = plan.getQueries();
  int64_t blocks = llvm::divideCeil(a.queries(), queries) *
                   a.scores.extentOf(a.scores.batch);
  double waves = llvm::divideCeil(blocks, plannedMachine().multiprocessors);
  return waves * queries * a.keys() * (a.depth() + a.width()) /
         efficiencyOf(queries);
}

double AttentionStrategy::cost(const Attention &a, AttentionPlanAttr plan,
                               const Target &) {
  const Machine &machine = plannedMachine();
  int64_t rate = machine.fmas;
  if (plan.getTensorCores())
    rate = bytesOf(a.scores) == 2 ? machine.halfFmas : machine.tf32Fmas;
  return guess::kLoad + productsOf(a, plan) / rate;
}

/// What a multiprocessor does if each step has a kernel of its own. All
/// multiprocessors are at work then, also where there are few queries, but
/// three more launches take some microseconds, and each score is written and
/// read twice.
static double productsApart(const Attention &a, double scores,
                            const Target &target) {
  // So much faster than FFMA are tensor cores, but neither of these.
  double speed = a.takesTensorCores(target) ? guess::kTensorSpeed : 1;
  return scores *
             ((a.depth() + a.width()) / guess::kChained +
              speed * guess::kOfScore) /
             plannedMachine().multiprocessors +
         speed * guess::kLaunches;
}

static bool isWorthAttention(const Attention &a, const Target &target) {
  // A team of threads for each query reads keys and values as often.
  constexpr int64_t kLeastQueries = 16, kLeastDepth = 8;
  if (a.queries() < kLeastQueries || a.depth() < kLeastDepth ||
      a.width() < kLeastDepth || a.width() > kMostColumns)
    return false;
  double scores = static_cast<double>(a.queries()) * a.keys() *
                  a.scores.extentOf(a.scores.batch);
  constexpr double kMostScores = 1 << 28; // Which memory would hold.
  double least = std::numeric_limits<double>::infinity();
  for (AttentionPlanAttr plan : allPlans(a, target))
    least = std::min(least, productsOf(a, plan));
  return scores > kMostScores || least <= productsApart(a, scores, target);
}

bool isWorthAttention(func::FuncOp kernel, const Target &target) {
  auto a = AttentionStrategy::match(kernel);
  return a && isWorthAttention(*a, target);
}

SmallVector<AttentionPlanAttr> AttentionStrategy::plans(const Attention &a,
                                                        const Target &target) {
  return isWorthAttention(a, target) ? allPlans(a, target)
                                     : SmallVector<AttentionPlanAttr>();
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

/// Checks what the codes have alike.
static LogicalResult checkCode(const Attention &a, const AttentionCode &code,
                               EmitError error) {
  int64_t threads = code.threads();
  if (failed(checkLoad(a.scores, a.scores.left, code.loads[0], code.rows,
                       code.depth, threads, error)) ||
      failed(checkLoad(a.scores, a.scores.right, code.loads[1], code.keys,
                       code.depth, threads, error)) ||
      failed(checkLoad(a.values, a.values.right, code.loads[2], code.columns,
                       code.step, threads, error)))
    return failure();
  if (!canMask(a, code.masks))
    return error() << "the scores cannot be masked " << code.masks
                   << " at a time";
  if (!canStore(a, code.stores))
    return error() << "the results cannot be stored " << code.stores
                   << " at a time";
  return success();
}

FailureOr<Divided<AttentionPlanAttr>>
AttentionStrategy::expand(const Attention &a, AttentionPlanAttr plan,
                          const Target &target, EmitError error) {
  constexpr int64_t kMostSums = 128;
  AttentionCode code = scalarCode(a, plan);
  int64_t sums = code.threadRows * code.columns / kSharers;
  if (a.width() > kMostColumns || sums > kMostSums)
    return error() << "a thread has registers for " << kMostSums
                   << " sums, found " << sums << " of " << code.threadRows
                   << " rows with " << a.width() << " columns of values";
  if (!leavesWeights(code))
    return error()
           << "a step of " << code.depth
           << " elements of queries and keys takes the place of weights";
  if (failed(checkCode(a, code, error)))
    return failure();
  int64_t bytes = scalarAttentionShared(code);
  if (plan.getTensorCores()) {
    if (!a.takesTensorCores(target))
      return error() << "tensor cores take factors of f16 or bf16, or with "
                        "--allow-tf32 of f32, all of one type";
    AttentionCode tensor = tensorCode(a, plan);
    if (failed(checkCode(a, tensor, error)))
      return failure();
    if (tensor.keepsQueries && !fitsQueries(a))
      return error() << "queries of " << a.depth()
                     << " elements do not fit into registers";
    bytes = std::max(bytes, tensorAttentionShared(a, tensor));
  }
  int64_t blocks = code.rowTiles * a.scores.extentOf(a.scores.batch);
  return divided(plan, {blocks, code.threads(), bytes}, target, error,
                 kMostRegisters);
}

} // namespace tinh::cuda
