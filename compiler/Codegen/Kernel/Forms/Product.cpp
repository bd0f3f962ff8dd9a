//===- Product.cpp - The product that a kernel computes ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Forms/Product.h"

#include "dialects/graph/Strides.h"

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

//===----------------------------------------------------------------------===//
// What follows it
//===----------------------------------------------------------------------===//

/// The one reader of `value` if it is an `Op`.
template <typename Op> static Op onlyUser(Value value) {
  return value.hasOneUse() ? dyn_cast<Op>(*value.user_begin()) : Op();
}

/// Whether `op` moves elements, none of them along the last dimension.
static bool keepsRows(linalg::GenericOp op) {
  auto order = permutationOf(op);
  return order && order->back() == order->size() - 1;
}

/// `value` in panels of its last dimension; itself if they are not made of it.
static Value inPanels(Value value) {
  Value columns = value;
  if (auto pad = onlyUser<tensor::PadOp>(columns)) {
    if (!pad.hasZeroLowPad())
      return value;
    columns = pad.getResult();
  }
  auto split = onlyUser<tensor::ExpandShapeOp>(columns);
  if (!split || split.getReassociationIndices().back().size() != 2)
    return value;
  auto panels = onlyUser<linalg::GenericOp>(split.getResult());
  return panels && keepsRows(panels) ? panels.getResult(0) : value;
}

Value mergedResult(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (auto merged = onlyUser<tensor::CollapseShapeOp>(result))
    result = merged.getResult();
  return inPanels(result);
}

Indices indicesInResult(Pull &pull, Value product, Value result, Indices at) {
  while (product != result) {
    Operation *user = *product.user_begin();
    if (auto merged = dyn_cast<tensor::CollapseShapeOp>(user)) {
      at = pull.merge(at, merged.getSrcType().getShape(),
                      merged.getReassociationIndices());
    } else if (auto split = dyn_cast<tensor::ExpandShapeOp>(user)) {
      int64_t width = split.getResultType().getShape().back();
      LaneIndex column = at.pop_back_val();
      Value panel = column.base, lane = pull.takeDigit(panel, width);
      at.push_back({panel, 0, 1});
      at.push_back({lane, column.stride, std::gcd(column.alignment, width)});
    } else if (auto moved = dyn_cast<linalg::GenericOp>(user)) {
      AffineMap map = moved.getMatchingIndexingMap(moved.getDpsInputOperand(0));
      Indices source = at;
      for (auto [i, index] : llvm::enumerate(source))
        at[map.getDimPosition(i)] = index;
    }
    product = user->getResult(0);
  }
  return at;
}

llvm::DenseSet<Operation *> opsOfProduct(Value product, Value result) {
  llvm::DenseSet<Operation *> ops{product.getDefiningOp()};
  for (; product != result; product = (*product.user_begin())->getResult(0))
    ops.insert(*product.user_begin());
  return ops;
}

std::optional<int64_t> columnsOfPanels(Value result) {
  auto generic = result.getDefiningOp<linalg::GenericOp>();
  if (!generic || generic.getNumReductionLoops() > 0)
    return std::nullopt;
  auto split = generic.getDpsInputs()[0].getDefiningOp<tensor::ExpandShapeOp>();
  return split.getSrcType().getShape().back();
}

bool hasWholeVectors(Value result, int64_t lanes) {
  return !columnsOfPanels(result) ||
         cast<RankedTensorType>(result.getType()).getShape().back() % lanes ==
             0;
}

//===----------------------------------------------------------------------===//
// The product
//===----------------------------------------------------------------------===//

int64_t Product::extentOf(ArrayRef<unsigned> loops) const {
  int64_t product = 1;
  for (unsigned loop : loops)
    product *= extents[loop];
  return product;
}

