//===- Strategy.cpp - What a table of strategies is made of -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Strategy.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "dialects/graph/Strides.h"

#include "llvm/Support/Format.h"

using namespace mlir;

namespace tinh::codegen {

std::optional<Candidate> cheapest(ArrayRef<Considered> considered) {
  std::optional<Candidate> best;
  for (const Considered &strategy : considered)
    for (const Candidate &candidate : strategy.candidates)
      if (!best || candidate.cost() < best->cost())
        best = candidate;
  return best;
}

void remark(func::FuncOp kernel, ArrayRef<Considered> considered) {
  SmallVector<const Candidate *> candidates;
  for (const Considered &strategy : considered)
    for (const Candidate &candidate : strategy.candidates)
      candidates.push_back(&candidate);
  llvm::sort(candidates,
             [](auto *x, auto *y) { return x->cost() < y->cost(); });
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "kernel '" << kernel.getName() << "'";
  for (const Candidate *candidate : candidates)
    stream << "\n  " << llvm::format("%12.0f", candidate->cycles)
           << " cycles + " << llvm::format("%.0f", candidate->idle) << "  "
           << candidate->plan;
  for (const Considered &strategy : considered)
    if (strategy.candidates.empty())
      stream << "\n             no " << strategy.strategy << ": it "
             << strategy.whyNot;
  kernel.emitRemark() << text;
}

void setDivision(func::FuncOp kernel, const Division &division) {
  Builder b(kernel.getContext());
  auto set = [&](StringRef name, int64_t value) {
    kernel->setAttr(name, b.getI64IntegerAttr(value));
  };
  set(graph::names::kChunks, division.chunks);
  set(graph::names::kScratch, division.scratch);
  if (division.threads)
    set(graph::names::kThreads, division.threads);
}

LogicalResult checkDivision(func::FuncOp kernel, const Division &division) {
  auto number = [&](StringRef name) {
    auto value = kernel->getAttrOfType<IntegerAttr>(name);
    return value ? value.getInt() : 0;
  };
  if (!kernel->hasAttr(graph::names::kChunks) ||
      !kernel->hasAttr(graph::names::kScratch))
    return kernel.emitError("has no ")
           << graph::names::kChunks << " and " << graph::names::kScratch
           << ": divide kernels before code is made of them";
  Division given{number(graph::names::kChunks), number(graph::names::kThreads),
                 number(graph::names::kScratch)};
  if (division == given)
    return success();
  auto describe = [](const Division &d) {
    std::string threads = " of " + std::to_string(d.threads) + " threads";
    return std::to_string(d.chunks) + " chunks" + (d.threads ? threads : "") +
           " with " + std::to_string(d.scratch) + " bytes of scratch memory";
  };
  return kernel.emitError("its plan makes ")
         << describe(division) << ", not " << describe(given);
}

SmallVector<Type> operandMemory(func::FuncOp kernel) {
  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    types.push_back(flatType(cast<RankedTensorType>(type),
                             operandStrides(kernel, types.size())));
  return types;
}

LogicalResult prepareKernels(ModuleOp module, bool onCuda,
                             PrepareKernel prepare) {
  SymbolTable symbols(module);
  SmallVector<graph::DispatchOp> worklist;
  module.walk([&](graph::DispatchOp op) { worklist.push_back(op); });
  std::reverse(worklist.begin(), worklist.end());
  while (!worklist.empty()) {
    graph::DispatchOp dispatch = worklist.pop_back_val();
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel)
      return dispatch.emitOpError("names no kernel function");
    if (graph::isOnCuda(kernel) == onCuda)
      worklist.append(prepare({symbols, kernel, dispatch}));
  }
  return success();
}

void setInplace(func::FuncOp kernel,
                function_ref<bool(BlockArgument)> mayShare) {
  if (kernel.getNumResults() != 1 ||
      kernel.getResultAttr(0, graph::names::kStrides))
    return;
  Builder b(kernel.getContext());
  auto result = cast<RankedTensorType>(kernel.getResultTypes()[0]);
  SmallVector<Attribute> pairs;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (!argument.use_empty() && type.getShape() == result.getShape() &&
        graph::tensorSize(type) == graph::tensorSize(result) &&
        !kernel.getArgAttr(argument.getArgNumber(), graph::names::kStrides) &&
        mayShare(argument))
      pairs.push_back(b.getDenseI64ArrayAttr({argument.getArgNumber(), 0}));
  }
  if (!pairs.empty())
    kernel->setAttr(graph::names::kInplace, b.getArrayAttr(pairs));
}

} // namespace tinh::codegen
