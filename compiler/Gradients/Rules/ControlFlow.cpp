//===- ControlFlow.cpp - Gradients of branches, loops, custom ones --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"
#include "compiler/Gradients/MergeRepeated.h"
#include "compiler/Gradients/Rules/Regions.h"
#include "compiler/Gradients/Rules/Rule.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace tinh::gradients {

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

Value zeros(OpBuilder &builder, Location location, Type type) {
  auto tensor = cast<RankedTensorType>(type);
  // An empty tensor's elements are printed as none.
  TypedAttr value = DenseElementsAttr::get(tensor, ArrayRef<Attribute>());
  if (tensor.getNumElements() > 0)
    value = cast<TypedAttr>(builder.getZeroAttr(type));
  return graph::ConstantOp::create(builder, location, type, value);
}

RegionCopy::RegionCopy(Block &original)
    : copy(std::make_unique<Block>()),
      numArguments(original.getNumArguments()) {
  for (BlockArgument argument : original.getArguments())
    mapping.map(argument,
                copy->addArgument(argument.getType(), argument.getLoc()));
  OpBuilder builder(original.getTerminator()->getContext());
  builder.setInsertionPointToEnd(copy.get());
  for (Operation &op : original.without_terminator())
    builder.clone(op, mapping);
  last = copy->empty() ? nullptr : &copy->back();
}

LogicalResult RegionCopy::differentiate(ValueRange outputs,
                                        ArrayRef<Value> seeds,
                                        ValueRange inputs) {
  SmallVector<Value> seeded, given;
  for (auto [output, seed] : llvm::zip_equal(outputs, seeds))
    if (seed) {
      seeded.push_back(output);
      given.push_back(seed);
    }
  gradients.assign(inputs.size(), nullptr);
  if (seeded.empty())
    return success();
  OpBuilder builder(seeded.front().getContext());
  builder.setInsertionPointToEnd(copy.get());
  auto built = buildGradients(builder, seeded, given, inputs);
  if (failed(built))
    return failure();
  gradients = std::move(*built);
  return success();
}

/// So that a loop in the region is run by the computation alone, which gives
/// the residuals of that, too.
void RegionCopy::mergeLoops() {
  mergeRepeated(*copy, [&](Operation *op, ValueRange values) {
    if (op == last)
      last = op->getPrevNode();
    for (auto [result, value] : llvm::zip_equal(op->getResults(), values)) {
      merged.map(result, value);
      llvm::replace(gradients, Value(result), value);
    }
  });
}

void RegionCopy::split(bool repeats) {
  mergeLoops();
  SmallVector<Value> results;
  for (Value gradient : gradients)
    if (gradient)
      results.push_back(gradient);
  OpBuilder builder(results.front().getContext());
  builder.setInsertionPointToEnd(copy.get());
  graph::YieldOp::create(builder, builder.getUnknownLoc(), results);
  halves.emplace(*copy, last, results, repeats);
}

void RegionCopy::moveTo(Region &region, ValueRange yielded) {
  copy->getTerminator()->erase();
  OpBuilder builder(region.getContext());
  builder.setInsertionPointToEnd(copy.get());
  graph::YieldOp::create(builder, region.getLoc(), yielded);
  halves->eraseGradients();
  copy->eraseArguments(numArguments, copy->getNumArguments() - numArguments);
  region.getBlocks().clear();
  region.push_back(copy.release());
}

namespace {

/// The rule of an op with regions.
template <typename Op,
          Gradients (*rule)(Op, OpBuilder &, ArrayRef<Value>, ArrayRef<bool>)>
struct RegionRule
    : graph::DifferentiableOpInterface::ExternalModel<RegionRule<Op, rule>,
                                                      Op> {
  Gradients buildGradients(Operation *op, OpBuilder &builder,
                           ArrayRef<Value> resultGradients,
                           ArrayRef<bool> wanted) const {
    return rule(cast<Op>(op), builder, resultGradients, wanted);
  }
};

//===----------------------------------------------------------------------===//
// if
//===----------------------------------------------------------------------===//

/// Both branches give what the gradients need of them in the same results: of
/// the branch that is taken.
class IfGradient {
public:
  IfGradient(graph::IfOp op, OpBuilder &builder)
      : op(op), builder(builder), sides{RegionCopy(op.getThenBranch().front()),
                                        RegionCopy(op.getElseBranch().front())},
        yields{op.getThenYield(), op.getElseYield()} {}

