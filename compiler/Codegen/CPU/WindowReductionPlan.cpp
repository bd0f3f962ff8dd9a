//===- WindowReductionPlan.cpp - Windows and their tiles --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/WindowReduction.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// Whether `value` is zero where `argument` is: that itself, through
/// conversions and products.
static bool isZeroWith(Value value, BlockArgument argument) {
  if (value == argument)
    return true;
  Operation *op = value.getDefiningOp();
  return isa_and_nonnull<arith::ExtFOp, arith::ExtSIOp, arith::ExtUIOp,
                         arith::SIToFPOp, arith::UIToFPOp, arith::MulFOp,
                         arith::MulIOp>(op) &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return isZeroWith(operand, argument);
         });
}

static bool isLowest(TypedAttr padding) {
  auto number = dyn_cast<FloatAttr>(padding);
  return number && number.getValue().isInfinity() &&
         number.getValue().isNegative();
}

/// Whether a body keeps all of its accumulators unless one of them is a number
/// and its input `argument` greater than that, or NaN.
static bool replacesSmaller(linalg::GenericOp op, BlockArgument argument) {
  auto isReplaced = [&](Value yielded, Value accumulator) {
    auto select = yielded.getDefiningOp<arith::SelectOp>();
    auto both = select ? select.getCondition().getDefiningOp<arith::AndIOp>()
                       : arith::AndIOp();
    auto greater =
        both ? both.getLhs().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    auto isNumber =
        both ? both.getRhs().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
    return greater && isNumber && select.getFalseValue() == accumulator &&
           greater.getPredicate() == arith::CmpFPredicate::UGT &&
           greater.getLhs() == argument &&
           isNumber.getPredicate() == arith::CmpFPredicate::ORD &&
           isNumber.getLhs() == greater.getRhs() &&
           isNumber.getRhs() == greater.getRhs() &&
           llvm::is_contained(op.getRegionOutputArgs(), greater.getRhs());
  };
  Operation *yield = op.getBody()->getTerminator();
  for (auto [yielded, accumulator] :
       llvm::zip_equal(yield->getOperands(), op.getRegionOutputArgs()))
    if (!isReplaced(yielded, accumulator))
      return false;
  return true;
}

/// Whether a body's result is its accumulator when its input `argument` is the
/// padding value: a sum to which zero, or zero times something, is added, or an
/// extreme compared with the opposite end of its type.
static bool isNeutral(linalg::GenericOp op, BlockArgument argument,
                      TypedAttr padding) {
  if (op.getNumResults() > 1)
    return isLowest(padding) && replacesSmaller(op, argument);
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  Operation *combiner = yielded.getDefiningOp();
  Value accumulator = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!combiner || combiner->getNumOperands() != 2 ||
      !llvm::is_contained(combiner->getOperands(), accumulator))
    return false;
  Value other = combiner->getOperand(combiner->getOperand(0) == accumulator);
  if (isa<arith::AddFOp, arith::AddIOp>(combiner))
    return isZeroWith(other, argument) &&
           (matchPattern(padding, m_AnyZeroFloat()) ||
            matchPattern(padding, m_Zero()));
  if (other != argument)
    return false;
  if (auto number = dyn_cast<FloatAttr>(padding)) {
    APFloat value = number.getValue();
    return value.isInfinity() &&
           (value.isNegative() ? isa<arith::MaximumFOp>(combiner)
                               : isa<arith::MinimumFOp>(combiner));
  }
  APInt value = cast<IntegerAttr>(padding).getValue();
  return (isa<arith::MaxUIOp>(combiner) && value.isMinValue()) ||
         (isa<arith::MaxSIOp>(combiner) && value.isMinSignedValue());
}

/// Fills in the axes of a window over operand `input`.
static bool matchAxes(linalg::GenericOp op, OpOperand &input,
                      WindowReduction &w) {
  AffineMap map = op.getMatchingIndexingMap(&input);
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  llvm::SmallDenseSet<unsigned> covered;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (isa<AffineDimExpr>(expr) &&
        !llvm::is_contained(reduced, cast<AffineDimExpr>(expr).getPosition()))
      continue;
    WindowAxis axis;
    axis.position = position;
    int64_t outputs = 0, taps = 0;
    for (unsigned dim = 0; dim < extents.size(); ++dim) {
      int64_t factor = loopCoefficient(expr, dim, extents.size());
      if (factor == 0)
        continue;
      if (llvm::is_contained(reduced, dim)) {
        axis.kernel = dim;
        axis.dilation = factor;
        ++taps;
      } else {
        axis.output = dim;
        axis.stride = factor;
        ++outputs;
      }
    }
    if (outputs != 1 || taps != 1 || axis.stride < 1 || axis.dilation < 1 ||
        !covered.insert(axis.kernel).second)
      return false;
    w.axes.push_back(axis);
  }
  return !w.axes.empty() && covered.size() == reduced.size();
}

