//===- FunctionBuilder.cpp - A function of a training artifact ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/FunctionBuilder.h"

#include "compiler/Eager/Function/TracedViews.h"
#include "compiler/Training/StepCollectives.h"
#include "compiler/Training/Teacher.h"
#include "compiler/Training/TrainingForm.h"
#include "compiler/Transforms/Constants/Constants.h"

using namespace mlir;

namespace tinh::training {

using eager::Dims;
using eager::Ref;
using eager::TensorAccess;
using eager::TensorImpl;

/// A type of so many times the rows.
static RankedTensorType repeated(RankedTensorType type, int64_t times) {
  SmallVector<int64_t> shape(type.getShape());
  if (!shape.empty())
    shape[0] *= times;
  return type.clone(shape);
}

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
  auto next = normaliseByBatch(copy, isRepeated ? nullptr : ranks);
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
/// seed and counter. In `body`, which is repeated for `parts`, each iteration
/// draws what comes behind what the one before has drawn.
void FunctionBuilder::declareGenerator(int64_t parts, Block *body) {
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
  uint64_t blocks = used.generator.blocks;
  if (body) {
    OpBuilder inner = OpBuilder::atBlockBegin(body);
    GraphBuilder graphOps(inner, main.getLoc());
    GraphOps ops(graphOps);
    Value drawn = graph::ConstantOp::create(
        inner, main.getLoc(), used.memory->type, words(0, blocks));
    Value index =
        ops.cast(body->getArgument(0), used.memory->type.getElementType());
    Value own = ops.add(used.initial, ops.mul(drawn, index));
    Operation *last = own.getDefiningOp();
    Value initial = used.initial;
    initial.replaceUsesWithIf(own, [&](OpOperand &use) {
      Operation *user = body->findAncestorOpInBlock(*use.getOwner());
      return user && last->isBeforeInBlock(user);
    });
  }
  Value drawn = trace.constant(words(0, blocks * static_cast<uint64_t>(parts)));
  used.memory->value =
      graph::AddOp::create(raw(), main.getLoc(), used.initial, drawn);
}

LogicalResult FunctionBuilder::declareArguments(int64_t parts) {
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto variable =
        main.getArgAttrOfType<StringAttr>(i, graph::names::kVariable);
    auto input = main.getArgAttrOfType<StringAttr>(i, graph::names::kName);
    auto type = cast<RankedTensorType>(argument.getType());
    if (!variable && parts > 1 && type.getRank() == 0)
      return main.emitError() << "input " << input
                              << " is a scalar, which has no batch to "
                                 "accumulate gradients over";
    Tensor tensor = variable ? addVariable(variable, type)
                             : addInput(input, repeated(type, parts));
    if (variable)
      variables.emplace_back(variable, tensor);
    mapping.map(argument, value(tensor));
  }
  return success();
}

LogicalResult FunctionBuilder::addModel(bool inTraining) {
  for (Operation &op : main.front().without_terminator())
    if (!inTraining)
      raw().clone(op, mapping);
    else if (failed(addTrained(op)))
      return failure();
  // What the statistics are now.
  for (auto [argument, variable] : llvm::zip_equal(
           llvm::make_filter_range(main.getArguments(),
                                   [&](BlockArgument argument) {
                                     return !!statisticOf(main, argument);
                                   }),
           variables))
    trace.write(*TensorAccess::get(variable.second), mapping.lookup(argument));
  if (!isRepeated)
    declareGenerator(1, nullptr);
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

Tensor FunctionBuilder::addTarget(const Loss &loss, int64_t parts) {
  auto prediction = cast<RankedTensorType>(main.getResultTypes()[0]);
  Loss::Target like = loss.target(Shape(std::span(prediction.getShape())),
                                  DType(dtypeOf(prediction.getElementType())));
  llvm::StringSet<> inputs;
  for (unsigned i = 0; i < main.getNumArguments(); ++i)
    if (auto name = main.getArgAttrOfType<StringAttr>(i, graph::names::kName))
      inputs.insert(name.getValue());
  return addInput(freeName("target", inputs),
                  repeated(typeOf(main.getContext(), like), parts));
}

FailureOr<Tensor> FunctionBuilder::addLoss(const Loss &loss,
                                           const Tensor &target) {
  Tensor value = loss(outputs[0], target);
  if (value.shape().size() == 0)
    return value;
  return main.emitError() << "loss \"" << loss.name()
                          << "\" is not one number; choose another reduction";
}

//===----------------------------------------------------------------------===//
// Parts of a batch
//===----------------------------------------------------------------------===//

/// An input of a step as rows of a loop, and one of them.
struct FunctionBuilder::Rows {
  Value all;
  BlockArgument row;
};

FunctionBuilder::Rows FunctionBuilder::addRows(Block &body, Value input,
                                               int64_t parts) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[0] /= parts;
  RankedTensorType row = type.clone(shape);
  shape.insert(shape.begin(), parts);
  Value all =
      graph::ReshapeOp::create(raw(), main.getLoc(), type.clone(shape), input);
  return {all, body.addArgument(row, main.getLoc())};
}

