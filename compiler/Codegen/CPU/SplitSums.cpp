//===- SplitSums.cpp - Long reductions in parts -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A small result of a long reduction has too few blocks to share, such as the
// sum over all positions of an image, or the gradient of the weights of a
// convolution with few channels, whose blocks, if they were smaller, would read
// both factors again and again. Instead it becomes
//
//   parts[g, …] = combine over the indices of part g   a kernel of its own,
//   result[…]   = combine over g of parts[g, …]        and what follows.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/OuterProducts.h"
#include "compiler/Codegen/CPU/Scan.h"
#include "compiler/Codegen/CPU/SplitStages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cpu {

/// Chunks of a kernel that are enough, and how many there should be else.
constexpr int64_t kEnough = 8, kWanted = 16;

/// The dimension of an operand that the loop alone indexes.
static std::optional<unsigned> dimensionOf(AffineMap map, unsigned loop) {
  return map.getResultPosition(getAffineDimExpr(loop, map.getContext()));
}

/// Whether `loop` can be two: it alone indexes a dimension of each operand that
/// it indexes at all.
static bool isDivisible(linalg::GenericOp op, unsigned loop) {
  return llvm::all_of(op.getDpsInputOperands(), [&](OpOperand *operand) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    return !map.isFunctionOfDim(loop) || dimensionOf(map, loop);
  });
}

/// The least number that divides `extent` and gives `wanted` parts; else the
/// largest one up to `most`.
static int64_t countParts(int64_t extent, int64_t wanted, int64_t most) {
  int64_t best = 1;
  for (int64_t parts = 2; parts <= std::min(extent, most) && best < wanted;
       ++parts)
    if (extent % parts == 0)
      best = parts;
  return best;
}

/// `factor` with its dimension `dim` as two, `parts` and the rest.
static Value divideDimension(OpBuilder &b, Location loc, Value factor,
                             unsigned dim, int64_t parts) {
  auto type = cast<RankedTensorType>(factor.getType());
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<ReassociationIndices> groups;
  int64_t next = 0;
  for (unsigned i = 0; i < shape.size(); ++i) {
    groups.push_back({next++});
    if (i == dim)
      groups.back().push_back(next++);
  }
  shape[dim] /= parts;
  shape.insert(shape.begin() + dim, parts);
  return tensor::ExpandShapeOp::create(b, loc, type.clone(shape), factor,
                                       groups);
}

/// What `op` gives for each part of `loop`: the parts are the first dimension.
static Value reduceParts(OpBuilder &b, linalg::GenericOp op, unsigned loop,
                         int64_t parts, TypedAttr neutral) {
  Location loc = op.getLoc();
  unsigned loops = op.getNumLoops() + 1;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  auto addMap = [&](AffineMap map, std::optional<unsigned> at) {
    SmallVector<AffineExpr> exprs(map.shiftDims(1).getResults());
    if (at)
      exprs.insert(exprs.begin() + *at, b.getAffineDimExpr(0));
    maps.push_back(AffineMap::get(loops, 0, exprs, b.getContext()));
  };
  for (OpOperand *operand : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(operand);
    std::optional<unsigned> dim = dimensionOf(map, loop);
    addMap(map, dim);
    inputs.push_back(dim ? divideDimension(b, loc, operand->get(), *dim, parts)
                         : operand->get());
  }
  addMap(op.getMatchingIndexingMap(op.getDpsInitOperand(0)), 0);
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  iterators.insert(iterators.begin(), utils::IteratorType::parallel);

  auto type = cast<RankedTensorType>(op.getResult(0).getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.insert(shape.begin(), parts);
  Value start = arith::ConstantOp::create(b, loc, neutral);
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  Value init =
      linalg::FillOp::create(b, loc, ValueRange(start), ValueRange(empty))
          .getResult(0);
  auto reduced = linalg::GenericOp::create(b, loc, init.getType(), inputs, init,
                                           maps, iterators);
  IRMapping mapping;
  op.getRegion().cloneInto(&reduced.getRegion(), mapping);
  return reduced.getResult(0);
}

/// Combines `parts` along their first dimension as `op` combines elements.
static Value combineParts(OpBuilder &b, linalg::GenericOp op, Value parts) {
  Value init = op.getDpsInits()[0];
  auto type = cast<RankedTensorType>(init.getType());
  unsigned rank = type.getRank();
  SmallVector<AffineExpr> exprs;
  for (unsigned dim = 0; dim < rank; ++dim)
    exprs.push_back(b.getAffineDimExpr(dim));
  AffineMap output = AffineMap::get(rank + 1, 0, exprs, b.getContext());
  exprs.insert(exprs.begin(), b.getAffineDimExpr(rank));
  AffineMap maps[] = {AffineMap::get(rank + 1, 0, exprs, b.getContext()),
                      output};
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.push_back(utils::IteratorType::reduction);
  Operation *combiner =
      op.getBody()->getTerminator()->getOperand(0).getDefiningOp();
  return linalg::GenericOp::create(
             b, op.getLoc(), type, parts, init, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               Operation *combined = b.clone(*combiner);
               combined->setOperands({arguments[1], arguments[0]});
               linalg::YieldOp::create(b, loc, combined->getResults());
             })
      .getResult(0);
}

