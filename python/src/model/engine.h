//===- engine.h - Runs of an artifact for Python ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime's threads and Python's objects have to do with each other.
// The rules: a wait gives up the GIL; an array stays as it is until its run is
// done; nothing waits for a run on one of its own threads; and no thread of the
// runtime wants the GIL after the interpreter has begun to end. All of it wants
// the GIL, but what says otherwise.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PYTHON_ENGINE_H
#define TINH_PYTHON_ENGINE_H

#include "arrays.h"
#include "gil.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tinh::python {

/// The arrays of a run, and what a call returns.
struct Run {
  std::vector<Borrowed> inputs, outputs;
  std::vector<tinh_buffer_t> input_buffers, output_buffers;
  nb::object result;
  /// Of each output, tinh_tensor_info_t::size_outputs; empty if the run decides
  /// the size of none.
  std::vector<std::vector<int32_t>> size_outputs;
};

/// The result of a run that is done: arrays of what it has used. The outputs
/// that say how much that is are not among them.
nb::object used_result(const Run &run);

class Engine;
using EngineRef = std::shared_ptr<Engine>;

/// A module with threads and memory to run it in.
class Engine {
public:
  static EngineRef create(std::shared_ptr<const Module> module,
                          const ContextOptions &options);
  ~Engine();
  Engine(const Engine &) = delete;

  const Module &module() const { return *loaded; }
  const std::shared_ptr<const Module> &shared_module() const { return loaded; }
  const Context &context() const { return *running; }

  /// Keeps the arrays of a run that nobody waits for until it is done.
  void keep(Future future, Run run);

  /// Calls `callback` once `future` is done, on the thread that completes it,
  /// or here.
  void notify(const Future &future, std::function<void()> callback);

  /// Whether this thread is in one of these callbacks.
  static bool isInCallback();

  /// Waits for all runs and callbacks of all engines, after which none begins
  /// on another thread. For the interpreter, before it ends.
  static void closeAll();

private:
  Engine(std::shared_ptr<const Module> module, const ContextOptions &options);
  struct Delete {
    void operator()(Engine *engine) const;
  };

  std::shared_ptr<const Module> loaded;
  std::unique_ptr<Context> running;
  std::vector<std::pair<Future, Run>> kept;
};

} // namespace tinh::python

#endif // TINH_PYTHON_ENGINE_H
