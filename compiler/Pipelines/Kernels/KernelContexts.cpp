//===- KernelContexts.cpp - MLIR contexts that kernels share ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/Kernels/KernelContexts.h"

#include "compiler/Codegen/CPU/Strategies.h"
#include "compiler/Codegen/CUDA/Strategies.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Passes.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"

using namespace mlir;

namespace tinh {

static DialectRegistry registry() {
  DialectRegistry registry;
  // A kernel's own text has attributes of the plan's, too.
  registry.insert<graph::GraphDialect, plan::PlanDialect>();
  cpu::registerCodegenDialects(registry);
  cuda::registerCodegenDialects(registry);
  codegen::registerLowerToLinalgModels(registry);
  return registry;
}

/// What a context has of attributes and types it keeps for as long as it lives.
static constexpr unsigned kMaxUses = 32;

KernelContexts::Borrowed::Borrowed(KernelContexts &owner) : owner(owner) {
  {
    std::lock_guard lock(owner.mutex);
    if (!owner.idle.empty()) {
      entry = std::move(owner.idle.back());
      owner.idle.pop_back();
    }
  }
  if (!entry.context) {
    entry.context = std::make_unique<MLIRContext>(
        registry(), MLIRContext::Threading::DISABLED);
    entry.context->loadAllAvailableDialects();
  }
}

KernelContexts::Borrowed::~Borrowed() {
  if (++entry.uses == kMaxUses)
    return;
  std::lock_guard lock(owner.mutex);
  owner.idle.push_back(std::move(entry));
}

} // namespace tinh
