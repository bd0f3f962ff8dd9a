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
#include "compiler/Training/Ranks.h"
#include "compiler/Training/StraightThrough.h"
#include "compiler/Training/Teacher.h"
#include "compiler/Training/Training.h"
#include "compiler/Transforms/Constants.h"
#include "dialects/graph/Scales.h"
#include "tinh/loss_scale.h"
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
        loss(makeLoss(options.loss)), reduction(reductionOf(options.loss)),
        rule(makeRule(options.optimizer)),
        lossScale(makeLossScale(options.lossScale)) {}

  LogicalResult run();

private:
  /// That of the loss over examples.
  static graph::ReduceKind reductionOf(const std::string &lossText) {
    bool isSum = llvm::any_of(parseNamed(lossText).second, [](auto &option) {
      auto *value = std::get_if<std::string>(&option.second.value());
      return option.first == "reduction" && value && *value == "sum";
    });
    return isSum ? graph::ReduceKind::Sum : graph::ReduceKind::Mean;
  }

  static optim::Rule makeRule(const std::string &text) {
    auto [name, options] = parseNamed(text);
    return optim::make(name, options, At{});
  }

  static std::optional<optim::LossScale>
  makeLossScale(const std::string &text) {
    if (text.empty())
      return std::nullopt;
    auto [name, options] = parseNamed(text);
    return optim::LossScale::make(name, options, At{});
  }

  /// A parameter, and the gradient of the loss by it.
  struct Parameter {
    StringAttr name;
    Tensor tensor, gradient;
  };

  /// The loss, and its gradients, of a batch.
  struct Pass {
    Tensor loss;
    SmallVector<Parameter> parameters;
  };

  void findVariables();
  LogicalResult buildStep();
  LogicalResult buildEvaluate();
  LogicalResult buildPredict();
  Tensor addDistillation(FunctionBuilder &function);
  FailureOr<Pass> addPass(FunctionBuilder &function, const Tensor &target,
                          const Tensor &scale);
  FailureOr<Pass> addPasses(FunctionBuilder &function, const Tensor &target,
                            const Tensor &scale);
  void reduceOverRanks(FunctionBuilder &function, Pass &pass);
  void updateScaled(FunctionBuilder &function, Pass &pass, Tensor scale);
  LogicalResult checkMasters(ArrayRef<Parameter> parameters);
  Tensor leastScale(FunctionBuilder &function, const Tensor &scale,
                    TypedAttr initial);
  void updateParameters(FunctionBuilder &function,
                        ArrayRef<Parameter> parameters);
  Value onRanks(FunctionBuilder &function, StringAttr name,
                function_ref<Value(Ranks &)> build);
  Tensor areAllFinite(FunctionBuilder &function,
                      ArrayRef<Parameter> parameters);
  void updateParameter(FunctionBuilder &function, const Parameter &parameter,
                       const std::vector<Tensor> &state,
                       const std::vector<Tensor> &common);
  void updatePart(FunctionBuilder &function, const Parameter &parameter,
                  const std::vector<Tensor> &state,
                  const std::vector<Tensor> &common);
  FailureOr<SmallVector<Parameter>> findGradients(FunctionBuilder &function,
                                                  const Tensor &lossValue,
                                                  Value lossGradient);
  LogicalResult reportNoGradient(StringAttr name, Value parameter, Value loss);
  Tensor declare(FunctionBuilder &function, const llvm::Twine &name, Type type,
                 double initial);
  Tensor declare(FunctionBuilder &function, const llvm::Twine &name,
                 DenseElementsAttr initial);
  void addOutputs(FunctionBuilder &function);

  func::FuncOp main;
  ModuleOp module;
  const TrainingOptions &options;
  Loss loss;
  graph::ReduceKind reduction; ///< Of the losses of parts of a batch.
  optim::Rule rule;
  std::optional<optim::LossScale> lossScale;
  std::optional<Teacher> teacher;
  llvm::StringSet<> trainable;
  /// What scales of quantised tensors, among the variables, begin with.
  llvm::StringMap<TypedAttr> scales;
  llvm::StringSet<> ofTheModel; ///< The names of its variables.
  Value rank; ///< Of a step whose ranks have parts of the optimizer's state.
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
  return declare(
      function, name,
      DenseElementsAttr::get(
          tensor, builder.getFloatAttr(tensor.getElementType(), initial)));
}

Tensor TrainingBuilder::declare(FunctionBuilder &function,
                                const llvm::Twine &name,
                                DenseElementsAttr initial) {
  OpBuilder builder(main);
  StringAttr attribute = builder.getStringAttr(freeName(name, ofTheModel));
  graph::VariableOp::create(builder, main.getLoc(), attribute, initial,
                            UnitAttr());
  return function.addVariable(attribute, initial.getType());
}

