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

/// The kernels that something runs.
llvm::DenseSet<StringRef> findDispatched(ModuleOp module) {
  llvm::DenseSet<StringRef> dispatched;
  module.walk([&](graph::DispatchOp op) { dispatched.insert(op.getKernel()); });
  for (auto variable : module.getOps<graph::VariableOp>())
    if (variable.getStored()) {
      dispatched.insert(*variable.getPack());
      dispatched.insert(*variable.getUnpack());
    }
  return dispatched;
}

/// By name of a kernel, the one that replaces it.
using Replacements = llvm::DenseMap<StringAttr, func::FuncOp>;

void replaceUses(ModuleOp module, const Replacements &replacements) {
  auto replacement = [&](FlatSymbolRefAttr kernel) {
    auto found =
        kernel ? replacements.find(kernel.getAttr()) : replacements.end();
    return found == replacements.end() ? kernel
                                       : FlatSymbolRefAttr::get(found->second);
  };
  module.walk([&](graph::DispatchOp op) {
    op.setKernelAttr(replacement(op.getKernelAttr()));
  });
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (!variable.getStored())
      continue;
    variable.setPackAttr(replacement(variable.getPackAttr()));
    variable.setUnpackAttr(replacement(variable.getUnpackAttr()));
  }
}

struct MergeKernels : impl::MergeKernelsBase<MergeKernels> {
  void runOnOperation() override;
};

} // namespace

void MergeKernels::runOnOperation() {
  llvm::DenseSet<StringRef> dispatched = findDispatched(getOperation());
  llvm::StringMap<func::FuncOp> firsts;
  Replacements replacements;
  SmallVector<func::FuncOp> duplicates;
  for (auto function : getOperation().getOps<func::FuncOp>()) {
    if (!function.isPrivate() || !dispatched.contains(function.getSymName()))
      continue;
    auto [first, isNew] = firsts.try_emplace(contentOf(function), function);
    if (isNew)
      continue;
    replacements[function.getSymNameAttr()] = first->second;
    duplicates.push_back(function);
  }
  replaceUses(getOperation(), replacements);
  for (func::FuncOp function : duplicates)
    function.erase();
  numMerged += duplicates.size();
}

} // namespace tinh::codegen
