//===- SimplifyControlFlow.cpp - Branches and loops that do less *- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The canonical forms of the ops with regions: branches that are known take the
// op's place; what nobody reads, or what stays the same in all iterations, is
// neither carried nor computed.
//
//===----------------------------------------------------------------------===//
#include "dialects/graph/Graph.h"

#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace tinh::graph;

/// The value of a boolean that is constant.
static std::optional<bool> constantCondition(Value condition) {
  DenseIntElementsAttr elements;
  if (!condition || !matchPattern(condition, m_Constant(&elements)))
    return std::nullopt;
  return elements.getSplatValue<bool>();
}

/// Puts the ops of a region with one block before `op`, with `arguments` for
/// the block's, and replaces the op by `results` of the terminator's operands.
static void inlineRegion(PatternRewriter &rewriter, Operation *op,
                         Region &region, ValueRange arguments = {}) {
  Block &block = region.front();
  Operation *terminator = block.getTerminator();
  ValueRange results = terminator->getOperands();
  rewriter.inlineBlockBefore(&block, op, arguments);
  rewriter.replaceOp(op, results);
  rewriter.eraseOp(terminator);
}

/// The values of a block on which `roots` depend, its arguments among them.
static DenseSet<Value> findDependences(Block &block, ValueRange roots) {
  DenseSet<Value> found;
  SmallVector<Value> pending(roots);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    if (value.getParentBlock() != &block || !found.insert(value).second)
      continue;
    if (Operation *op = value.getDefiningOp())
      llvm::append_range(pending, readValues(op));
  }
  return found;
}

/// Drops the arguments at which `dropped` is set, whose users are dead.
static void dropArguments(PatternRewriter &rewriter, Block &block,
                          const BitVector &dropped) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      rewriter.eraseOp(&op);
  block.eraseArguments(dropped);
}

/// The elements of `range` at which `dropped` is not set.
template <typename Range>
static auto without(Range &&range, const BitVector &dropped) {
  SmallVector<std::decay_t<decltype(*range.begin())>> kept;
  for (auto [i, element] : llvm::enumerate(range))
    if (!dropped.test(i))
      kept.push_back(element);
  return kept;
}

/// Replaces the results of `op` that remain by those of `copy`; nothing reads
/// the others.
static void replaceResults(PatternRewriter &rewriter, Operation *op,
                           Operation *copy, const BitVector &dropped) {
  SmallVector<Value> results(op->getNumResults());
  auto next = copy->result_begin();
  for (unsigned i = 0; i < results.size(); ++i)
    if (!dropped.test(i))
      results[i] = *next++;
  rewriter.replaceOp(op, results);
}

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

static LogicalResult chooseBranch(IfOp op, PatternRewriter &rewriter) {
  std::optional<bool> condition = constantCondition(op.getCondition());
  if (!condition)
    return failure();
  inlineRegion(rewriter, op,
               *condition ? op.getThenBranch() : op.getElseBranch());
  return success();
}

static LogicalResult mergeEqualBranches(IfOp op, PatternRewriter &rewriter) {
  if (!OperationEquivalence::isRegionEquivalentTo(
          &op.getThenBranch(), &op.getElseBranch(),
          OperationEquivalence::IgnoreLocations))
    return failure();
  inlineRegion(rewriter, op, op.getThenBranch());
  return success();
}

/// Results for which both branches yield the same value from above.
static LogicalResult forwardEqualResults(IfOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (auto [result, value, other] :
       llvm::zip_equal(op.getOutputs(), op.getThenYield().getValues(),
                       op.getElseYield().getValues())) {
    if (value != other || result.use_empty())
      continue;
    rewriter.replaceAllUsesWith(result, value);
    changed = true;
  }
  return success(changed);
}

static LogicalResult dropUnusedResults(IfOp op, PatternRewriter &rewriter) {
  BitVector dropped(op.getNumResults());
  for (OpResult result : op.getResults())
    if (result.use_empty())
      dropped.set(result.getResultNumber());
  if (dropped.none() || dropped.all())
    return failure();
  auto copy =
      IfOp::create(rewriter, op.getLoc(),
                   without(op->getResultTypes(), dropped), op.getCondition());
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), copy->getRegions())) {
    rewriter.inlineRegionBefore(from, to, to.end());
    auto yield = cast<YieldOp>(to.front().getTerminator());
    rewriter.modifyOpInPlace(yield, [&] {
      yield->setOperands(without(yield.getValues(), dropped));
    });
  }
  replaceResults(rewriter, op, copy, dropped);
  return success();
}

void IfOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                       MLIRContext *) {
  patterns.add(chooseBranch);
  patterns.add(mergeEqualBranches);
  patterns.add(forwardEqualResults);
  patterns.add(dropUnusedResults);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

/// A loop whose condition is false from the start.
static LogicalResult dropWhile(WhileOp op, PatternRewriter &rewriter) {
  std::optional<bool> condition =
      constantCondition(op.getConditionOp().getCondition());
  if (!condition || *condition)
    return failure();
  rewriter.replaceOp(op, op.getInitial());
  return success();
}

/// A carried value that the body yields as it is, or that is the first one
/// again, is the same in all iterations.
static bool staysTheSame(Value initial, Value argument, Value next) {
  return next == argument || next == initial;
}

/// Reads such values from above.
static LogicalResult readWhileInvariants(WhileOp op,
                                         PatternRewriter &rewriter) {
  bool changed = false;
  for (auto [i, initial] : llvm::enumerate(op.getInitial())) {
    Value argument = op.getBody().getArgument(i),
          tested = op.getCondition().getArgument(i), result = op.getResult(i);
    if (!staysTheSame(initial, argument, op.getYield().getOperand(i)))
      continue;
    changed |=
        !argument.use_empty() || !tested.use_empty() || !result.use_empty();
    for (Value value : {argument, tested, result})
      rewriter.replaceAllUsesWith(value, initial);
  }
  return success(changed);
}

/// Drops carried values that neither a result nor the condition depends on.
static LogicalResult dropUnusedCarried(WhileOp op, PatternRewriter &rewriter) {
  unsigned count = op.getInitial().size();
  Block &test = op.getCondition().front(), &body = op.getBody().front();
  BitVector dropped(count, true);
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Value> needed = without(op.getYield().getValues(), dropped);
    DenseSet<Value> read = findDependences(body, needed);
    for (unsigned i = 0; i < count; ++i) {
      bool isNeeded = !op.getResult(i).use_empty() ||
                      !test.getArgument(i).use_empty() ||
                      read.contains(body.getArgument(i));
      changed |= isNeeded && dropped.test(i);
      if (isNeeded)
        dropped.reset(i);
    }
  }
  if (dropped.none())
    return failure();
  SmallVector<Value> initial = without(op.getInitial(), dropped);
  auto copy = WhileOp::create(rewriter, op.getLoc(),
                              ValueRange(initial).getTypes(), initial);
  rewriter.modifyOpInPlace(op.getYield(), [&] {
    YieldOp yield = op.getYield();
    yield->setOperands(without(yield.getValues(), dropped));
  });
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), copy->getRegions())) {
    dropArguments(rewriter, from.front(), dropped);
    rewriter.inlineRegionBefore(from, to, to.end());
  }
  replaceResults(rewriter, op, copy, dropped);
  return success();
}

void WhileOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                          MLIRContext *) {
  patterns.add(dropWhile);
  patterns.add(readWhileInvariants);
  patterns.add(dropUnusedCarried);
}

//===----------------------------------------------------------------------===//
// scan
//===----------------------------------------------------------------------===//

/// The value of a count that is constant.
static std::optional<int64_t> constantCount(Value count) {
  DenseIntElementsAttr elements;
  if (!count || !matchPattern(count, m_Constant(&elements)))
    return std::nullopt;
  return elements.getSplatValue<int64_t>();
}

/// A scan without iterations: its rows are zeros.
static LogicalResult dropScan(ScanOp op, PatternRewriter &rewriter) {
  bool runs = op.getLength() > 0 &&
              constantCount(op.getTripCount()).value_or(1) > 0 &&
              constantCondition(op.getCondition()).value_or(true);
  if (runs)
    return failure();
  SmallVector<Value> results(op.getInitial());
  for (Value stacked : op.getStacked()) {
    auto type = cast<RankedTensorType>(stacked.getType());
    // An empty tensor's elements are printed as none.
    TypedAttr zeros = DenseElementsAttr::get(type, ArrayRef<Attribute>());
    if (type.getNumElements() > 0)
      zeros = cast<TypedAttr>(rewriter.getZeroAttr(type));
    results.push_back(ConstantOp::create(rewriter, op.getLoc(), type, zeros));
  }
  rewriter.replaceOp(op, results);
  return success();
}

/// A trip count that is never less than the length, a condition that always
/// holds.
static LogicalResult dropLimits(ScanOp op, PatternRewriter &rewriter) {
  bool unlimited = constantCount(op.getTripCount()).value_or(-1) >=
                   static_cast<int64_t>(op.getLength());
  bool unconditional = constantCondition(op.getCondition()).value_or(false) &&
                       constantCondition(op.getNextCondition()).value_or(false);
  if (!unlimited && !unconditional)
    return failure();
  rewriter.modifyOpInPlace(op, [&] {
    if (unlimited)
      op.getTripCountMutable().clear();
    if (!unconditional)
      return;
    op.getYield()->eraseOperand(0);
    op.getConditionMutable().clear();
  });
  return success();
}

static Value reshaped(PatternRewriter &rewriter, Value value, Type type) {
  return ReshapeOp::create(rewriter, value.getLoc(), type, value);
}