/// Gradients of the loss, by which its own is `lossGradient`, by all
/// parameters, each of which it depends on.
FailureOr<SmallVector<TrainingBuilder::Parameter>>
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

//===----------------------------------------------------------------------===//
// Several ranks
//===----------------------------------------------------------------------===//

/// What `build` makes, for the variable of this name.
Value TrainingBuilder::onRanks(FunctionBuilder &function, StringAttr name,
                               function_ref<Value(Ranks &)> build) {
  GraphBuilder graph(function.raw(), NameLoc::get(name));
  GraphOps ops(graph);
  Ranks ranks(*options.dataParallel, ops);
  Value value = build(ranks);
  if (ops.failed())
    throw Error(TINH_INVALID_ARGUMENT,
                "the variable \"" + name.str() + "\": " + ops.takeError());
  return value;
}

/// Makes of the loss and its gradients on this rank those of all ranks or, if
/// the optimizer's state is divided, this rank's parts of the gradients.
void TrainingBuilder::reduceOverRanks(FunctionBuilder &function, Pass &pass) {
  if (!options.dataParallel)
    return;
  auto named = [&](StringRef name) {
    return StringAttr::get(main.getContext(), name);
  };
  Value loss = function.value(pass.loss);
  pass.loss =
      function.tensor(onRanks(function, named("loss"), [&](Ranks &ranks) {
        return ranks.reduce(reduction, loss);
      }));
  bool divides = options.dataParallel->shards != 0;
  if (divides)
    rank = onRanks(function, named("rank"),
                   [](Ranks &ranks) { return ranks.rank(); });
  for (Parameter &parameter : pass.parameters) {
    Value gradient = function.value(parameter.gradient);
    parameter.gradient =
        function.tensor(onRanks(function, parameter.name, [&](Ranks &ranks) {
          return divides ? ranks.reducePart(reduction, gradient)
                         : ranks.reduceGradient(reduction, gradient);
        }));
  }
}

/// On all ranks, if they have parts of the gradients.
Tensor TrainingBuilder::areAllFinite(FunctionBuilder &function,
                                     ArrayRef<Parameter> parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter &parameter : parameters)
    gradients.push_back(parameter.gradient);
  Tensor finite = optim::all_finite(gradients);
  if (!options.dataParallel || options.dataParallel->shards == 0)
    return finite;
  Value own = function.value(finite.to(float32));
  Value share =
      onRanks(function, StringAttr::get(main.getContext(), "loss_scale"),
              [&](Ranks &ranks) { return ranks.mean(own); });
  return function.tensor(share) == 1.0;
}

/// A scale is positive, and stays so: a step halves it at most, and all steps
/// together leave a part of it that is a normal number.
Tensor TrainingBuilder::leastScale(FunctionBuilder &function,
                                   const Tensor &scale, TypedAttr initial) {
  constexpr double kLeastPart = 1.0 / 1024;
  auto element = cast<FloatType>(getElementTypeOrSelf(initial.getType()));
  double normal =
      llvm::APFloat::getSmallestNormalized(element.getFloatSemantics())
          .convertToDouble();
  Tensor first = function.tensor(graph::ConstantOp::create(
      function.raw(), main.getLoc(), initial.getType(), initial));
  return maximum(maximum(scale * 0.5, first * kLeastPart), normal);
}

void TrainingBuilder::updateParameter(FunctionBuilder &function,
                                      const Parameter &parameter,
                                      const std::vector<Tensor> &state,
                                      const std::vector<Tensor> &common) {
  const auto &[name, tensor, gradient] = parameter;
  auto scale = scales.find(name.getValue());
  Tensor least;
  if (scale != scales.end())
    least = leastScale(function, tensor, scale->second);
  if (rank)
    updatePart(function, parameter, state, common);
  else
    rule->update(tensor, gradient, state, common);
  if (scale != scales.end())
    tensor.maximum_(least);
}

/// Of the parameter, of which each rank then gets all parts.
void TrainingBuilder::updatePart(FunctionBuilder &function,
                                 const Parameter &parameter,
                                 const std::vector<Tensor> &state,
                                 const std::vector<Tensor> &common) {
  const auto &[name, tensor, gradient] = parameter;
  Value whole = function.value(tensor);
  Tensor part = function.tensor(onRanks(
      function, name, [&](Ranks &ranks) { return ranks.part(whole, rank); }));
  rule->update(part, gradient, state, common);
  Value own = function.value(part);
  function.assign(tensor, onRanks(function, name, [&](Ranks &ranks) {
                    return ranks.gather(
                        own, cast<RankedTensorType>(whole.getType()));
                  }));
}

