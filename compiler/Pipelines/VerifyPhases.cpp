//===- VerifyPhases.cpp - What holds after each phase -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the table of phases in docs/architecture.md says beyond what each op
// verifies of itself. Modules are checked when they are read and when a phase
// ends.
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Phases.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// graph … kernels: functions
//===----------------------------------------------------------------------===//

static LogicalResult
verifyArguments(func::FuncOp main, StringRef what, TypeRange types,
                llvm::function_ref<StringAttr(unsigned)> nameOf) {
  llvm::StringSet<> names;
  for (auto [i, type] : llvm::enumerate(types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() ||
        !tensor.getElementType().isIntOrFloat())
      return main.emitError() << what << " " << i << " of @main is " << type
                              << ", not a tensor of numbers with a static "
                                 "shape";
    if (tensor.getRank() > TINH_MAX_RANK)
      return main.emitError()
             << what << " " << i << " of @main has " << tensor.getRank()
             << " dimensions; at most " << TINH_MAX_RANK << " are supported";
    StringAttr name = nameOf(i);
    if (!name)
      return main.emitError()
             << what << " " << i << " of @main has no " << graph::names::kName;
    if (!names.insert(name.getValue()).second)
      return main.emitError()
             << "two " << what << "s of @main are called " << name;
  }
  return success();
}

static FailureOr<func::FuncOp> verifyMain(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    return module.emitError("the module has no function @main");
  if (!main.getBody().hasOneBlock())
    return main.emitError("@main must have a body of one block");
  auto argumentName = [&](unsigned i) {
    return main.getArgAttrOfType<StringAttr>(i, graph::names::kName);
  };
  auto resultName = [&](unsigned i) {
    return main.getResultAttrOfType<StringAttr>(i, graph::names::kName);
  };
  if (failed(verifyArguments(main, "argument", main.getArgumentTypes(),
                             argumentName)) ||
      failed(
          verifyArguments(main, "result", main.getResultTypes(), resultName)))
    return failure();
  return main;
}

/// Whether `op` may stand in a function body of `phase`.
static bool belongs(Operation &op, Phase phase) {
  switch (phase) {
  case Phase::Optimised:
    return belongs(op, Phase::Normalised) && !isa<graph::ConvTransposeOp>(op);
  case Phase::Fused:
    return isa<graph::ConstantOp, graph::ReshapeOp, graph::KernelOp>(op);
  case Phase::Kernels:
    return isa<graph::WeightOp, graph::ReshapeOp, graph::SliceOp,
               graph::ConcatOp, graph::DispatchOp>(op);
  default:
    return isa_and_present<graph::GraphDialect>(op.getDialect()) &&
           !isa<graph::KernelOp, graph::DispatchOp, graph::WeightOp>(op);
  }
}

/// Branches and loops belong in all these phases, with regions of what does.
static LogicalResult verifyBody(Block &block, StringRef function, Phase phase) {
  for (Operation &op : block.without_terminator()) {
    if (!graph::isControlFlow(&op) && !belongs(op, phase))
      return op.emitError()
             << "'" << op.getName() << "' does not belong in @" << function
             << " in phase '" << phaseName(phase) << "'";
    if (graph::isControlFlow(&op))
      for (Region &region : op.getRegions())
        if (failed(verifyBody(region.front(), function, phase)))
          return failure();
  }
  return success();
}

static LogicalResult verifyBody(func::FuncOp function, Phase phase) {
  return verifyBody(function.getBody().front(), function.getName(), phase);
}

//===----------------------------------------------------------------------===//
// plan, llvm: schedules
//===----------------------------------------------------------------------===//

static LogicalResult verifyWeights(ModuleOp module) {
  auto init = module.lookupSymbol<plan::FunctionOp>(graph::names::kInit);
  ArrayRef<Attribute> outputs;
  if (init)
    outputs = init.getOutputs().getValue();
  int64_t end = 0;
  for (auto weight : module.getOps<plan::WeightOp>()) {
    if (weight.getOffset() % TINH_BUFFER_ALIGNMENT)
      return weight.emitError()
             << "lies at " << weight.getOffset() << ", not at a multiple of "
             << TINH_BUFFER_ALIGNMENT;
    if (static_cast<int64_t>(weight.getOffset()) < end)
      return weight.emitError("overlaps the weight before it");
    end = weight.getBuffer().getEnd();
    auto output = outputs.empty() ? plan::TensorAttr()
                                  : cast<plan::TensorAttr>(outputs.front());
    if (!output || output.getName() != weight.getNameAttr() ||
        output.getType() != weight.getType())
      return weight.emitError()
             << "is not what @init has as an output in its place";
    outputs = outputs.drop_front();
  }
  if (!outputs.empty())
    return init.emitError() << "has " << outputs.size()
                            << " outputs more than there are weights";
  for (Attribute input :
       init ? init.getInputs().getValue() : ArrayRef<Attribute>())
    if (!cast<plan::TensorAttr>(input).getValue())
      return init.emitError()
             << "input " << cast<plan::TensorAttr>(input).getName()
             << " of @init has no value";
  return success();
}

/// A kernel of phase `llvm`: a module with a function of its own name and the
/// runtime's signature.
static LogicalResult verifyLowered(plan::DispatchOp dispatch, ModuleOp module) {
  auto kernel = module.lookupSymbol<ModuleOp>(dispatch.getKernel());
  if (!kernel)
    return dispatch.emitError() << "kernel '" << dispatch.getKernel()
                                << "' is no module of LLVM functions";
  auto function =
      kernel.lookupSymbol<FunctionOpInterface>(dispatch.getKernel());
  if (!function || function.isExternal() || function.getNumArguments() != 4)
    return kernel.emitError()
           << "has no function '" << dispatch.getKernel()
           << "' of (buffers, scratch, first chunk, last chunk)";
  return success();
}

static LogicalResult verifyPlan(ModuleOp module, Phase phase) {
  bool any = false;
  for (auto function : module.getOps<plan::FunctionOp>()) {
    any |= function.getSymName() != graph::names::kInit;
    for (auto dispatch : function.getOps<plan::DispatchOp>()) {
      if (phase == Phase::LLVM && failed(verifyLowered(dispatch, module)))
        return failure();
      if (phase == Phase::Plan &&
          !module.lookupSymbol<func::FuncOp>(dispatch.getKernel()))
        return dispatch.emitError() << "kernel '" << dispatch.getKernel()
                                    << "' is no function over linalg";
    }
  }
  if (!any)
    return module.emitError("the module has no plan.function to run");
  return verifyWeights(module);
}

LogicalResult verifyPhase(ModuleOp module, Phase phase) {
  if (phase >= Phase::Plan)
    return verifyPlan(module, phase);
  auto main = verifyMain(module);
  if (failed(main) || failed(verifyBody(*main, phase)))
    return failure();
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  if (phase < Phase::Kernels || !init)
    return success();
  if (!init.getBody().hasOneBlock())
    return init.emitError("@init must have a body of one block");
  return verifyBody(init, phase);
}

} // namespace tinh
