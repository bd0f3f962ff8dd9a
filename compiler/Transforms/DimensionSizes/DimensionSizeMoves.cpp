//===- DimensionSizeMoves.cpp - Elements apart from padding -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of ops that move elements: how those that are used stay together,
// at the beginning of each dimension.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/DimensionSizes/DimensionSizeRules.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::transforms {

using namespace graph;

//===----------------------------------------------------------------------===//
// reshape
//===----------------------------------------------------------------------===//

/// The dimensions of a run as one, the used elements first: by an index for
/// each of them, the coordinates of which are counted by sizes.
Value SizeRules::compact(Value x, const ReshapedRun &run) {
  SmallVector<int64_t> shape(tensorType(x).getShape());
  ArrayRef<int64_t> merged =
      ArrayRef(shape).slice(run.fromBegin, run.fromEnd - run.fromBegin);
  int64_t elements = llvm::product_of(merged), stride = 1;
  Value rest = iota(elements), index;
  for (int64_t d = run.fromEnd - 1; d >= run.fromBegin; --d) {
    Value size = MaxOp::create(b, sizeOf(x, d), count(1));
    Value at = MulOp::create(b, ModOp::create(b, rest, size), count(stride));
    index = index ? AddOp::create(b, index, at) : at;
    rest = DivOp::create(b, rest, size);
    stride *= extent(x, d);
  }
  SmallVector<int64_t> flat(shape.begin(), shape.begin() + run.fromBegin);
  flat.push_back(elements);
  flat.append(shape.begin() + run.fromEnd, shape.end());
  return reshape(gather(reshape(x, flat), index, run.fromBegin), shape);
}

/// How many rows of `inner` elements a merged size counts; null if it is none.
static Value countRows(Value size, int64_t inner) {
  auto product = size.getDefiningOp<MulOp>();
  DenseIntElementsAttr elements;
  if (!product || !matchPattern(product.getB(), m_Constant(&elements)) ||
      *elements.getValues<int64_t>().begin() != inner)
    return {};
  return product.getA();
}

/// A dimension becomes several: those that it was merged of, as far as is
/// known. Of others nothing says which of them takes up the size.
void SizeRules::divideRun(ReshapeOp op, const ReshapedRun &run) {
  Value size = sizes.get(op.getX(), run.fromBegin);
  int64_t inner = 1;
  for (int64_t d = run.toBegin + 1; d < run.toEnd; ++d)
    inner *= extent(op.getY(), d);
  Value rows = !size || inner == 1 ? size : countRows(size, inner);
  if (!rows)
    return;
  handle(0, run.fromBegin);
  sizes.set(op.getY(), run.toBegin, rows);
}

/// Dimensions are merged into one.
void SizeRules::reshapeRun(ReshapeOp op, const ReshapedRun &run) {
  if (run.toEnd - run.toBegin > 1 && run.fromEnd - run.fromBegin > 1)
    return;
  if (run.toEnd - run.toBegin > 1)
    return divideRun(op, run);
  Value x = op.getX();
  Value elements;
  bool isInner = false;
  int64_t whole = 1;
  for (int64_t d = run.fromBegin; d < run.fromEnd; ++d) {
    Value size = sizes.get(x, d);
    whole *= size ? 1 : extent(x, d);
    if (!size)
      continue;
    isInner |= d != run.fromBegin;
    elements = elements ? MulOp::create(b, elements, size) : size;
    handle(0, d);
  }
  if (!elements)
    return;
  if (isInner) {
    Value compacted = compact(x, run);
    sizes.copy(x, compacted);
    op.getXMutable().assign(compacted);
  }
  if (whole != 1) // Rows come first, as countRows expects them.
    elements = isInner ? MulOp::create(b, count(whole), elements)
                       : MulOp::create(b, elements, count(whole));
  sizes.set(op.getY(), run.toBegin, elements);
}

void SizeRules::apply(ReshapeOp op) {
  SmallVector<bool> isDropped(tensorType(op.getX()).getRank(), true);
  for (const ReshapedRun &run :
       reshapedRuns(tensorType(op.getX()).getShape(),
                    tensorType(op.getY()).getShape())) {
    for (int64_t d = run.fromBegin; d < run.fromEnd; ++d)
      isDropped[d] = false;
    if (run.fromEnd - run.fromBegin > 1 || run.toEnd - run.toBegin > 1)
      reshapeRun(op, run);
  }
  // A dimension of one that is dropped is used: the model says so.
  for (auto [d, dropped] : llvm::enumerate(isDropped))
    if (dropped)
      handle(0, d);
}

