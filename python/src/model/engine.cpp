//===- engine.cpp - Runs of an artifact for Python --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "engine.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <pthread.h>
#include <set>
#include <utility>

namespace tinh::python {

namespace {

/// All engines, and those that were given up on a thread of their own, where
/// they cannot end: they do at the next occasion. Guarded by the GIL.
struct Registry {
  std::set<Engine *> all;
  std::vector<Engine *> given_up;
};

/// On a thread of the runtime, in a callback.
thread_local bool in_callback = false;

/// Of all engines: that have been asked for and have not returned.
std::atomic<uint32_t> callbacks = 0;
uint32_t forks = 0; ///< On the way here; a child has one thread when it counts.

Registry &registry() {
  static auto *only = [] {
    // A forked child has none of the threads that its end would wait for.
    pthread_atfork(nullptr, nullptr, [] {
      callbacks = 0; // Those under way do not count any more.
      ++forks;
      forget_threads();
    });
    return new Registry; // Outlives what the interpreter destroys.
  }();
  return *only;
}

void end_given_up() {
  if (in_callback)
    return;
  for (Engine *engine : std::exchange(registry().given_up, {}))
    delete engine;
}

} // namespace

EngineRef Engine::create(std::shared_ptr<const Module> module,
                         const ContextOptions &options) {
  end_given_up();
  return EngineRef(new Engine(std::move(module), options), Delete());
}

Engine::Engine(std::shared_ptr<const Module> module,
               const ContextOptions &options)
    : loaded(std::move(module)), running(without_gil([&] {
        return std::make_unique<Context>(*loaded, options);
      })) {
  registry().all.insert(this);
}

Engine::~Engine() {
  registry().all.erase(this);
  without_gil([&] { running.reset(); });
}

void Engine::Delete::operator()(Engine *engine) const {
  if (in_callback)
    registry().given_up.push_back(engine);
  else
    delete engine;
}

bool Engine::isInCallback() { return in_callback; }

void Engine::keep(Future future, Run run) {
  // To ask for one may call back, and that come here.
  auto all = std::exchange(kept, {});
  std::erase_if(all, [](const auto &entry) { return entry.first.done(); });
  all.emplace_back(std::move(future), std::move(run));
  std::ranges::move(all, std::back_inserter(kept));
}

void Engine::notify(const Future &future, std::function<void()> callback) {
  auto call = [callback = std::move(callback),
               asked = forks](tinh_status_t, const char *) mutable {
    PyGILState_STATE state = PyGILState_Ensure();
    bool was_in_callback = std::exchange(in_callback, true);
    callback();
    callback = nullptr; // What it refers to goes with the GIL held.
    in_callback = was_in_callback;
    PyGILState_Release(state);
    if (asked != forks)
      return;
    --callbacks;
    callbacks.notify_all();
  };
  ++callbacks;
  try {
    future.then(std::move(call));
  } catch (...) {
    --callbacks;
    throw;
  }
}

void Engine::closeAll() {
  close_gil();
  end_given_up();
  const std::set<Engine *> &all = registry().all;
  for (Engine *engine : std::vector(all.begin(), all.end())) {
    // Refused in a forked child, where there is nothing to wait for.
    without_gil([&] { tinh_context_wait_all(engine->running->handle()); });
    std::exchange(engine->kept, {}).clear();
  }
  without_gil([] {
    while (uint32_t count = callbacks)
      callbacks.wait(count);
  });
}

} // namespace tinh::python