void TrainingBuilder::updateParameters(FunctionBuilder &function,
                                       ArrayRef<Parameter> parameters) {
  bool isDouble = llvm::any_of(parameters, [](const Parameter &parameter) {
    return parameter.tensor.dtype() == float64;
  });
  OpBuilder &builder = function.raw();
  auto scalar = RankedTensorType::get({}, isDouble ? builder.getF64Type()
                                                   : builder.getF32Type());
  Tensor lr = declare(function, "optimizer.lr", scalar, rule->learning_rate());
  Tensor step = declare(function, "optimizer.step", scalar, 0);
  step += 1;
  std::vector<Tensor> common = rule->prepare(lr, step);
  for (const Parameter &parameter : parameters) {
    std::vector<Tensor> state;
    for (const optim::StateSpec &spec : rule->state())
      state.push_back(declare(
          function, "optimizer." + parameter.name.getValue() + "." + spec.name,
          function.value(parameter.gradient).getType(), spec.initial));
    updateParameter(function, parameter, state, common);
  }
}

//===----------------------------------------------------------------------===//
// Gradients in f16
//===----------------------------------------------------------------------===//

/// Gradients are divided by the scale in the type of the parameter.
LogicalResult TrainingBuilder::checkMasters(ArrayRef<Parameter> parameters) {
  for (const auto &[name, tensor, gradient] : parameters)
    if (tensor.dtype() != float32 && tensor.dtype() != float64)
      return main.emitError()
             << "parameter " << name << " is "
             << elementType(main.getContext(), tensor.dtype())
             << " in the model, and training in f16 needs parameters in f32, "
                "which updates that f16 would lose add up in; convert it, or "
                "leave it out of what is trained";
  return success();
}

/// The gradient of the loss was the scale. If a gradient is not finite then,
/// only the scale changes.
void TrainingBuilder::updateScaled(FunctionBuilder &function, Pass &pass,
                                   Tensor scale) {
  Tensor finite = areAllFinite(function, pass.parameters);
  Tensor inverse = reciprocal(scale);
  for (Parameter &parameter : pass.parameters)
    parameter.gradient =
        parameter.gradient * inverse.to(parameter.gradient.dtype());
  updateParameters(function, pass.parameters);
  function.keepVariablesUnless(finite);
  if (!lossScale->is_dynamic())
    return;
  OpBuilder builder(main);
  Tensor tracker =
      declare(function, "loss_scale.growth_tracker",
              DenseElementsAttr::get(
                  RankedTensorType::get({}, builder.getI32Type()), int32_t(0)));
  lossScale->update(scale, tracker, finite);
}

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// Forward and backward; `scale` is the gradient of the loss, or undefined if
/// that is 1.
FailureOr<TrainingBuilder::Pass>
TrainingBuilder::addPass(FunctionBuilder &function, const Tensor &target,
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
  Value seed = lossScale
                   ? function.value(scale.to(value->dtype()))
                   : transforms::createSplat(builder, main.getLoc(), type, 1);
  auto parameters = findGradients(function, *value, seed);
  if (failed(parameters))
    return failure();
  return Pass{*value, std::move(*parameters)};
}

/// The same for each part of the batch, and what is of all.
FailureOr<TrainingBuilder::Pass>
TrainingBuilder::addPasses(FunctionBuilder &function, const Tensor &target,
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
  bool isSum = reduction == graph::ReduceKind::Sum;
  double factor = isSum ? 1 : 1.0 / static_cast<double>(options.accumulate);
  auto reduced = [&](Value sum) { return function.tensor(sum) * factor; };
  pass.loss = reduced(sums->front());
  for (auto [parameter, sum] :
       llvm::zip_equal(pass.parameters, llvm::drop_begin(*sums)))
    parameter.gradient = reduced(sum);
  return pass;
}

LogicalResult TrainingBuilder::buildStep() {
  FunctionBuilder function(main, "train_step",
                           options.dataParallel ? &*options.dataParallel
                                                : nullptr);
  int64_t parts = options.accumulate;
  if (parts > 1 && options.dataParallel && options.dataParallel->syncBatchNorm)
    return main.emitError(
        "batch norms are not synchronised in a step that accumulates "
        "gradients; leave out --sync-batch-norm or --accumulate");
  if (failed(function.declareArguments(parts)))
    return failure();
  Tensor target = function.addTarget(loss, parts), scale;
  if (lossScale)
    scale =
        declare(function, "loss_scale",
                RankedTensorType::get({}, Float32Type::get(main.getContext())),
                lossScale->initial());
  auto pass = parts == 1 ? addPass(function, target, scale)
                         : addPasses(function, target, scale);
  if (failed(pass) || (lossScale && failed(checkMasters(pass->parameters))))
    return failure();
  reduceOverRanks(function, *pass);
  function.addResult("loss", pass->loss);
  if (lossScale)
    updateScaled(function, *pass, scale);
  else
    updateParameters(function, pass->parameters);
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
    ofTheModel.insert(variable.getName());
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
