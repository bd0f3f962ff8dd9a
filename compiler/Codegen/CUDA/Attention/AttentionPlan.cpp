//===- AttentionPlan.cpp - Dividing attention into blocks -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

namespace {

/// Queries of a block, and how much of its peak a multiprocessor reaches with
/// them: the more they are, the fewer loads of keys and values each costs.
struct Choice {
  int64_t rows;
  double efficiency;
};

} // namespace

static constexpr Choice kChoices[] = {{128, 1.0}, {64, 0.8}, {32, 0.5}};
/// Columns of values beyond which a thread has no registers for so many rows.
static constexpr int64_t kManyColumns = 128, kMostColumns = 256;

/// What a multiprocessor does, in multiplications of a thread with its peak:
/// blocks in waves, one on each of them at a time.
static double costOf(const Attention &a, const AttentionPlan &plan,
                     double efficiency) {
  double waves = llvm::divideCeil(plan.blocks(), kMultiprocessors);
  return waves * plan.rows * a.keys() * (a.depth() + a.width()) / efficiency;
}

bool Attention::takesTensorCores(const Target &target) const {
  Type type = getElementTypeOrSelf(values.columns.value);
  // Values that lie along the keys are read in another order than tf32 wants.
  return scores.takesTensorCores(target) &&
         type == getElementTypeOrSelf(scores.columns.value) &&
         !(type.isF32() && values.columns.alongDepth);
}

/// How many keys at a time tensor cores take, so that shared memory is enough
/// and each thread has something to bring there; 0 if that cannot be.
static int64_t chooseTensorKeys(const Attention &a, AttentionPlan plan) {
  constexpr int64_t kMostShared = 48 << 10;
  for (int64_t keys : {64, 32}) {
    plan.tensorKeys = keys;
    if (std::min(keys, plan.columns) >= plan.rows / 2 &&
        tensorAttentionShared(a, plan) <= kMostShared)
      return keys;
  }
  return 0;
}

/// The plan for so many rows.
static AttentionPlan planWith(const Attention &a, int64_t rows) {
  AttentionPlan plan{};
  plan.rows = rows;
  plan.keys = 64;
  plan.rowTiles = llvm::divideCeil(a.queries(), rows);
  plan.batch = a.scores.extentOf(a.scores.batch);
  plan.columns = std::max<int64_t>(16, llvm::PowerOf2Ceil(a.width()));
  plan.threadRows = 8;
  return plan;
}

static std::pair<AttentionPlan, double> choosePlan(const Attention &a,
                                                   const Target &target) {
  int64_t fewest = std::end(kChoices)[-1].rows;
  bool tensor = a.takesTensorCores(target) &&
                chooseTensorKeys(a, planWith(a, fewest)) != 0;
  AttentionPlan best{};
  double least = std::numeric_limits<double>::infinity();
  for (auto [rows, efficiency] : kChoices) {
    AttentionPlan plan = planWith(a, rows);
    bool isWide = plan.columns > kManyColumns;
    if (tensor)
      plan.tensorKeys = chooseTensorKeys(a, plan);
    else if (isWide)
      plan.threadRows = 4;
    double cost = costOf(a, plan, efficiency);
    if (cost >= least || (isWide && rows > 64) ||
        (tensor && plan.tensorKeys == 0))
      continue;
    least = cost;
    best = plan;
  }
  return {best, least};
}

AttentionPlan planAttention(const Attention &a, const Target &target) {
  return choosePlan(a, target).first;
}

/// What a multiprocessor does if each step has a kernel of its own. All
/// multiprocessors are at work then, also where there are few queries, but
/// three more launches take some microseconds, and each score is written and
/// read twice.
static double costApart(const Attention &a, double scores,
                        const Target &target) {
  constexpr double kLaunches = 1 << 20, kOfScore = 100, kTiles = 0.7;
  // So much faster than FFMA are tensor cores, but neither of these.
  double speed = a.takesTensorCores(target) ? 12 : 1;
  return scores * ((a.depth() + a.width()) / kTiles + speed * kOfScore) /
             kMultiprocessors +
         speed * kLaunches;
}

bool isWorthBlocks(func::FuncOp kernel, const Target &target) {
  // A team of threads for each query reads keys and values as often.
  constexpr int64_t kLeastQueries = 16, kLeastDepth = 8;
  auto a = matchAttention(kernel);
  if (!a || a->queries() < kLeastQueries || a->depth() < kLeastDepth ||
      a->width() < kLeastDepth || a->width() > kMostColumns)
    return false;
  double scores = static_cast<double>(a->queries()) * a->keys() *
                  a->scores.extentOf(a->scores.batch);
  constexpr double kMostScores = 1 << 28; // Which memory would hold.
  return scores > kMostScores ||
         choosePlan(*a, target).second <= costApart(*a, scores, target);
}

std::optional<Division> divideAttention(func::FuncOp kernel,
                                        const Target &target) {
  auto a = matchAttention(kernel);
  if (!a)
    return std::nullopt;
  AttentionPlan plan = planAttention(*a, target);
  int64_t bytes = scalarAttentionShared(plan);
  if (plan.tensorKeys != 0)
    bytes = std::max(bytes, tensorAttentionShared(*a, plan));
  return Division{plan.blocks(), plan.threads(), bytes};
}

LogicalResult emitAttention(EmittedKernel &kernel, const Target &target) {
  auto a = matchAttention(kernel.source);
  if (!a)
    return failure();
  AttentionPlan plan = planAttention(*a, target);
  // All registers there are: this code takes them.
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                           OpBuilder(kernel.function).getI32IntegerAttr(1));
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  if (plan.tensorKeys == 0)
    return emitScalarAttention(kernel, *a, plan, b);
  Location loc = kernel.source.getLoc();
  Value chip = emitChip(b, kernel);
  Value level = arith::ConstantIntOp::create(b, loc, 800, 32);
  Value has =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, chip, level);
  auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
  if (failed(
          emitTensorAttention(kernel, *a, plan, branch.getThenBodyBuilder())))
    return failure();
  return emitScalarAttention(kernel, *a, plan, branch.getElseBodyBuilder());
}

} // namespace tinh::cuda
