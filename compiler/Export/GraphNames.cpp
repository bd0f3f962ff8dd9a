//===- GraphNames.cpp - Names for the tensors and nodes of a model --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/GraphNames.h"

#include "dialects/graph/Graph.h"

#include "llvm/Support/JSON.h"

using namespace mlir;

namespace tinh {

func::FuncOp findMain(ModuleOp module) {
  auto isTensor = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.hasStaticShape();
  };
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (main && main.getBody().hasOneBlock() &&
      llvm::all_of(main.getArgumentTypes(), isTensor) &&
      llvm::all_of(main.getResultTypes(), isTensor))
    return main;
  module.emitError(
      "only a module with a function @main of one block, from "
      "tensors to tensors, can be exported: IR in phase 'graph' or "
      "'normalised'");
  return {};
}

std::string nameOf(Location location) {
  return llvm::json::fixUTF8(graph::nodeName(location));
}

/// The name in an attribute `graph.name`; empty, with an error, if there is
/// none that files can hold.
static StringRef nameIn(func::FuncOp main, StringAttr name, const Twine &what) {
  if (name && !name.empty() && llvm::json::isUTF8(name.getValue()))
    return name.getValue();
  main.emitError() << what << " of @main has no " << graph::names::kName
                   << " in UTF-8";
  return "";
}

std::string GraphNames::fresh(StringRef wanted) {
  if (taken.insert(wanted).second)
    return wanted.str();
  unsigned &number = numbers[wanted];
  std::string name;
  do
    name = (wanted + "_" + Twine(++number)).str();
  while (!taken.insert(name).second);
  return name;
}

LogicalResult GraphNames::nameInputs(func::FuncOp main) {
  for (BlockArgument argument : main.getArguments()) {
    unsigned i = argument.getArgNumber();
    StringRef name =
        nameIn(main, main.getArgAttrOfType<StringAttr>(i, graph::names::kName),
               "input " + Twine(i));
    if (name.empty())
      return failure();
    if (!taken.insert(name).second)
      return main.emitError()
             << "two inputs of @main are called \"" << name << "\"";
    tensors[argument] = name;
  }
  return success();
}

LogicalResult GraphNames::nameOutputs(func::FuncOp main) {
  Operation *end = main.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(end->getOperands())) {
    StringRef name = nameIn(
        main, main.getResultAttrOfType<StringAttr>(i, graph::names::kName),
        "output " + Twine(i));
    if (name.empty())
      return failure();
    if (main.getResultAttr(i, graph::names::kSizes))
      return main.emitError()
             << "the run decides the size of output \"" << name
             << "\", which a file can say in phase 'graph' alone, by "
                "graph.set_dimension_size; export that phase";
    OutputName &output = outputNames.emplace_back();
    output.name = name;
    output.value = value;
    if (auto it = tensors.find(value); it != tensors.end()) {
      output.isCopy = it->second != name;
      if (!output.isCopy)
        continue;
    } else {
      tensors[value] = name;
    }
    if (!taken.insert(name).second)
      return main.emitError() << "output \"" << name
                              << "\" of @main has the name of another input "
                                 "or output; in a file it needs its own";
  }
  return success();
}

void GraphNames::nameResults(Operation *op) {
  std::string wanted = nameOf(op->getLoc());
  if (wanted.empty())
    wanted = op->getName().stripDialect();
  for (Value result : op->getResults())
    if (!tensors.contains(result))
      tensors[result] = fresh(wanted);
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      tensors[argument] = fresh(wanted);
}

LogicalResult GraphNames::assign(func::FuncOp main) {
  if (failed(nameInputs(main)) || failed(nameOutputs(main)))
    return failure();
  main.getBody().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { nameResults(op); });
  return success();
}

const std::string &GraphNames::tensor(Value value) const {
  auto it = tensors.find(value);
  assert(it != tensors.end() && "the value is not of the function");
  return it->second;
}

std::string GraphNames::node(Operation *op) const {
  return op->getNumResults() ? tensor(op->getResult(0)) : nameOf(op->getLoc());
}

} // namespace tinh
