//===- Scores.cpp - What units are worth ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pruning/Scores.h"

#include "compiler/Calibration/Constants.h"
#include "compiler/Calibration/Probe.h"
#include "compiler/Gradients/Gradients.h"
#include "compiler/Training/FunctionBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "tinh/runtime.hpp"

#include "llvm/ADT/SetVector.h"

#include <cmath>

using namespace mlir;

namespace tinh::pruning {

using transforms::tensorType;

namespace {

/// What the running mean or variance of a batch norm is.
bool isStatistic(OpOperand &use) {
  auto norm = dyn_cast<graph::BatchNormOp>(use.getOwner());
  return norm &&
         (&use == &norm.getMeanMutable() || &use == &norm.getVarianceMutable());
}

/// The constants of floats that have part in groups.
llvm::SetVector<Value> weightsOf(const Slots &slots, ArrayRef<Group> groups) {
  llvm::SetVector<Value> weights;
  for (const Group &group : groups)
    for (size_t number : group.dimensions) {
      Value value = slots.dimensions()[number].value;
      if (value.getDefiningOp<graph::ConstantOp>() &&
          isa<FloatType>(tensorType(value).getElementType()) &&
          llvm::none_of(value.getUses(), isStatistic))
        weights.insert(value);
    }
  return weights;
}

/// Sums over units of what is known of slots.
Scores sumOf(ArrayRef<Group> groups, ArrayRef<double> bySlot) {
  Scores scores;
  for (const Group &group : groups) {
    std::vector<double> &sums = scores.emplace_back();
    for (const Unit &unit : group.units) {
      double &sum = sums.emplace_back(0);
      for (size_t slot : unit.slots)
        sum += bySlot[slot];
    }
  }
  return scores;
}

/// Adds the square of each element to all of its slots.
void addSquares(const Slots &slots, Value weights, ArrayRef<float> elements,
                std::vector<double> &bySlot) {
  if (elements.empty())
    return;
  ArrayRef<int64_t> shape = tensorType(weights).getShape();
  int64_t inner = static_cast<int64_t>(elements.size());
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    inner /= extent;
    double *sums = &bySlot[slots.firstSlot(
        slots.numberOf({weights, static_cast<int64_t>(axis)}))];
    for (auto [i, element] : llvm::enumerate(elements))
      sums[static_cast<int64_t>(i) / inner % extent] +=
          static_cast<double>(element) * element;
  }
}

} // namespace

