//===- TrainingFunctions.cpp - train_step, evaluate, predict --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The loss and the optimizer are those of eager programs.
//
//===----------------------------------------------------------------------===//
#include "compiler/Gradients/Gradients.h"
#include "compiler/Training/FunctionBuilder.h"
#include "compiler/Training/StraightThrough.h"
#include "compiler/Training/Teacher.h"
#include "compiler/Training/Training.h"
#include "compiler/Training/UpdateBuilder.h"
#include "compiler/Transforms/Constants/Constants.h"
#include "dialects/graph/Scales.h"
#include "tinh/losses.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::training {

namespace {

//===----------------------------------------------------------------------===//
// Loss and optimizer
//===----------------------------------------------------------------------===//

class TrainingBuilder {
public:
  TrainingBuilder(func::FuncOp main, const TrainingOptions &options)
      : main(main), module(main->getParentOfType<ModuleOp>()), options(options),
        loss(makeLoss(options.loss)) {}

  LogicalResult run();

private:
  void findVariables();
  LogicalResult checkParts();
  LogicalResult buildStep();
  LogicalResult buildEvaluate();
  LogicalResult buildPredict();
  Tensor addDistillation(FunctionBuilder &function);
  FailureOr<Pass> addPass(FunctionBuilder &function, const Tensor &target,
                          const Tensor &scale);
  FailureOr<Pass> addPasses(FunctionBuilder &function, const Tensor &target,
                            const Tensor &scale);
  FailureOr<SmallVector<Parameter>> findGradients(FunctionBuilder &function,
                                                  const Tensor &lossValue,
                                                  Value lossGradient);
  LogicalResult reportNoGradient(StringAttr name, Value parameter, Value loss);
  void addOutputs(FunctionBuilder &function);

  func::FuncOp main;
  ModuleOp module;
  const TrainingOptions &options;
  Loss loss;
  std::optional<Teacher> teacher;
  llvm::StringSet<> trainable;
  /// What scales of quantised tensors, among the variables, begin with.
  llvm::StringMap<TypedAttr> scales;
};

/// What the model still has to learn of its teacher.
Tensor TrainingBuilder::addDistillation(FunctionBuilder &function) {
  Tensor taught = function.addTeacher(teacher->main());
  return distillation_loss(function.outputs[0], taught,
                           {.temperature = teacher->temperature});
}

/// Gradients of the loss, by which its own is `lossGradient`, by all
/// parameters, each of which it depends on.
FailureOr<SmallVector<Parameter>>
TrainingBuilder::findGradients(FunctionBuilder &function,
                               const Tensor &lossValue, Value lossGradient) {
  SmallVector<Parameter> parameters;
  SmallVector<Value> values;
  for (auto &[name, tensor] : function.variables)
    if (trainable.contains(name.getValue())) {
      parameters.push_back({name, tensor, {}});
      values.push_back(function.value(tensor));
    }
  OpBuilder &builder = function.raw();
  Value output = function.value(lossValue);
  if (failed(checkQuantized(*builder.getInsertionBlock(), output, values)))
    return failure();
  auto gradients =
      gradients::buildGradients(builder, output, lossGradient, values);
  if (failed(gradients))
    return failure();
  for (auto [parameter, value, gradient] :
       llvm::zip_equal(parameters, values, *gradients)) {
    if (!gradient)
      return reportNoGradient(parameter.name, value, output);
    parameter.gradient = function.tensor(gradient);
  }
  return parameters;
}

/// Says why there is none: what computes the loss does not read the parameter,
/// or does so by an op that no gradient passes.
LogicalResult TrainingBuilder::reportNoGradient(StringAttr name,
                                                Value parameter, Value loss) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> worklist{loss};
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp();
        op && needed.insert(op).second)
      llvm::append_range(worklist, graph::readValues(op));
  llvm::DenseSet<Value> dependent{parameter};
  Operation *last = loss.getDefiningOp();
  for (Operation &op : last ? *last->getBlock() : *parameter.getParentBlock()) {
    if (!needed.contains(&op) ||
        llvm::none_of(graph::readValues(&op),
                      [&](Value value) { return dependent.contains(value); }))
      continue;
    if (isa<graph::StopGradientOp>(op) ||
        llvm::none_of(op.getResultTypes(), gradients::isDifferentiable))
      return op.emitError()
             << "the gradient of the loss with respect to parameter " << name
             << " ends at " << op.getName()
             << ", which cannot be differentiated";
    dependent.insert_range(op.getResults());
  }
  return main.emitError() << "the loss does not depend on parameter " << name
                          << "; leave it out of what is trained";
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// Forward and backward; `scale` is the gradient of the loss, or undefined if
/// that is 1.
FailureOr<Pass> TrainingBuilder::addPass(FunctionBuilder &function,
                                         const Tensor &target,
                                         const Tensor &scale) {
  if (failed(function.addModel(/*inTraining=*/true)))
    return failure();
  FailureOr<Tensor> value = function.addLoss(loss, target);
  if (failed(value))
    return failure();
  if (teacher)
    value = *value * (1 - teacher->weight) +
            addDistillation(function) * teacher->weight;
  OpBuilder &builder = function.raw();
  auto type = cast<RankedTensorType>(function.value(*value).getType());
  Value seed = scale.defined()
                   ? function.value(scale.to(value->dtype()))
                   : transforms::createSplat(builder, main.getLoc(), type, 1);
  auto parameters = findGradients(function, *value, seed);
  if (failed(parameters))
    return failure();
  return Pass{*value, std::move(*parameters)};
}

