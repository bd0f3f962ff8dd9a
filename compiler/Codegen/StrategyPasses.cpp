//===- StrategyPasses.cpp - The strategies as passes ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"

#include "compiler/Codegen/CPU/Layouts/Layouts.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "dialects/cpu/Cpu.h"
#include "dialects/cuda/Cuda.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

using namespace mlir;

namespace tinh::codegen {
#define GEN_PASS_DEF_CHOOSESTRATEGIES
#define GEN_PASS_DEF_DIVIDEKERNELS
#define GEN_PASS_DEF_EMITKERNELS
#define GEN_PASS_DEF_LAYOUTWEIGHTS
#define GEN_PASS_DEF_ORDERBYTEGROUPS
#include "compiler/Codegen/Passes.h.inc"

namespace {

struct LayOutWeights : impl::LayOutWeightsBase<LayOutWeights> {
  using LayOutWeightsBase::LayOutWeightsBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = cpu::targetOf(module);
    if (failed(target))
      return signalPassFailure();
    if (!plainVariables)
      numLaidOut += cpu::layOutVariables(module, *target);
    if (module->hasAttr(graph::names::kCuda) &&
        failed(cuda::prepareKernels(module)))
      return signalPassFailure();
    if (failed(cpu::packWeights(module, *target, winograd, remarks)))
      signalPassFailure();
  }
};

struct OrderByteGroups : impl::OrderByteGroupsBase<OrderByteGroups> {
  void runOnOperation() override {
    auto target = cpu::targetOf(getOperation());
    if (failed(target))
      return signalPassFailure();
    auto readIfAny = [&](graph::ExternalAttr constant) {
      return read ? read(constant) : ArrayRef<char>();
    };
    numOrdered += cpu::orderByteGroups(getOperation(), *target, readIfAny);
  }
  ReadConstant read;
};

struct ChooseStrategies : impl::ChooseStrategiesBase<ChooseStrategies> {
  using ChooseStrategiesBase::ChooseStrategiesBase;
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = cpu::targetOf(module);
    if (failed(target))
      return signalPassFailure();
    cpu::chooseStrategies(module, *target, remarks);
    if (!module->hasAttr(graph::names::kCuda))
      return;
    auto chips = cuda::targetOf(module);
    if (failed(chips) ||
        failed(cuda::chooseStrategies(module, *chips, remarks)))
      signalPassFailure();
  }
};

struct DivideKernels : impl::DivideKernelsBase<DivideKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = cpu::targetOf(module);
    if (failed(target) || failed(cpu::divideKernels(module, *target)) ||
        failed(cuda::divideKernels(module)))
      signalPassFailure();
  }
};

/// Into a gpu.module of `emitted`.
static LogicalResult emitForGpus(ModuleOp module, ModuleOp emitted) {
  auto target = cuda::targetOf(module);
  if (failed(target))
    return failure();
  OpBuilder b = OpBuilder::atBlockEnd(emitted.getBody());
  auto device = gpu::GPUModuleOp::create(b, module.getLoc(), "device");
  for (auto kernel : module.getOps<func::FuncOp>())
    if (graph::isOnCuda(kernel) &&
        failed(cuda::emitKernel(kernel, device, *target)))
      return failure();
  return success();
}

struct EmitKernels : impl::EmitKernelsBase<EmitKernels> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    auto target = cpu::targetOf(module);
    if (failed(target))
      return signalPassFailure();
    OwningOpRef<ModuleOp> emitted = ModuleOp::create(module.getLoc());
    for (auto kernel : module.getOps<func::FuncOp>())
      if (kernel->hasAttr(graph::names::kPlan) && !graph::isOnCuda(kernel) &&
          failed(cpu::emitKernel(kernel, *emitted, *target)))
        return signalPassFailure();
    if (module->hasAttr(graph::names::kCuda) &&
        failed(emitForGpus(module, *emitted)))
      return signalPassFailure();
    module.getBodyRegion().takeBody(emitted->getBodyRegion());
  }
};

} // namespace

std::unique_ptr<Pass> createOrderByteGroups(ReadConstant read) {
  auto pass = std::make_unique<OrderByteGroups>();
  pass->read = std::move(read);
  return pass;
}

} // namespace tinh::codegen
