//===- ResolveDimensionSizes.cpp - Padding is kept apart --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func @main(%x: tensor<100xf32>, %n: tensor<i64>)
//       -> (tensor<100xf32> {graph.name = "y"}) {
//     %0 = graph.set_dimension_size %x, %n dimension 0
//     %1 = graph.relu %0
//     return %1
// becomes
//   func.func @main(%x: tensor<100xf32>, %n: tensor<i64>)
//       -> (tensor<100xf32> {graph.name = "y", graph.sizes = ["y.size0"]},
//           tensor<i64> {graph.name = "y.size0"}) {
//     %0 = graph.relu %x
//     return %0, %n
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/DimensionSizes/DimensionSizes.h"
#include "compiler/Transforms/Passes.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_RESOLVEDIMENSIONSIZES
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

class Resolver {
public:
  explicit Resolver(func::FuncOp function) : function(function) {}

  FailureOr<int64_t> run();

private:
  LogicalResult visitBlock(Block &block);
  LogicalResult visit(Operation *op);
  LogicalResult visit(IfOp op);
  LogicalResult visit(WhileOp op);
  LogicalResult visit(ScanOp op);
  LogicalResult boundScan(ScanOp op);
  LogicalResult checkWhole(Operation *op, ValueRange values, const Twine &what);
  Value sizeOf(OpBuilder &builder, Location loc, Value x, int64_t dimension);
  LogicalResult addResults(func::ReturnOp op);
  StringAttr claimName(const Twine &wanted);

  func::FuncOp function;
  DimensionSizes sizes;
  SmallVector<SetDimensionSizeOp> setters;
  llvm::StringSet<> names;
  int64_t resolved = 0;
};

Value Resolver::sizeOf(OpBuilder &builder, Location loc, Value x,
                       int64_t dimension) {
  if (Value size = sizes.get(x, dimension))
    return size;
  return ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(countType(builder.getContext()),
                             tensorType(x).getDimSize(dimension)));
}

LogicalResult Resolver::checkWhole(Operation *op, ValueRange values,
                                   const Twine &what) {
  for (auto [i, value] : llvm::enumerate(values))
    for (int64_t d = 0; d < tensorType(value).getRank(); ++d)
      if (sizes.get(value, d))
        return op->emitError()
               << op->getName() << ": the run decides the size of dimension "
               << d << " of " << what << " " << i << " ("
               << shapeToString(value.getType())
               << "); what a loop carries or stacks keeps its shape";
  return success();
}

/// Sizes that the branches yield become further results.
LogicalResult Resolver::visit(IfOp op) {
  if (failed(visitBlock(op.getThenBranch().front())) ||
      failed(visitBlock(op.getElseBranch().front())))
    return failure();
  YieldOp yields[] = {op.getThenYield(), op.getElseYield()};
  SmallVector<std::pair<unsigned, int64_t>> added;
  for (unsigned i = 0; i < op.getNumResults(); ++i)
    for (int64_t d = 0; d < tensorType(op.getResult(i)).getRank(); ++d)
      if (llvm::any_of(yields, [&](YieldOp yield) {
            return sizes.get(yield.getOperand(i), d);
          }))
        added.push_back({i, d});
  if (added.empty())
    return success();
  OpBuilder builder(op);
  for (YieldOp yield : yields) {
    builder.setInsertionPoint(yield);
    for (auto [i, d] : added)
      yield.getValuesMutable().append(
          sizeOf(builder, op.getLoc(), yield.getOperand(i), d));
  }
  builder.setInsertionPoint(op);
  SmallVector<Type> types(op.getResultTypes());
  types.append(added.size(), countType(op.getContext()));
  auto longer = IfOp::create(builder, op.getLoc(), types, op.getCondition());
  longer.getThenBranch().takeBody(op.getThenBranch());
  longer.getElseBranch().takeBody(op.getElseBranch());
  ResultRange results = longer.getOutputs();
  for (auto [k, dimension] : llvm::enumerate(added))
    sizes.set(results[dimension.first], dimension.second,
              results[op.getNumResults() + k]);
  op.replaceAllUsesWith(results.take_front(op.getNumResults()));
  sizes.forget(op);
  op.erase();
  return success();
}

LogicalResult Resolver::visit(WhileOp op) {
  if (failed(checkWhole(op, op.getInitial(), "carried value")) ||
      failed(visitBlock(op.getCondition().front())) ||
      failed(visitBlock(op.getBody().front())))
    return failure();
  return checkWhole(op, op.getYield().getOperands(), "carried value");
}

/// A scan over rows of which a part is used ends with them.
LogicalResult Resolver::boundScan(ScanOp op) {
  Value size;
  for (Value x : op.getXs()) {
    Value rows = sizes.get(x, 0);
    if (rows && size && !isSameSize(rows, size))
      return op->emitError()
             << op->getName() << ": the run decides how many rows its tensors "
             << "have, and whether they have the same number is not known";
    size = rows ? rows : size;
  }
  if (!size)
    return success();
  if (op.getCondition())
    return op->emitError() << op->getName()
                           << ": the run decides how many rows its tensors "
                              "have, and a condition may end it";
  OpBuilder builder(op);
  if (op.getTripCount())
    size = MinOp::create(builder, op.getLoc(), op.getTripCount(), size);
  op.getTripCountMutable().assign(size);
  for (Value stacked : op.getOutputs().drop_front(op.getInitial().size()))
    sizes.set(stacked, 0, size);
  return success();
}