/// The same for each part of the batch, and what is of all.
FailureOr<Pass> TrainingBuilder::addPasses(FunctionBuilder &function,
                                           const Tensor &target,
                                           const Tensor &scale) {
  Pass pass;
  auto element = cast<RankedTensorType>(main.getResultTypes()[0]);
  SmallVector<Type> types{RankedTensorType::get({}, element.getElementType())};
  for (auto &[name, tensor] : function.variables)
    if (trainable.contains(name.getValue()))
      types.push_back(function.value(tensor).getType());
  auto sums = function.sumOverParts(
      options.accumulate, target, types,
      [&](const Tensor &part) -> FailureOr<SmallVector<Value>> {
        auto found = addPass(function, part, scale);
        if (failed(found))
          return failure();
        pass = std::move(*found);
        SmallVector<Value> summands{function.value(
            pass.loss.to(DType(dtypeOf(element.getElementType()))))};
        for (const Parameter &parameter : pass.parameters)
          summands.push_back(function.value(parameter.gradient));
        return summands;
      });
  if (failed(sums))
    return failure();
  bool isSum = reductionOf(options.loss) == graph::ReduceKind::Sum;
  double factor = isSum ? 1 : 1.0 / static_cast<double>(options.accumulate);
  auto reduced = [&](Value sum) { return function.tensor(sum) * factor; };
  pass.loss = reduced(sums->front());
  for (auto [parameter, sum] :
       llvm::zip_equal(pass.parameters, llvm::drop_begin(*sums)))
    parameter.gradient = reduced(sum);
  return pass;
}

/// Whether a step can be one of so many parts and ranks.
LogicalResult TrainingBuilder::checkParts() {
  if (options.accumulate < 1)
    return main.emitError() << "expected a step of at least one batch, found "
                            << options.accumulate;
  if (options.clipGradNorm && !(*options.clipGradNorm > 0))
    return main.emitError() << "gradients are clipped to a norm above 0, not "
                            << *options.clipGradNorm;
  auto prediction = cast<RankedTensorType>(main.getResultTypes()[0]);
  if (options.accumulate > 1 && prediction.getRank() < 2 &&
      loss.target(Shape(std::span(prediction.getShape())),
                  DType(dtypeOf(prediction.getElementType())))
          .shape.empty())
    return main.emitError("the target of the loss is a scalar, which has no "
                          "batch to accumulate gradients over");
  const auto &ranks = options.dataParallel;
  if (teacher && (ranks || options.accumulate > 1) &&
      reductionOf(options.loss) == graph::ReduceKind::Sum)
    return main.emitError(
        "what is learnt from a teacher is a mean over examples, and the loss a "
        "sum, so that they do not go together over parts of a batch; take a "
        "loss that is a mean");
  if (!ranks)
    return success();
  if (ranks->shards < 0)
    return main.emitError()
           << "expected a number of ranks for the parts of the "
              "optimizer's state, found "
           << ranks->shards;
  if (!ranks->communicationDtype.empty() && ranks->communicationDtype != "bf16")
    return main.emitError() << "gradients are sent as they are or as bf16, not "
                            << ranks->communicationDtype;
  if (options.accumulate > 1 && ranks->syncBatchNorm)
    return main.emitError(
        "batch norms are not synchronised in a step that accumulates "
        "gradients; leave out --sync-batch-norm or --accumulate");
  return success();
}

