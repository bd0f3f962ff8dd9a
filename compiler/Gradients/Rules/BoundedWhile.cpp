//===- BoundedWhile.cpp - Loops that have a last iteration ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients need memory for each iteration, and so a bound on their number. A
// loop has one if its condition, or one of several that must all hold, compares
// a counter with a constant:
//
//   while (i < 10 && …) i = i + 3        from i = 0: at most 4 iterations
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Rules/Regions.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::gradients {

/// What `value` is a reshaped, broadcast or converted form of.
static Value stripViews(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    bool isIntegerCast =
        isa<graph::CastOp>(op) &&
        llvm::all_of(
            op->getOperandTypes(),
            [](Type type) { return getElementTypeOrSelf(type).isInteger(); }) &&
        getElementTypeOrSelf(value.getType()).isInteger();
    if (!isa<graph::ReshapeOp, graph::BroadcastOp>(op) && !isIntegerCast)
      break;
    value = op->getOperand(0);
  }
  return value;
}

/// The one value of an integer constant.
static std::optional<int64_t> constantInteger(Value value) {
  DenseIntElementsAttr elements;
  if (!matchPattern(stripViews(value), m_Constant(&elements)) ||
      !elements.isSplat())
    return std::nullopt;
  auto type = cast<IntegerType>(elements.getElementType());
  APInt bits = elements.getSplatValue<APInt>();
  if (bits.getActiveBits() > 63 && type.isUnsigned())
    return std::nullopt;
  return type.isUnsigned() ? bits.getZExtValue() : bits.getSExtValue();
}

/// By how much the body changes a carried value each time.
static std::optional<int64_t> stepOf(graph::WhileOp op, unsigned carried) {
  Value next = stripViews(op.getYield().getOperand(carried));
  Value before = op.getBody().getArgument(carried);
  Operation *change = next.getDefiningOp();
  if (!change || !isa<graph::AddOp, graph::SubOp>(change))
    return std::nullopt;
  for (unsigned i = 0; i < 2; ++i) {
    bool isSub = isa<graph::SubOp>(change);
    if (stripViews(change->getOperand(i)) != before || (isSub && i == 1))
      continue;
    if (auto step = constantInteger(change->getOperand(1 - i)))
      return isSub ? -*step : *step;
  }
  return std::nullopt;
}

/// How often `first`, changed by `step`, can satisfy `value predicate limit`.
static std::optional<int64_t> countSteps(graph::ComparePredicate predicate,
                                         int64_t first, int64_t limit,
                                         int64_t step) {
  using graph::ComparePredicate;
  if (predicate == ComparePredicate::Greater ||
      predicate == ComparePredicate::GreaterEqual) {
    first = -first, limit = -limit, step = -step;
    predicate = predicate == ComparePredicate::Greater
                    ? ComparePredicate::Less
                    : ComparePredicate::LessEqual;
  }
  if (predicate == ComparePredicate::LessEqual)
    ++limit;
  else if (predicate != ComparePredicate::Less)
    return std::nullopt;
  constexpr int64_t kMost = int64_t(1) << 40; // Beyond any memory.
  if (step <= 0 || std::abs(first) > kMost || std::abs(limit) > kMost)
    return std::nullopt;
  return std::max<int64_t>(0, llvm::divideCeilSigned(limit - first, step));
}

static graph::ComparePredicate mirrored(graph::ComparePredicate predicate) {
  using graph::ComparePredicate;
  switch (predicate) {
  case ComparePredicate::Less:
    return ComparePredicate::Greater;
  case ComparePredicate::LessEqual:
    return ComparePredicate::GreaterEqual;
  case ComparePredicate::Greater:
    return ComparePredicate::Less;
  case ComparePredicate::GreaterEqual:
    return ComparePredicate::LessEqual;
  default:
    return predicate;
  }
}

static std::optional<int64_t> boundOf(graph::WhileOp op,
                                      graph::CompareOp compare) {
  graph::ComparePredicate predicate = compare.getPredicate();
  Value counter = stripViews(compare.getA()), limit = compare.getB();
  if (!isa<BlockArgument>(counter)) {
    counter = stripViews(compare.getB());
    limit = compare.getA();
    predicate = mirrored(predicate);
  }
  auto argument = dyn_cast<BlockArgument>(counter);
  if (!argument || argument.getOwner() != &op.getCondition().front())
    return std::nullopt;
  unsigned carried = argument.getArgNumber();
  auto first = constantInteger(op.getInitial()[carried]);
  auto last = constantInteger(limit);
  auto step = stepOf(op, carried);
  if (!first || !last || !step)
    return std::nullopt;
  return countSteps(predicate, *first, *last, *step);
}

/// The least bound among what must hold for the loop to go on.
static std::optional<int64_t> findBound(graph::WhileOp op) {
  std::optional<int64_t> least;
  SmallVector<Value> pending = {op.getConditionOp().getCondition()};
  while (!pending.empty()) {
    Operation *test = stripViews(pending.pop_back_val()).getDefiningOp();
    if (!test)
      continue;
    if (isa<graph::AndOp>(test))
      llvm::append_range(pending, test->getOperands());
    auto compare = dyn_cast<graph::CompareOp>(test);
    auto bound = compare ? boundOf(op, compare) : std::nullopt;
    if (bound && (!least || *bound < *least))
      least = bound;
  }
  return least;
}

/// Copies a block's ops for `arguments`; returns what its terminator does.
static SmallVector<Value> copyBlock(OpBuilder &builder, Block &block,
                                    ValueRange arguments) {
  IRMapping map;
  map.map(block.getArguments(), arguments);
  for (Operation &op : block.without_terminator())
    builder.clone(op, map);
  SmallVector<Value> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(map.lookupOrDefault(value));
  return results;
}

graph::ScanOp buildBoundedScan(graph::WhileOp op, OpBuilder &builder) {
  std::optional<int64_t> bound = findBound(op);
  if (!bound) {
    op.emitError()
        << "graph.while cannot be differentiated: nothing bounds the number of "
           "its iterations, and gradients need memory for each; compare a "
           "counter with a constant in its condition, or use a scan, whose "
           "length is known";
    return nullptr;
  }
  Location loc = op.getLoc();
  Block &test = op.getCondition().front();
  Value first = copyBlock(builder, test, op.getInitial()).front();
  auto scan = graph::ScanOp::create(builder, loc, op.getResultTypes(), *bound,
                                    /*trip_count=*/Value(), first,
                                    op.getInitial(), ValueRange());
  Region &region = scan.getBody();
  region.getBlocks().clear();
  Block &block = region.emplaceBlock();
  block.addArgument(graph::countType(op.getContext()), loc);
  for (Type type : op.getResultTypes())
    block.addArgument(type, loc);
  OpBuilder b = OpBuilder::atBlockEnd(&block);
  SmallVector<Value> next =
      copyBlock(b, op.getBody().front(), block.getArguments().drop_front());
  SmallVector<Value> yields = copyBlock(b, test, next);
  llvm::append_range(yields, next);
  graph::YieldOp::create(b, loc, yields);
  return scan;
}

} // namespace tinh::gradients
