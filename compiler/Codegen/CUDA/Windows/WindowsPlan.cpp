//===- WindowsPlan.cpp - Recognising and dividing windows -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/CUDA/Windows/Windows.h"
#include "compiler/Codegen/CUDA/WorkAnalysis.h"
#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"
#include "compiler/Codegen/Kernel/Stages.h"
#include "compiler/Codegen/Kernel/Work.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Finds an input's dimension that windows slide along as the results do along
/// their last dimension but one.
static bool findWindows(Windows &windows) {
  linalg::GenericOp op = windows.op;
  unsigned loops = op.getNumLoops(), along = windows.along();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  windows.tap = reduced.back();
  for (OpOperand *operand : op.getDpsInputOperands()) {
    if (op.getMatchingBlockArgument(operand).use_empty())
      continue;
    for (auto [dim, expr] :
         llvm::enumerate(op.getMatchingIndexingMap(operand).getResults())) {
      int64_t stride = loopCoefficient(expr, along, loops);
      int64_t dilation = loopCoefficient(expr, windows.tap, loops);
      if (stride <= 0 || dilation <= 0)
        continue;
      if (windows.input)
        return false;
      windows.input = operand;
      windows.inputDim = dim;
      windows.stride = stride;
      windows.dilation = dilation;
    }
  }
  return windows.input &&
         llvm::count(op->getOperands(), windows.input->get()) == 1;
}

/// Whether results share what they load.
static bool sharesLoads(const Windows &windows) {
  linalg::GenericOp op = windows.op;
  return windows.stride < windows.covered(1) ||
         llvm::any_of(
             op.getDpsInputOperands(),
             [&](OpOperand *operand) {
               return operand != windows.input &&
                      !op.getMatchingBlockArgument(operand).use_empty();
             });
}

/// Whether the result's dimensions are the first loops.
static bool hasLeadingLoops(linalg::GenericOp op) {
  AffineMap output = outputMap(op);
  return llvm::all_of(llvm::enumerate(output.getResults()), [&](auto result) {
    return result.value() == getAffineDimExpr(result.index(), op.getContext());
  });
}

Match<Windows> WindowsStrategy::match(func::FuncOp kernel) {
  constexpr int64_t kMostTaps = 16;
  Windows windows;
  windows.kernel = kernel;
  windows.op = onlyReduction(kernel);
  linalg::GenericOp op = windows.op;
  if (!op || op.getNumResults() != 1)
    return NoMatch{"has not one reduction alone"};
  if (reducesLanes(op) || llvm::is_contained(op.getStaticLoopRanges(), 0) ||
      !hasLeadingLoops(op))
    return NoMatch{"reduces along the last dimension, or nothing"};
  if (!resultsFollowElementwise(kernel, op.getResult(0)))
    return NoMatch{"computes results from other than one sum each"};
  windows.shape.assign(
      cast<RankedTensorType>(op.getResult(0).getType()).getShape());
  if (windows.shape.size() < 2 || !findWindows(windows) ||
      !sharesLoads(windows))
    return NoMatch{"has no windows that overlap along the last dimension but "
                   "one"};
  if (windows.taps() > kMostTaps)
    return NoMatch{"has windows of more than 16 taps in a line"};
  return std::move(windows);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

/// Whether the code (WindowsEmit.cpp) can be made with so many channels.
static bool takesVectors(const Windows &windows, int64_t lanes) {
  if (windows.shape.back() % lanes != 0)
    return false;
  linalg::GenericOp op = windows.op;
  LaneAnalysis analysis(windows.kernel, lanes);
  int64_t rank = windows.shape.size();
  Indices at = analysis.indicesAlong(rank, rank - 1);
  auto dims = analysis.loopIndices(op, at);
  if (failed(dims) || !analysis.computes(op.getDpsInits()[0], at))
    return false;
  auto source = analysis.apply(op.getMatchingIndexingMap(windows.input), *dims);
  if (failed(source))
    return false;
  (*source)[windows.inputDim].alignment = 1;
  auto element = analysis.at(windows.input->get(), *source);
  if (failed(element))
    return false;
  analysis.registers[windows.input->get()] = *element;
  if (!analysis.reducesStep(op, *dims))
    return false;
  LaneAnalysis after(windows.kernel, lanes);
  after.registers[op.getResult(0)] = after.inRegisters();
  return after.computesResults(at);
}

/// The longest strip that leaves enough threads, and enough registers.
static int64_t chooseOutputs(const Windows &windows, int64_t lanes) {
  constexpr int64_t kEnoughUnits = 1 << 15, kMostCovered = 12;
  for (int64_t outputs : {4, 2})
    if (windows.shape[windows.along()] >= outputs &&
        windows.covered(outputs) <= kMostCovered &&
        windows.units(lanes, outputs) >= kEnoughUnits)
      return outputs;
  return 1;
}

static WindowsPlanAttr planWindows(const Windows &windows) {
  func::FuncOp kernel = windows.kernel;
  for (int64_t lanes : {widestVector(kernel), int64_t(1)})
    if (takesVectors(windows, lanes))
      return WindowsPlanAttr::get(kernel.getContext(), lanes,
                                  chooseOutputs(windows, lanes), kThreads);
  return {};
}

SmallVector<WindowsPlanAttr> WindowsStrategy::plans(const Windows &windows,
                                                    const Target &) {
  // Few long windows are shared by the threads of a team.
  WindowsPlanAttr plan = planWindows(windows);
  if (!plan || isWorthTeams(windows.kernel))
    return {};
  return {plan};
}

double WindowsStrategy::cost(const Windows &windows, WindowsPlanAttr plan,
                             const Target &) {
  WorkAnalysis analysis(windows.kernel);
  double once = static_cast<double>(windows.covered(plan.getOutputs())) /
                (plan.getOutputs() * windows.taps());
  return cyclesOf({operandBytes(windows.kernel),
                   analysis.cacheBytes() * std::min(once, 1.0),
                   guess::kLoad * std::max(1.0, analysis.loads())},
                  plannedMachine());
}

FailureOr<Divided<WindowsPlanAttr>>
WindowsStrategy::expand(const Windows &windows, WindowsPlanAttr plan,
                        const Target &target, EmitError error) {
  int64_t outputs = plan.getOutputs();
  if (failed(checkNumbers(
          error,
          {{"outputs", outputs, within(1, windows.shape[windows.along()])}})))
    return failure();
  if (!takesVectors(windows, plan.getLanes()))
    return error() << "channels cannot be computed in vectors of "
                   << plan.getLanes();
  int64_t blocks = llvm::divideCeil(windows.units(plan.getLanes(), outputs),
                                    plan.getThreads());
  return divided(plan, {blocks, plan.getThreads()}, target, error);
}

void packTaps(DispatchedKernel dispatched) {
  auto windows = WindowsStrategy::match(dispatched.kernel);
  if (!windows || !planWindows(*windows))
    return;
  linalg::GenericOp op = windows->op;
  for (OpOperand *operand : op.getDpsInputOperands())
    if (operand != windows->input &&
        op.getMatchingIndexingMap(operand).isProjectedPermutation())
      packAlong(dispatched, *operand, windows->shape.size() - 1,
                /*ofConstants=*/false);
}

} // namespace tinh::cuda
