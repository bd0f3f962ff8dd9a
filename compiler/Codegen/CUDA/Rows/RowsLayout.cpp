//===- RowsLayout.cpp - Which threads compute what of a row -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::cuda {

static int64_t roundUp(int64_t bytes) { return llvm::alignTo(bytes, 16); }

static SmallVector<int64_t> reducedExtents(linalg::GenericOp op) {
  SmallVector<unsigned> loops;
  op.getReductionDims(loops);
  return llvm::map_to_vector(
      loops, [&](unsigned loop) { return op.getStaticLoopRanges()[loop]; });
}

int64_t unitsOf(const RowsLayout &plan, ArrayRef<int64_t> shape,
                int64_t lanes) {
  if (plan.columnUnits)
    return plan.columnUnits;
  if (static_cast<int64_t>(shape.size()) <= plan.rank)
    return 1;
  return ShapedType::getNumElements(shape.drop_front(plan.rank)) / lanes;
}

static RowStage layOutStage(const RowsLayout &plan, linalg::GenericOp op) {
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

static void divideTeam(RowStage &stage, int64_t team) {
  stage.places = std::min<int64_t>(team, llvm::PowerOf2Ceil(stage.units));
  stage.shares = matchCombiner(stage.op) && stage.op.getNumReductionLoops() > 0
                     ? team / stage.places
                     : 1;
}

/// Gives each stage its part of the shared memory; returns what all need.
static int64_t layOutShared(RowsLayout &plan) {
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

RowsLayout layOutRows(const RowsKernel &rows, RowsPlanAttr plan) {
  RowsLayout layout;
  layout.written = rows.written;
  layout.rank = plan.getOuter();
  layout.lanes = plan.getLanes();
  layout.columnUnits = plan.getColumns();
  layout.team = plan.getTeam();
  layout.unrolled = plan.getUnrolled();
  for (int64_t extent : rows.shape().take_front(layout.rank))
    layout.rows *= extent;
  if (layout.columnUnits)
    layout.columnBlocks = llvm::divideCeil(rows.shape().back() / layout.lanes,
                                           layout.columnUnits);
  for (linalg::GenericOp op : rows.stages) {
    layout.stages.push_back(layOutStage(layout, op));
    divideTeam(layout.stages.back(), layout.team);
  }
  layout.threads = plan.getThreads();
  layout.chunks = llvm::divideCeil(layout.rows, layout.rowsPerBlock()) *
                  layout.columnBlocks;
  layout.scratch = layOutShared(layout);
  return layout;
}

//===----------------------------------------------------------------------===//
// Vectors
//===----------------------------------------------------------------------===//

namespace {

/// Follows the code of a layout (RowsEmit.cpp, RowsEmitStages.cpp).
class VectorCheck {
public:
  VectorCheck(const RowsKernel &rows, const RowsLayout &layout)
      : rows(rows), layout(layout) {}

  bool takesVectors() {
    return llvm::all_of(
               layout.stages,
               [&](const RowStage &stage) { return computes(stage); }) &&
           llvm::all_of(layout.written, [&](const WrittenValue &written) {
             ArrayRef<int64_t> shape = written.type().getShape();
             int64_t lanes = layout.lanesFor(shape);
             return llvm::is_contained(shape, 0) ||
                    analysisOf(lanes).computes(written.value,
                                               place(shape, lanes));
           });
  }

private:
  LaneAnalysis analysisOf(int64_t lanes) const {
    LaneAnalysis analysis(rows.kernel, lanes);
    for (auto &[value, buffer] : buffers)
      analysis.buffers[value] = buffer;
    analysis.registers = registers;
    return analysis;
  }
  Indices place(ArrayRef<int64_t> shape, int64_t lanes) const {
    Indices at(shape.size(), LaneAnalysis::same());
    if (lanes > 1 && static_cast<int64_t>(shape.size()) > layout.rank)
      at.back() = {{}, 1, lanes};
    return at;
  }
  bool computes(const RowStage &stage);

  const RowsKernel &rows;
  const RowsLayout &layout;
  llvm::DenseMap<Value, Buffer> buffers;
  llvm::DenseMap<Value, LaneValue> registers;
};

} // namespace

bool VectorCheck::computes(const RowStage &stage) {
  linalg::GenericOp op = stage.op;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(op.getResult(0).getType()).getShape();
  int64_t lanes = stage.along ? 1 : stage.lanes;
  LaneAnalysis analysis = analysisOf(stage.lanes);
  Indices at = place(shape, lanes);
  if (stage.along && stage.lanes > 1 ? failed(analysis.reduceAlongLanes(op, at))
                                     : !analysis.computes(op.getResult(0), at))
    return false;
  for (Value result : op.getResults()) {
    if (!stage.inMemory) {
      registers[result] = {{}, lanes == 1, {}};
      continue;
    }
    SmallVector<int64_t> &strides = buffers[result].strides;
    strides.assign(layout.rank, 0);
    llvm::append_range(strides,
                       graph::denseStrides(shape.drop_front(layout.rank)));
  }
  return true;
}

bool takesVectors(const RowsKernel &rows, const RowsLayout &layout) {
  return VectorCheck(rows, layout).takesVectors();
}

} // namespace tinh::cuda
