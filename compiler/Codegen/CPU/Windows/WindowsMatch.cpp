//===- WindowsMatch.cpp - Recognising windows -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Windows/Windows.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

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
static bool matchAxes(linalg::GenericOp op, OpOperand &input, Windows &w) {
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
static tensor::PadOp skippedPadding(OpOperand &input, const Windows &w) {
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
static void placeWindow(OpOperand &input, Windows &w) {
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

Match<Windows> WindowsStrategy::match(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op || llvm::is_contained(op.getStaticLoopRanges(), 0))
    return NoMatch{"has no reduction, more than one, or no elements"};
  if (!llvm::all_of(op.getResults(), [&](Value result) {
        return resultsFollowElementwise(kernel, result);
      }))
    return NoMatch{"has results that do not follow from the reduction element "
                   "by element"};
  AffineMap output = outputMap(op);
  if (!output.isProjectedPermutation() || output.getNumResults() < 3)
    return NoMatch{"has no images of channels as a result"};
  Windows w;
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
      return NoMatch{"has channels or columns in another place"};
    placeWindow(*input, w);
    return w;
  }
  return NoMatch{"has no window that slides over an operand"};
}

} // namespace tinh::cpu
