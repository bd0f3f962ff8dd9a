//===- Scan.cpp - Gradients of scans --------------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The gradient of a scan is a scan from the last iteration to the first. It
// carries the gradients of what the loop carries, and sums up those of what the
// body reads from above. What it needs of each iteration is stacked by the same
// loop with more results.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"
#include "compiler/Gradients/Rules/Regions.h"
#include "compiler/Gradients/Rules/Rule.h"

using namespace mlir;

namespace tinh::gradients {

namespace {

class ScanGradient {
public:
  ScanGradient(graph::ScanOp op, OpBuilder &builder,
               ArrayRef<Value> resultGradients, ArrayRef<bool> wanted)
      : op(op), builder(builder), loc(op.getLoc()),
        finalGradients(resultGradients.take_front(op.getInitial().size())),
        stackedGradients(resultGradients.drop_front(op.getInitial().size())),
        wanted(wanted), body(op.getBody().front()), copy(body) {}

  Gradients build();

private:
  void findInputs();
  void findCarried();
  bool growActive();
  bool growUseful();
  LogicalResult differentiate();
  void findResiduals();
  graph::ScanOp createForward();
  graph::ScanOp createReverse();
  SmallVector<Value> yieldsOf(graph::ScanOp reverse, OpBuilder &b);
  void fillReverse(graph::ScanOp reverse);
  SmallVector<Value> resultsOf(graph::ScanOp reverse);

  unsigned firstInitial() {
    return op->getNumOperands() - op.getInitial().size() - op.getXs().size();
  }
  /// A tensor whose row i is that of iteration length - 1 - i.
  Value reversed(Value stacked) {
    GraphBuilder graph(builder, loc);
    GraphOps ops(graph);
    return ops.reverseRows(stacked);
  }