FailureOr<Scores> magnitudes(func::FuncOp main, const Slots &slots,
                             ArrayRef<Group> groups, MappedFiles &files) {
  std::vector<double> bySlot(slots.size(), 0);
  for (Value weights : weightsOf(slots, groups)) {
    auto elements = calibration::evaluate(weights, files);
    if (failed(elements))
      return failure();
    if (!llvm::all_of(*elements, [](float x) { return std::isfinite(x); }))
      return weights.getDefiningOp()->emitError(
          "has weights that are not finite");
    addSquares(slots, weights, *elements, bySlot);
  }
  Scores scores = sumOf(groups, bySlot);
  for (std::vector<double> &group : scores)
    for (double &score : group)
      score = std::sqrt(score);
  return scores;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

namespace {

/// A function of the model's inputs and a target that gives, for dimensions of
/// weights, the sums of |gradient · weight| of all indices.
class TaylorFunction {
public:
  /// `main` is in a copy of the model that `slots` are of.
  TaylorFunction(func::FuncOp main, const Slots &slots, const IRMapping &copy)
      : main(main), slots(slots), copy(copy) {}

  /// Takes the place of the copy's main function.

  LogicalResult build(ArrayRef<Value> weights, const std::string &loss);
  /// Where the elements of each result go.
  ArrayRef<size_t> firstSlots() const { return places; }

private:
  void addResults(training::FunctionBuilder &function, Value weights,
                  Value gradient);

  func::FuncOp main;
  const Slots &slots;
  const IRMapping &copy;
  std::vector<size_t> places;
};

void TaylorFunction::addResults(training::FunctionBuilder &function,
                                Value weights, Value gradient) {
  OpBuilder &b = function.raw();
  Location loc = weights.getLoc();
  Value effect = graph::AbsOp::create(
      b, loc,
      graph::MulOp::create(b, loc, gradient,
                           function.copyOf(copy.lookup(weights))));
  if (auto type = tensorType(effect); !type.getElementType().isF32())
    effect = graph::CastOp::create(b, loc, type.clone(b.getF32Type()), effect);
  int64_t rank = tensorType(weights).getRank();
  for (int64_t axis = 0; axis < rank; ++axis) {
    SmallVector<int64_t> others;
    for (int64_t other = 0; other < rank; ++other)
      if (other != axis)
        others.push_back(other);
    Value sums = graph::ReduceOp::create(b, loc, graph::ReduceKind::Sum, effect,
                                         others, /*keepdims=*/false);
    function.addResult(("sums " + Twine(places.size())).str(),
                       function.tensor(sums));
    places.push_back(slots.firstSlot(slots.numberOf({weights, axis})));
  }
}

LogicalResult TaylorFunction::build(ArrayRef<Value> weights,
                                    const std::string &name) {
  Loss loss = training::makeLoss(name);
  training::FunctionBuilder function(main, "scores");
  if (failed(function.declareArguments()) ||
      failed(function.addModel(/*inTraining=*/false)))
    return failure();
  auto value = function.addLoss(loss, function.addTarget(loss));
  if (failed(value))
    return failure();
  OpBuilder &b = function.raw();
  Value output = function.value(*value);
  auto type = tensorType(output);
  Value one = graph::ConstantOp::create(
      b, main.getLoc(),
      DenseElementsAttr::get(type, b.getFloatAttr(type.getElementType(), 1)));
  SmallVector<Value> copies;
  for (Value weight : weights)
    copies.push_back(function.copyOf(copy.lookup(weight)));
  auto gradients = gradients::buildGradients(b, output, one, copies);
  if (failed(gradients))
    return failure();
  for (auto [weight, gradient] : llvm::zip_equal(weights, *gradients))
    if (gradient)
      addResults(function, weight, gradient);
  function.finish();
  auto module = main->getParentOfType<ModuleOp>();
  main.erase();
  module.lookupSymbol<func::FuncOp>("scores").setName(graph::names::kMain);
  return success();
}

} // namespace

FailureOr<Scores> taylorScores(func::FuncOp main, const Slots &slots,
                               ArrayRef<Group> groups,
                               const PruneOptions &options,
                               const CompileOptions &compile) {
  if (main.getNumResults() == 0 ||
      !gradients::isDifferentiable(main.getResultTypes()[0]))
    return main.emitError("the model's first output, which the loss is about, "
                          "is no tensor of floating-point numbers");
  IRMapping copy;
  OwningOpRef<ModuleOp> module(
      cast<ModuleOp>(main->getParentOfType<ModuleOp>()->clone(copy)));
  auto weights = weightsOf(slots, groups);
  TaylorFunction function(cast<func::FuncOp>(copy.lookup(main)), slots, copy);
  try {
    if (failed(function.build(weights.getArrayRef(), options.loss)))
      return failure();
  } catch (const Error &error) {
    return emitError(UnknownLoc::get(main.getContext())) << error.what();
  }
  auto samples = options.readSamples(*module);
  if (failed(samples))
    return failure();
  std::vector<double> bySlot(slots.size(), 0);
  auto visit = [&](const calibration::Results &results) {
    for (auto [first, sums] : llvm::zip_equal(function.firstSlots(), results))
      for (auto [i, sum] : llvm::enumerate(sums))
        bySlot[first + i] += sum;
  };
  if (failed(calibration::runOnSamples(*module, Phase::Graph, *samples, compile,
                                       visit)))
    return failure();
  if (!llvm::all_of(bySlot, [](double x) { return std::isfinite(x); }))
    return main.emitError("the gradients of the loss are not finite");
  return sumOf(groups, bySlot);
}

} // namespace tinh::pruning
