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
#include "tinh/losses.h"
#include "tinh/optim.h"
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
        loss(makeLoss(options.loss)), rule(makeRule(options.optimizer)) {}

  LogicalResult run();

private:
  static optim::Rule makeRule(const std::string &text) {
    auto [name, options] = parseNamed(text);
    return optim::make(name, options, At{});
  }

  LogicalResult buildStep();
  LogicalResult buildEvaluate();
  LogicalResult buildPredict();
  Tensor addDistillation(FunctionBuilder &function);
  LogicalResult update(FunctionBuilder &function, const Tensor &lossValue);
  void updateParameter(const std::pair<StringAttr, Tensor> &parameter,
                       const Tensor &gradient, const std::vector<Tensor> &state,
                       const std::vector<Tensor> &common);
  FailureOr<SmallVector<Value>> findGradients(FunctionBuilder &function,
                                              const Tensor &lossValue,
                                              ArrayRef<Value> parameters);
  LogicalResult reportNoGradient(StringAttr name, Value parameter, Value loss);
  Tensor declare(FunctionBuilder &function, const llvm::Twine &name, Type type,
                 double initial);
  void addOutputs(FunctionBuilder &function);

  func::FuncOp main;
  ModuleOp module;
  const TrainingOptions &options;
  Loss loss;
  optim::Rule rule;
  std::optional<Teacher> teacher;
  llvm::StringSet<> trainable;
  llvm::StringSet<> scales;     ///< Of quantised tensors, among the variables.
  llvm::StringSet<> ofTheModel; ///< The names of its variables.
};

/// What the model still has to learn of its teacher.
Tensor TrainingBuilder::addDistillation(FunctionBuilder &function) {
  Tensor taught = function.addTeacher(teacher->main());
  return distillation_loss(function.outputs[0], taught,
                           {.temperature = teacher->temperature});
}

/// A variable of the optimizer.
Tensor TrainingBuilder::declare(FunctionBuilder &function,
                                const llvm::Twine &name, Type type,
                                double initial) {
  OpBuilder builder(main);
  auto tensor = cast<RankedTensorType>(type);
  StringAttr attribute = builder.getStringAttr(freeName(name, ofTheModel));
  graph::VariableOp::create(
      builder, main.getLoc(), attribute,
      DenseElementsAttr::get(
          tensor, builder.getFloatAttr(tensor.getElementType(), initial)),
      UnitAttr());
  return function.addVariable(attribute, type);
}

/// Gradients of the loss by all parameters, each of which it depends on.
FailureOr<SmallVector<Value>>
TrainingBuilder::findGradients(FunctionBuilder &function,
                               const Tensor &lossValue,
                               ArrayRef<Value> parameters) {
  OpBuilder &builder = function.raw();
  Value output = function.value(lossValue);
  if (failed(checkQuantized(*builder.getInsertionBlock(), output, parameters)))
    return failure();
  auto type = cast<RankedTensorType>(output.getType());
  Value one = graph::ConstantOp::create(
      builder, main.getLoc(),
      DenseElementsAttr::get(type,
                             builder.getFloatAttr(type.getElementType(), 1)));
  return gradients::buildGradients(builder, output, one, parameters);
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
  for (Operation &op : *parameter.getParentBlock()) {
    if (!needed.contains(&op) ||
        llvm::none_of(graph::readValues(&op),
                      [&](Value value) { return dependent.contains(value); }))
      continue;
    if (isa<graph::StopGradientOp>(op) ||
        llvm::none_of(op.getResultTypes(), gradients::isDifferentiable))
      return op.emitError()
             << "the gradient of the loss by parameter " << name << " ends at "
             << op.getName() << ", which cannot be differentiated";
    dependent.insert_range(op.getResults());
  }
  return main.emitError() << "the loss does not depend on parameter " << name
                          << "; leave it out of what is trained";
}

/// A scale is positive, and stays so: a step halves it at most.
void TrainingBuilder::updateParameter(
    const std::pair<StringAttr, Tensor> &parameter, const Tensor &gradient,
    const std::vector<Tensor> &state, const std::vector<Tensor> &common) {
  const auto &[name, tensor] = parameter;
  if (!scales.contains(name.getValue()))
    return rule->update(tensor, gradient, state, common);
  Tensor half = tensor * 0.5;
  rule->update(tensor, gradient, state, common);
  tensor.maximum_(half);
}

LogicalResult TrainingBuilder::update(FunctionBuilder &function,
                                      const Tensor &lossValue) {
  std::vector<std::pair<StringAttr, Tensor>> parameters;
  SmallVector<Value> values;
  bool isDouble = false;
  for (auto &[name, tensor] : function.variables)
    if (trainable.contains(name.getValue())) {
      parameters.emplace_back(name, tensor);
      values.push_back(function.value(tensor));
      isDouble |= tensor.dtype() == float64;
    }
  auto gradients = findGradients(function, lossValue, values);
  if (failed(gradients))
    return failure();
  for (auto [parameter, value, gradient] :
       llvm::zip_equal(parameters, values, *gradients))
    if (!gradient)
      return reportNoGradient(parameter.first, value,
                              function.value(lossValue));
  OpBuilder &builder = function.raw();
  auto scalar = RankedTensorType::get({}, isDouble ? builder.getF64Type()
                                                   : builder.getF32Type());
  Tensor lr = declare(function, "optimizer.lr", scalar, rule->learning_rate());
  Tensor step = declare(function, "optimizer.step", scalar, 0);
  step += 1;
  std::vector<Tensor> common = rule->prepare(lr, step);
  for (auto [parameter, gradient] : llvm::zip_equal(parameters, *gradients)) {
    std::vector<Tensor> state;
    for (const optim::StateSpec &spec : rule->state())
      state.push_back(declare(
          function, "optimizer." + parameter.first.getValue() + "." + spec.name,
          gradient.getType(), spec.initial));
    updateParameter(parameter, function.tensor(gradient), state, common);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

LogicalResult TrainingBuilder::buildStep() {
  FunctionBuilder function(main, "train_step");
  if (failed(function.addModel(/*inTraining=*/true)))
    return failure();
  FailureOr<Tensor> value = function.addLoss(loss);
  if (failed(value))
    return failure();
  if (teacher)
    value = *value * (1 - teacher->weight) +
            addDistillation(function) * teacher->weight;
  function.addResult("loss", *value);
  if (failed(update(function, *value)))
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
  if (failed(function.addModel(/*inTraining=*/false)))
    return failure();
  FailureOr<Tensor> value = function.addLoss(loss);
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
  if (failed(function.addModel(/*inTraining=*/false)))
    return failure();
  addOutputs(function);
  function.finish();
  return success();
}

LogicalResult TrainingBuilder::run() {
  for (auto variable : module.getOps<graph::VariableOp>()) {
    ofTheModel.insert(variable.getName());
    if (variable.getTrainable())
      trainable.insert(variable.getName());
  }
  for (BlockArgument argument : main.getArguments())
    if (auto variable = main.getArgAttrOfType<StringAttr>(
            argument.getArgNumber(), graph::names::kVariable);
        variable && isScale(argument))
      scales.insert(variable.getValue());
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
