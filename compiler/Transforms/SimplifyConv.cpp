//===- SimplifyConv.cpp - Convolutions and their padding --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.pad %x, 0                 becomes  graph.conv %x, %w padding …
//   %1 = graph.conv %0, %w
//
// Taps of a filter that meet nothing but padding are left out: of a filter of
// 3 × 3 taps, 24 apart, one is left where the image is 16 × 16.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/SimplifyGraph.h"

#include "compiler/Transforms/Constants/Constants.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace tinh::transforms {

namespace {

using namespace graph;

/// What a convolution pads with around its input is its own padding.
LogicalResult foldPadIntoConv(ConvOp op, PatternRewriter &rewriter) {
  auto pad = op.getX().getDefiningOp<PadOp>();
  if (!pad || pad.getMode() != PadMode::Constant ||
      !isSplatOf(pad.getValue(), static_cast<double>(op.getPaddingValue())))
    return failure();
  auto outside = [](int64_t amount) { return amount < 0; };
  if (llvm::any_of(pad.getLow(), outside) ||
      llvm::any_of(pad.getHigh(), outside))
    return failure();
  int64_t rank = tensorType(op.getX()).getRank(), spatial = rank - 2;
  bool first = op.getLayout() == Layout::ChannelsFirst;
  int64_t channel = first ? 1 : rank - 1;
  for (int64_t axis : {int64_t(0), channel})
    if (pad.getLow()[axis] || pad.getHigh()[axis])
      return failure();
  SmallVector<int64_t> padding(op.getPadding());
  for (int64_t i = 0; i < spatial; ++i) {
    padding[i] += pad.getLow()[i + (first ? 2 : 1)];
    padding[spatial + i] += pad.getHigh()[i + (first ? 2 : 1)];
  }
  rewriter.modifyOpInPlace(op, [&] {
    op.getXMutable().assign(pad.getX());
    op.setPadding(padding);
  });
  return success();
}

/// Taps of a filter along one dimension, from `first` on.
struct Taps {
  int64_t first, count;
};

/// Those of the filter's dimension `i` that meet elements of the image, with
/// padding that stays where others are left out.
Taps tapsInImage(ConvOp op, int64_t i) {
  RankedTensorType image = tensorType(op.getX());
  int64_t axis = op.getLayout() == Layout::ChannelsFirst ? i + 2 : i + 1,
          rank = image.getRank() - 2, extent = image.getDimSize(axis),
          positions = tensorType(op.getY()).getDimSize(axis),
          taps = tensorType(op.getWeights()).getDimSize(i + 2),
          dilation = op.getDilations()[i], before = op.getPadding()[i],
          after = op.getPadding()[rank + i];
  auto meets = [&](int64_t tap) {
    int64_t begin = tap * dilation - before,
            last = begin + (positions - 1) * op.getStrides()[i];
    return begin < extent && last >= 0;
  };
  int64_t first = 0, end = taps;
  while (first + 1 < end && !meets(first) && (first + 1) * dilation <= before)
    ++first;
  while (first + 1 < end && !meets(end - 1) &&
         (taps - end + 1) * dilation <= after)
    --end;
  return {first, end - first};
}

/// Leaves out taps that meet padding alone. Of weights that are no constants,
/// parts would have to be copied in each run.
LogicalResult trimTaps(ConvOp op, PatternRewriter &rewriter) {
  RankedTensorType type = tensorType(op.getWeights());
  if (!isConstantExpression(op.getWeights()) || type.getNumElements() == 0 ||
      op.getPaddingValue() != 0)
    return failure();
  int64_t rank = type.getRank() - 2;
  SmallVector<int64_t> starts(type.getRank()), sizes(type.getShape()),
      padding(op.getPadding());
  for (int64_t i = 0; i < rank; ++i) {
    Taps taps = tapsInImage(op, i);
    int64_t dilation = op.getDilations()[i];
    padding[i] -= taps.first * dilation;
    padding[rank + i] -= (sizes[i + 2] - taps.first - taps.count) * dilation;
    starts[i + 2] = taps.first;
    sizes[i + 2] = taps.count;
  }
  if (sizes == type.getShape())
    return failure();
  Value rest =
      SliceOp::create(rewriter, op.getLoc(), type.clone(sizes), op.getWeights(),
                      starts, sizes, SmallVector<int64_t>(type.getRank(), 1));
  rewriter.modifyOpInPlace(op, [&] {
    op.getWeightsMutable().assign(rest);
    op.setPadding(padding);
  });
  return success();
}

} // namespace

void populateConvPatterns(RewritePatternSet &patterns) {
  patterns.add(+foldPadIntoConv);
  patterns.add(+trimTaps);
}

} // namespace tinh::transforms
