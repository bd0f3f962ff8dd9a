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
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"
#include "compiler/Codegen/CPU/Split/SplitStages.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cpu {

/// Chunks of a kernel that are enough, and how many there should be else.
constexpr int64_t kEnough = 8, kWanted = 16;

/// Lets a dispatch of its own compute parts of the sums of a product that makes
/// so few blocks.
static graph::DispatchOp splitProduct(OpBuilder &b, SymbolTable &symbols,
                                      func::FuncOp kernel,
                                      graph::DispatchOp dispatch,
                                      const Product &p, int64_t blocks) {
  // In fewer steps a part would not repay that its sums are stored.
  constexpr int64_t kLeastSums = 1024;
  if (blocks >= kEnough || !isDivisible(p.op, p.depth[0]) ||
      !matchCombiner(p.op))
    return {};
  int64_t parts =
      countParts(p.extents[p.depth[0]], llvm::divideCeil(kWanted, blocks),
                 p.extentOf(p.depth) / kLeastSums);
  if (parts == 1)
    return {};
  return dispatchParts(b, symbols, kernel, dispatch, p.op, p.depth[0], parts);
}

graph::DispatchOp OuterProductsStrategy::split(OpBuilder &b,
                                               SymbolTable &symbols,
                                               func::FuncOp kernel,
                                               graph::DispatchOp dispatch,
                                               const Target &target) {
  auto p = OuterProductsStrategy::match(kernel);
  if (!p || !p->batch.empty())
    return {};
  return splitProduct(b, symbols, kernel, dispatch, *p,
                      planOuterProducts(*p, target, /*enoughChunks=*/1).chunks);
}

graph::DispatchOp DepthwiseGradientStrategy::split(OpBuilder &b,
                                                   SymbolTable &symbols,
                                                   func::FuncOp kernel,
                                                   graph::DispatchOp dispatch,
                                                   const Target &target) {
  auto g = DepthwiseGradientStrategy::match(kernel);
  if (!g || g->batch.size() > 1)
    return {};
  int64_t lanes = target.vectorBytes / g->elementBytes();
  return splitProduct(b, symbols, kernel, dispatch, *g,
                      llvm::divideCeil(g->channels(), lanes));
}

graph::DispatchOp splitReduction(OpBuilder &b, SymbolTable &symbols,
                                 func::FuncOp kernel,
                                 graph::DispatchOp dispatch) {
  constexpr int64_t kLeastElements = 1 << 16, kLeastReduced = 256;
  int64_t chunks = cutRows(*RowsStrategy::match(kernel)).chunks;
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
    if (elements < kLeastElements || !combinesElements(op) ||
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
