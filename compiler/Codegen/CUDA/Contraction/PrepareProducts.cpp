//===- PrepareProducts.cpp - Long sums and scattered factors ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Before products are divided into blocks, kernels of their own do two things
// for them. A small result of a long sum, such as the gradient of weights, has
// too few blocks for a GPU: parts of the sum are computed like a batch, and
// added by what remains of the kernel, if that takes less time. A factor whose
// elements do not lie side by side as blocks load them, such as the weights of
// a convolution, is copied to where they do: in @init if it is constant.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Library/Libraries.h"
#include "compiler/Codegen/Kernel/Conversions.h"
#include "compiler/Codegen/Kernel/Split.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Long sums
//===----------------------------------------------------------------------===//

graph::DispatchOp splitProduct(DispatchedKernel dispatched,
                               const Target &target) {
  constexpr int64_t kLeastDepth = 64, kMostParts = 128;
  constexpr double kWorth = 0.9; // Less gains nothing for the memory.
  auto p = ContractionStrategy::match(dispatched.kernel);
  linalg::GenericOp op = onlyReduction(dispatched.kernel);
  if (!p || !isWorthTiles(*p) || !matchCombiner(op))
    return {};
  int64_t best = 1;
  double least = kWorth * costInParts(*p, target, 1);
  for (int64_t wanted = 2; wanted <= kMostParts; ++wanted) {
    int64_t parts = countParts(op, p->depth, {wanted, kLeastDepth});
    double cost = costInParts(*p, target, parts);
    if (parts >= wanted && cost < least) {
      best = wanted;
      least = cost;
    }
  }
  return dispatchParts(dispatched, op, p->depth, {best, kLeastDepth});
}

//===----------------------------------------------------------------------===//
// Scattered factors
//===----------------------------------------------------------------------===//

/// Whether libraries see the factor as the filter of a convolution.
static bool isFilter(func::FuncOp kernel, const Target &target,
                     BlockArgument factor) {
  graph::LibraryAttr library = describeForLibrary(kernel, target);
  return library && library.getKind() == graph::LibraryKind::Convolution &&
         library.getRight().getOperand() == factor.getArgNumber();
}

/// The dimensions of a factor in the order in which blocks like to load it:
/// the batch's, the depth's, its own. Bytes are multiplied along the depth, and
/// libraries know filters only with the depth last, which blocks load nearly as
/// well.
static std::optional<SmallVector<int64_t>>
wantedOrder(const Product &p, const Factor &factor, bool depthLast) {
  if (!factor.map.isProjectedPermutation())
    return std::nullopt;
  Loops wanted = p.batch;
  llvm::append_range(wanted, depthLast ? factor.loops : p.depth);
  llvm::append_range(wanted, depthLast ? p.depth : factor.loops);
  auto rank = [&](int64_t dim) {
    auto found = llvm::find(wanted, factor.map.getDimPosition(dim));
    bool isLong = found != wanted.end(); // More than a step.
    return isLong ? found - wanted.begin() : -1;
  };
  auto order = llvm::to_vector(llvm::seq<int64_t>(factor.map.getNumResults()));
  llvm::sort(order, [&](int64_t x, int64_t y) {
    return std::pair(rank(x), x) < std::pair(rank(y), y);
  });
  return order;
}

void packFactors(DispatchedKernel dispatched, const Target &target) {
  auto [symbols, kernel, dispatch] = dispatched;
  auto p = ContractionStrategy::match(kernel);
  if (!p || !isWorthTiles(*p))
    return;
  Tiles tiles = tilesOf(*p, planTiles(*p, target));
  for (const Factor *factor : {&p->left, &p->right}) {
    // So often is each element of it loaded.
    int64_t times = factor == &p->left ? tiles.columns : tiles.rows;
    // Single bytes are turned on their way to shared memory, one by one.
    bool isTurned = p->isOfBytes() && !factor->alongDepth;
    BlockArgument argument = factor->isScattered || isTurned
                                 ? packableArgument(factor->value)
                                 : BlockArgument();
    if (!argument)
      continue;
    bool constant =
        isOfConstants(dispatch.getInputs()[argument.getArgNumber()]);
    bool depthLast = isTurned || isFilter(kernel, target, argument);
    auto order = wantedOrder(*p, *factor, depthLast);
    if (order && (constant || times >= 4))
      packOperand(dispatched, factor->value, *order);
  }
}

} // namespace tinh::cuda
