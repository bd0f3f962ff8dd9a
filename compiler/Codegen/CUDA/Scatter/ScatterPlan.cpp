//===- ScatterPlan.cpp - Recognising and dividing scatters ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Scatter/Scatter.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"
#include "compiler/Codegen/Kernel/Work.h"

#include "dialects/graph/Strides.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

static bool takesVectors(const ScatterKernel &form, int64_t lanes) {
  const Scatter &scatter = form.scatter;
  if (lanes > 1 && (!llvm::is_contained(form.columnDims, scatter.last()) ||
                    scatter.extents[scatter.last()] % lanes != 0))
    return false;
  LaneAnalysis analysis(form.kernel, lanes), positions(form.kernel, 1);
  // The dimensions that code goes through (ScatterEmit.cpp), in vectors of the
  // last one.
  int64_t loops = scatter.extents.size();
  Indices dims = analysis.indicesAlong(loops, scatter.last());
  for (OpOperand *operand : scatter.positions) {
    if (failed(pullOperand(positions, *operand,
                           positions.indicesAlong(loops, scatter.last()))))
      return false;
    analysis.registers[operand->get()] = {{}, true, {}};
  }
  return analysis.computes(scatter.initial, scatter.place(dims)) &&
         analysis.reducesStep(scatter.op, dims);
}

Match<ScatterKernel> ScatterStrategy::match(func::FuncOp kernel) {
  auto scatter = matchScatter(kernel);
  if (!scatter || scatter->rank == 0)
    return NoMatch{"combines no updates at computed positions, or more"};
  linalg::GenericOp op = scatter->op;
  if (cast<RankedTensorType>(op.getResult(0).getType()).getNumElements() == 0)
    return NoMatch{"has no elements"};
  ScatterKernel form{kernel, *scatter, {}, {}};
  for (unsigned dim = 0; dim < scatter->extents.size(); ++dim) {
    bool differs = llvm::any_of(scatter->positions, [&](OpOperand *position) {
      return op.getMatchingIndexingMap(position).isFunctionOfDim(dim);
    });
    bool isUpdate = dim >= scatter->rank;
    int64_t &count = isUpdate                 ? form.updates
                     : scatter->isTarget(dim) ? form.rows
                     : differs                ? form.lines
                                              : form.columns;
    count *= scatter->extents[dim];
    if (&count == &form.lines)
      form.lineDims.push_back(dim);
    if (&count == &form.columns)
      form.columnDims.push_back(dim);
  }
  if (!takesVectors(form, 1))
    return NoMatch{"has positions or updates of no form that is known"};
  return std::move(form);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

ScatterLayout layOutScatter(const ScatterKernel &form, ScatterPlanAttr plan) {
  ScatterLayout layout{};
  layout.columns = form.columns / plan.getLanes();
  if (plan.getRows() == 0) {
    layout.threads = plan.getColumns();
    layout.blocks =
        llvm::divideCeil(form.lines * layout.columns, layout.threads);
    return layout;
  }
  layout.threads = llvm::alignTo(plan.getColumns() * plan.getSlots(), kWarp);
  layout.columnBlocks = llvm::divideCeil(layout.columns, plan.getColumns());
  layout.ranges = llvm::divideCeil(form.rows, plan.getRows());
  layout.blocks = form.lines * layout.columnBlocks * layout.ranges;
  return layout;
}

/// Divides lines, columns and rows among blocks and their threads.
static ScatterPlanAttr divideBlocks(const ScatterKernel &form, int64_t lanes) {
  // As many threads need no others to share a line.
  constexpr int64_t kEnoughLines = 1 << 15, kWantedBlocks = 512;
  // All blocks read all positions: of many, many at a time.
  constexpr int64_t kManyUpdates = 1 << 14;
  constexpr int64_t kTogether = 4; // Updates that are loaded so.
  MLIRContext *context = form.scatter.op->getContext();
  int64_t columns = form.columns / lanes;
  if (form.lines * columns >= kEnoughLines && form.lines > 1)
    return ScatterPlanAttr::get(context, lanes, kThreads, /*slots=*/1,
                                /*rows=*/0, kTogether);
  int64_t threads = form.updates >= kManyUpdates ? kMostThreads : kThreads;
  int64_t columnBlocks = llvm::divideCeil(columns, kThreads);
  int64_t columnThreads = llvm::divideCeil(columns, columnBlocks);
  int64_t slots =
      std::min(std::max<int64_t>(1, threads / columnThreads), form.rows);
  int64_t wanted = llvm::divideCeil(kWantedBlocks, form.lines * columnBlocks);
  int64_t rows = llvm::alignTo(
      llvm::divideCeil(form.rows, std::max<int64_t>(wanted, 1)), slots);
  return ScatterPlanAttr::get(context, lanes, columnThreads, slots, rows,
                              kTogether);
}

SmallVector<ScatterPlanAttr> ScatterStrategy::plans(const ScatterKernel &form,
                                                    const Target &) {
  int64_t lanes = 16 / graph::elementSize(form.element());
  return {divideBlocks(form, takesVectors(form, lanes) ? lanes : 1)};
}

double ScatterStrategy::cost(const ScatterKernel &form, ScatterPlanAttr plan,
                             const Target &) {
  ScatterLayout layout = layOutScatter(form, plan);
  double positions = 8.0 * form.updates * form.lines;
  double chain = guess::kLoad * form.updates;
  if (plan.getRows() != 0) {
    chain =
        static_cast<double>(llvm::divideCeil(form.updates, layout.threads)) *
        (guess::kLoad + guess::kBarrier);
    positions *= static_cast<double>(layout.columnBlocks * layout.ranges);
  }
  double bytes = operandBytes(form.kernel);
  return cyclesOf({bytes, bytes + positions, chain}, plannedMachine());
}

FailureOr<Divided<ScatterPlanAttr>>
ScatterStrategy::expand(const ScatterKernel &form, ScatterPlanAttr plan,
                        const Target &target, EmitError error) {
  if (!takesVectors(form, plan.getLanes()))
    return error() << "elements cannot be combined in vectors of "
                   << plan.getLanes();
  if (failed(checkNumbers(error,
                          {{"slots", plan.getSlots(), within(1, form.rows)}})))
    return failure();
  ScatterLayout layout = layOutScatter(form, plan);
  return divided(plan,
                 {layout.blocks, layout.threads,
                  plan.getRows() == 0 ? 0 : layout.shared()},
                 target, error);
}

} // namespace tinh::cuda