//===----------------------------------------------------------------------===//
// concat, slice, pad
//===----------------------------------------------------------------------===//

/// Elements behind the padding of a part move up by as much as that is.
void SizeRules::apply(ConcatOp op) {
  int64_t axis = op.getAxis();
  int64_t last = static_cast<int64_t>(op.getInputs().size()) - 1;
  Value total, index = iota(extent(op.getY(), axis)), shift;
  bool isBounded = false;
  for (auto [i, part] : llvm::enumerate(op.getInputs())) {
    Value size = sizeOf(part, axis);
    isBounded |= static_cast<bool>(sizes.get(part, axis));
    total = total ? AddOp::create(b, total, size) : size;
    handle(i, axis);
    if (!sizes.get(part, axis) || static_cast<int64_t>(i) == last)
      continue;
    Value padding = SubOp::create(b, count(extent(part, axis)), size);
    Value isBehind = compare(ComparePredicate::GreaterEqual, index, total);
    Value by = WhereOp::create(b, isBehind, padding, count(0));
    shift = shift ? AddOp::create(b, shift, by) : by;
  }
  if (!isBounded)
    return;
  sizes.set(op.getY(), axis, total);
  if (!shift)
    return;
  Value parts = ConcatOp::create(b, op.getInputs(), axis);
  replacement = gather(parts, AddOp::create(b, index, shift), axis);
  sizes.set(replacement, axis, total);
}

/// Of dimensions that are cut, so many elements as are within the size.
void SizeRules::apply(SliceOp op) {
  for (auto [d, start, wanted, step] :
       llvm::enumerate(op.getStarts(), op.getSizes(), op.getSteps())) {
    Value size = sizes.get(op.getX(), d);
    bool isWhole = wanted == extent(op.getX(), d) && step == 1;
    if (!size || isWhole || step < 0)
      continue;
    handle(0, d);
    Value left = SubOp::create(b, size, count(start - step + 1));
    Value within =
        DivOp::create(b, MaxOp::create(b, left, count(0)), count(step));
    sizes.set(op.getY(), d, MinOp::create(b, within, count(wanted)));
  }
}

/// What is padded with is what the padding of the operand becomes, too.
void SizeRules::apply(PadOp op) {
  for (auto [d, low, high] : llvm::enumerate(op.getLow(), op.getHigh())) {
    Value size = sizes.get(op.getX(), d);
    if (!size || (low == 0 && high == 0) || low < 0 || high < 0 ||
        op.getMode() != PadMode::Constant)
      continue;
    handle(0, d);
    op.getXMutable().assign(masked(op.getX(), d, size, op.getValue()));
    sizes.set(op.getY(), d, AddOp::create(b, size, count(low + high)));
  }
}

//===----------------------------------------------------------------------===//
// gather, scatter
//===----------------------------------------------------------------------===//

/// Whether a constant of indices has no negative one.
static bool areFromStart(Value indices) {
  DenseIntElementsAttr constant;
  return matchPattern(indices, m_Constant(&constant)) &&
         llvm::none_of(constant.getValues<APInt>(),
                       [](const APInt &index) { return index.isNegative(); });
}

/// Indices of padding are limited to the bounds, as all are.
template <typename OpTy> void SizeRules::gatherAlong(OpTy op) {
  int64_t axis = op.getAxis();
  handle(0, axis);
  if (isa<GatherElementsOp>(op)) // It takes from no more than its indices are.
    for (int64_t d = 0; d < tensorType(op.getX()).getRank(); ++d)
      handle(0, d);
  Value size = sizes.get(op.getX(), axis);
  if (size && !areFromStart(op.getIndices()))
    op.getIndicesMutable().assign(countedFrom(op.getIndices(), size));
}

/// Indices in tuples that are negative count from the sizes of the dimensions
/// of x from `first` on.
Value SizeRules::tuplesFrom(Value x, Value indices, int64_t first) {
  int64_t width = tensorType(indices).getShape().back();
  SmallVector<Value> ends;
  bool isBounded = false;
  for (int64_t k = 0; k < width; ++k) {
    isBounded |= static_cast<bool>(sizes.get(x, first + k));
    ends.push_back(reshape(sizeOf(x, first + k), {1}));
  }
  if (!isBounded)
    return indices;
  Value end =
      ends.size() == 1 ? ends.front() : Value(ConcatOp::create(b, ends, 0));
  return countedFrom(indices, end);
}

