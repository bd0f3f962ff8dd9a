//===- FunctionBuilder.cpp - A function of a training artifact ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/FunctionBuilder.h"

#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Training/Teacher.h"
#include "compiler/Training/TrainingForm.h"

using namespace mlir;

namespace tinh::training {

using eager::Dims;
using eager::Ref;
using eager::TensorAccess;
using eager::TensorImpl;

/// A new tensor of this type, without memory.
static Ref<TensorImpl> tensorOf(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  Dims dims;
  for (int64_t extent : tensor.getShape())
    dims.push_back(extent);
  return eager::newTensor(dtypeOf(tensor.getElementType()), dims);
}

std::string freeName(const llvm::Twine &name, const llvm::StringSet<> &taken) {
  std::string result = name.str();
  for (int64_t i = 1; taken.contains(result); ++i)
    result = (name + "." + llvm::Twine(i)).str();
  return result;
}

std::pair<std::string, Options> parseNamed(const std::string &text) {
  auto [name, options] = StringRef(text).split(',');
  return {name.str(), parse_options(options.str(), At{})};
}

Loss makeLoss(const std::string &text) {
  auto [name, options] = parseNamed(text);
  return losses::make(name, options, At{});
}

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
static BlockArgument statisticOf(func::FuncOp main, Value value) {
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
  auto next = normaliseByBatch(copy, ranks);
  if (failed(next))
    return failure();
  mapping.map(mean, next->mean);
  mapping.map(variance, next->variance);
  return success();
}

void FunctionBuilder::addDropout(graph::DropoutOp op) {
  Tensor x = tensor(mapping.lookup(op.getX()));
  mapping.map(op.getY(),
              value(dropout(x, op.getRatio().convertToDouble(), generator)));
}

/// Copies an op in the form that it has in training.
LogicalResult FunctionBuilder::addTrained(Operation &op) {
  if (auto norm = dyn_cast<graph::BatchNormOp>(op))
    return addNorm(norm);
  if (auto dropout = dyn_cast<graph::DropoutOp>(op)) {
    addDropout(dropout);
    return success();
  }
  if (auto dequantize = dyn_cast<graph::DequantizeOp>(op))
    return addDequantize(dequantize);
  Operation *inner = nullptr;
  op.walk([&](graph::DropoutOp dropout) { inner = dropout; });
  if (inner)
    return inner->emitError("a dropout in a branch or loop cannot be trained: "
                            "each iteration would drop the same elements; "
                            "export the model with a ratio of 0 there");
  raw().clone(op, mapping);
  return success();
}

/// The generator that dropouts draw from, which goes on from step to step: its
/// seed and counter.
void FunctionBuilder::declareGenerator() {
  if (trace.arguments().size() == arguments.size())
    return; // Nothing was drawn.
  const eager::Trace::Argument &used = trace.arguments().back();
  llvm::StringSet<> weights;
  for (auto weight :
       main->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    weights.insert(weight.getName());
  StringAttr variable =
      raw().getStringAttr(freeName("random.generator", weights));
  auto words = [&](uint64_t seed, uint64_t counter) {
    return DenseElementsAttr::get(used.memory->type, ArrayRef{seed, counter});
  };
  OpBuilder builder(main);
  graph::VariableOp::create(builder, main.getLoc(), variable, words(0, 0),
                            UnitAttr());
  arguments.push_back({raw().getStringAttr(graph::names::kVariable), variable});
  Value drawn = trace.constant(words(0, used.generator.blocks));
  used.memory->value =
      graph::AddOp::create(raw(), main.getLoc(), used.initial, drawn);
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
  for (Operation &op : main.front().without_terminator())
    if (!inTraining)
      raw().clone(op, mapping);
    else if (failed(addTrained(op)))
      return failure();
  declareGenerator();
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

Tensor FunctionBuilder::addTeacher(func::FuncOp teacher) {
  IRMapping of;
  for (BlockArgument argument : teacher.getArguments()) {
    auto index = studentArgument(teacher, argument.getArgNumber(), main);
    of.map(argument, mapping.lookup(main.getArgument(*index)));
  }
  for (Operation &op : teacher.front().without_terminator())
    raw().clone(op, of);
  return tensor(of.lookup(teacher.front().getTerminator()->getOperand(0)));
}

//===----------------------------------------------------------------------===//
// The loss
//===----------------------------------------------------------------------===//

static RankedTensorType typeOf(MLIRContext *context,
                               const Loss::Target &target) {
  return RankedTensorType::get(
      SmallVector<int64_t>(target.shape.begin(), target.shape.end()),
      elementType(context, target.dtype));
}

FailureOr<Tensor> FunctionBuilder::addLoss(const Loss &loss) {
  auto prediction = cast<RankedTensorType>(main.getResultTypes()[0]);
  Loss::Target like = loss.target(Shape(std::span(prediction.getShape())),
                                  DType(dtypeOf(prediction.getElementType())));
  llvm::StringSet<> inputs;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<StringAttr>(i, graph::names::kName))
      inputs.insert(name.getValue());
  Tensor target =
      addInput(freeName("target", inputs), typeOf(main.getContext(), like));
  Tensor value = loss(outputs[0], target);
  if (value.shape().size() == 0)
    return value;
  return main.emitError() << "loss \"" << loss.name()
                          << "\" is not one number; choose another reduction";
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

/// A choice comes right after what it is about, and all that is computed of
/// that reads the choice: kernels have one result, and what is in memory then
/// is the next value alone.
void FunctionBuilder::keepVariablesUnless(const Tensor &condition) {
  Value holds = value(condition);
  OpBuilder::InsertionGuard guard(raw());
  for (const eager::Trace::Argument &argument : trace.arguments()) {
    if (!argument.isChanged() || argument.generator.state)
      continue;
    Value next = argument.memory->value;
    Operation *last = holds.getDefiningOp();
    if (Operation *op = next.getDefiningOp(); op && last->isBeforeInBlock(op))
      last = op;
    raw().setInsertionPointAfter(last);
    auto choice = graph::WhereOp::create(raw(), next.getLoc(), holds, next,
                                         argument.initial);
    next.replaceUsesWithIf(choice, [&](OpOperand &use) {
      return choice->isBeforeInBlock(
          choice->getBlock()->findAncestorOpInBlock(*use.getOwner()));
    });
    argument.memory->value = choice;
  }
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

} // namespace tinh::training