/// Lets a dispatch of its own compute the parts of `loop` of `op`.
static graph::DispatchOp dispatchParts(OpBuilder &b, SymbolTable &symbols,
                                       func::FuncOp kernel,
                                       graph::DispatchOp dispatch,
                                       linalg::GenericOp op, unsigned loop,
                                       int64_t parts) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(op);
  Value reduced = reduceParts(b, op, loop, parts, matchCombiner(op)->neutral);
  op.getResult(0).replaceAllUsesWith(combineParts(b, op, reduced));
  op.erase();
  return dispatchStage(b, symbols, kernel, dispatch, "_parts", reduced);
}

graph::DispatchOp splitSums(OpBuilder &b, SymbolTable &symbols,
                            func::FuncOp kernel, graph::DispatchOp dispatch,
                            const Target &target) {
  // In fewer steps a part would not repay that its sums are stored.
  constexpr int64_t kLeastSums = 1024;
  auto p = matchOuterProducts(kernel);
  if (!p || !p->batch.empty() || !isDivisible(p->op, p->sums[0]) ||
      !matchCombiner(p->op))
    return {};
  int64_t blocks = planOuterProducts(*p, target, /*enoughChunks=*/1).chunks;
  int64_t parts =
      countParts(p->extents[p->sums[0]], llvm::divideCeil(kWanted, blocks),
                 p->extentOf(p->sums) / kLeastSums);
  if (blocks >= kEnough || parts == 1)
    return {};
  return dispatchParts(b, symbols, kernel, dispatch, p->op, p->sums[0], parts);
}

graph::DispatchOp splitReduction(OpBuilder &b, SymbolTable &symbols,
                                 func::FuncOp kernel,
                                 graph::DispatchOp dispatch) {
  constexpr int64_t kLeastElements = 1 << 16, kLeastReduced = 256;
  int64_t chunks = planRows(kernel).chunks;
  if (chunks >= kEnough)
    return {};
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    SmallVector<int64_t> extents = op.getStaticLoopRanges();
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    int64_t reduced = 1;
    for (unsigned loop : loops)
      reduced *= extents[loop];
    int64_t elements = ShapedType::getNumElements(extents);
    auto readsIndices = op.getBody()->walk([](Operation *inner) {
      return isa<linalg::IndexOp, tensor::ExtractOp>(inner)
                 ? WalkResult::interrupt()
                 : WalkResult::advance();
    });
    if (elements < kLeastElements || !matchCombiner(op) || matchScan(op) ||
        readsIndices.wasInterrupted() ||
        largestValue(kernel, op) >= kLeastElements)
      continue;
    for (unsigned loop : loops) {
      int64_t parts =
          countParts(extents[loop], llvm::divideCeil(kWanted, chunks),
                     reduced / kLeastReduced);
      if (parts > 1 && isDivisible(op, loop))
        return dispatchParts(b, symbols, kernel, dispatch, op, loop, parts);
    }
  }
  return {};
}

} // namespace tinh::cpu
