//===- Strategies.cpp - How kernels for CPUs are computed -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategies.h"

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/DepthwiseGradient/DepthwiseGradient.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"
#include "compiler/Codegen/CPU/Scatter/Scatter.h"
#include "compiler/Codegen/CPU/Sized/Sized.h"
#include "compiler/Codegen/CPU/Transpose/Transpose.h"
#include "compiler/Codegen/CPU/Windows/Windows.h"
#include "compiler/Codegen/CPU/Winograd/FilterTransform.h"
#include "compiler/Codegen/CPU/Winograd/Winograd.h"
#include "compiler/Codegen/CPU/Winograd/WinogradGradient.h"

using namespace mlir;

namespace tinh::cpu {

StrategyTable<Device> strategies() {
  return tableOf<Device, ContractionStrategy, WinogradStrategy,
                 FilterTransformStrategy, WinogradGradientStrategy,
                 OuterProductsStrategy, DepthwiseGradientStrategy,
                 WindowsStrategy, ScatterStrategy, TransposeStrategy,
                 RowsStrategy>();
}

FailureOr<Target> targetOf(ModuleOp module) {
  auto name = module->getAttrOfType<StringAttr>(graph::names::kCpu);
  auto target = lookupTarget(name ? name.getValue() : "native");
  if (target)
    return *target;
  return module.emitError(llvm::toString(target.takeError()));
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

LogicalResult splitKernels(ModuleOp module, const Target &target,
                           VisitKernel visit) {
  return prepareKernels(
      module, /*onCuda=*/false,
      [&](DispatchedKernel dispatched) -> SmallVector<graph::DispatchOp> {
        auto [symbols, kernel, dispatch] = dispatched;
        if (kernel->hasAttr(graph::names::kPlan))
          return {};
        graph::KernelPlanInterface plan =
            strategies().cheapest(kernel, target)->plan;
        const Strategy<Device> *strategy = strategies().find(plan);
        if (strategy->split)
          if (auto part = strategy->split(dispatched, target))
            return {dispatch, part};
        visit(dispatched, plan);
        return {};
      });
}

void setPlan(func::FuncOp kernel, const Candidate &candidate) {
  Builder b(kernel.getContext());
  kernel->setAttr(graph::names::kPlan, candidate.plan);
  kernel->setAttr(graph::names::kEstimate,
                  b.getI64IntegerAttr(std::llround(candidate.cycles)));
}

void chooseStrategies(ModuleOp module, const Target &target, bool remarks) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel.isPrivate() || kernel.isExternal() || graph::isOnCuda(kernel))
      continue;
    // Unless somebody has chosen it.
    if (!kernel->hasAttr(graph::names::kPlan))
      setPlan(kernel, *strategies().cheapest(kernel, target, remarks));
    setInplace(kernel, [&](BlockArgument argument) {
      return isReadAtItsIndex(argument) || isScatteredInto(kernel, argument);
    });
  }
}

LogicalResult divideKernels(ModuleOp module, const Target &target) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(graph::names::kPlan) || graph::isOnCuda(kernel))
      continue;
    auto division = strategies().divide(kernel, target);
    if (failed(division))
      return failure();
    setDivision(kernel, *division);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Says that results lie apart from all else, unless one may be written over an
/// input: what rows read in common is then loaded once for all of them.
static void keepApart(EmittedKernel &kernel) {
  func::FuncOp source = kernel.source;
  if (source->hasAttr(graph::names::kInplace))
    return;
  Builder b(source.getContext());
  for (unsigned i = 0; i < source.getNumResults(); ++i)
    kernel.function.setArgAttr(source.getNumArguments() + i, "llvm.noalias",
                               b.getUnitAttr());
}

FailureOr<func::FuncOp> emitKernel(func::FuncOp kernel, ModuleOp module,
                                   const Target &target) {
  if (isForAnySize(kernel->getAttr(graph::names::kPlan)))
    return emitSizedKernel(kernel, module, target);
  auto division = strategies().divide(kernel, target);
  if (failed(division) || failed(checkDivision(kernel, *division)))
    return failure();
  // Operands, scratch memory, and the chunks to compute.
  SmallVector<Type> types = operandMemory(kernel);
  Builder b(kernel.getContext());
  types.push_back(MemRefType::get({std::max<int64_t>(division->scratch, 1)},
                                  b.getI8Type()));
  types.append(2, b.getIndexType());
  EmittedKernel emitted(kernel, types, module);
  keepApart(emitted);
  if (succeeded(strategies().emit(emitted, target)))
    return cast<func::FuncOp>(emitted.function.getOperation());
  emitted.function.erase();
  return failure();
}

} // namespace tinh::cpu
