//===- KernelModules.cpp - Kernels from their texts to code -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/KernelModules.h"

#include "compiler/Codegen/CPU/LowerToLLVM.h"
#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CUDA/EmitPtx.h"
#include "compiler/Codegen/CUDA/LowerToNVVM.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Pipelines/InternalErrors.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

using namespace mlir;

namespace tinh {

std::string kernelText(Operation *kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OpPrintingFlags flags = OpPrintingFlags().useLocalScope();
  if (isa<ModuleOp>(kernel)) {
    kernel->print(stream, flags);
  } else {
    SmallVector<StringRef> names{graph::names::kCpu};
    if (graph::isOnCuda(kernel))
      names = {graph::names::kCuda, graph::names::kAllowTf32};
    NamedAttrList target;
    for (StringRef name : names)
      if (Attribute value = kernel->getParentOp()->getAttr(name))
        target.set(name, value);
    stream << "module attributes " << target.getDictionary(kernel->getContext())
           << " {\n";
    kernel->print(stream, flags);
    stream << "\n}\n";
  }
  return text;
}

void KernelError::add(StringRef text) {
  internal |= text.consume_front(kInternalError);
  if (message.empty())
    message = text.str();
}

LogicalResult KernelError::report(Operation *kernel, StringRef name) const {
  bool silent = message.empty();
  return kernel->emitError()
         << (internal || silent ? StringRef(kInternalError) : "") << "kernel '"
         << name << "' cannot be compiled" << (silent ? "" : ": ") << message;
}

KernelModules::KernelModules(ArrayRef<std::string> texts,
                             KernelContexts &contexts, KernelError &error)
    : error(error), context(contexts),
      handler(&*context, [&error](Diagnostic &diagnostic) {
        error.add(diagnostic.str());
        return success();
      }) {
  for (const std::string &text : texts)
    modules.push_back(parseSourceString<ModuleOp>(text, &*context));
}

//===----------------------------------------------------------------------===//
// To the LLVM dialect
//===----------------------------------------------------------------------===//

static FailureOr<OwningOpRef<ModuleOp>> lowerForCpu(ModuleOp module) {
  auto target = cpu::targetOf(module);
  if (failed(target) || failed(codegen::lowerSizedRows(module)))
    return failure();
  return cpu::lowerKernelsToLLVM(module, *target);
}

static FailureOr<OwningOpRef<ModuleOp>> lowerForGpu(ModuleOp module) {
  auto target = cuda::targetOf(module);
  if (failed(target))
    return failure();
  return cuda::lowerKernelsToNVVM(module, *target);
}

LogicalResult KernelModules::lower(OwningOpRef<ModuleOp> &module) {
  auto functions = module->getOps<func::FuncOp>();
  if (functions.empty())
    return success();
  auto lowered = graph::isOnCuda(*functions.begin()) ? lowerForGpu(*module)
                                                     : lowerForCpu(*module);
  if (failed(lowered))
    return failure();
  module = std::move(*lowered);
  ours = true;
  return success();
}

LogicalResult KernelModules::lower() {
  return success(llvm::all_of(modules, [&](OwningOpRef<ModuleOp> &module) {
    return module && succeeded(lower(module));
  }));
}

//===----------------------------------------------------------------------===//
// To code
//===----------------------------------------------------------------------===//

bool KernelModules::areForChips() {
  if (!graph::isOnCuda(front()))
    return false;
  auto target = cuda::targetOf(front());
  return succeeded(target) && !target->isEmulated();
}

FailureOr<artifact::Object> KernelModules::compile(StringRef image,
                                                   const CodeTarget &target) {
  FailureOr<artifact::Object> object = failure();
  if (!graph::isOnCuda(front())) {
    object = cpu::emitObject(front(), target.cpu);
  } else if (auto chips = cuda::targetOf(front()); succeeded(chips)) {
    auto emitted = cuda::emitEmulatedImage(
        llvm::map_to_vector(modules, [](auto &module) { return *module; }),
        image, *chips, target.toolkit, target.cpu);
    if (emitted)
      object = std::move(*emitted);
    else
      error.add(llvm::toString(emitted.takeError()));
  }
  error.internal |= failed(object) && ours;
  return object;
}

FailureOr<std::vector<cuda::ChipCode>>
KernelModules::emitPtx(const cuda::Toolkit &toolkit) {
  auto target = cuda::targetOf(front());
  if (failed(target))
    return failure();
  auto codes = cuda::emitPtxForChips(
      llvm::map_to_vector(modules, [](auto &module) { return *module; }),
      *target, toolkit);
  if (codes)
    return std::move(*codes);
  error.add(llvm::toString(codes.takeError()));
  error.internal |= ours;
  return failure();
}

} // namespace tinh