/// One iteration takes the loop's place.
static LogicalResult inlineOnlyIteration(ScanOp op, PatternRewriter &rewriter) {
  if (op.getLength() != 1 || !op.runsToEnd())
    return failure();
  Type index = op.getIndex().getType();
  auto zero = cast<TypedAttr>(rewriter.getZeroAttr(index));
  SmallVector<Value> arguments = {
      ConstantOp::create(rewriter, op.getLoc(), index, zero)};
  llvm::append_range(arguments, op.getInitial());
  for (auto [x, row] : llvm::zip_equal(op.getXs(), op.getRows()))
    arguments.push_back(reshaped(rewriter, x, row.getType()));
  Block &body = op.getBody().front();
  YieldOp yield = op.getYield();
  rewriter.inlineBlockBefore(&body, op, arguments);
  SmallVector<Value> results(yield.getValues());
  rewriter.eraseOp(yield);
  for (auto [i, stacked] : llvm::enumerate(op.getStacked())) {
    Value &row = results[op.getInitial().size() + i];
    row = reshaped(rewriter, row, stacked.getType());
  }
  rewriter.replaceOp(op, results);
  return success();
}

static LogicalResult readScanInvariants(ScanOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (auto [initial, argument, next, result] : llvm::zip_equal(
           op.getInitial(), op.getCarried(), op.getNext(), op.getFinals())) {
    if (!staysTheSame(initial, argument, next))
      continue;
    changed |= !argument.use_empty() || !result.use_empty();
    rewriter.replaceAllUsesWith(argument, initial);
    rewriter.replaceAllUsesWith(result, initial);
  }
  return success(changed);
}

/// Rows that are those of an input, or all one value from above.
static LogicalResult forwardRows(ScanOp op, PatternRewriter &rewriter) {
  bool changed = false;
  for (auto [row, stacked] :
       llvm::zip_equal(op.getNextRows(), op.getStacked())) {
    if (!op.runsToEnd() || stacked.use_empty())
      continue;
    Value same;
    for (auto [argument, x] : llvm::zip_equal(op.getRows(), op.getXs()))
      if (row == argument)
        same = x;
    if (!op->isAncestor(row.getParentRegion()->getParentOp())) {
      Value one = reshaped(rewriter, row, stackedType(row.getType(), 1));
      same = BroadcastOp::create(rewriter, op.getLoc(), stacked.getType(), one);
    }
    if (!same)
      continue;
    rewriter.replaceAllUsesWith(stacked, same);
    changed = true;
  }
  return success(changed);
}

/// Which results, and arguments of the region, nothing depends on.
static std::pair<BitVector, BitVector> findUnused(ScanOp op) {
  Block &body = op.getBody().front();
  unsigned carried = op.getInitial().size();
  BitVector results(op.getNumResults(), true);
  for (OpResult result : op.getResults())
    if (!result.use_empty())
      results.reset(result.getResultNumber());
  BitVector arguments(body.getNumArguments());
  for (bool changed = true; changed;) {
    changed = false;
    SmallVector<Value> needed =
        without(op.getYield().getValues().take_back(results.size()), results);
    if (Value condition = op.getNextCondition())
      needed.push_back(condition);
    DenseSet<Value> read = findDependences(body, needed);
    for (BlockArgument argument : body.getArguments()) {
      unsigned i = argument.getArgNumber();
      bool isCarried = i >= 1 && i <= carried;
      if (isCarried && results.test(i - 1) && read.contains(argument)) {
        results.reset(i - 1);
        changed = true;
      }
      // A carried value whose result is read is carried.
      if (i > 0 && !read.contains(argument) &&
          !(isCarried && !results.test(i - 1)))
        arguments.set(i);
      else
        arguments.reset(i);
    }
  }
  return {results, arguments};
}

static LogicalResult dropUnused(ScanOp op, PatternRewriter &rewriter) {
  auto [results, arguments] = findUnused(op);
  if ((results.none() && arguments.none()) || results.all())
    return failure();
  SmallVector<Value> initial, xs;
  for (auto [value, argument] :
       llvm::zip_equal(op.getInitial(), op.getCarried()))
    if (!arguments.test(argument.getArgNumber()))
      initial.push_back(value);
  for (auto [value, argument] : llvm::zip_equal(op.getXs(), op.getRows()))
    if (!arguments.test(argument.getArgNumber()))
      xs.push_back(value);
  auto copy = ScanOp::create(
      rewriter, op.getLoc(), without(op->getResultTypes(), results),
      op.getLength(), op.getTripCount(), op.getCondition(), initial, xs);
  YieldOp yield = op.getYield();
  SmallVector<Value> yielded =
      without(yield.getValues().take_back(results.size()), results);
  if (Value condition = op.getNextCondition())
    yielded.insert(yielded.begin(), condition);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperands(yielded); });
  dropArguments(rewriter, op.getBody().front(), arguments);
  rewriter.inlineRegionBefore(op.getBody(), copy.getBody(),
                              copy.getBody().end());
  replaceResults(rewriter, op, copy, results);
  return success();
}

void ScanOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                         MLIRContext *) {
  patterns.add(dropScan);
  patterns.add(dropLimits);
  patterns.add(inlineOnlyIteration);
  patterns.add(readScanInvariants);
  patterns.add(forwardRows);
  patterns.add(dropUnused);
}
