//===- Split.cpp - Kernels with too few chunks ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where work could be shared among more workers if some of a kernel were done
// before the rest.
//
// A kernel of rows whose results need all of what one of its stages computes is
// one chunk: no two workers could share it. Where that is much work, the stage
// becomes a kernel of its own, and its result an operand.
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
#include "compiler/Codegen/Kernel/Split.h"
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"

using namespace mlir;

namespace tinh::cpu {

/// Chunks of a kernel that are enough, and how many there should be else.
static constexpr int64_t kEnough = 8, kWanted = 16;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Lets a dispatch of its own compute parts of the sums of a product that makes
/// so few blocks.
static graph::DispatchOp splitSums(DispatchedKernel dispatched,
                                   const Product &p, int64_t blocks) {
  constexpr int64_t kLeastSums = 1024;
  if (blocks >= kEnough || !matchCombiner(p.op))
    return {};
  graph::DispatchOp parts = dispatchParts(
      dispatched, p.op, p.depth[0],
      {static_cast<int64_t>(llvm::divideCeil(kWanted, blocks)), kLeastSums});
  if (Attribute transforms =
          parts ? dispatched.kernel->removeAttr(names::kTransforms)
                : Attribute())
    dispatched.symbols.lookup(parts.getKernel())
        ->setAttr(names::kTransforms, transforms);
  return parts;
}

graph::DispatchOp OuterProductsStrategy::split(DispatchedKernel dispatched,
                                               const Target &target) {
  auto p = OuterProductsStrategy::match(dispatched.kernel);
  if (!p || !p->batch.empty())
    return {};
  return splitSums(dispatched, *p,
                   planOuterProducts(*p, target, /*enoughChunks=*/1).chunks);
}

graph::DispatchOp WinogradGradientStrategy::split(DispatchedKernel dispatched,
                                                  const Target &target) {
  return OuterProductsStrategy::split(dispatched, target);
}

graph::DispatchOp DepthwiseGradientStrategy::split(DispatchedKernel dispatched,
                                                   const Target &target) {
  auto g = DepthwiseGradientStrategy::match(dispatched.kernel);
  if (!g || g->batch.size() > 1)
    return {};
  int64_t lanes = target.vectorBytes / g->elementBytes();
  return splitSums(dispatched, *g, llvm::divideCeil(g->channels(), lanes));
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

static int64_t chunksOf(func::FuncOp kernel, const Target &target) {
  auto rows = RowsStrategy::match(kernel);
  RowsPlan plan = cutRows(*rows);
  plan.lanes = target.lanes();
  planStages(*rows, plan, target);
  return plan.chunks;
}

/// Lets a kernel of its own compute a stage of one that would be one chunk with
/// much work.
static graph::DispatchOp splitRowsStage(DispatchedKernel dispatched,
                                        const Target &target) {
  func::FuncOp kernel = dispatched.kernel;
  // What one worker does in less time than it takes to share it.
  constexpr int64_t kLeastElements = 1 << 15;
  if (largestValue(kernel) < kLeastElements || chunksOf(kernel, target) > 1)
    return {};
  auto isWorth = [&](ValueRange values) {
    SmallVector<unsigned> inputs;
    OwningOpRef<func::FuncOp> stage =
        outlineStage(kernel, "_stage", values, inputs);
    return chunksOf(*stage, target) > 1 ||
           largestValue(kernel, values[0].getDefiningOp()) >= kLeastElements;
  };
  return splitStage(dispatched, RowsStrategy::match(kernel)->stages, isWorth);
}

graph::DispatchOp RowsStrategy::split(DispatchedKernel dispatched,
                                      const Target &target) {
  constexpr int64_t kLeastElements = 1 << 16, kLeastReduced = 256;
  if (auto stage = splitRowsStage(dispatched, target))
    return stage;
  int64_t chunks = chunksOf(dispatched.kernel, target);
  if (chunks >= kEnough)
    return {};
  Parts parts{static_cast<int64_t>(llvm::divideCeil(kWanted, chunks)),
              kLeastReduced, /*ofFirstLoop=*/true};
  return splitReduction(dispatched, kLeastElements,
                        [&](linalg::GenericOp) { return parts; });
}

} // namespace tinh::cpu