LogicalResult TrainingBuilder::buildStep() {
  FunctionBuilder function(main, "train_step",
                           options.dataParallel ? &*options.dataParallel
                                                : nullptr);
  int64_t parts = options.accumulate;
  if (failed(checkParts()) || failed(function.declareArguments(parts)))
    return failure();
  Tensor target = function.addTarget(loss, parts);
  UpdateBuilder update(function, main, options, scales);
  Tensor scale = update.declareLossScale();
  auto pass = parts == 1 ? addPass(function, target, scale)
                         : addPasses(function, target, scale);
  if (failed(pass))
    return failure();
  update.reduceOverRanks(*pass);
  function.addResult("loss", pass->loss);
  if (failed(update.run(pass->parameters)))
    return failure();
  function.finish();
  return success();
}

void TrainingBuilder::addOutputs(FunctionBuilder &function) {
  for (auto [i, output] : llvm::enumerate(function.outputs))
    function.addResult(
        main.getResultAttrOfType<StringAttr>(i, graph::names::kName), output);
}

LogicalResult TrainingBuilder::buildEvaluate() {
  FunctionBuilder function(main, "evaluate");
  if (failed(function.declareArguments()) ||
      failed(function.addModel(/*inTraining=*/false)))
    return failure();
  FailureOr<Tensor> value = function.addLoss(loss, function.addTarget(loss));
  if (failed(value))
    return failure();
  llvm::StringSet<> results;
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    results.insert(main.getResultAttrOfType<StringAttr>(i, graph::names::kName)
                       .getValue());
  function.addResult(freeName("loss", results), *value);
  addOutputs(function);
  function.finish();
  return success();
}

LogicalResult TrainingBuilder::buildPredict() {
  FunctionBuilder function(main, "predict");
  if (failed(function.declareArguments()) ||
      failed(function.addModel(/*inTraining=*/false)))
    return failure();
  addOutputs(function);
  function.finish();
  return success();
}

void TrainingBuilder::findVariables() {
  llvm::StringSet<> ofQuantization;
  for (BlockArgument argument : main.getArguments())
    if (auto variable = main.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), graph::names::kVariable);
        variable && graph::isScale(argument))
      ofQuantization.insert(variable.getValue());
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (variable.getTrainable())
      trainable.insert(variable.getName());
    if (ofQuantization.contains(variable.getName()))
      scales[variable.getName()] = variable.getValue();
  }
}

LogicalResult TrainingBuilder::run() {
  for (unsigned i = 0; i < main.getNumResults(); ++i)
    if (main.getResultAttr(i, graph::names::kSizes))
      return main.emitError() << "the run decides the size of output "
                              << main.getResultAttr(i, graph::names::kName)
                              << "; such models are run, not trained";
  findVariables();
  if (main.getNumResults() == 0 ||
      !gradients::isDifferentiable(main.getResultTypes()[0]))
    return main.emitError("the model's first output, which the loss is about, "
                          "is no tensor of floating-point numbers");
  if (!options.distill.empty()) {
    auto read = readTeacher(options.distill, main);
    if (failed(read))
      return failure();
    teacher = std::move(*read);
  }
  if (failed(buildStep()) || failed(buildEvaluate()) || failed(buildPredict()))
    return failure();
  main.erase();
  return success();
}

} // namespace

LogicalResult differentiate(ModuleOp module, const TrainingOptions &options) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    return module.emitError("only a model with a function @main can be "
                            "trained; this module has functions of its own");
  try {
    return TrainingBuilder(main, options).run();
  } catch (const Error &error) {
    return main.emitError() << error.what();
  }
}

} // namespace tinh::training
