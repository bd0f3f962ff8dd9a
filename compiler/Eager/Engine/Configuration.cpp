//===- Configuration.cpp - The engine's life and its options --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Engine.h"

#include "compiler/Eager/Engine/Pool.h"
#include "runtime/src/shared/cpu_count.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace tinh::eager {

// As many as a storage can count (Storage::kWrite).
static constexpr uint64_t kMostOperations = 100'000;

Engine &Engine::get() {
  // Never destroyed: static tensors may outlive anything else.
  static Engine &engine = *new Engine;
  return engine;
}

/// What is queued is done before the program ends; static objects that are
/// destroyed after that need no threads.
void Engine::finishAtExit() {
  if (current)
    return; // A function that the engine runs ends the program.
  EngineOptions options = get().options();
  options.mode = EngineMode::Synchronous;
  options.workers = 1;
  get().configure(options);
}

/// The objects of a thread that ends the program are destroyed before all
/// static ones, even those that compiling kernels has made since.
struct Engine::AtMainThreadEnd {
  ~AtMainThreadEnd() {
    if (gettid() == getpid())
      finishAtExit();
  }
};

Engine::Engine() {
  configure({});
  static thread_local AtMainThreadEnd atMainThreadEnd;
  static_cast<void>(&atMainThreadEnd);
  std::atexit(finishAtExit); // For programs that another thread ends.
}

void Engine::configure(const EngineOptions &options) {
  if (current && current->operation)
    throw Error(TINH_INVALID_ARGUMENT,
                describe(current->operation->call,
                         "a function that the engine runs configures it"));
  std::lock_guard only(configuring);
  waitUntilDone();
  stopWorkers();
  EngineOptions complete = options;
  if (complete.workers == 0)
    complete.workers = runtime::available_cpus();
  uint64_t operations = complete.max_queued_operations;
  maxOperations =
      operations ? std::min(operations, kMostOperations) : kMostOperations;
  maxBytes = complete.max_queued_bytes ? complete.max_queued_bytes : UINT64_MAX;
  Pool::get().setLimit(complete.memory_limit);
  {
    Lock lock(mutex);
    chosen = complete;
    mode = complete.mode;
    wantedCheck = complete.check_numerics;
  }
  startWorkers();
}

EngineOptions Engine::options() {
  Lock lock(mutex);
  return chosen;
}

} // namespace tinh::eager

namespace tinh {

using eager::Engine;
using eager::Pool;

void configure(const EngineOptions &options) {
  Engine::get().configure(options);
}
EngineOptions engine_options() { return Engine::get().options(); }
void wait_all() { Engine::get().waitAll(); }
MemoryStatistics memory_statistics() { return Pool::get().statistics(); }
void reset_peak_memory() { Pool::get().resetPeak(); }
void trim_memory() { Pool::get().trim(); }

} // namespace tinh