LogicalResult Resolver::visit(ScanOp op) {
  if (failed(checkWhole(op, op.getInitial(), "carried value")) ||
      failed(boundScan(op)))
    return failure();
  for (auto [row, x] : llvm::zip_equal(op.getRows(), op.getXs()))
    for (int64_t d = 1; d < tensorType(x).getRank(); ++d)
      sizes.set(row, d - 1, sizes.get(x, d));
  if (failed(visitBlock(op.getBody().front())))
    return failure();
  return checkWhole(op, op.getYield().getOperands(), "yielded value");
}

LogicalResult Resolver::visit(Operation *op) {
  if (auto set = dyn_cast<SetDimensionSizeOp>(op)) {
    sizes.copy(set.getX(), set.getY());
    sizes.set(set.getY(), set.getDimension(), set.getSize());
    setters.push_back(set);
    return success();
  }
  if (auto size = dyn_cast<DimensionSizeOp>(op)) {
    OpBuilder builder(op);
    size.replaceAllUsesWith(
        sizeOf(builder, op->getLoc(), size.getX(), size.getDimension()));
    size.erase();
    return success();
  }
  if (auto branch = dyn_cast<IfOp>(op))
    return visit(branch);
  if (auto loop = dyn_cast<WhileOp>(op))
    return visit(loop);
  if (auto loop = dyn_cast<ScanOp>(op))
    return visit(loop);
  if (llvm::none_of(op->getOperands(),
                    [&](Value operand) { return sizes.has(operand); }))
    return success();
  ++resolved;
  return applySizeRule(op, sizes);
}

LogicalResult Resolver::visitBlock(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block.without_terminator()))
    if (failed(visit(&op)))
      return failure();
  return success();
}

/// `wanted`, or the first such name that no result has.
StringAttr Resolver::claimName(const Twine &wanted) {
  std::string name = wanted.str();
  while (!names.insert(name).second)
    name += "_";
  return StringAttr::get(function.getContext(), name);
}

/// Results say their sizes by further results, one for each size.
LogicalResult Resolver::addResults(func::ReturnOp op) {
  Builder builder(function.getContext());
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto name = function.getResultAttrOfType<StringAttr>(i, names::kName))
      names.insert(name.getValue());
  llvm::MapVector<Value, StringAttr> added;
  for (auto [i, value] : llvm::enumerate(op.getOperands())) {
    if (!sizes.has(value))
      continue;
    auto name = function.getResultAttrOfType<StringAttr>(i, names::kName);
    if (!name)
      return checkWhole(op, value, "variable");
    SmallVector<Attribute> sizeNames;
    for (int64_t d = 0; d < tensorType(value).getRank(); ++d) {
      Value size = sizes.get(value, d);
      if (size && !added.contains(size))
        added[size] = claimName(name.getValue() + ".size" + Twine(d));
      sizeNames.push_back(size ? added[size] : builder.getStringAttr(""));
    }
    function.setResultAttr(i, names::kSizes, builder.getArrayAttr(sizeNames));
  }
  for (auto [size, name] : added) {
    op.getOperandsMutable().append(size);
    if (failed(function.insertResult(
            function.getNumResults(), size.getType(),
            builder.getDictionaryAttr(
                builder.getNamedAttr(names::kName, name)))))
      return failure();
  }
  return success();
}

FailureOr<int64_t> Resolver::run() {
  // Sizes are the same where they are the same value.
  IRRewriter rewriter(function.getContext());
  DominanceInfo dominance(function);
  eliminateCommonSubExpressions(rewriter, dominance, function);
  Block &body = function.getBody().front();
  if (failed(visitBlock(body)) ||
      failed(addResults(cast<func::ReturnOp>(body.getTerminator()))))
    return failure();
  for (SetDimensionSizeOp set : setters) {
    set.replaceAllUsesWith(set.getX());
    set.erase();
  }
  return resolved;
}

struct ResolveDimensionSizesPass
    : impl::ResolveDimensionSizesBase<ResolveDimensionSizesPass> {
  void runOnOperation() override {
    FailureOr<int64_t> resolved = resolveDimensionSizes(getOperation());
    if (failed(resolved))
      return signalPassFailure();
    numResolved += *resolved;
  }
};

} // namespace

FailureOr<int64_t> resolveDimensionSizes(func::FuncOp function) {
  bool hasSizes = function
                      .walk([](Operation *op) {
                        return isa<SetDimensionSizeOp, DimensionSizeOp>(op)
                                   ? WalkResult::interrupt()
                                   : WalkResult::advance();
                      })
                      .wasInterrupted();
  if (!hasSizes)
    return 0;
  return Resolver(function).run();
}

} // namespace tinh::transforms
