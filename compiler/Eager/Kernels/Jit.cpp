//===- Jit.cpp - Code for kernels in this process ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Jit.h"

#include "compiler/Pipelines/CompileKernels.h"
#include "compiler/Pipelines/KernelCache.h"
#include "dialects/graph/Graph.h"
#include "tinh/runtime.hpp"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"

#include <mutex>

namespace tinh::eager {

template <typename T> static T take(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  throw Error(TINH_INTERNAL, llvm::toString(value.takeError()));
}

struct Jit::Impl {
  Impl(const std::string &cpu) : target(take(cpu::lookupTarget(cpu))) {}

  /// Linking starts with the first kernel.
  llvm::orc::LLJIT &linker() {
    std::call_once(started, [&] {
      // There is nothing but objects with functions: no platform to set up.
      jit = take(llvm::orc::LLJITBuilder()
                     .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                     .create());
    });
    return *jit;
  }

  cpu::Target target;
  std::unique_ptr<KernelCache> cache;
  std::once_flag started;
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Jit::Jit(const std::string &cpu, const std::string &cacheDirectory)
    : impl(std::make_unique<Impl>(cpu)) {
  if (!cacheDirectory.empty())
    impl->cache = std::make_unique<KernelCache>(cacheDirectory);
}

Jit::~Jit() = default;

unsigned Jit::vectorBytes() const { return impl->target.vectorBytes; }

void *Jit::compile(const std::string &symbol, const std::string &text) {
  std::string module = "module attributes {" + graph::names::kCpu.str() +
                       " = \"" + impl->target.name + "\"} {\n" + text + "}\n";
  artifact::Object object =
      take(findOrCompileKernel(module, impl->target, impl->cache.get()));
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()), symbol);
  llvm::orc::LLJIT &linker = impl->linker();
  if (llvm::Error error = linker.addObjectFile(std::move(buffer)))
    throw Error(TINH_INTERNAL, llvm::toString(std::move(error)));
  return take(linker.lookup(symbol)).toPtr<void *>();
}

} // namespace tinh::eager