/// Whether vectors of `width` elements along loop `along` lie at multiples of
/// their size, all of a vector or nothing in memory.
static bool hasVectors(const Product &p, const MemoryAccess &access,
                       unsigned along, int64_t width) {
  if (p.extents[along] % width != 0 || access.offset % width != 0)
    return false;
  for (const MemoryAccess::Bound &bound : access.bounds)
    if (loopCoefficient(bound.index, along, p.extents.size()) != 0)
      return false;
  for (auto [loop, step] : llvm::enumerate(access.steps))
    if (loop != along && p.extents[loop] > 1 && step % width != 0)
      return false;
  return true;
}

void Product::findVectors() {
  for (Factor *factor : {&left, &right}) {
    if (!factor->access)
      continue;
    auto follows = [&](const Loops &loops) {
      return !loops.empty() && factor->access->steps[loops.back()] == 1;
    };
    factor->alongDepth = follows(depth) && !follows(factor->loops);
    factor->isScattered = !follows(depth) && !follows(factor->loops);
    if (factor->isScattered)
      continue;
    unsigned along = (factor->alongDepth ? depth : factor->loops).back();
    int64_t widest = std::max<int64_t>(
        4, 16 / graph::elementSize(getElementTypeOrSelf(factor->value)));
    factor->width = 1;
    for (int64_t width = widest; width > 1 && factor->width == 1; width /= 2)
      if (hasVectors(*this, *factor->access, along, width))
        factor->width = width;
  }
}

Match<Product> describeProduct(linalg::GenericOp op, unsigned right) {
  Product p;
  p.op = op;
  p.result = op.getResult(0);
  p.output = outputMap(op);
  p.extents = op.getStaticLoopRanges();
  if (llvm::is_contained(p.extents, 0))
    return NoMatch{"has no elements to compute"};
  if (!p.output.isProjectedPermutation())
    return NoMatch{"has a result that is not indexed by single loops"};
  for (auto [factor, input] :
       {std::pair(&p.left, 1 - right), std::pair(&p.right, right)}) {
    OpOperand *operand = op.getDpsInputOperand(input);
    factor->value = operand->get();
    factor->input = input;
    factor->map = op.getMatchingIndexingMap(operand);
    factor->access = accessMemory(factor->value, factor->map);
  }
  op.getReductionDims(p.depth);
  for (unsigned i = 0; i < p.output.getNumResults(); ++i) {
    unsigned loop = p.output.getDimPosition(i);
    bool ofLeft = p.left.map.isFunctionOfDim(loop),
         ofRight = p.right.map.isFunctionOfDim(loop);
    // Dimensions of one element are rows where factors do without them.
    if (!ofLeft && !ofRight && p.extents[loop] > 1)
      return NoMatch{"has a dimension of results that neither factor has"};
    (!ofRight ? p.left.loops
     : ofLeft ? p.batch
              : p.right.loops)
        .push_back(loop);
  }
  p.findVectors();
  return p;
}

std::optional<std::pair<unsigned, unsigned>>
matchSlide(AffineExpr expr, ArrayRef<unsigned> own, ArrayRef<unsigned> summed) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add)
    return std::nullopt;
  auto first = dyn_cast<AffineDimExpr>(sum.getLHS()),
       second = dyn_cast<AffineDimExpr>(sum.getRHS());
  if (!first || !second)
    return std::nullopt;
  if (llvm::is_contained(summed, first.getPosition()))
    std::swap(first, second);
  std::pair loops(first.getPosition(), second.getPosition());
  if (!llvm::is_contained(own, loops.first) ||
      !llvm::is_contained(summed, loops.second))
    return std::nullopt;
  return loops;
}

Match<linalg::GenericOp> matchSumOfProducts(func::FuncOp kernel,
                                            Elements elements) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op)
    return NoMatch{"has no reduction, or more than one"};
  bool isSum = isSumOfProducts(op) ||
               (elements == Elements::FloatsOrBytes && isSumOfByteProducts(op));
  if (!isSum)
    return NoMatch{"is no sum of products of floats"};
  if (!resultsFollowElementwise(kernel, mergedResult(op)))
    return NoMatch{"has results that do not follow from the product element by "
                   "element"};
  return op;
}

} // namespace tinh::codegen
