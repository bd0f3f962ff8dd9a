//===- Jit.cpp - Code for kernels in this process ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Kernels/Jit.h"

#include "compiler/Pipelines/Kernels/CompileKernels.h"
#include "compiler/Pipelines/Kernels/KernelCache.h"
#include "dialects/graph/Graph.h"
#include "tinh/engine.h"
#include "tinh/runtime.hpp"

#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Object/ELFObjectFile.h"

#include <cstdio>
#include <mutex>
#include <unistd.h>

namespace tinh::eager {

template <typename T> static T take(llvm::Expected<T> value) {
  if (value)
    return std::move(*value);
  throw Error(TINH_INTERNAL, llvm::toString(value.takeError()));
}

/// Tells `perf` where kernels are, if EngineOptions::perf_map is set: it looks
/// for /tmp/perf-PID.map.
static void nameForPerf(const std::string &symbol, void *address,
                        llvm::MemoryBufferRef object) {
  if (!engine_options().perf_map)
    return;
  auto file = llvm::object::ObjectFile::createELFObjectFile(object);
  if (!file)
    return llvm::consumeError(file.takeError());
  for (llvm::object::ELFSymbolRef function : (*file)->symbols()) {
    llvm::Expected<llvm::StringRef> name = function.getName();
    if (!name) {
      llvm::consumeError(name.takeError());
      continue;
    }
    if (*name != symbol)
      continue;
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
    if (FILE *map = std::fopen(path.c_str(), "a")) {
      std::fprintf(map, "%lx %lx %s\n", reinterpret_cast<uintptr_t>(address),
                   static_cast<unsigned long>(function.getSize()),
                   symbol.c_str());
      std::fclose(map);
    }
  }
}

struct Jit::Impl {
  Impl(const std::string &cpu)
      : requested(cpu), target(take(cpu::lookupTarget(cpu))) {}

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

  /// As it was asked for: "native" may have less than LLVM's CPU of its name.
  std::string requested;
  cpu::Target target;
  KernelContexts contexts;
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

const cpu::Machine &Jit::machine() const { return *impl->target.machine; }

void *Jit::compile(const std::string &symbol, const std::string &text) {
  std::string module = "module attributes {" + graph::names::kCpu.str() +
                       " = \"" + impl->requested + "\"} {\n" + text + "}\n";
  artifact::Object object = take(findOrCompileKernel(
      module, impl->target, impl->contexts, impl->cache.get()));
  llvm::StringRef bytes(object.data(), object.size());
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(bytes, symbol);
  llvm::orc::LLJIT &linker = impl->linker();
  if (llvm::Error error = linker.addObjectFile(std::move(buffer)))
    throw Error(TINH_INTERNAL, llvm::toString(std::move(error)));
  void *address = take(linker.lookup(symbol)).toPtr<void *>();
  nameForPerf(symbol, address, {bytes, symbol});
  return address;
}

} // namespace tinh::eager
