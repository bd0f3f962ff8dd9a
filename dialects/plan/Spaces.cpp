//===- Spaces.cpp - What memory a plan has ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "dialects/plan/Spaces.h"

#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::plan {

Spaces::Spaces(FunctionOp function) : function(function) {
  auto module = function->getParentOfType<ModuleOp>();
  for (auto weight : module.getOps<WeightOp>())
    weightEnds[weight.getOffset()] = weight.getBuffer().getEnd();
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getOnDevice())
      onDevice.insert(variable.getNameAttr());
}

LogicalResult Spaces::findVariables() {
  llvm::StringMap<int64_t> byName;
  auto input = [&](int64_t i) {
    return cast<TensorAttr>(function.getInputs()[i]);
  };
  for (int64_t i = 0; i < static_cast<int64_t>(function.getInputs().size());
       ++i)
    if (input(i).getVariable() &&
        !byName.try_emplace(input(i).getName(), i).second)
      return function.emitOpError()
             << "has variable " << input(i).getName() << " twice as an input";
  for (auto [i, attribute] : llvm::enumerate(function.getOutputs())) {
    auto output = cast<TensorAttr>(attribute);
    if (!output.getVariable())
      continue;
    auto found = byName.find(output.getName());
    if (found == byName.end() ||
        input(found->second).getType() != output.getType())
      return function.emitOpError()
             << "output " << i << " is variable " << output.getName()
             << ", but no input of its type is";
    inputs[i] = found->second;
    if (!changed.insert(found->second).second)
      return function.emitOpError()
             << "has variable " << output.getName() << " twice as an output";
  }
  return success();
}

bool Spaces::isOnDevice(BufferAttr buffer) const {
  auto isVariable = [&](ArrayAttr tensors) {
    if (buffer.getIndex() >= tensors.size())
      return false; // It does not exist.
    auto tensor = cast<TensorAttr>(tensors[buffer.getIndex()]);
    return tensor.getVariable() && onDevice.contains(tensor.getName());
  };
  switch (buffer.getSpace()) {
  case Space::Device:
  case Space::DeviceWeights:
    return true;
  case Space::Input:
    return isVariable(function.getInputs());
  case Space::Output:
    return isVariable(function.getOutputs());
  default:
    return false;
  }
}

std::optional<int64_t> Spaces::sizeOf(BufferAttr buffer,
                                      size_t numLoops) const {
  auto argument = [&](ArrayAttr tensors) -> std::optional<int64_t> {
    if (buffer.getIndex() >= tensors.size())
      return std::nullopt;
    auto tensor = cast<TensorAttr>(tensors[buffer.getIndex()]);
    return graph::tensorSize(tensor.getType());
  };
  switch (buffer.getSpace()) {
  case Space::Arena:
    return function.getArena();
  case Space::Device:
    return function.getDeviceArena();
  case Space::Input:
    return argument(function.getInputs());
  case Space::Output:
    if (inputs.contains(buffer.getIndex()))
      return std::nullopt;
    return argument(function.getOutputs());
  case Space::Loop:
    if (buffer.getIndex() >= numLoops)
      return std::nullopt;
    return 8;
  case Space::Weights:
  case Space::DeviceWeights:
    break;
  }
  auto weight = weightEnds.upper_bound(buffer.getOffset());
  if (weight == weightEnds.begin())
    return std::nullopt;
  return std::prev(weight)->second;
}

} // namespace tinh::plan
