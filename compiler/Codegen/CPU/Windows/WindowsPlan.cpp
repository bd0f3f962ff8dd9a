//===- WindowsPlan.cpp - Cutting lines of windows ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Costs.h"
#include "compiler/Codegen/CPU/Windows/Windows.h"

#include "compiler/Codegen/Kernel/LaneAnalysis.h"

using namespace mlir;

namespace tinh::cpu {

/// How a line is cut into tiles of up to `most` outputs; nothing if that takes
/// too many kinds of them.
static SmallVector<WindowTile> cutLine(Windows &w, int64_t most) {
  constexpr size_t kMostTiles = 12;
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  const WindowAxis &axis = w.axes.back();
  int64_t width = extents[w.inner], taps = extents[axis.kernel];
  int64_t count = llvm::divideCeil(width, most);
  int64_t each = count ? llvm::divideCeil(width, count) : 0;
  SmallVector<WindowTile> tiles;
  for (int64_t start = 0; start < width && tiles.size() <= kMostTiles;
       start += each) {
    WindowTile tile{start, std::min(each, width - start), 1, false};
    int64_t first = start * axis.stride - axis.low,
            last = (start + tile.outputs - 1) * axis.stride +
                   (taps - 1) * axis.dilation - axis.low;
    tile.inside = first >= 0 && last < axis.size;
    if (tile.inside && !tiles.empty() && tiles.back().inside &&
        tiles.back().outputs == tile.outputs)
      ++tiles.back().repeats;
    else
      tiles.push_back(tile);
  }
  if (tiles.size() > kMostTiles)
    tiles.clear();
  return tiles;
}

/// Taps that are unrolled: those of a window's line, for each output of a tile.
constexpr int64_t kMostTaps = 128;

static int64_t tapsOfLine(Windows &w) {
  return w.op.getStaticLoopRanges()[w.axes.back().kernel];
}

/// The most outputs of a tile whose code is not too long.
static int64_t mostOutputs(Windows &w) {
  return std::max<int64_t>(kMostTaps / std::max<int64_t>(tapsOfLine(w), 1), 1);
}

static int64_t linesOf(Windows &w) {
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  int64_t lines = 1;
  for (unsigned dim : w.outer)
    lines *= extents[dim];
  return lines;
}

/// Channels of a group where a line is cut into some `groups`.
static int64_t channelsOf(int64_t channels, int64_t groups) {
  constexpr int64_t kChannels = 64;
  int64_t most = std::max<int64_t>(channels / kChannels, 1);
  groups = std::clamp<int64_t>(groups, 1, most);
  if (groups == 1)
    return channels;
  return llvm::alignTo(llvm::divideCeil(channels, groups), kChannels);
}

/// Whether vectors of so many channels can be computed.
static bool hasVectors(Windows &w, int64_t lanes) {
  auto kernel = w.op->getParentOfType<func::FuncOp>();
  LaneAnalysis analysis(kernel, lanes);
  Indices dims = analysis.indicesAlong(w.op.getNumLoops(), w.lane);
  Indices output = *analysis.apply(outputMap(w.op), dims);
  AffineMap map = w.op.getMatchingIndexingMap(w.op.getDpsInputOperand(w.input));
  auto canPull = [&](Value x) { return analysis.computes(x, output); };
  if (!analysis.computes(w.source, map, dims) ||
      !llvm::all_of(w.op.getDpsInits(), canPull))
    return false;
  // It is read without its padding.
  Value input = w.op.getDpsInputs()[w.input];
  analysis.registers[input] = analysis.inRegisters();
  if (!analysis.reducesStep(w.op, dims))
    return false;
  analysis.registers.erase(input);
  for (Value result : w.op.getResults())
    analysis.registers[result] = analysis.inRegisters();
  return analysis.computesResults(output);
}

SmallVector<WindowsPlanAttr> WindowsStrategy::plans(Windows &w,
                                                    const Target &target) {
  // Eight accumulators hide the latency of their FMAs, and leave registers for
  // what is loaded, with 16 of them, too.
  constexpr int64_t kAccumulators = 8;
  int64_t outputs = std::clamp<int64_t>(
      kAccumulators / static_cast<int64_t>(w.op->getNumResults()), 1,
      mostOutputs(w));
  if (tapsOfLine(w) > kMostTaps || cutLine(w, outputs).empty())
    return {};
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  int64_t lines = linesOf(w), channels = extents[w.lane];
  // Chunks of at least 50,000 taps, some 32 of them; channels are divided only
  // where there are few lines.
  int64_t wanted =
      std::clamp<int64_t>(ShapedType::getNumElements(extents) / 50000, 1, 32);
  int64_t each = channelsOf(channels, llvm::divideCeil(wanted, lines));
  int64_t units = lines * llvm::divideCeil(channels, each);
  int64_t lanes = hasVectors(w, target.lanes()) ? target.lanes() : 1;
  return {WindowsPlanAttr::get(w.op.getContext(), lanes, outputs, each,
                               unitsForChunks(units, wanted))};
}

FailureOr<WindowsPlan> WindowsStrategy::expand(Windows &w,
                                               WindowsPlanAttr attribute,
                                               const Target &,
                                               EmitError emitError) {
  int64_t channels = w.op.getStaticLoopRanges()[w.lane];
  WindowsPlan plan;
  plan.lanes = attribute.getLanes();
  plan.outputs = attribute.getOutputs();
  plan.channelsPerGroup = attribute.getChannels();
  plan.unitsPerChunk = attribute.getUnits();
  if (failed(checkNumbers(
          emitError,
          {{"outputs", plan.outputs, within(1, mostOutputs(w))},
           {"channels", plan.channelsPerGroup, within(1, channels)}})))
    return failure();
  if (plan.channelsPerGroup < channels &&
      plan.channelsPerGroup % plan.lanes != 0)
    return emitError() << "'channels' must be all " << channels
                       << " or whole vectors of " << plan.lanes << ", found "
                       << plan.channelsPerGroup;
  plan.tiles = cutLine(w, plan.outputs);
  if (plan.tiles.empty() || tapsOfLine(w) > kMostTaps)
    return emitError() << "'outputs' must be another number, as with "
                       << plan.outputs
                       << " a line needs too many kinds of tiles";
  plan.groups = llvm::divideCeil(channels, plan.channelsPerGroup);
  plan.units = linesOf(w) * plan.groups;
  if (failed(checkNumbers(
          emitError, {{"units", plan.unitsPerChunk, within(1, plan.units)}})))
    return failure();
  plan.chunks = countChunks(plan.units, plan.unitsPerChunk);
  return plan;
}

double WindowsStrategy::cost(Windows &w, const WindowsPlan &plan,
                             const Target &target) {
  auto kernel = w.op->getParentOfType<func::FuncOp>();
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  double steps = ShapedType::getNumElements(extents);
  double vectors =
      steps / extents[w.lane] * llvm::divideCeil(extents[w.lane], plan.lanes);
  double body = bodyCycles(w.op, target), loads = 0;
  for (OpOperand *operand : w.op.getDpsInputOperands()) {
    // Weights are loaded once for the outputs of a tile.
    bool isWeights = operand->getOperandNumber() != w.input;
    double times = isWeights ? 1.0 / plan.outputs : 1;
    loads += times / target.machine->loadsPerCycle;
    body -= (1 - times) * wideningCycles(w.op, operand, target);
  }
  double each = std::max(body, loads);
  double cycles =
      vectors * each + elementwiseCycles(kernel, {w.op}, {plan.lanes}, target);
  // Memory is read ahead.
  return std::max(cycles, trafficCycles(kernel, target)) +
         dispatchCycles(target, 1);
}

} // namespace tinh::cpu
