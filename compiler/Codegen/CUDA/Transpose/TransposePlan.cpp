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

#include "dialects/graph/Layout.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::cuda {

/// The permutation that `op` is, if it moves the last of long dimensions.
static std::optional<Turn> matchPermutation(linalg::GenericOp op) {
  auto order = permutationOf(op);
  if (!order || order->size() < 2)
    return std::nullopt;
  constexpr int64_t kLeast = 8;
  Turn turn{op->getParentOfType<func::FuncOp>(), op, {}, order->back()};
  turn.shape.assign(op.getStaticLoopRanges());
  if (turn.column == turn.row() || turn.shape[turn.column] < kLeast ||
      turn.shape[turn.row()] < kLeast)
    return std::nullopt;
  return turn;
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

Indices Turn::sourceIndices(const Indices &at) const {
  return llvm::map_to_vector(*permutationOf(op),
                             [&](unsigned dim) { return at[dim]; });
}

Match<Turn> TransposeStrategy::match(func::FuncOp kernel) {
  std::optional<Turn> found;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    auto turn = matchPermutation(op);
    if (!turn)
      continue;
    if (found)
      return NoMatch{"moves the last dimension more than once"};
    found = turn;
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

int64_t countTiles(const Turn &turn, const TurnTile &tile) {
  int64_t count = 1;
  for (auto [i, extent] : llvm::enumerate(turn.shape))
    count *= i == turn.column || i == turn.row()
                 ? llvm::divideCeil(extent, tile.side)
                 : extent;
  return count;
}

/// Whether elements can be read before and written after the permutation in
/// vectors.
static bool takesVectors(const Turn &turn, int64_t lanes) {
  if (lanes == 1)
    return true;
  if (turn.shape[turn.column] % lanes != 0 ||
      turn.shape[turn.row()] % lanes != 0)
    return false;
  Indices at(turn.shape.size(), LaneAnalysis::same());
  LaneAnalysis before(turn.kernel, lanes), after(turn.kernel, lanes);
  Indices read = at, written = at;
  read[turn.column] = written[turn.row()] = before.along();
  linalg::GenericOp op = turn.op;
  if (!before.at(op.getDpsInputs()[0], turn.sourceIndices(read)))
    return false;
  after.registers[turn.result()] = after.inRegisters();
  return after.computesResults(written);
}

SmallVector<TransposePlanAttr> TransposeStrategy::plans(const Turn &turn,
                                                        const Target &) {
  constexpr int64_t kWarps = kThreads / kWarp;
  int64_t lanes = 4 / std::min<int64_t>(4, graph::elementSize(turn.element()));
  return {TransposePlanAttr::get(
      turn.op->getContext(), takesVectors(turn, lanes) ? lanes : 1, kWarps)};
}

double TransposeStrategy::cost(const Turn &turn, TransposePlanAttr,
                               const Target &) {
  WorkAnalysis analysis(turn.kernel);
  return cyclesOf({analysis.memoryBytes(), analysis.cacheBytes(),
                   guess::kLoad + guess::kBarrier},
                  plannedMachine());
}

FailureOr<Divided<TransposePlanAttr>>
TransposeStrategy::expand(const Turn &turn, TransposePlanAttr plan,
                          const Target &target, EmitError error) {
  TurnTile tile{plan.getLanes()};
  if (!takesVectors(turn, tile.lanes))
    return error() << "elements cannot be read and written in vectors of "
                   << tile.lanes;
  return divided(
      plan,
      {countTiles(turn, tile), plan.getWarps() * kWarp,
       tile.side * tile.pitch() * graph::elementSize(turn.element())},
      target, error);
}

} // namespace tinh::cuda