Value FunctionBuilder::meanOverRanks(Value value) {
  GraphBuilder graph(raw(), main.getLoc());
  GraphOps ops(graph);
  return StepCollectives(*ranks, ops).mean(value);
}

FailureOr<SmallVector<Value>>
FunctionBuilder::sumOverParts(int64_t parts, const Tensor &target,
                              TypeRange types, PartBody build) {
  Location loc = main.getLoc();
  auto body = std::make_unique<Block>();
  body->addArgument(graph::countType(main.getContext()), loc);
  SmallVector<Value> initial, xs;
  for (Type type : types) {
    body->addArgument(type, loc);
    initial.push_back(
        transforms::createSplat(raw(), loc, cast<RankedTensorType>(type), 0));
  }
  for (BlockArgument argument : main.getArguments())
    if (main.getArgAttr(argument.getArgNumber(), graph::names::kName)) {
      Rows rows = addRows(*body, mapping.lookup(argument), parts);
      xs.push_back(rows.all);
      mapping.map(argument, rows.row);
    }
  Rows ofTarget = addRows(*body, value(target), parts);
  xs.push_back(ofTarget.all);
  isRepeated = true;
  bool failed = false;
  SmallVector<std::pair<Tensor, Value>> statistics; // And what they begin with.
  for (const auto &[name, variable] : variables)
    statistics.push_back({variable, value(variable)});
  SmallVector<Value> next;
  record(*body, [&] {
    FailureOr<SmallVector<Value>> summands = build(tensor(ofTarget.row));
    if ((failed = mlir::failed(summands)))
      return;
    for (auto [i, summand] : llvm::enumerate(*summands))
      next.push_back(
          graph::AddOp::create(raw(), loc, body->getArgument(i + 1), summand));
    llvm::erase_if(statistics, [&](const auto &statistic) {
      return value(statistic.first) == statistic.second;
    });
    for (const auto &[variable, first] : statistics)
      next.push_back(value(variable));
    graph::YieldOp::create(raw(), loc, next);
  });
  if (failed)
    return failure();
  for (auto [i, statistic] : llvm::enumerate(statistics)) {
    Value first = statistic.second;
    initial.push_back(first);
    Value now =
        body->insertArgument(1 + types.size() + i, first.getType(), loc);
    first.replaceUsesWithIf(now, [&](OpOperand &use) {
      return body->findAncestorOpInBlock(*use.getOwner()) != nullptr;
    });
  }
  auto loop = graph::ScanOp::create(raw(), loc, ValueRange(initial).getTypes(),
                                    parts, /*trip_count=*/Value(),
                                    /*condition=*/Value(), initial, xs);
  loop.getBody().push_back(body.release());
  declareGenerator(parts, &loop.getBody().front());
  ValueRange finals = loop.getFinals();
  for (auto [statistic, last] :
       llvm::zip_equal(statistics, finals.drop_front(types.size())))
    assign(statistic.first, ranks ? meanOverRanks(last) : last);
  return SmallVector<Value>(finals.take_front(types.size()));
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
