//===- MergeKernels.cpp - Equal kernel functions become one -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   graph.dispatch @relu_0(…)            graph.dispatch @relu_0(…)
//   graph.dispatch @relu_1(…)     →      graph.dispatch @relu_0(…)
//   func.func private @relu_0 {…}        func.func private @relu_0 {…}
//   func.func private @relu_1 {…}
//
// if the two print alike but for their names.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"
#include "dialects/graph/Graph.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_MERGEKERNELS
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// The text of `function` without its name and its locations.
std::string contentOf(func::FuncOp function) {
  StringAttr name = function.getSymNameAttr();
  function.setSymName("kernel");
  std::string text;
  llvm::raw_string_ostream stream(text);
  function.print(stream, OpPrintingFlags().useLocalScope());
  function.setSymNameAttr(name);
  return text;
}

struct MergeKernelsPass : impl::MergeKernelsBase<MergeKernelsPass> {
  void runOnOperation() override { numMerged += mergeKernels(getOperation()); }
};

} // namespace

int64_t mergeKernels(ModuleOp module) {
  llvm::DenseSet<StringRef> dispatched;
  module.walk([&](graph::DispatchOp op) { dispatched.insert(op.getKernel()); });
  for (auto variable : module.getOps<graph::VariableOp>())
    if (variable.getStored()) {
      dispatched.insert(*variable.getPack());
      dispatched.insert(*variable.getUnpack());
    }

  llvm::StringMap<func::FuncOp> firsts;
  llvm::DenseMap<StringAttr, func::FuncOp> replacements;
  SmallVector<func::FuncOp> duplicates;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!function.isPrivate() || !dispatched.contains(function.getSymName()))
      continue;
    auto [first, isNew] = firsts.try_emplace(contentOf(function), function);
    if (isNew)
      continue;
    replacements[function.getSymNameAttr()] = first->second;
    duplicates.push_back(function);
  }
  module.walk([&](graph::DispatchOp op) {
    auto found = replacements.find(op.getKernelAttr().getAttr());
    if (found != replacements.end())
      op.setKernel(found->second.getSymName());
  });
  auto replacement = [&](FlatSymbolRefAttr kernel) {
    auto found =
        kernel ? replacements.find(kernel.getAttr()) : replacements.end();
    return found == replacements.end() ? kernel
                                       : FlatSymbolRefAttr::get(found->second);
  };
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (!variable.getStored())
      continue;
    variable.setPackAttr(replacement(variable.getPackAttr()));
    variable.setUnpackAttr(replacement(variable.getUnpackAttr()));
  }
  for (func::FuncOp function : duplicates)
    function.erase();
  return duplicates.size();
}

} // namespace tinh::codegen
