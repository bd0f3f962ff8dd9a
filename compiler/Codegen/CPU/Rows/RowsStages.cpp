//===- RowsStages.cpp - What rows keep in scratch memory -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Blocks.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "dialects/graph/Graph.h"

#include <numeric>

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Forms
//===----------------------------------------------------------------------===//

/// The product that a stage is, if tiles can compute it for one row.
static std::optional<Contraction> tiledProduct(linalg::GenericOp stage,
                                               const RowsPlan &plan) {
  auto c = matchContractionStage(stage);
  if (!c || plan.lanes == 1 ||
      static_cast<int64_t>(c->batch.size()) != plan.outer)
    return std::nullopt;
  return *c;
}

/// The op that is kept in place of a product: the stage behind it, if nothing
/// else reads the product, and that does so element by element.
static linalg::GenericOp keptOp(linalg::GenericOp product,
                                linalg::GenericOp next) {
  Value result = product.getResult(0);
  if (!next || !result.hasOneUse() || *result.user_begin() != next ||
      next.getNumReductionLoops() > 0 || next.getNumResults() != 1 ||
      !outputMap(next).isIdentity() ||
      !next.getMatchingIndexingMap(&*result.use_begin()).isIdentity())
    return product;
  return next;
}

/// The stages in order, each with its form, but without plans.
static SmallVector<RowStage, 0> formStages(const Rows &rows,
                                           const RowsPlan &plan) {
  SmallVector<RowStage, 0> stages;
  for (size_t i = 0; i < rows.stages.size(); ++i) {
    linalg::GenericOp op = rows.stages[i];
    RowStage stage{op, op, RowStage::Elements, tiledProduct(op, plan), {}};
    if (stage.product) {
      stage.form = RowStage::Product;
      if (i + 1 < rows.stages.size())
        stage.kept = keptOp(op, rows.stages[i + 1]);
      i += stage.kept != op;
    } else if (matchScan(op)) {
      stage.form = RowStage::Scan;
    } else if (reducesAlongLanes(rows, plan, op)) {
      stage.form = RowStage::AlongLanes;
    }
    stages.push_back(stage);
  }
  return stages;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

RankedTensorType RowsPlan::keptType(Value result) const {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<int64_t> shape(type.getShape().drop_front(outer));
  if (cutsStages)
    shape[0] = blockSize;
  return RankedTensorType::get(shape, type.getElementType());
}

/// Bytes of what a unit keeps of all stages.
static int64_t keptBytes(const RowsPlan &plan, ArrayRef<RowStage> stages) {
  int64_t bytes = 0;
  for (RowStage stage : stages)
    for (Value result : stage.kept.getResults())
      bytes += alignBytes(graph::tensorSize(plan.keptType(result)));
  return bytes;
}

LogicalResult followStages(const Rows &rows, RowsPlan &plan,
                           EmitError emitError) {
  plan.stages = formStages(rows, plan);
  int64_t resultsEnd = keptBytes(plan, plan.stages);
  plan.scratch = resultsEnd;
  size_t next = 0;
  for (RowStage &stage : plan.stages) {
    if (!stage.product)
      continue;
    if (next == plan.products.size())
      return emitError() << "'products' must be a plan for each product, found "
                         << next;
    // What a product needs is no longer needed by the next one, but where its
    // copy of the right factor is for all blocks of a row.
    auto product = expandStagePlan(
        *stage.product, plan.products[next++],
        plan.cutsStages ? plan.blockSize : stage.product->rowsOfLine(),
        plan.cutsStages ? plan.scratch : resultsEnd, emitError);
    if (failed(product))
      return failure();
    stage.plan = *product;
    plan.scratch = std::max(plan.scratch, product->scratch);
  }
  if (next != plan.products.size())
    return emitError() << "'products' must be " << next << " plans, found "
                       << plan.products.size();
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool canCutStages(const Rows &rows, const RowsPlan &plan) {
  bool anyProduct = false;
  for (linalg::GenericOp stage : rows.stages) {
    if (matchScan(stage))
      return false;
    if (auto c = tiledProduct(stage, plan)) {
      anyProduct = true;
      if (c->left.loops.size() != 1 ||
          c->output.getDimPosition(plan.outer) != c->left.loops[0])
        return false;
    }
  }
  return anyProduct &&
         sharedRank(rows.kernel, rows.stages, rows.written) > plan.outer;
}

/// The indices of a block of stages, a multiple of `unit`; all of a row if the
/// second-level cache has room for what its stages give.
static void chooseBlocksOfStages(const Rows &rows, RowsPlan &plan, int64_t unit,
                                 const Target &target) {
  // Chunks that share work evenly, and rows for which it pays to copy the right
  // factors anew: to copy an element takes as long as some FMAs.
  constexpr int64_t kEnoughChunks = 48, kLeastRows = 384;
  int64_t length = rowLength(rows, plan);
  int64_t bytes = keptBytes(plan, formStages(rows, plan));
  if (bytes <= target.machine->l2.bytes || length <= unit)
    return;
  int64_t most = std::max<int64_t>(1, residentBytes(*target.machine) /
                                          divideUp(bytes, length) / unit);
  plan.blockSize = evenBlock(divideUp(length, unit), most) * unit;
  int64_t blocks = divideUp(length, plan.blockSize);
  plan.unitsPerChunk =
      std::max(unitsForChunks(blocks, divideUp(kEnoughChunks, plan.rows)),
               std::min(blocks, divideUp(kLeastRows, plan.blockSize)));
}

void planStages(const Rows &rows, RowsPlan &plan, const Target &target) {
  SmallVector<Contraction, 0> products;
  for (linalg::GenericOp stage : rows.stages)
    if (auto product = tiledProduct(stage, plan))
      products.push_back(*product);
  int64_t unit = 1;
  for (const Contraction &product : products) {
    plan.products.push_back(planContractionStage(product, target));
    unit = std::lcm(unit, plan.products.back().getTile()[0]);
  }
  if (!canCutStages(rows, plan))
    return;
  chooseBlocksOfStages(rows, plan, unit, target);
  follow(rows, plan);
  if (!plan.cutsStages)
    return;
  for (auto [product, attribute] : llvm::zip(products, plan.products))
    attribute = planContractionStage(product, target, plan.blockSize);
}

} // namespace tinh::cpu
