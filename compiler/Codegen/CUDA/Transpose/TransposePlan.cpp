//===- TransposePlan.cpp - Recognising and dividing moves -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Machine.h"
#include "compiler/Codegen/CUDA/Transpose/Transpose.h"
#include "compiler/Codegen/CUDA/WorkAnalysis.h"
#include "compiler/Codegen/Kernel/LaneAnalysis.h"
#include "compiler/Codegen/Kernel/Work.h"

#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cuda {

/// The permutation that `op` is, if it moves the last of long dimensions.
static std::optional<Transpose> matchPermutation(linalg::GenericOp op) {
  auto order = permutationOf(op);
  if (!order || order->size() < 2)
    return std::nullopt;
  constexpr int64_t kLeast = 8;
  Transpose t{op->getParentOfType<func::FuncOp>(), op, {}, order->back()};
  t.shape.assign(op.getStaticLoopRanges());
  if (t.column == t.row() || t.shape[t.column] < kLeast ||
      t.shape[t.row()] < kLeast)
    return std::nullopt;
  return t;
}

/// Whether what the kernel reads to compute `value` is read along its last
/// dimension: nothing is reduced, or read elsewhere.
static bool followsElementwise(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op)
    return isa<BlockArgument>(value) || !value.getDefiningOp() ||
           isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp, linalg::FillOp,
               tensor::EmptyOp, arith::ConstantOp>(value.getDefiningOp());
  bool extracts = false;
  op.getBody()->walk([&](tensor::ExtractOp) { extracts = true; });
  return !extracts && op.getNumReductionLoops() == 0 &&
         llvm::all_of(op.getDpsInputs(), followsElementwise);
}

Indices Transpose::sourceIndices(const Indices &at) const {
  return llvm::map_to_vector(*permutationOf(op),
                             [&](unsigned dim) { return at[dim]; });
}

Match<Transpose> TransposeStrategy::match(func::FuncOp kernel) {
  std::optional<Transpose> found;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    auto t = matchPermutation(op);
    if (!t)
      continue;
    if (found)
      return NoMatch{"moves the last dimension more than once"};
    found = t;
  }
  if (!found || llvm::is_contained(found->shape, 0))
    return NoMatch{"does not move the last dimension"};
  if (!resultsFollowElementwise(kernel, found->result()) ||
      !followsElementwise(found->op.getDpsInputs()[0]))
    return NoMatch{"computes more than single elements before and after it "
                   "moves them"};
  return std::move(*found);
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

int64_t countTiles(const Transpose &t, const TransposeTile &tile) {
  int64_t count = 1;
  for (auto [i, extent] : llvm::enumerate(t.shape))
    count *= i == t.column || i == t.row() ? llvm::divideCeil(extent, tile.side)
                                           : extent;
  return count;
}

/// Whether elements can be read before and written after the permutation in
/// vectors.
static bool takesVectors(const Transpose &t, int64_t lanes) {
  if (lanes == 1)
    return true;
  if (t.shape[t.column] % lanes != 0 || t.shape[t.row()] % lanes != 0)
    return false;
  int64_t rank = t.shape.size();
  LaneAnalysis before(t.kernel, lanes), after(t.kernel, lanes);
  after.registers[t.result()] = after.inRegisters();
  linalg::GenericOp op = t.op;
  return before.computes(
             op.getDpsInputs()[0],
             t.sourceIndices(before.indicesAlong(rank, t.column))) &&
         after.computesResults(after.indicesAlong(rank, t.row()));
}

SmallVector<TransposePlanAttr> TransposeStrategy::plans(const Transpose &t,
                                                        const Target &) {
  constexpr int64_t kWarps = kThreads / kWarp;
  int64_t lanes = 4 / std::min<int64_t>(4, graph::elementSize(t.element()));
  return {TransposePlanAttr::get(t.op->getContext(),
                                 takesVectors(t, lanes) ? lanes : 1, kWarps)};
}

double TransposeStrategy::cost(const Transpose &t, TransposePlanAttr,
                               const Target &) {
  WorkAnalysis analysis(t.kernel);
  return cyclesOf({operandBytes(t.kernel), analysis.cacheBytes(),
                   guess::kLoad + guess::kBarrier},
                  plannedMachine());
}

FailureOr<Divided<TransposePlanAttr>>
TransposeStrategy::expand(const Transpose &t, TransposePlanAttr plan,
                          const Target &target, EmitError error) {
  TransposeTile tile{plan.getLanes()};
  if (!takesVectors(t, tile.lanes))
    return error() << "elements cannot be read and written in vectors of "
                   << tile.lanes;
  return divided(plan,
                 {countTiles(t, tile), plan.getWarps() * kWarp,
                  tile.side * tile.pitch() * graph::elementSize(t.element())},
                 target, error);
}

} // namespace tinh::cuda