  Gradients build(ArrayRef<Value> resultGradients, ArrayRef<bool> wanted);

private:
  LogicalResult differentiate(ArrayRef<Value> seeds, ValueRange inputs);
  void assignSlots();
  graph::IfOp createIf(TypeRange types) {
    return graph::IfOp::create(builder, op.getLoc(), types, op.getCondition());
  }
  void copyGradients(unsigned side, ValueRange kept, Region &region);
  void moveComputation(unsigned side, ValueRange padding, Region &region);

  graph::IfOp op;
  OpBuilder &builder;
  RegionCopy sides[2];
  graph::YieldOp yields[2];
  SmallVector<Type> slotTypes;
  SmallVector<unsigned> slots[2]; // By residual.
};

/// Where one branch has a gradient, both have.
LogicalResult IfGradient::differentiate(ArrayRef<Value> seeds,
                                        ValueRange inputs) {
  for (auto [side, yield] : llvm::zip_equal(sides, yields)) {
    SmallVector<Value> outputs;
    for (Value value : yield.getValues())
      outputs.push_back(side.lookup(value));
    if (failed(side.differentiate(outputs, seeds, inputs)))
      return failure();
  }
  for (auto [a, b] : llvm::zip_equal(sides[0].gradients, sides[1].gradients)) {
    if (a && !b)
      b = zeros(builder, op.getLoc(), a.getType());
    if (b && !a)
      a = zeros(builder, op.getLoc(), b.getType());
  }
  return success();
}

void IfGradient::assignSlots() {
  for (unsigned i = 0; i < 2; ++i) {
    sides[i].split(/*repeats=*/false);
    llvm::BitVector taken(slotTypes.size());
    for (Value residual : sides[i].residuals()) {
      unsigned slot = 0;
      while (slot < slotTypes.size() &&
             (taken.test(slot) || slotTypes[slot] != residual.getType()))
        ++slot;
      if (slot == slotTypes.size()) {
        slotTypes.push_back(residual.getType());
        taken.resize(slotTypes.size());
      }
      taken.set(slot);
      slots[i].push_back(slot);
    }
  }
}

void IfGradient::copyGradients(unsigned side, ValueRange kept, Region &region) {
  IRMapping map;
  for (auto [residual, slot] :
       llvm::zip_equal(sides[side].residuals(), slots[side]))
    map.map(residual, kept[slot]);
  region.getBlocks().clear();
  OpBuilder b = OpBuilder::atBlockEnd(&region.emplaceBlock());
  SmallVector<Value> results = sides[side].copyGradients(b, map);
  graph::YieldOp::create(b, op.getLoc(), results);
}

/// `padding` is what a slot holds that is of the other side.
void IfGradient::moveComputation(unsigned side, ValueRange padding,
                                 Region &region) {
  SmallVector<Value> yielded(padding);
  for (auto [residual, slot] :
       llvm::zip_equal(sides[side].residuals(), slots[side]))
    yielded[slot] = residual;
  sides[side].moveTo(region, yielded);
}

Gradients IfGradient::build(ArrayRef<Value> resultGradients,
                            ArrayRef<bool> wanted) {
  SmallVector<Value> inputs;
  for (auto [value, isWanted] : llvm::zip_equal(graph::readValues(op), wanted))
    if (isWanted)
      inputs.push_back(value);
  if (failed(differentiate(resultGradients, inputs)))
    return failure();
  SmallVector<Type> types;
  for (Value gradient : sides[0].gradients)
    if (gradient)
      types.push_back(gradient.getType());
  SmallVector<Value> result(wanted.size());
  if (types.empty())
    return result;
  assignSlots();
  SmallVector<Value> padding;
  for (Type type : slotTypes)
    padding.push_back(zeros(builder, op.getLoc(), type));
  graph::IfOp forward = slotTypes.empty() ? nullptr : createIf(slotTypes);
  graph::IfOp backward = createIf(types);
  ValueRange kept = forward ? ValueRange(forward.getOutputs()) : ValueRange();
  for (unsigned i = 0; i < 2; ++i) {
    copyGradients(i, kept, backward->getRegion(i));
    if (forward)
      moveComputation(i, padding, forward->getRegion(i));
  }
  auto next = backward.getOutputs().begin();
  unsigned input = 0;
  for (auto [i, isWanted] : llvm::enumerate(wanted))
    if (isWanted && sides[0].gradients[input++])
      result[i] = *next++;
  return result;
}

Gradients differentiateIf(graph::IfOp op, OpBuilder &builder,
                          ArrayRef<Value> resultGradients,
                          ArrayRef<bool> wanted) {
  return IfGradient(op, builder).build(resultGradients, wanted);
}

//===----------------------------------------------------------------------===//
// while
//===----------------------------------------------------------------------===//

Gradients differentiateWhile(graph::WhileOp op, OpBuilder &builder,
                             ArrayRef<Value> resultGradients,
                             ArrayRef<bool> wanted) {
  graph::ScanOp scan = buildBoundedScan(op, builder);
  if (!scan)
    return failure();
  // The scan reads what the loop does, but its first condition beside it, and
  // in another order.
  llvm::DenseMap<Value, unsigned> places;
  SmallVector<Value> read = graph::readValues(op);
  for (auto [i, value] : llvm::enumerate(read))
    if (i >= op.getInitial().size())
      places[value] = i;
  SmallVector<std::optional<unsigned>> from;
  SmallVector<bool> scanWanted;
  for (auto [i, value] : llvm::enumerate(graph::readValues(scan))) {
    std::optional<unsigned> place;
    if (i >= 1 && i <= op.getInitial().size())
      place = i - 1;
    else if (auto known = places.find(value); known != places.end())
      place = known->second;
    from.push_back(place);
    scanWanted.push_back(place && wanted[*place]);
  }
  auto gradients =
      differentiateScan(scan, builder, resultGradients, scanWanted);
  if (failed(gradients))
    return failure();
  SmallVector<Value> result(read.size());
  for (auto [place, gradient] : llvm::zip_equal(from, *gradients))
    if (place)
      result[*place] = gradient;
  return result;
}

//===----------------------------------------------------------------------===//
// custom_gradient
//===----------------------------------------------------------------------===//

Gradients differentiateCustom(graph::CustomGradientOp op, OpBuilder &builder,
                              ArrayRef<Value> resultGradients,
                              ArrayRef<bool> wanted) {
  Block &block = op.getGradient().front();
  SmallVector<Value> given(op.getInputs());
  llvm::append_range(given, op.getOutputs());
  for (auto [output, gradient] :
       llvm::zip_equal(op.getOutputs(), resultGradients))
    given.push_back(gradient ? gradient
                             : zeros(builder, op.getLoc(), output.getType()));
  IRMapping mapping;
  mapping.map(block.getArguments(), given);
  for (Operation &inner : block.without_terminator())
    builder.clone(inner, mapping);
  SmallVector<Value> result(wanted.size());
  for (auto [i, value] : llvm::enumerate(block.getTerminator()->getOperands()))
    if (wanted[i])
      result[i] = mapping.lookupOrDefault(value);
  return result;
}

template <typename Op,
          Gradients (*rule)(Op, OpBuilder &, ArrayRef<Value>, ArrayRef<bool>)>
void attach(MLIRContext *context) {
  Op::template attachInterface<RegionRule<Op, rule>>(*context);
}

} // namespace

void attachControlFlowRules(MLIRContext *context) {
  attach<graph::IfOp, differentiateIf>(context);
  attach<graph::WhileOp, differentiateWhile>(context);
  attach<graph::ScanOp, differentiateScan>(context);
  attach<graph::CustomGradientOp, differentiateCustom>(context);
}

} // namespace tinh::gradients
