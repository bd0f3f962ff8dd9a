//===- UpdateBuilder.cpp - What a step does with gradients ----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/UpdateBuilder.h"

#include "compiler/Training/StepCollectives.h"
#include "tinh/runtime.hpp"

using namespace mlir;

namespace tinh::training {

graph::ReduceKind reductionOf(const std::string &loss) {
  bool isSum = llvm::any_of(parseNamed(loss).second, [](auto &option) {
    auto *value = std::get_if<std::string>(&option.second.value());
    return option.first == "reduction" && value && *value == "sum";
  });
  return isSum ? graph::ReduceKind::Sum : graph::ReduceKind::Mean;
}

static optim::Rule makeRule(const std::string &text) {
  auto [name, options] = parseNamed(text);
  return optim::make(name, options, At{});
}

static std::optional<optim::LossScale> makeLossScale(const std::string &text) {
  if (text.empty())
    return std::nullopt;
  auto [name, options] = parseNamed(text);
  return optim::LossScale::make(name, options, At{});
}

UpdateBuilder::UpdateBuilder(FunctionBuilder &function, func::FuncOp main,
                             const TrainingOptions &options,
                             const llvm::StringMap<TypedAttr> &scales)
    : function(function), main(main), options(options), scales(scales),
      rule(makeRule(options.optimizer)),
      lossScale(makeLossScale(options.lossScale)) {
  for (auto variable :
       main->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    ofTheModel.insert(variable.getName());
}

Tensor UpdateBuilder::declareLossScale() {
  if (lossScale)
    scale =
        declare("loss_scale",
                RankedTensorType::get({}, Float32Type::get(main.getContext())),
                lossScale->initial());
  return scale;
}

LogicalResult UpdateBuilder::run(MutableArrayRef<Parameter> parameters) {
  if (!lossScale) {
    updateParameters(parameters);
    return success();
  }
  if (failed(checkMasters(parameters)))
    return failure();
  updateScaled(parameters);
  return success();
}

/// A variable of the optimizer.
Tensor UpdateBuilder::declare(const llvm::Twine &name, Type type,
                              double initial) {
  OpBuilder builder(main);
  auto tensor = cast<RankedTensorType>(type);
  return declare(name, DenseElementsAttr::get(
                           tensor, builder.getFloatAttr(tensor.getElementType(),
                                                        initial)));
}

Tensor UpdateBuilder::declare(const llvm::Twine &name,
                              DenseElementsAttr initial) {
  OpBuilder builder(main);
  StringAttr attribute = builder.getStringAttr(freeName(name, ofTheModel));
  graph::VariableOp::create(builder, main.getLoc(), attribute, initial,
                            UnitAttr());
  return function.addVariable(attribute, initial.getType());
}

//===----------------------------------------------------------------------===//
// Several ranks
//===----------------------------------------------------------------------===//

/// What `build` makes, for the variable of this name.
Value UpdateBuilder::onRanks(StringAttr name,
                             function_ref<Value(StepCollectives &)> build) {
  GraphBuilder graph(function.raw(), NameLoc::get(name));
  GraphOps ops(graph);
  StepCollectives ranks(*options.dataParallel, ops);
  Value value = build(ranks);
  if (ops.failed())
    throw Error(TINH_INVALID_ARGUMENT,
                "the variable \"" + name.str() + "\": " + ops.takeError());
  return value;
}

void UpdateBuilder::reduceOverRanks(Pass &pass) {
  if (!options.dataParallel)
    return;
  graph::ReduceKind reduction = reductionOf(options.loss);
  auto named = [&](StringRef name) {
    return StringAttr::get(main.getContext(), name);
  };
  Value loss = function.value(pass.loss);
  pass.loss =
      function.tensor(onRanks(named("loss"), [&](StepCollectives &ranks) {
        return ranks.reduce(reduction, loss);
      }));
  if (isSharded())
    rank = onRanks(named("rank"),
                   [](StepCollectives &ranks) { return ranks.rank(); });
  for (Parameter &parameter : pass.parameters) {
    Value gradient = function.value(parameter.gradient);
    parameter.gradient =
        function.tensor(onRanks(parameter.name, [&](StepCollectives &ranks) {
          return isSharded() ? ranks.reduceScatter(reduction, gradient)
                             : ranks.reduceGradient(reduction, gradient);
        }));
  }
}

//===----------------------------------------------------------------------===//
// Of all gradients together
//===----------------------------------------------------------------------===//

static bool hasDoubles(ArrayRef<Parameter> parameters) {
  return llvm::any_of(parameters, [](const Parameter &parameter) {
    return parameter.tensor.dtype() == float64;
  });
}

/// Of ranks that have parts of the gradients.
Tensor UpdateBuilder::sumOverRanks(const Tensor &own) {
  Value value = function.value(own);
  return function.tensor(
      onRanks(StringAttr::get(main.getContext(), "grad_norm"),
              [&](StepCollectives &ranks) {
                return ranks.reduce(graph::ReduceKind::Sum, value);
              }));
}

/// As clip_grad_norm_ does, which knows nothing of parts.
void UpdateBuilder::clipGradients(MutableArrayRef<Parameter> parameters) {
  if (!options.clipGradNorm || parameters.empty())
    return;
  DType dtype = hasDoubles(parameters) ? float64 : float32;
  Tensor squares;
  for (const Parameter &parameter : parameters) {
    Tensor gradient = parameter.gradient.to(dtype);
    Tensor square = sum(gradient * gradient);
    squares = squares.defined() ? squares + square : square;
  }
  Tensor norm = sqrt(isSharded() ? sumOverRanks(squares) : squares);
  Tensor factor = minimum(*options.clipGradNorm / (norm + 1e-6), 1.0);
  for (Parameter &parameter : parameters)
    parameter.gradient =
        parameter.gradient * factor.to(parameter.gradient.dtype());
}

/// On all ranks, if they have parts of the gradients.
Tensor UpdateBuilder::areAllFinite(ArrayRef<Parameter> parameters) {
  std::vector<Tensor> gradients;
  for (const Parameter &parameter : parameters)
    gradients.push_back(parameter.gradient);
  Tensor finite = optim::all_finite(gradients);
  if (!isSharded())
    return finite;
  Value own = function.value(finite.to(float32));
  Value share =
      onRanks(StringAttr::get(main.getContext(), "loss_scale"),
              [&](StepCollectives &ranks) { return ranks.mean(own); });
  return function.tensor(share) == 1.0;
}

/// A scale is positive, and stays so: a step halves it at most, and all steps
/// together leave a part of it that is a normal number.
Tensor UpdateBuilder::leastScale(const Tensor &now, TypedAttr initial) {
  constexpr double kLeastPart = 1.0 / 1024;
  auto element = cast<FloatType>(getElementTypeOrSelf(initial.getType()));
  double normal =
      llvm::APFloat::getSmallestNormalized(element.getFloatSemantics())
          .convertToDouble();
  Tensor first = function.tensor(graph::ConstantOp::create(
      function.raw(), main.getLoc(), initial.getType(), initial));
  return maximum(maximum(now * 0.5, first * kLeastPart), normal);
}

void UpdateBuilder::updateParameter(const Parameter &parameter,
                                    const std::vector<Tensor> &state,
                                    const std::vector<Tensor> &common) {
  const auto &[name, tensor, gradient] = parameter;
  auto initial = scales.find(name.getValue());
  Tensor least;
  if (initial != scales.end())
    least = leastScale(tensor, initial->second);
  if (rank)
    updateShard(parameter, state, common);
  else
    rule->update(tensor, gradient, state, common);
  if (initial != scales.end())
    tensor.maximum_(least);
}

/// Of the parameter, of which each rank then gets all parts.
void UpdateBuilder::updateShard(const Parameter &parameter,
                                const std::vector<Tensor> &state,
                                const std::vector<Tensor> &common) {
  const auto &[name, tensor, gradient] = parameter;
  Value whole = function.value(tensor);
  Tensor part = function.tensor(onRanks(
      name, [&](StepCollectives &ranks) { return ranks.shard(whole, rank); }));
  rule->update(part, gradient, state, common);
  Value own = function.value(part);
  function.assign(tensor, onRanks(name, [&](StepCollectives &ranks) {
                    return ranks.gather(
                        own, cast<RankedTensorType>(whole.getType()));
                  }));
}

void UpdateBuilder::updateParameters(MutableArrayRef<Parameter> parameters) {
  clipGradients(parameters);
  OpBuilder &builder = function.raw();
  auto scalar = RankedTensorType::get(
      {}, hasDoubles(parameters) ? builder.getF64Type() : builder.getF32Type());
  Tensor lr = declare("optimizer.lr", scalar, rule->learning_rate());
  Tensor step = declare("optimizer.step", scalar, 0);
  step += 1;
  std::vector<Tensor> scalars;
  for (const optim::StateSpec &spec : rule->scalar_state())
    scalars.push_back(declare("optimizer." + spec.name, scalar, spec.initial));
  std::vector<Tensor> common = rule->prepare(lr, step, scalars);
  for (const Parameter &parameter : parameters) {
    std::vector<Tensor> state;
    for (const optim::StateSpec &spec : rule->state())
      state.push_back(
          declare("optimizer." + parameter.name.getValue() + "." + spec.name,
                  function.value(parameter.gradient).getType(), spec.initial));
    updateParameter(parameter, state, common);
  }
}

//===----------------------------------------------------------------------===//
// Gradients in f16
//===----------------------------------------------------------------------===//

/// Gradients are divided by the scale in the type of the parameter.
LogicalResult UpdateBuilder::checkMasters(ArrayRef<Parameter> parameters) {
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
void UpdateBuilder::updateScaled(MutableArrayRef<Parameter> parameters) {
  Tensor finite = areAllFinite(parameters);
  Tensor inverse = reciprocal(scale);
  for (Parameter &parameter : parameters)
    parameter.gradient =
        parameter.gradient * inverse.to(parameter.gradient.dtype());
  updateParameters(parameters);
  function.keepVariablesUnless(finite);
  if (!lossScale->is_dynamic())
    return;
  OpBuilder builder(main);
  Tensor tracker =
      declare("loss_scale.growth_tracker",
              DenseElementsAttr::get(
                  RankedTensorType::get({}, builder.getI32Type()), int32_t(0)));
  lossScale->update(scale, tracker, finite);
}

} // namespace tinh::training
