//===- TrainingFunctions.cpp - train_step, evaluate, predict --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each function is a trace into which the model's @main is copied. The loss and
// the optimizer's rule are then called on tensors that stand for its values, as
// eager programs call them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Function/TraceBackend.h"
#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Gradients/Gradients.h"
#include "compiler/Training/Training.h"
#include "compiler/Training/TrainingForm.h"
#include "tinh/autograd.h"
#include "tinh/losses.h"
#include "tinh/optim.h"
#include "tinh/runtime.hpp"

#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::training {

using eager::Dims;
using eager::Ref;
using eager::TensorAccess;
using eager::TensorImpl;

namespace {

/// A new tensor of this type, without memory.
Ref<TensorImpl> tensorOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Dims dims;
  for (int64_t extent : tensor.getShape())
    dims.push_back(extent);
  return eager::newTensor(dtypeOf(tensor.getElementType()), dims);
}

RankedTensorType typeOf(MLIRContext *context, const Loss::Target &target) {
  return RankedTensorType::get(
      SmallVector<int64_t>(target.shape.begin(), target.shape.end()),
      elementType(context, target.dtype));
}

/// A function while it is built: the model's inputs, what it is compared with,
/// and variables, as tensors.
class FunctionBuilder {
public:
  FunctionBuilder(func::FuncOp main, StringRef name)
      : main(main), name(name), trace(main.getContext()), backend(trace),
        scope(backend) {}

  /// Copies the model; its batch norms normalise by their batch in training.
  LogicalResult addModel(bool inTraining);
  Tensor addInput(StringRef inputName, Type type);
  Tensor addVariable(StringAttr variable, Type type);
  /// What the model's result, or a value made of it, is.
  Tensor tensor(Value value);
  Value value(const Tensor &tensor) {
    return trace.read(*TensorAccess::get(tensor));
  }
  void addResult(StringRef resultName, const Tensor &tensor) {
    results.push_back(tensor);
    resultNames.push_back(resultName.str());
  }
  OpBuilder &raw() { return trace.raw(); }
  /// Ends the function and puts it before @main.
  void finish();

  std::vector<Tensor> outputs; ///< Of the model.
  /// The model's variables, in the order of its arguments.
  std::vector<std::pair<StringAttr, Tensor>> variables;

private:
  LogicalResult addNorm(graph::BatchNormOp norm);
  void nameArguments(func::FuncOp function);
  void dropPlaces(func::FuncOp function);

  struct Argument {
    StringAttr attribute; ///< graph.name or graph.variable, and
    StringAttr name;      ///< its value.
  };
  Tensor addArgument(StringRef attribute, StringAttr argumentName, Type type);

  func::FuncOp main;
  StringRef name;
  eager::Trace trace;
  eager::TraceBackend backend;
  eager::BackendScope scope;
  NoGrad noTape;
  std::vector<Argument> arguments;
  std::vector<Tensor> results;
  std::vector<std::string> resultNames;
  IRMapping mapping; // From values of @main.
};

Tensor FunctionBuilder::addArgument(StringRef attribute,
                                    StringAttr argumentName, Type type) {
  arguments.push_back({raw().getStringAttr(attribute), argumentName});
  return TensorAccess::share(*trace.addInput(*tensorOf(type)));
}

Tensor FunctionBuilder::addInput(StringRef inputName, Type type) {
  return addArgument(graph::names::kName, raw().getStringAttr(inputName), type);
}

Tensor FunctionBuilder::addVariable(StringAttr variable, Type type) {
  return addArgument(graph::names::kVariable, variable, type);
}

Tensor FunctionBuilder::tensor(Value value) {
  return TensorAccess::share(*trace.hold(*tensorOf(value.getType()), value));
}

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

/// Which argument of @main a running statistic is; null if `value` is none.
BlockArgument statisticOf(func::FuncOp main, Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  return argument && main.getArgAttr(argument.getArgNumber(),
                                     graph::names::kVariable)
             ? argument
             : BlockArgument();
}

LogicalResult FunctionBuilder::addNorm(graph::BatchNormOp norm) {
  auto copy = cast<graph::BatchNormOp>(raw().clone(*norm, mapping));
  BlockArgument mean = statisticOf(main, norm.getMean());
  BlockArgument variance = statisticOf(main, norm.getVariance());
  if (!mean || !variance)
    return success(); // Its statistics are computed, or given.
  auto next = normaliseByBatch(copy);
  if (failed(next))
    return failure();
  mapping.map(mean, next->mean);
  mapping.map(variance, next->variance);
  return success();
}

LogicalResult FunctionBuilder::addModel(bool inTraining) {
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto variable =
        main.getArgAttrOfType<StringAttr>(i, graph::names::kVariable);
    auto input = main.getArgAttrOfType<StringAttr>(i, graph::names::kName);
    Tensor tensor = variable ? addVariable(variable, argument.getType())
                             : addInput(input, argument.getType());
    if (variable)
      variables.emplace_back(variable, tensor);
    mapping.map(argument, value(tensor));
  }
  for (Operation &op : main.front().without_terminator()) {
    auto norm = dyn_cast<graph::BatchNormOp>(op);
    if (!norm || !inTraining)
      raw().clone(op, mapping);
    else if (failed(addNorm(norm)))
      return failure();
  }
  // What the statistics are now.
  for (auto [argument, variable] : llvm::zip_equal(
           llvm::make_filter_range(main.getArguments(),
                                   [&](BlockArgument argument) {
                                     return !!statisticOf(main, argument);
                                   }),
           variables))
    trace.write(*TensorAccess::get(variable.second), mapping.lookup(argument));
  for (Value result : main.front().getTerminator()->getOperands())
    outputs.push_back(tensor(mapping.lookup(result)));
  return success();
}

