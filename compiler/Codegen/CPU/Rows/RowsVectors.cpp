//===- RowsVectors.cpp - Rows that can be computed in vectors ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Scan.h"
#include "compiler/Codegen/Kernel/VectorCheck.h"

using namespace mlir;

namespace tinh::cpu {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// What is known of tensors where a stage, or a result behind all, is computed
/// in vectors of `lanes`.
static VectorCheck checkBefore(const Rows &rows, linalg::GenericOp stage,
                               int64_t lanes) {
  VectorCheck check(lanes);
  for (linalg::GenericOp op : rows.stages) {
    if (op == stage)
      break;
    for (Value result : op.getResults())
      check.know(result);
  }
  return check;
}

/// Indices of `rank` dimensions with lanes along `lane`.
static LaneSteps stepsAlong(int64_t rank, int64_t lane, int64_t lanes) {
  LaneSteps steps(rank);
  steps[lane] = {lanes > 1 ? 1 : 0, lanes};
  return steps;
}

bool reducesAlongLanes(const Rows &rows, const RowsPlan &plan,
                       linalg::GenericOp stage) {
  int64_t rank = shapeOf(stage.getResult(0)).size();
  return plan.lanes > 1 && reducesLanes(stage) &&
         checkBefore(rows, stage, plan.lanes)
             .canReduceAlongLanes(stage, LaneSteps(rank));
}

/// A running sum has lanes along its axis, or along the last dimension.
static bool scanHasVectors(const Rows &rows, const RowsPlan &plan,
                           linalg::GenericOp stage, const Scan &scan) {
  ArrayRef<int64_t> shape = shapeOf(stage.getResult(0));
  int64_t last = shape.size() - 1;
  int64_t lanes =
      scan.axis == last ? plan.lanes : plan.lanesFor(shape[last], rows.reduced);
  return checkBefore(rows, stage, lanes)
      .canPull(scan.input, stepsAlong(shape.size(), last, lanes));
}

static bool stageHasVectors(const Rows &rows, const RowsPlan &plan,
                            linalg::GenericOp stage) {
  if (auto c = matchContractionStage(stage);
      c && static_cast<int64_t>(c->batch.size()) == plan.outer) {
    VectorCheck check = checkBefore(rows, stage, plan.lanes);
    return canStage(*c, check, plan.lanes) &&
           canPackColumns(*c, check, plan.lanes);
  }
  if (auto scan = matchScan(stage))
    return scanHasVectors(rows, plan, stage, *scan);
  if (reducesAlongLanes(rows, plan, stage))
    return true;
  ArrayRef<int64_t> shape = shapeOf(stage.getResult(0));
  int64_t rank = shape.size();
  // What is reduced along its lanes, and cannot be in vectors, is alone.
  if (rank == plan.outer || reducesLanes(stage))
    return true;
  int64_t lanes = plan.lanesFor(shape.back(), rows.reduced);
  VectorCheck check = checkBefore(rows, stage, lanes);
  return lanes == 1 || llvm::all_of(stage.getResults(), [&](Value result) {
           return check.canPull(result, stepsAlong(rank, rank - 1, lanes));
         });
}

static bool resultHasVectors(const Rows &rows, const RowsPlan &plan,
                             Value value) {
  int64_t rank = shapeOf(value).size();
  auto concat = value.getDefiningOp<tensor::ConcatOp>();
  // A concatenation has loops for each of its pieces.
  if (concat && plan.blocks == 1 &&
      static_cast<int64_t>(concat.getDim()) >= plan.outer)
    return llvm::all_of(concat.getInputs(), [&](Value piece) {
      return resultHasVectors(rows, plan, piece);
    });
  if (rank <= plan.outer)
    return true;
  SmallVector<int64_t> shape = plan.mergedShape(shapeOf(value));
  int64_t lane = plan.along >= 0 ? plan.along : rank - 1;
  int64_t extent = plan.blocks > 1 ? plan.blockSize : shape[lane];
  int64_t lanes = plan.lanesFor(extent, rows.reduced);
  return lanes == 1 || checkBefore(rows, {}, lanes)
                           .canPull(value, stepsAlong(rank, lane, lanes));
}

bool hasVectors(const Rows &rows, const RowsPlan &plan) {
  return llvm::all_of(rows.stages,
                      [&](linalg::GenericOp stage) {
                        return stageHasVectors(rows, plan, stage);
                      }) &&
         llvm::all_of(rows.written, [&](const WrittenValue &written) {
           return resultHasVectors(rows, plan, written.value);
         });
}

} // namespace tinh::cpu