/// The padding of the operand under the window, if it can be skipped: it holds
/// what the reduction ignores, and only along the window.
static tensor::PadOp skippedPadding(OpOperand &input,
                                    const WindowReduction &w) {
  auto pad = input.get().getDefiningOp<tensor::PadOp>();
  Value value = pad ? pad.getConstantPaddingValue() : Value();
  auto op = w.op;
  TypedAttr constant;
  if (!value || !matchPattern(value, m_Constant(&constant)) ||
      !isNeutral(op, op.getMatchingBlockArgument(&input), constant))
    return {};
  for (auto [i, low, high] :
       llvm::enumerate(pad.getStaticLow(), pad.getStaticHigh())) {
    bool slides = llvm::any_of(
        w.axes, [&](const WindowAxis &axis) { return axis.position == i; });
    if (low < 0 || high < 0 || (!slides && (low || high)))
      return {};
  }
  return pad;
}

/// Takes the padding off the source, and says where taps may miss it.
static void placeWindow(OpOperand &input, WindowReduction &w) {
  tensor::PadOp pad = skippedPadding(input, w);
  w.input = input.getOperandNumber();
  w.source = pad ? pad.getSource() : input.get();
  auto type = cast<RankedTensorType>(w.source.getType());
  SmallVector<int64_t> extents = w.op.getStaticLoopRanges();
  for (WindowAxis &axis : w.axes) {
    axis.size = type.getDimSize(axis.position);
    axis.low = pad ? pad.getStaticLow()[axis.position] : 0;
    int64_t last = (extents[axis.output] - 1) * axis.stride +
                   (extents[axis.kernel] - 1) * axis.dilation - axis.low;
    axis.padded = axis.low > 0 || last >= axis.size;
  }
}

std::optional<WindowReduction> matchWindows(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op || llvm::is_contained(op.getStaticLoopRanges(), 0) ||
      !llvm::all_of(op.getResults(), [&](Value result) {
        return resultsFollowElementwise(kernel, result);
      }))
    return std::nullopt;
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (!output.isProjectedPermutation() || output.getNumResults() < 3)
    return std::nullopt;
  WindowReduction w;
  w.op = op;
  for (unsigned i = 0; i < output.getNumResults(); ++i)
    w.outer.push_back(output.getDimPosition(i));
  w.lane = w.outer.pop_back_val();
  w.inner = w.outer.pop_back_val();
  for (OpOperand *input : op.getDpsInputOperands()) {
    w.axes.clear();
    AffineMap map = op.getMatchingIndexingMap(input);
    if (map.getNumResults() == 0 || !matchAxes(op, *input, w))
      continue;
    auto last = dyn_cast<AffineDimExpr>(map.getResults().back());
    if (!last || last.getPosition() != w.lane ||
        w.axes.back().output != w.inner)
      return std::nullopt;
    placeWindow(*input, w);
    return w.tiles().empty() ? std::nullopt : std::optional(w);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

SmallVector<WindowTile> WindowReduction::tiles() {
  // Eight accumulators hide the latency of their FMAs, and leave registers for
  // what is loaded, with 16 of them, too.
  constexpr int64_t kMostOutputs = 8, kMostTaps = 128;
  constexpr size_t kMostTiles = 12;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  const WindowAxis &axis = axes.back();
  int64_t width = extents[inner], taps = extents[axis.kernel];
  int64_t most = std::clamp<int64_t>(
      kMostTaps / std::max<int64_t>(taps, 1), 1,
      kMostOutputs / static_cast<int64_t>(op->getNumResults()));
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
  if (tiles.size() > kMostTiles || taps > kMostTaps)
    tiles.clear();
  return tiles;
}

WindowsPlan planWindows(const WindowReduction &w) {
  auto op = w.op;
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  WindowsPlan plan;
  int64_t lines = 1, work = 1;
  for (unsigned dim : w.outer)
    lines *= extents[dim];
  for (int64_t extent : extents)
    work *= extent;
  // Chunks of at least 50,000 taps, some 32 of them; channels are divided only
  // where there are few lines.
  constexpr int64_t kChannels = 64;
  int64_t wanted = std::clamp<int64_t>(work / 50000, 1, 32);
  int64_t channels = extents[w.lane];
  int64_t most = std::max<int64_t>(channels / kChannels, 1);
  int64_t groups = std::clamp<int64_t>(
      llvm::divideCeil(wanted, std::max<int64_t>(lines, 1)), 1, most);
  int64_t each = llvm::divideCeil(channels, groups);
  plan.channelsPerGroup = llvm::alignTo(each, kChannels);
  if (groups == 1)
    plan.channelsPerGroup = channels;
  plan.groups = llvm::divideCeil(channels, plan.channelsPerGroup);
  plan.units = lines * plan.groups;
  plan.unitsPerChunk =
      std::max<int64_t>(1, llvm::divideCeil(plan.units, wanted));
  plan.chunks =
      std::max<int64_t>(1, llvm::divideCeil(plan.units, plan.unitsPerChunk));
  return plan;
}

} // namespace tinh::cpu