  graph::ScanOp op;
  OpBuilder &builder;
  Location loc;
  ArrayRef<Value> finalGradients, stackedGradients;
  ArrayRef<bool> wanted;
  Block &body;
  RegionCopy copy;
  /// Of what gradients are asked for: rows by number, and values from above
  /// with their places among the values that the op reads.
  SmallVector<unsigned> rows;
  SmallVector<std::pair<unsigned, Value>> captured;
  /// Of the carried values, by number: what depends on those, on what the
  /// gradients given depend, and both, in order.
  llvm::DenseSet<unsigned> active, useful;
  SmallVector<unsigned> carried;
  /// The copy's arguments for the gradients that an iteration begins with, and
  /// for those of its rows the gradients that are given.
  SmallVector<Value> nextSeeds, rowSeeds, givenRows;
  /// The residuals, and the tensors whose rows they are.
  SmallVector<Value> residuals, stacked;
  SmallVector<Value> forwardYields;
  Value executed; // A row of true for each iteration; null: all.
};

} // namespace

void ScanGradient::findInputs() {
  unsigned firstRow = firstInitial() + op.getInitial().size();
  for (unsigned i = 0; i < op.getXs().size(); ++i)
    if (wanted[firstRow + i])
      rows.push_back(i);
  SmallVector<Value> read = graph::readValues(op);
  for (unsigned i = op->getNumOperands(); i < read.size(); ++i)
    if (wanted[i])
      captured.emplace_back(i, read[i]);
}

/// Adds the numbers of those of `values` that `found` has; whether any is new.
static bool addNumbers(ValueRange values, const llvm::DenseSet<Value> &found,
                       llvm::DenseSet<unsigned> &numbers) {
  bool grown = false;
  for (auto [i, value] : llvm::enumerate(values))
    if (found.contains(value))
      grown |= numbers.insert(i).second;
  return grown;
}

/// Carried values whose next ones depend on what gradients are asked for.
bool ScanGradient::growActive() {
  SmallVector<Value> inputs;
  for (unsigned i : rows)
    inputs.push_back(op.getRows()[i]);
  for (auto &[place, value] : captured)
    inputs.push_back(value);
  for (unsigned i : active)
    inputs.push_back(op.getCarried()[i]);
  return addNumbers(op.getNext(), findDependent(body, inputs), active);
}

/// Carried values that outputs with a gradient need.
bool ScanGradient::growUseful() {
  SmallVector<Value> outputs;
  for (auto [row, gradient] :
       llvm::zip_equal(op.getNextRows(), stackedGradients))
    if (gradient)
      outputs.push_back(row);
  for (unsigned i : useful)
    outputs.push_back(op.getNext()[i]);
  return addNumbers(op.getCarried(), findNeeded(body, outputs), useful);
}

void ScanGradient::findCarried() {
  for (auto [i, initial] : llvm::enumerate(op.getInitial())) {
    if (wanted[firstInitial() + i])
      active.insert(i);
    if (finalGradients[i])
      useful.insert(i);
  }
  while (growActive())
    ;
  while (growUseful())
    ;
  for (unsigned i = 0; i < op.getInitial().size(); ++i)
    if (active.contains(i) && useful.contains(i) &&
        isDifferentiable(op.getInitial()[i].getType()))
      carried.push_back(i);
}

/// Gradients, in the copy: of carried values, rows, values from above.
LogicalResult ScanGradient::differentiate() {
  SmallVector<Value> outputs, seeds, inputs;
  for (unsigned i : carried) {
    outputs.push_back(copy.lookup(op.getNext()[i]));
    nextSeeds.push_back(copy.addArgument(outputs.back().getType(), loc));
    inputs.push_back(copy.lookup(op.getCarried()[i]));
  }
  for (auto [row, gradient] :
       llvm::zip_equal(op.getNextRows(), stackedGradients))
    if (gradient) {
      outputs.push_back(copy.lookup(row));
      rowSeeds.push_back(copy.addArgument(row.getType(), loc));
      givenRows.push_back(gradient);
    }
  llvm::append_range(seeds, nextSeeds);
  llvm::append_range(seeds, rowSeeds);
  for (unsigned i : rows)
    inputs.push_back(copy.lookup(op.getRows()[i]));
  for (auto &[place, value] : captured)
    inputs.push_back(value);
  if (failed(copy.differentiate(outputs, seeds, inputs)))
    return failure();
  for (auto [gradient, i] : llvm::zip(copy.gradients, carried))
    if (!gradient)
      gradient = zeros(builder, loc, op.getInitial()[i].getType());
  return success();
}

/// Rows and the index are there already.
void ScanGradient::findResiduals() {
  copy.split(/*repeats=*/true);
  GraphBuilder graph(builder, loc);
  GraphOps ops(graph);
  for (Value residual : copy.residuals()) {
    if (llvm::is_contained(nextSeeds, residual) ||
        llvm::is_contained(rowSeeds, residual))
      continue;
    Value rows;
    if (residual == copy.lookup(op.getIndex()))
      rows = ops.iota(op.getLength());
    for (auto [row, x] : llvm::zip_equal(op.getRows(), op.getXs()))
      if (residual == copy.lookup(row))
        rows = x;
    residuals.push_back(residual);
    stacked.push_back(rows);
  }
}

/// The loop with further results: the residuals that are not there, and which
/// iterations there were. Its body is the copy's, later. Null if it is not
/// needed.
graph::ScanOp ScanGradient::createForward() {
  SmallVector<Type> types(op.getInitial().getTypes());
  auto stack = [&](Value row) {
    forwardYields.push_back(row);
    types.push_back(graph::stackedType(row.getType(), op.getLength()));
  };
  if (op.getCondition())
    forwardYields.push_back(copy.lookup(op.getNextCondition()));
  for (Value next : op.getNext())
    forwardYields.push_back(copy.lookup(next));
  for (auto [residual, rows] : llvm::zip_equal(residuals, stacked))
    if (!rows)
      stack(residual);
  if (!op.runsToEnd()) {
    auto type = graph::conditionType(op.getContext());
    stack(graph::ConstantOp::create(
        builder, loc, type,
        cast<TypedAttr>(DenseElementsAttr::get(type, true))));
  }
  if (types.size() == op.getInitial().size())
    return nullptr;
  auto forward = graph::ScanOp::create(builder, loc, types, op.getLength(),
                                       op.getTripCount(), op.getCondition(),
                                       op.getInitial(), op.getXs());
  auto next = forward.getStacked().begin();
  for (Value &rows : stacked)
    if (!rows)
      rows = *next++;
  if (!op.runsToEnd())
    executed = *next;
  return forward;
}

/// Carries gradients of carried values and sums of those of values from above;
/// runs over given gradients, residuals and `executed`, the last row first.
graph::ScanOp ScanGradient::createReverse() {
  SmallVector<Value> initial, xs;
  for (unsigned i : carried)
    initial.push_back(finalGradients[i]
                          ? finalGradients[i]
                          : zeros(builder, loc, op.getInitial()[i].getType()));
  auto rest = ArrayRef(copy.gradients).drop_front(carried.size());
  for (Value sum : rest.drop_front(rows.size()))
    if (sum)
      initial.push_back(zeros(builder, loc, sum.getType()));
  for (Value rows : llvm::concat<Value>(givenRows, stacked))
    xs.push_back(reversed(rows));
  if (executed)
    xs.push_back(reversed(executed));
  SmallVector<Type> types(ValueRange(initial).getTypes());
  for (Value row : rest.take_front(rows.size()))
    if (row)
      types.push_back(graph::stackedType(row.getType(), op.getLength()));
  auto reverse = graph::ScanOp::create(builder, loc, types, op.getLength(),
                                       /*trip_count=*/Value(),
                                       /*condition=*/Value(), initial, xs);
  Region &region = reverse.getBody();
  region.getBlocks().clear();
  Block &block = region.emplaceBlock();
  block.addArgument(graph::countType(op.getContext()), loc);
  for (Value value : initial)
    block.addArgument(value.getType(), loc);
  for (Value x : xs)
    block.addArgument(graph::rowType(x.getType()), loc);
  return reverse;
}

/// What an iteration of the reverse scan that counts yields.
SmallVector<Value> ScanGradient::yieldsOf(graph::ScanOp reverse, OpBuilder &b) {
  IRMapping map;
  for (auto [seed, argument] : llvm::zip(nextSeeds, reverse.getCarried()))
    map.map(seed, argument);
  auto given = reverse.getRows();
  map.map(rowSeeds, given.take_front(rowSeeds.size()));
  map.map(residuals, given.slice(rowSeeds.size(), residuals.size()));
  SmallVector<Value> gradients = copy.copyGradients(b, map);
  unsigned numSums = reverse.getInitial().size() - carried.size();
  SmallVector<Value> yields(ArrayRef(gradients).take_front(carried.size()));
  for (auto [sum, gradient] :
       llvm::zip_equal(reverse.getCarried().take_back(numSums),
                       ArrayRef(gradients).take_back(numSums)))
    yields.push_back(addGradients(b, loc, sum, gradient));
  llvm::append_range(
      yields,
      ArrayRef(gradients).drop_front(carried.size()).drop_back(numSums));
  return yields;
}

/// An iteration that the loop did not make leaves what is carried as it is.
void ScanGradient::fillReverse(graph::ScanOp reverse) {
  OpBuilder b = OpBuilder::atBlockEnd(&reverse.getBody().front());
  if (!executed) {
    SmallVector<Value> yields = yieldsOf(reverse, b);
    graph::YieldOp::create(b, loc, yields);
    return;
  }
  SmallVector<Type> types(reverse.getInitial().getTypes());
  for (Value rows : reverse.getStacked())
    types.push_back(graph::rowType(rows.getType()));
  auto branch = graph::IfOp::create(b, loc, types, reverse.getRows().back());
  for (Region &region : branch->getRegions()) {
    region.getBlocks().clear();
    region.emplaceBlock();
  }
  OpBuilder then = OpBuilder::atBlockEnd(&branch.getThenBranch().front());
  SmallVector<Value> yields = yieldsOf(reverse, then);
  graph::YieldOp::create(then, loc, yields);
  OpBuilder other = OpBuilder::atBlockEnd(&branch.getElseBranch().front());
  SmallVector<Value> same(reverse.getCarried());
  for (Type type : ArrayRef(types).drop_front(same.size()))
    same.push_back(zeros(other, loc, type));
  graph::YieldOp::create(other, loc, same);
  graph::YieldOp::create(b, loc, branch.getOutputs());
}

/// The reverse scan's results by what the op reads.
SmallVector<Value> ScanGradient::resultsOf(graph::ScanOp reverse) {
  SmallVector<Value> result(wanted.size());
  auto finals = reverse.getFinals().begin();
  for (unsigned i : carried) {
    Value gradient = *finals++;
    if (wanted[firstInitial() + i])
      result[firstInitial() + i] = gradient;
  }
  auto gradients = ArrayRef(copy.gradients).drop_front(carried.size());
  auto stackedResults = reverse.getStacked().begin();
  unsigned firstRow = firstInitial() + op.getInitial().size();
  for (auto [i, gradient] : llvm::zip(rows, gradients))
    if (gradient)
      result[firstRow + i] = reversed(*stackedResults++);
  for (auto [place, gradient] :
       llvm::zip_equal(captured, gradients.drop_front(rows.size())))
    if (gradient)
      result[place.first] = *finals++;
  return result;
}

Gradients ScanGradient::build() {
  findInputs();
  findCarried();
  if (failed(differentiate()))
    return failure();
  if (llvm::none_of(copy.gradients, [](Value value) { return !!value; }))
    return SmallVector<Value>(wanted.size());
  findResiduals();
  graph::ScanOp forward = createForward();
  graph::ScanOp reverse = createReverse();
  fillReverse(reverse);
  SmallVector<Value> result = resultsOf(reverse);
  if (forward)
    copy.moveTo(forward.getBody(), forwardYields);
  return result;
}

Gradients differentiateScan(graph::ScanOp op, OpBuilder &builder,
                            ArrayRef<Value> resultGradients,
                            ArrayRef<bool> wanted) {
  return ScanGradient(op, builder, resultGradients, wanted).build();
}

} // namespace tinh::gradients
