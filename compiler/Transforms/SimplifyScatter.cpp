//===- SimplifyScatter.cpp - Scatters that are no scatters ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch's exporter writes x[:, 1:] = u as a scatter whose indices are a table
// with a tuple for each element: many times the bytes of x. Of indices that are
// made of iotas, constants, and what moves these, it is known that they count
// along dimensions, and so that they are those of a box:
//
//   %i = graph.concat %rows, %columns axis 2 : … -> tensor<3x4x2xi64>
//   %y = graph.scatter_nd assign %x, %i, %u : tensor<3x5xf32>, …
// becomes
//   %0 = graph.slice %x starts [0, 0] sizes [3, 1] steps [1, 1]
//   %y = graph.concat %0, %u axis 1
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/SimplifyGraph.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "dialects/graph/Dimensions.h"

#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace tinh::transforms {

namespace {

using namespace graph;

//===----------------------------------------------------------------------===//
// Integers that count along dimensions
//===----------------------------------------------------------------------===//

/// A tensor whose element at an index is start + Σ_d steps[d] · index[d].
struct Counted {
  int64_t start = 0;
  SmallVector<int64_t> steps;
};

/// Beyond this, which is beyond any extent, nothing is said, so that sums and
/// products do not overflow.
constexpr int64_t kLargest = int64_t(1) << 31;
/// Ops from a table of indices to what it is made of.
constexpr unsigned kMostOps = 16;

bool isModerate(int64_t number) {
  return -kLargest <= number && number <= kLargest;
}

/// The elements of a constant, if they are such ones.
std::optional<Counted> countedElements(ArrayRef<int64_t> elements,
                                       ArrayRef<int64_t> shape) {
  if (elements.empty() || !llvm::all_of(elements, isModerate))
    return std::nullopt;
  Counted result{elements.front(), SmallVector<int64_t>(shape.size(), 0)};
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    if (shape[d] > 1)
      result.steps[d] = elements[stride] - elements.front();
  for (auto [i, element] : llvm::enumerate(elements)) {
    int64_t expected = result.start, rest = static_cast<int64_t>(i);
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d])
      expected += result.steps[d] * (rest % shape[d]);
    if (expected != element)
      return std::nullopt;
  }
  return result;
}

/// Only what adds and drops dimensions of one element, or divides one.
std::optional<Counted> countedReshape(ReshapeOp op, const Counted &x) {
  ArrayRef<int64_t> from = tensorType(op.getX()).getShape(),
                    to = tensorType(op.getY()).getShape();
  Counted result{x.start, SmallVector<int64_t>(to.size(), 0)};
  for (const ReshapedRun &run : reshapedRuns(from, to)) {
    if (run.fromEnd - run.fromBegin != 1)
      return std::nullopt;
    int64_t step = x.steps[run.fromBegin];
    for (int64_t d = run.toEnd - 1; d >= run.toBegin; --d) {
      result.steps[d] = to[d] > 1 ? step : 0;
      step *= to[d];
    }
  }
  return result;
}

std::optional<Counted> findCounted(Value value, unsigned depth);

std::optional<Counted> countedOp(Operation *op, unsigned depth) {
  auto x = findCounted(op->getOperand(0), depth + 1);
  if (!x)
    return std::nullopt;
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return countedReshape(reshape, *x);
  if (auto slice = dyn_cast<SliceOp>(op)) {
    for (auto [d, step] : llvm::enumerate(x->steps)) {
      x->start += step * slice.getStarts()[d];
      step *= slice.getSteps()[d];
    }
    return x;
  }
  ArrayRef<int64_t> from = tensorType(op->getOperand(0)).getShape();
  auto rank = tensorType(op->getResult(0)).getRank();
  Counted result{x->start, SmallVector<int64_t>(rank, 0)};
  int64_t added = rank - static_cast<int64_t>(from.size());
  for (auto [d, step] : llvm::enumerate(x->steps)) // A broadcast.
    result.steps[added + static_cast<int64_t>(d)] = from[d] > 1 ? step : 0;
  return result;
}

std::optional<Counted> findCounted(Value value, unsigned depth = 0) {
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMostOps)
    return std::nullopt;
  std::optional<Counted> result;
  if (auto constant = dyn_cast<ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (dense && dense.isSplat())
      result = Counted{dense.getSplatValue<APInt>().getSExtValue(),
                       SmallVector<int64_t>(tensorType(value).getRank(), 0)};
    else if (dense)
      result =
          countedElements(denseToInts(dense), tensorType(value).getShape());
  } else if (auto iota = dyn_cast<IotaOp>(op)) {
    result = Counted{static_cast<int64_t>(iota.getStart()),
                     {static_cast<int64_t>(iota.getStep())}};
  } else if (isa<ReshapeOp, BroadcastOp, SliceOp>(op)) {
    result = countedOp(op, depth);
  }
  if (!result || !isModerate(result->start) ||
      !llvm::all_of(result->steps, isModerate))
    return std::nullopt;
  return result;
}

