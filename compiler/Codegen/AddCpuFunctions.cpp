//===- AddCpuFunctions.cpp - Functions for machines without a GPU ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   module attributes {graph.also_cpu, graph.cuda = ["sm_80"]} {
//     graph.variable "w" = … : tensor<8xf32> trainable
//     func.func @main(%x: …, %w: … {graph.variable = "w"}) { … }
//
// becomes
//
//   module attributes {graph.cuda = ["sm_80"]} {
//     graph.variable "w" = … : tensor<8xf32> trainable
//     graph.variable "w.cpu" = … : tensor<8xf32> trainable
//         {graph.instead_of = "w"}
//     func.func @main(%x: …, %w: … {graph.variable = "w"}) { … }
//     func.func @main_cpu(%x: …, %w: … {graph.variable = "w.cpu"})
//         attributes {graph.instead_of = "main"} { … }
//
// From there on they are functions and variables like others, which kernels and
// strategies are chosen for; weights and kernels that both need are one. What
// the GPU reads of the weights comes first, since its functions do.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"
#include "dialects/graph/Graph.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_ADDCPUFUNCTIONS
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// By variable, the one that stands in for it.
using Copies = llvm::DenseMap<Attribute, StringAttr>;

Copies copyVariables(ModuleOp module) {
  SmallVector<graph::VariableOp> variables(module.getOps<graph::VariableOp>());
  llvm::StringSet<> taken;
  for (graph::VariableOp variable : variables)
    taken.insert(variable.getName());
  Copies copies;
  OpBuilder builder(module.getContext());
  if (!variables.empty())
    builder.setInsertionPointAfter(variables.back());
  for (graph::VariableOp variable : variables) {
    std::string base = (variable.getName() + ".cpu").str(), name = base;
    for (unsigned i = 1; !taken.insert(name).second; ++i)
      name = base + "." + std::to_string(i);
    auto copy = cast<graph::VariableOp>(builder.clone(*variable));
    copy.setName(name);
    copy->setAttr(graph::names::kInsteadOf, variable.getNameAttr());
    copies[variable.getNameAttr()] = copy.getNameAttr();
  }
  return copies;
}

void renameVariables(func::FuncOp function, const Copies &copies) {
  StringRef key = graph::names::kVariable;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (Attribute name = function.getArgAttr(i, key))
      function.setArgAttr(i, key, copies.at(name));
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (Attribute name = function.getResultAttr(i, key))
      function.setResultAttr(i, key, copies.at(name));
}

struct AddCpuFunctions : impl::AddCpuFunctionsBase<AddCpuFunctions> {
  void runOnOperation() override;
};

} // namespace

void AddCpuFunctions::runOnOperation() {
  ModuleOp module = getOperation();
  if (!module->removeAttr(graph::names::kAlsoCpu) ||
      !module->hasAttr(graph::names::kCuda))
    return;
  Copies copies = copyVariables(module);
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>())
    if (graph::isEntry(function))
      entries.push_back(function);
  SymbolTable symbols(module);
  for (func::FuncOp function : entries) {
    func::FuncOp copy = function.clone();
    copy.setSymName((function.getSymName() + "_cpu").str());
    copy->setAttr(graph::names::kInsteadOf, function.getSymNameAttr());
    renameVariables(copy, copies);
    symbols.insert(copy, module.getBody()->end());
    ++numCopies;
  }
}

} // namespace tinh::codegen