void SizeRules::apply(GatherNdOp op) {
  int64_t first = op.getBatchDims();
  op.getIndicesMutable().assign(tuplesFrom(op.getX(), op.getIndices(), first));
  for (int64_t k = 0; k < tensorType(op.getIndices()).getShape().back(); ++k)
    handle(0, first + k);
}

/// Whether a part of the indices of a scatter is padding.
bool SizeRules::hasUnusedIndices() {
  Value indices = op->getOperand(1);
  for (int64_t d = 0; d < tensorType(indices).getRank(); ++d) {
    handle(1, d);
    if (sizes.get(indices, d))
      return true;
  }
  return false;
}

/// `behind` in the place of indices that are padding.
Value SizeRules::indexOrBehind(Value indices, Value behind) {
  Value y = indices;
  for (int64_t d = 0; d < tensorType(indices).getRank(); ++d)
    if (sizes.get(indices, d))
      y = WhereOp::create(b, isUsed(indices, d, sizes.get(indices, d)), y,
                          behind);
  return y;
}

/// Scatters into x with one more slice along `axis`, which is cut off again:
/// where indices of padding lead.
void SizeRules::scatterBehind(int64_t axis, Value indices) {
  Value x = op->getOperand(0);
  RankedTensorType type = tensorType(x);
  SmallVector<int64_t> low(type.getRank(), 0), high(low), ones(low.size(), 1);
  high[axis] = 1;
  Type element = type.getElementType();
  Value longer =
      PadOp::create(b, x, scalar(element, neutralValue(Neutral::Zero, element)),
                    low, high, PadMode::Constant);
  Operation *scatter = b.clone(*op);
  scatter->setOperand(0, longer);
  scatter->setOperand(1, indices);
  scatter->getResult(0).setType(longer.getType());
  replacement =
      SliceOp::create(b, scatter->getResult(0), low, type.getShape(), ones);
}

template <typename OpTy> void SizeRules::scatterAlong(OpTy op) {
  int64_t axis = op.getAxis();
  Value x = op.getX(), indices = op.getIndices();
  for (int64_t d = 0; d < tensorType(op.getUpdates()).getRank(); ++d)
    handle(2, d);
  handle(0, axis);
  bool hasUnused = hasUnusedIndices();
  if (hasUnused || sizes.get(x, axis))
    indices = countedFrom(indices, sizeOf(x, axis));
  op.getIndicesMutable().assign(indices);
  Type element = tensorType(indices).getElementType();
  if (hasUnused)
    scatterBehind(
        axis, indexOrBehind(indices, castTo(count(extent(x, axis)), element)));
}

/// The first number of a tuple of padding is behind the first dimension.
void SizeRules::apply(ScatterNdOp op) {
  Value x = op.getX(), indices = op.getIndices();
  for (int64_t d = 0; d < tensorType(op.getUpdates()).getRank(); ++d)
    handle(2, d);
  bool hasUnused = hasUnusedIndices();
  SmallVector<int64_t> ends;
  int64_t width = tensorType(indices).getShape().back();
  for (int64_t k = 0; k < width; ++k)
    handle(0, k);
  Type element = tensorType(indices).getElementType();
  if (!hasUnused) {
    op.getIndicesMutable().assign(tuplesFrom(x, indices, 0));
    return;
  }
  SmallVector<Value> sizesOfX;
  for (int64_t k = 0; k < width; ++k)
    sizesOfX.push_back(reshape(sizeOf(x, k), {1}));
  Value end =
      width == 1 ? sizesOfX.front() : Value(ConcatOp::create(b, sizesOfX, 0));
  indices = countedFrom(indices, end);
  Value isFirst = compare(ComparePredicate::Equal, iota(width), count(0));
  Value behind = WhereOp::create(b, isFirst, count(extent(x, 0)), count(0));
  scatterBehind(0, indexOrBehind(indices, castTo(behind, element)));
}

template void SizeRules::gatherAlong(GatherOp);
template void SizeRules::gatherAlong(GatherElementsOp);
template void SizeRules::scatterAlong(ScatterOp);
template void SizeRules::scatterAlong(ScatterElementsOp);

} // namespace tinh::transforms
