//===- SplitGraph.cpp - A graph with residuals, and its gradient ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/SplitGraph.h"

#include "compiler/Gradients/Gradients.h"
#include "compiler/Gradients/MergeRepeated.h"
#include "compiler/Gradients/Split.h"
#include "compiler/Graph/GraphBuilder.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace tinh::eager {

static func::FuncOp mainOf(ModuleOp module) {
  return module.lookupSymbol<func::FuncOp>(graph::names::kMain);
}

/// Gives a function the type that its body has, and names to what it reads and
/// gives.
static void describe(func::FuncOp main) {
  Block &block = main.front();
  OpBuilder b(main.getContext());
  main.removeArgAttrsAttr();
  main.removeResAttrsAttr();
  main.setFunctionType(b.getFunctionType(
      block.getArgumentTypes(), block.getTerminator()->getOperandTypes()));
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    main.setArgAttr(i, graph::names::kName,
                    b.getStringAttr("input" + std::to_string(i)));
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    main.setResultAttr(i, graph::names::kName,
                       b.getStringAttr("output" + std::to_string(i)));
}

namespace {

class GraphSplitter {
public:
  GraphSplitter(ModuleOp module, size_t numResults,
                const std::vector<size_t> &changed)
      : numResults(numResults), changed(changed), joined(module.clone()),
        main(mainOf(*joined)), block(main.front()),
        numArguments(block.getNumArguments()), last(lastOp()) {}

  LogicalResult differentiate(const std::vector<bool> &wanted);
  SplitGraph split();
  bool hasGradients() const { return !gradients.empty(); }

private:
  mlir::Operation *lastOp() { return block.getTerminator()->getPrevNode(); }
  OwningOpRef<ModuleOp> wholeGraph();
  OwningOpRef<ModuleOp> backwardGraph(const gradients::Split &halves,
                                      ArrayRef<Value> reads);
  void sortResiduals(ArrayRef<Value> values);
  void finishForward(gradients::Split &halves);

  size_t numResults;
  const std::vector<size_t> &changed;
  OwningOpRef<ModuleOp> joined;
  func::FuncOp main;
  Block &block;
  size_t numArguments;
  mlir::Operation *last; // Of the computation.
  SmallVector<Value> seeds, gradients;
  SmallVector<Value> residuals; // That are neither arguments nor results.
  SplitGraph result;
};

} // namespace

LogicalResult GraphSplitter::differentiate(const std::vector<bool> &wanted) {
  mlir::Operation *end = block.getTerminator();
  SmallVector<Value> outputs, inputs;
  SmallVector<size_t> numbers;
  for (auto [i, isWanted] : llvm::enumerate(wanted))
    if (isWanted) {
      inputs.push_back(block.getArgument(i));
      numbers.push_back(i);
    }
  for (Value output : end->getOperands().take_front(numResults))
    if (gradients::isDifferentiable(output.getType())) {
      outputs.push_back(output);
      seeds.push_back(block.addArgument(output.getType(), output.getLoc()));
    }
  OpBuilder builder(end);
  auto built = gradients::buildGradients(builder, outputs, seeds, inputs);
  if (failed(built))
    return failure();
  for (auto [number, gradient] : llvm::zip_equal(numbers, *built))
    if (gradient) {
      result.given.push_back(number);
      gradients.push_back(gradient);
    }
  end->insertOperands(end->getNumOperands(), gradients);
  // The computation gives what the gradients need of its loops.
  gradients::mergeRepeated(block, [&](mlir::Operation *op, ValueRange) {
    if (op == last)
      last = op->getPrevNode();
  });
  ValueRange merged = end->getOperands().take_back(gradients.size());
  gradients.assign(merged.begin(), merged.end());
  return success();
}

OwningOpRef<ModuleOp> GraphSplitter::wholeGraph() {
  OwningOpRef<ModuleOp> whole(joined->clone());
  Block &body = mainOf(*whole).front();
  mlir::Operation *end = body.getTerminator();
  end->setOperands(end->getOperands().take_back(gradients.size()));
  eraseDeadOps(body);
  describe(mainOf(*whole));
  return whole;
}

/// An argument that a call changes holds something else when gradients are
/// taken.
void GraphSplitter::sortResiduals(ArrayRef<Value> values) {
  ValueRange results =
      block.getTerminator()->getOperands().take_front(numResults);
  for (Value value : values) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (llvm::is_contained(seeds, value))
      continue;
    if (argument && !llvm::is_contained(changed, argument.getArgNumber()))
      result.neededArguments.push_back(argument.getArgNumber());
    else if (auto known = llvm::find(results, value); known != results.end())
      result.neededResults.push_back(known - results.begin());
    else
      residuals.push_back(value);
  }
}

OwningOpRef<ModuleOp>
GraphSplitter::backwardGraph(const gradients::Split &halves,
                             ArrayRef<Value> reads) {
  Location loc = main.getLoc();
  OwningOpRef<ModuleOp> backward = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(backward->getBody());
  auto function = func::FuncOp::create(b, loc, graph::names::kMain,
                                       b.getFunctionType({}, {}));
  Block &body = *function.addEntryBlock();
  IRMapping mapping;
  for (Value value : reads)
    mapping.map(value, body.addArgument(value.getType(), loc));
  b.setInsertionPointToEnd(&body);
  SmallVector<Value> results = halves.copyGradients(b, mapping);
  func::ReturnOp::create(b, loc, results);
  describe(function);
  return backward;
}

void GraphSplitter::finishForward(gradients::Split &halves) {
  mlir::Operation *end = block.getTerminator();
  SmallVector<Value> values(end->getOperands());
  values.truncate(values.size() - gradients.size());
  values.insert(values.begin() + numResults, residuals.begin(),
                residuals.end());
  end->setOperands(values);
  halves.eraseGradients();
  block.eraseArguments(numArguments, seeds.size());
  describe(main);
}

SplitGraph GraphSplitter::split() {
  result.whole = wholeGraph();
  gradients::Split halves(block, last, gradients, /*repeats=*/true);
  sortResiduals(halves.residuals());
  ValueRange results =
      block.getTerminator()->getOperands().take_front(numResults);
  SmallVector<Value> reads;
  for (size_t i : result.neededArguments)
    reads.push_back(block.getArgument(i));
  for (size_t i : result.neededResults)
    reads.push_back(results[i]);
  llvm::append_range(reads, residuals);
  llvm::append_range(reads, seeds);
  result.backward = backwardGraph(halves, reads);
  finishForward(halves);
  result.forward = std::move(joined);
  return std::move(result);
}

std::optional<SplitGraph> splitGraph(ModuleOp module, size_t numResults,
                                     const std::vector<bool> &wanted,
                                     const std::vector<size_t> &changed) {
  GraphSplitter splitter(module, numResults, changed);
  if (failed(splitter.differentiate(wanted)))
    return std::nullopt;
  return splitter.hasGradients() ? splitter.split() : SplitGraph();
}

} // namespace tinh::eager
