//===- RowsVectors.cpp - Rows that can be computed in vectors ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rows/Rows.h"

#include "compiler/Codegen/Kernel/Forms/Scan.h"
#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::cpu {

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

/// What is known where a stage, or a result behind all, is computed in vectors
/// of `lanes`: stages before lie in memory, of one row.
static LaneAnalysis analysisBefore(const Rows &rows, const RowsPlan &plan,
                                   linalg::GenericOp stage, int64_t lanes) {
  LaneAnalysis analysis(rows.kernel, lanes);
  for (linalg::GenericOp op : rows.stages) {
    if (op == stage)
      break;
    for (Value result : op.getResults()) {
      SmallVector<int64_t> strides =
          graph::denseStrides(shapeOf(result).drop_front(plan.outer));
      strides.insert(strides.begin(), plan.outer, 0);
      analysis.buffers[result].strides = strides;
    }
  }
  return analysis;
}

bool reducesAlongLanes(const Rows &rows, const RowsPlan &plan,
                       linalg::GenericOp stage) {
  int64_t rank = shapeOf(stage.getResult(0)).size();
  return plan.lanes > 1 && reducesLanes(stage) &&
         succeeded(
             analysisBefore(rows, plan, stage, plan.lanes)
                 .reduceAlongLanes(stage, Indices(rank, LaneAnalysis::same())));
}

/// A running sum has lanes along its axis, or along the last dimension.
static bool scanHasVectors(const Rows &rows, const RowsPlan &plan,
                           linalg::GenericOp stage, const Scan &scan) {
  ArrayRef<int64_t> shape = shapeOf(stage.getResult(0));
  int64_t last = shape.size() - 1;
  int64_t lanes =
      scan.axis == last ? plan.lanes : plan.lanesFor(shape[last], rows.reduced);
  LaneAnalysis analysis = analysisBefore(rows, plan, stage, lanes);
  return analysis.computes(scan.input,
                           analysis.indicesAlong(shape.size(), last));
}

static bool stageHasVectors(const Rows &rows, const RowsPlan &plan,
                            linalg::GenericOp stage) {
  if (auto c = matchContractionStage(stage);
      c && static_cast<int64_t>(c->batch.size()) == plan.outer) {
    LaneAnalysis analysis = analysisBefore(rows, plan, stage, plan.lanes);
    return canStage(*c, analysis) && canPackColumns(*c, analysis);
  }
  if (auto scan = matchScan(stage))
    return scanHasVectors(rows, plan, stage, *scan);
  ArrayRef<int64_t> shape = shapeOf(stage.getResult(0));
  int64_t rank = shape.size();
  // What is reduced along its lanes, and cannot be in vectors, is alone.
  if (rank == plan.outer || reducesLanes(stage))
    return true;
  int64_t lanes = plan.lanesFor(shape.back(), rows.reduced);
  LaneAnalysis analysis = analysisBefore(rows, plan, stage, lanes);
  Indices at = analysis.indicesAlong(rank, rank - 1);
  return lanes == 1 || llvm::all_of(stage.getResults(), [&](Value result) {
           return analysis.computes(result, at);
         });
}

static bool resultHasVectors(const Rows &rows, const RowsPlan &plan,
                             Value value) {
  int64_t rank = shapeOf(value).size();
  auto concat = value.getDefiningOp<tensor::ConcatOp>();
  // A concatenation has loops for each of its pieces.
  if (concat && !plan.cutsLanes() &&
      static_cast<int64_t>(concat.getDim()) >= plan.outer)
    return llvm::all_of(concat.getInputs(), [&](Value piece) {
      return resultHasVectors(rows, plan, piece);
    });
  if (rank <= plan.outer)
    return true;
  SmallVector<int64_t> shape = plan.mergedShape(shapeOf(value));
  int64_t lane = plan.along >= 0 ? plan.along : rank - 1;
  int64_t extent = plan.cutsLanes() ? plan.blockSize : shape[lane];
  int64_t lanes = plan.lanesFor(extent, rows.reduced);
  if (lanes == 1)
    return true;
  LaneAnalysis analysis = analysisBefore(rows, plan, {}, lanes);
  return analysis.computes(value, analysis.indicesAlong(rank, lane));
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
