//===- Prefix.cpp - Functions that end at values of a model -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Bisection/Prefix.h"

#include "compiler/Graph/GraphBuilder.h"
#include "compiler/Reduction/Candidate.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace tinh::bisection {

SmallVector<Operation *> nodesOf(func::FuncOp function) {
  SmallVector<Operation *> nodes;
  for (Operation &op : function.front().without_terminator())
    if (!isa<graph::ConstantOp>(op))
      nodes.push_back(&op);
  return nodes;
}

static llvm::StringSet<> inputNames(func::FuncOp function) {
  llvm::StringSet<> names;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name =
            function.getArgAttrOfType<StringAttr>(i, graph::names::kName))
      names.insert(name.getValue());
  return names;
}

std::string inputName(func::FuncOp function, unsigned argument) {
  if (auto name =
          function.getArgAttrOfType<StringAttr>(argument, graph::names::kName))
    return name.str();
  std::string name =
      function.getArgAttrOfType<StringAttr>(argument, graph::names::kVariable)
          .str();
  return inputNames(function).contains(name) ? name + ".variable" : name;
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static FailureOr<Stored> initialValue(graph::VariableOp variable,
                                      MappedFiles &files) {
  TypedAttr value = graph::elementsOf(variable.getValue());
  if (auto dense = dyn_cast<DenseElementsAttr>(value))
    return Stored{variable.getType(),
                  reference::toBytes(reference::fromAttribute(dense))};
  auto bytes = files.read(cast<graph::ExternalAttr>(value));
  if (!bytes)
    return variable.emitError(llvm::toString(bytes.takeError()));
  return Stored{variable.getType(), bytes->vec()};
}

LogicalResult addVariables(func::FuncOp function, MappedFiles &files,
                           Data &data) {
  llvm::StringMap<graph::VariableOp> variables;
  for (auto variable :
       function->getParentOfType<ModuleOp>().getOps<graph::VariableOp>())
    variables[variable.getName()] = variable;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    auto name =
        function.getArgAttrOfType<StringAttr>(i, graph::names::kVariable);
    if (!name)
      continue;
    auto value = initialValue(variables.lookup(name.getValue()), files);
    if (failed(value))
      return failure();
    data[inputName(function, i)] = std::move(*value);
  }
  return success();
}

/// Erases variables that nothing reads.
static void eraseUnusedVariables(func::FuncOp function) {
  llvm::StringSet<> read;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (auto name =
            function.getArgAttrOfType<StringAttr>(i, graph::names::kVariable))
      read.insert(name.getValue());
  auto module = function->getParentOfType<ModuleOp>();
  for (auto variable :
       llvm::make_early_inc_range(module.getOps<graph::VariableOp>()))
    if (!read.contains(variable.getName()))
      variable.erase();
}

void flatten(func::FuncOp function) {
  Builder b(function.getContext());
  auto name = [&](const Twine &text) {
    return b.getDictionaryAttr(
        b.getNamedAttr(graph::names::kName, b.getStringAttr(text)));
  };
  SmallVector<DictionaryAttr> arguments;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    arguments.push_back(name(inputName(function, i)));
  function.setAllArgAttrs(arguments);
  function.setName(graph::names::kMain);
  eraseUnusedVariables(function);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

std::string nodeText(Value value) {
  if (StringRef name = graph::nodeName(value.getLoc()); !name.empty())
    return name.str();
  Operation *op = value.getDefiningOp();
  return op ? op->getName().stripDialect().str() : "input";
}

/// Names for results: those of their nodes, each once.
static SmallVector<DictionaryAttr> nameResults(func::FuncOp function,
                                               ValueRange values) {
  Builder b(function.getContext());
  llvm::StringSet<> taken;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    taken.insert(inputName(function, i));
  SmallVector<DictionaryAttr> names;
  for (Value value : values) {
    std::string wanted = nodeText(value), name = wanted;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = wanted + "." + std::to_string(i);
    names.push_back(b.getDictionaryAttr(
        b.getNamedAttr(graph::names::kName, b.getStringAttr(name))));
  }
  return names;
}

static void setResults(func::FuncOp function, ValueRange values) {
  function.front().getTerminator()->setOperands(values);
  function.setType(FunctionType::get(
      function.getContext(), function.getArgumentTypes(), values.getTypes()));
  function.setAllResultAttrs(nameResults(function, values));
}

static void eraseUnused(func::FuncOp function) {
  eraseDeadOps(function.front());
  llvm::BitVector unused(function.getNumArguments());
  for (BlockArgument argument : function.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)function.eraseArguments(unused);
  eraseUnusedVariables(function);
}

SmallVector<Operation *> nodesBehind(func::FuncOp function,
                                     ArrayRef<Value> values) {
  llvm::DenseSet<Operation *> needed;
  SmallVector<Value> worklist(values);
  while (!worklist.empty())
    if (Operation *op = worklist.pop_back_val().getDefiningOp();
        op && needed.insert(op).second)
      llvm::append_range(worklist, graph::readValues(op));
  SmallVector<Operation *> nodes = nodesOf(function);
  llvm::erase_if(nodes, [&](Operation *op) { return !needed.contains(op); });
  return nodes;
}

OwningOpRef<ModuleOp> endAt(func::FuncOp function, ArrayRef<Value> values) {
  auto module = function->getParentOfType<ModuleOp>();
  IRMapping copy;
  OwningOpRef<ModuleOp> result(cast<ModuleOp>(module->clone(copy)));
  auto copied = cast<func::FuncOp>(copy.lookup(function.getOperation()));
  for (auto other : llvm::make_early_inc_range(result->getOps<func::FuncOp>()))
    if (other != copied)
      other.erase();
  SmallVector<Value> results;
  for (Value value : values)
    results.push_back(copy.lookup(value));
  setResults(copied, results);
  eraseUnused(copied);
  return result;
}

//===----------------------------------------------------------------------===//
// Data
//===----------------------------------------------------------------------===//

std::vector<Stored> argumentsOf(func::FuncOp function, const Data &data) {
  std::vector<Stored> arguments;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto tensor = cast<RankedTensorType>(type);
    const Stored &whole = data.find(inputName(function, i))->second;
    arguments.push_back(
        {tensor, reduction::leadingBox(
                     whole.bytes, whole.type.getShape(), tensor.getShape(),
                     graph::elementSize(tensor.getElementType()))});
  }
  return arguments;
}

FailureOr<std::vector<reference::Tensor>> evaluate(func::FuncOp function,
                                                   const Data &data,
                                                   MappedFiles &files,
                                                   reference::Observe observe) {
  std::vector<reference::Tensor> arguments;
  for (const Stored &argument : argumentsOf(function, data))
    arguments.push_back(argument.tensor());
  return reference::evaluate(
      function, std::move(arguments),
      [&](graph::ExternalAttr value) { return files.read(value); }, observe);
}

} // namespace tinh::bisection