//===----------------------------------------------------------------------===//
// The end
//===----------------------------------------------------------------------===//

void FunctionBuilder::nameArguments(func::FuncOp function) {
  unsigned result = 0;
  for (; result < resultNames.size(); ++result)
    function.setResultAttr(result, graph::names::kName,
                           raw().getStringAttr(resultNames[result]));
  for (auto [i, argument] : llvm::enumerate(arguments)) {
    function.removeArgAttr(i, graph::names::kName);
    function.setArgAttr(i, argument.attribute, argument.name);
    if (!trace.arguments()[i].isChanged())
      continue;
    function.removeResultAttr(
        result, StringAttr::get(function.getContext(), graph::names::kName));
    function.setResultAttr(result++, graph::names::kVariable, argument.name);
  }
}

/// Of an operation of the loss or the optimizer the name is of interest, not
/// its place in the compiler's own code.
void FunctionBuilder::dropPlaces(func::FuncOp function) {
  function.walk([](Operation *op) {
    auto name = dyn_cast<NameLoc>(op->getLoc());
    if (name && isa<FileLineColLoc>(name.getChildLoc()))
      op->setLoc(NameLoc::get(name.getName()));
  });
}

void FunctionBuilder::finish() {
  std::vector<const TensorImpl *> returned;
  for (const Tensor &result : results)
    returned.push_back(TensorAccess::get(result));
  OwningOpRef<ModuleOp> module = trace.finish(returned);
  auto function = module->lookupSymbol<func::FuncOp>(graph::names::kMain);
  nameArguments(function);
  function.setName(name);
  function->setLoc(main.getLoc());
  dropPlaces(function);
  function->moveBefore(main);
}

//===----------------------------------------------------------------------===//
// Loss and optimizer
//===----------------------------------------------------------------------===//

/// "adam,lr=0.001" as a name and options.
std::pair<std::string, Options> parse(const std::string &text) {
  auto [name, options] = StringRef(text).split(',');
  return {name.str(), parse_options(options.str(), At{})};
}

class TrainingBuilder {
public:
  TrainingBuilder(func::FuncOp main, const TrainingOptions &options)
      : main(main), module(main->getParentOfType<ModuleOp>()),
        loss(makeLoss(options.loss)), rule(makeRule(options.optimizer)) {}

  LogicalResult run();

private:
  static Loss makeLoss(const std::string &text) {
    auto [name, options] = parse(text);
    return losses::make(name, options, At{});
  }
  static optim::Rule makeRule(const std::string &text) {
    auto [name, options] = parse(text);
    return optim::make(name, options, At{});
  }

  LogicalResult buildStep();
  LogicalResult buildEvaluate();
  LogicalResult buildPredict();
  FailureOr<Tensor> addLoss(FunctionBuilder &function);
  LogicalResult update(FunctionBuilder &function, const Tensor &lossValue);
  FailureOr<SmallVector<Value>> findGradients(FunctionBuilder &function,
                                              const Tensor &lossValue,
                                              ArrayRef<Value> parameters);
  LogicalResult reportNoGradient(StringAttr name, Value parameter, Value loss);
  Tensor declare(FunctionBuilder &function, const llvm::Twine &name, Type type,
                 double initial);
  void addOutputs(FunctionBuilder &function);

  func::FuncOp main;
  ModuleOp module;
  Loss loss;
  optim::Rule rule;
  llvm::StringSet<> trainable;
};

/// The prediction is the model's first output.
FailureOr<Tensor> TrainingBuilder::addLoss(FunctionBuilder &function) {
  auto prediction = cast<RankedTensorType>(main.getResultTypes()[0]);
  Loss::Target like = loss.target(Shape(std::span(prediction.getShape())),
                                  DType(dtypeOf(prediction.getElementType())));
  Tensor target = function.addInput("target", typeOf(main.getContext(), like));
  Tensor value = loss(function.outputs[0], target);
  if (value.shape().size() == 0)
    return value;
  return main.emitError() << "loss \"" << loss.name()
                          << "\" is not one number; choose another reduction";
}

/// A variable of the optimizer.
Tensor TrainingBuilder::declare(FunctionBuilder &function,
                                const llvm::Twine &name, Type type,
                                double initial) {
  OpBuilder builder(main);
  auto tensor = cast<RankedTensorType>(type);
  StringAttr attribute = builder.getStringAttr(name);
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
    rule->update(parameter.second, function.tensor(gradient), state, common);
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
  FailureOr<Tensor> value = addLoss(function);
  if (failed(value))
    return failure();
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
  FailureOr<Tensor> value = addLoss(function);
  if (failed(value))
    return failure();
  function.addResult("loss", *value);
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
  for (auto variable : module.getOps<graph::VariableOp>())
    if (variable.getTrainable())
      trainable.insert(variable.getName());
  if (main.getNumResults() == 0 ||
      !gradients::isDifferentiable(main.getResultTypes()[0]))
    return main.emitError("the model's first output, which the loss is about, "
                          "is no tensor of floating-point numbers");
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
