//===- KernelFacts.cpp - What a profile tells of a kernel -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/KernelFacts.h"

#include "compiler/Codegen/Kernel/Work.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

using namespace mlir;

namespace tinh {

/// Up to 2^53, as far as doubles are exact integers.
static int64_t wholeNumber(double value) {
  return static_cast<int64_t>(std::min(value, 9007199254740992.0));
}

static plan::WorkAttr workOf(Operation *kernel) {
  auto function = dyn_cast<func::FuncOp>(kernel);
  if (!function)
    return kernel->getAttrOfType<plan::WorkAttr>(kWork);
  codegen::Work work = codegen::workOf(function);
  return plan::WorkAttr::get(kernel->getContext(), wholeNumber(work.operations),
                             wholeNumber(work.bytes));
}

/// The plan as its text.
static std::string planOf(Operation *kernel) {
  std::string text;
  if (Attribute plan = kernel->getAttr(graph::names::kPlan))
    llvm::raw_string_ostream(text) << plan;
  return text;
}

KernelFacts factsOf(Operation *kernel) {
  KernelFacts facts;
  if (plan::WorkAttr work = workOf(kernel)) {
    facts.operations = work.getOperations();
    facts.bytes = work.getBytes();
  }
  if (auto cycles = kernel->getAttrOfType<IntegerAttr>(graph::names::kEstimate))
    facts.estimatedCycles = cycles.getInt();
  facts.plan = planOf(kernel);
  return facts;
}

void keepFacts(func::FuncOp kernel, Operation *lowered) {
  lowered->setAttr(kWork, workOf(kernel));
  for (StringRef name : {graph::names::kPlan, graph::names::kEstimate})
    if (Attribute value = kernel->getAttr(name))
      lowered->setAttr(name, value);
}

} // namespace tinh
