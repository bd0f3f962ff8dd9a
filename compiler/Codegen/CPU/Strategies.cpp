//===- Strategies.cpp - How kernels for CPUs are computed -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategies.h"

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"
#include "compiler/Codegen/CPU/Rows/Rows.h"
#include "compiler/Codegen/CPU/Scatter/Scatter.h"
#include "compiler/Codegen/CPU/Sized/Sized.h"
#include "compiler/Codegen/CPU/Transpose/Transpose.h"
#include "compiler/Codegen/CPU/Windows/Windows.h"
#include "compiler/Codegen/Kernel/Choosing.h"

using namespace mlir;

namespace tinh::cpu {

ArrayRef<Strategy<Device>> strategies() {
  static const Strategy<Device> table[] = {
      strategyOf<Device, ContractionStrategy>(),
      strategyOf<Device, OuterProductsStrategy>(),
      strategyOf<Device, WindowsStrategy>(),
      strategyOf<Device, ScatterStrategy>(),
      strategyOf<Device, TransposeStrategy>(),
      strategyOf<Device, RowsStrategy>(),
  };
  return table;
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

Candidate choosePlan(func::FuncOp kernel, const Target &target) {
  // Rows compute every kernel.
  return *cheapest(considerAll(strategies(), kernel, target));
}

LogicalResult splitKernels(ModuleOp module, const Target &target,
                           VisitKernel visit) {
  OpBuilder b(module.getContext());
  return prepareKernels(
      module, /*onCuda=*/false,
      [&](SymbolTable &symbols, func::FuncOp kernel,
          graph::DispatchOp dispatch) -> SmallVector<graph::DispatchOp> {
        if (kernel->hasAttr(graph::names::kPlan))
          return {};
        graph::KernelPlanInterface plan = choosePlan(kernel, target).plan;
        const Strategy<Device> *strategy = findStrategy(strategies(), plan);
        if (strategy->split)
          if (auto part = strategy->split(b, symbols, kernel, dispatch, target))
            return {dispatch, part};
        visit(dispatch, kernel, plan);
        return {};
      });
}

/// Unless the kernel has a plan: then somebody has chosen it.
static void setPlan(func::FuncOp kernel, const Target &target, bool remarks) {
  if (kernel->hasAttr(graph::names::kPlan))
    return;
  Builder b(kernel.getContext());
  auto considered = considerAll(strategies(), kernel, target);
  const Candidate *best = cheapest(considered);
  if (remarks)
    remark(kernel, considered);
  kernel->setAttr(graph::names::kPlan, best->plan);
  kernel->setAttr(graph::names::kEstimate,
                  b.getI64IntegerAttr(std::llround(best->cycles)));
}

void chooseStrategies(ModuleOp module, const Target &target, bool remarks) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel.isPrivate() || kernel.isExternal() || graph::isOnCuda(kernel))
      continue;
    setPlan(kernel, target, remarks);
    setInplace(kernel, [&](BlockArgument argument) {
      return isReadAtItsIndex(argument) || isScatteredInto(kernel, argument);
    });
  }
}

//===----------------------------------------------------------------------===//
// What follows from plans
//===----------------------------------------------------------------------===//

/// The strategy of the kernel's plan.
static FailureOr<const Strategy<Device> *> strategyFor(func::FuncOp kernel) {
  Attribute plan = kernel->getAttr(graph::names::kPlan);
  if (!plan)
    return kernel.emitError("no strategy has been chosen for this kernel");
  if (const Strategy<Device> *strategy = findStrategy(strategies(), plan))
    return strategy;
  return kernel.emitError()
         << "has the plan " << plan << ", which is not one for a CPU";
}

FailureOr<Division> divideKernel(func::FuncOp kernel, const Target &target) {
  auto strategy = strategyFor(kernel);
  if (failed(strategy))
    return failure();
  return (*strategy)->divide(kernel, kernel->getAttr(graph::names::kPlan),
                             target);
}

LogicalResult divideKernels(ModuleOp module, const Target &target) {
  Builder b(module.getContext());
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel->hasAttr(graph::names::kPlan) || graph::isOnCuda(kernel))
      continue;
    auto division = divideKernel(kernel, target);
    if (failed(division))
      return failure();
    kernel->setAttr(graph::names::kChunks,
                    b.getI64IntegerAttr(division->chunks));
    kernel->setAttr(graph::names::kScratch,
                    b.getI64IntegerAttr(division->scratch));
  }
  return success();
}

/// What the kernel's attributes say must be what its plan does: callers run as
/// many chunks and give as much memory.
static LogicalResult checkDivision(func::FuncOp kernel, const Target &target) {
  auto chunks = kernel->getAttrOfType<IntegerAttr>(graph::names::kChunks);
  auto scratch = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);
  auto division = divideKernel(kernel, target);
  if (failed(division))
    return failure();
  if (!chunks || !scratch)
    return kernel.emitError("has no ")
           << graph::names::kChunks << " and " << graph::names::kScratch
           << ": divide kernels before code is made of them";
  if (division->chunks != chunks.getInt() ||
      division->scratch != scratch.getInt())
    return kernel.emitError("its plan makes ")
           << division->chunks << " chunks with " << division->scratch
           << " bytes of scratch memory, not " << chunks.getInt() << " with "
           << scratch.getInt();
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// The memory of each operand, scratch memory, and the chunks to compute.
static SmallVector<Type> parameterTypes(func::FuncOp kernel) {
  Builder b(kernel.getContext());
  SmallVector<Type> types;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    types.push_back(flatType(cast<RankedTensorType>(type),
                             operandStrides(kernel, types.size())));
  int64_t scratch =
      kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch).getInt();
  types.push_back(
      MemRefType::get({std::max<int64_t>(scratch, 1)}, b.getI8Type()));
  types.append(2, b.getIndexType());
  return types;
}

FailureOr<func::FuncOp> emitKernel(func::FuncOp kernel, ModuleOp module,
                                   const Target &target) {
  auto sized = kernel->getAttrOfType<StringAttr>(graph::names::kStrategy);
  if (sized && isSized(sized.getValue()))
    return emitSizedKernel(kernel, module, target);
  if (failed(checkDivision(kernel, target)))
    return failure();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types = parameterTypes(kernel);
  auto function = func::FuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                       b.getFunctionType(types, {}));
  Block *entry = function.addEntryBlock();
  OpBuilder atEnd = OpBuilder::atBlockEnd(entry);
  func::ReturnOp::create(atEnd, kernel.getLoc());
  unsigned count = types.size();
  EmittedKernel emitted{kernel, function, entry->getArgument(count - 3),
                        entry->getArgument(count - 2),
                        entry->getArgument(count - 1)};
  Attribute plan = kernel->getAttr(graph::names::kPlan);
  if (succeeded((*strategyFor(kernel))->emit(emitted, plan, target)))
    return function;
  function.erase();
  return kernel.emitError("internal error: no code for this kernel as ")
         << plan;
}

} // namespace tinh::cpu
