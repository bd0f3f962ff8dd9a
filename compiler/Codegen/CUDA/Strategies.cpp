//===- Strategies.cpp - How kernels for GPUs are computed -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Strategies.h"

#include "compiler/Codegen/CUDA/Attention/Attention.h"
#include "compiler/Codegen/CUDA/Contraction/Contraction.h"
#include "compiler/Codegen/CUDA/Library/Libraries.h"
#include "compiler/Codegen/CUDA/Rows/Rows.h"
#include "compiler/Codegen/CUDA/Scan/Scan.h"
#include "compiler/Codegen/CUDA/Scatter/Scatter.h"
#include "compiler/Codegen/CUDA/Threads/Threads.h"
#include "compiler/Codegen/CUDA/Transpose/Transpose.h"
#include "compiler/Codegen/CUDA/Windows/Windows.h"
#include "compiler/Codegen/Kernel/Forms/Scatter.h"

using namespace mlir;

namespace tinh::cuda {

StrategyTable<Device> strategies() {
  return tableOf<Device, ContractionStrategy, AttentionStrategy, ScanStrategy,
                 ScatterStrategy, RowsStrategy, WindowsStrategy,
                 TransposeStrategy, ThreadsStrategy>();
}

bool isForTiles(func::FuncOp kernel, const Target &target) {
  return isWorthTiles(kernel) || isWorthAttention(kernel, target);
}

FailureOr<Target> targetOf(ModuleOp module) {
  SmallVector<StringRef> chips;
  if (auto list = module->getAttrOfType<ArrayAttr>(graph::names::kCuda))
    for (Attribute chip : list)
      if (auto name = dyn_cast<StringAttr>(chip))
        chips.push_back(name.getValue());
  auto target = lookupTarget(chips);
  if (!target)
    return module.emitError(llvm::toString(target.takeError()));
  target->allowTf32 = module->hasAttr(graph::names::kAllowTf32);
  return *target;
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

/// Splits and packs, until the kernel is what its strategy wants; one that has
/// a plan already is.
static SmallVector<graph::DispatchOp> prepare(DispatchedKernel dispatched,
                                              const Target &target) {
  auto [symbols, kernel, dispatch] = dispatched;
  if (kernel->hasAttr(graph::names::kPlan) || isWorthAttention(kernel, target))
    return {};
  if (graph::DispatchOp stage = splitChain(dispatched))
    return {dispatch, stage};
  if (graph::DispatchOp parts = splitProduct(dispatched, target))
    packFactors(
        {symbols, symbols.lookup<func::FuncOp>(parts.getKernel()), parts},
        target);
  else if (isWorthTiles(kernel))
    packFactors(dispatched, target);
  else if (graph::DispatchOp stage = splitRows(dispatched))
    return {dispatch, stage};
  else
    packTaps(dispatched);
  return {};
}

LogicalResult prepareKernels(ModuleOp module) {
  auto target = targetOf(module);
  if (failed(target))
    return failure();
  return codegen::prepareKernels(
      module, /*onCuda=*/true,
      [&](DispatchedKernel kernel) { return prepare(kernel, *target); });
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// Tells libraries what the kernel is to them. Those of convolutions do not say
/// whether they read what they add before they write.
static void setLibrary(func::FuncOp kernel, const Target &target) {
  graph::LibraryAttr library = describeForLibrary(kernel, target);
  if (!library)
    return;
  kernel->setAttr(graph::names::kLibrary, library);
  if (library.getKind() == graph::LibraryKind::Convolution)
    kernel->removeAttr(graph::names::kInplace);
}

/// Unless the kernel has a plan: then somebody has chosen it.
static LogicalResult choosePlan(func::FuncOp kernel, const Target &target,
                                bool remarks) {
  if (kernel->hasAttr(graph::names::kPlan))
    return success();
  auto chosen = strategies().cheapest(kernel, target, remarks);
  if (!chosen)
    return kernel.emitError("internal error: no strategy computes this kernel");
  kernel->setAttr(graph::names::kPlan, chosen->plan);
  return success();
}

LogicalResult chooseStrategies(ModuleOp module, const Target &target,
                               bool remarks) {
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!graph::isOnCuda(kernel) || kernel.isExternal())
      continue;
    if (failed(choosePlan(kernel, target, remarks)))
      return failure();
    // The thread that writes an element has read it before.
    setInplace(kernel, [&](BlockArgument argument) {
      return isReadAtItsIndex(argument) || isScatteredInto(kernel, argument);
    });
    // What tiles do not pay for no call of a library does.
    if (isWorthTiles(kernel))
      setLibrary(kernel, target);
  }
  return success();
}

LogicalResult divideKernels(ModuleOp module) {
  if (!module->hasAttr(graph::names::kCuda))
    return success();
  auto target = targetOf(module);
  if (failed(target))
    return failure();
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!graph::isOnCuda(kernel) || !kernel->hasAttr(graph::names::kPlan))
      continue;
    auto division = strategies().divide(kernel, *target);
    if (failed(division))
      return failure();
    setDivision(kernel, *division);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

/// Operands that share no bytes with one that is written: they can be read
/// through the cache for what is constant.
static bool mayBeWritten(func::FuncOp kernel, unsigned operand) {
  if (operand >= kernel.getNumArguments())
    return true;
  auto pairs = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace);
  return pairs && llvm::any_of(pairs, [&](Attribute pair) {
           return cast<DenseI64ArrayAttr>(pair)[0] == operand;
         });
}

/// An empty gpu.func of the kernel's name, with its operands as flat memory.
static gpu::GPUFuncOp createFunction(func::FuncOp kernel,
                                     gpu::GPUModuleOp module, int64_t threads) {
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  SmallVector<Type> types = operandMemory(kernel);
  auto function = gpu::GPUFuncOp::create(b, kernel.getLoc(), kernel.getName(),
                                         b.getFunctionType(types, {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  function.setKnownBlockSizeAttr(
      b.getDenseI32ArrayAttr({static_cast<int32_t>(threads), 1, 1}));
  for (unsigned i = 0; i < types.size(); ++i) {
    if (mayBeWritten(kernel, i))
      continue;
    function.setArgAttr(i, "llvm.noalias", b.getUnitAttr());
    function.setArgAttr(i, "llvm.readonly", b.getUnitAttr());
  }
  b.setInsertionPointToEnd(&function.getBody().front());
  gpu::ReturnOp::create(b, kernel.getLoc());
  return function;
}

static EmittedKernel beginKernel(func::FuncOp kernel, gpu::GPUFuncOp function) {
  OpBuilder b(&function.getBody().front(), function.getBody().front().begin());
  return {{kernel, function},
          gpu::BlockIdOp::create(b, kernel.getLoc(), gpu::Dimension::x),
          gpu::ThreadIdOp::create(b, kernel.getLoc(), gpu::Dimension::x)};
}

FailureOr<gpu::GPUFuncOp>
emitKernel(func::FuncOp kernel, gpu::GPUModuleOp module, const Target &target) {
  auto division = strategies().divide(kernel, target);
  if (failed(division) || failed(checkDivision(kernel, *division)))
    return failure();
  gpu::GPUFuncOp function = createFunction(kernel, module, division->threads);
  EmittedKernel emitted = beginKernel(kernel, function);
  if (failed(strategies().emit(emitted, target)))
    return failure();
  return function;
}

} // namespace tinh::cuda