/// The numbers of constant tuples along the last dimension, one by one.
bool findTuples(DenseElementsAttr indices, SmallVectorImpl<Counted> &numbers) {
  SmallVector<int64_t> all = denseToInts(indices), elements;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(indices.getType()).getShape();
  auto width = static_cast<size_t>(shape.back());
  for (size_t k = 0; k < width; ++k) {
    elements.clear();
    for (size_t i = k; i < all.size(); i += width)
      elements.push_back(all[i]);
    auto number = countedElements(elements, shape.drop_back());
    if (!number)
      return false;
    numbers.push_back(*number);
  }
  return true;
}

/// The same of tuples that ops make.
bool findTuples(Value indices, SmallVectorImpl<Counted> &numbers) {
  int64_t width = tensorType(indices).getShape().back();
  if (auto concat = indices.getDefiningOp<ConcatOp>();
      concat && static_cast<int64_t>(concat.getAxis()) ==
                    tensorType(indices).getRank() - 1)
    return llvm::all_of(concat.getInputs(), [&](Value part) {
      return !part.getDefiningOp<ConcatOp>() && findTuples(part, numbers);
    });
  if (auto constant = indices.getDefiningOp<ConstantOp>())
    if (auto dense = dyn_cast<DenseElementsAttr>(constant.getValue()))
      return findTuples(dense, numbers);
  auto all = findCounted(indices);
  if (!all)
    return false;
  int64_t step = all->steps.pop_back_val();
  for (int64_t k = 0; k < width; ++k)
    numbers.push_back({all->start + k * step, all->steps});
  return true;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

struct Box {
  SmallVector<int64_t> starts, sizes;
};

/// The box of the first dimensions of x that the tuples walk through in its
/// order, each place once.
std::optional<Box> findBox(ScatterNdOp op) {
  SmallVector<Counted> numbers;
  ArrayRef<int64_t> shape = tensorType(op.getX()).getShape();
  RankedTensorType type = tensorType(op.getIndices());
  if (type.getNumElements() == 0 || !findTuples(op.getIndices(), numbers))
    return std::nullopt;
  Box box{{}, SmallVector<int64_t>(numbers.size(), 1)};
  size_t next = 0; // The first number that no dimension before counts.
  for (auto [d, extent] : llvm::enumerate(type.getShape().drop_back())) {
    if (extent == 1)
      continue;
    std::optional<size_t> counts;
    for (auto [k, number] : llvm::enumerate(numbers))
      if (int64_t step = number.steps[d]) {
        if (counts || step != 1 || k < next)
          return std::nullopt;
        counts = k;
      }
    if (!counts)
      return std::nullopt;
    box.sizes[*counts] = extent;
    next = *counts + 1;
  }
  for (auto [k, number] : llvm::enumerate(numbers)) {
    int64_t start = number.start;
    if (start < 0 && start + box.sizes[k] <= 0)
      start += shape[k]; // All count from the end.
    if (start < 0 || start + box.sizes[k] > shape[k])
      return std::nullopt;
    box.starts.push_back(start);
  }
  return box;
}

/// What is put into a box stands between what is before and behind it.
LogicalResult putIntoBox(ScatterNdOp op, PatternRewriter &rewriter) {
  if (op.getKind() != ScatterKind::Assign)
    return failure();
  auto box = findBox(op);
  if (!box)
    return failure();
  Value x = op.getX();
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  SmallVector<int64_t> starts(box->starts), sizes(box->sizes),
      ones(shape.size(), 1);
  starts.resize(shape.size(), 0);
  llvm::append_range(sizes, shape.drop_front(sizes.size()));
  Value y = reshapeTo(rewriter, op.getLoc(), op.getUpdates(), sizes);
  for (size_t d = box->starts.size(); d-- > 0;) {
    SmallVector<Value> parts;
    auto addPart = [&](int64_t start, int64_t size) {
      starts[d] = start;
      sizes[d] = size;
      if (size > 0)
        parts.push_back(
            SliceOp::create(rewriter, op.getLoc(), x, starts, sizes, ones));
    };
    int64_t end = starts[d] + sizes[d];
    addPart(0, starts[d]);
    parts.push_back(y);
    addPart(end, shape[d] - end);
    if (parts.size() > 1)
      y = ConcatOp::create(rewriter, op.getLoc(), parts,
                           static_cast<int64_t>(d));
    starts[d] = 0;
    sizes[d] = shape[d];
  }
  rewriter.replaceOp(op, y);
  return success();
}

/// What is put where something was put before replaces all of that.
LogicalResult dropOverwritten(ScatterNdOp op, PatternRewriter &rewriter) {
  auto before = op.getX().getDefiningOp<ScatterNdOp>();
  if (!before || op.getKind() != ScatterKind::Assign ||
      before.getKind() != ScatterKind::Assign ||
      before.getIndices() != op.getIndices())
    return failure();
  rewriter.modifyOpInPlace(op, [&] { op.getXMutable().assign(before.getX()); });
  return success();
}

} // namespace

void populateScatterPatterns(RewritePatternSet &patterns) {
  patterns.add(+dropOverwritten, PatternBenefit(2));
  patterns.add(+putIntoBox);
}

} // namespace tinh::transforms
