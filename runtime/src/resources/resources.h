//===- resources.h - What runs of a context share ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All that runs need and no run has to itself. It is made with the context and
// written by nobody else; what changes (an arena, the trace, the variables) is
// used by one run at a time or guards itself. Its life:
//
//  1. Options are checked, and the trace begins, if one is wanted.
//  2. The module goes to a GPU, or has its code for CPUs chosen.
//  3. Variables and scratch memory get their places, and each function of the
//     module becomes a Program: a list of instructions for each worker.
//  4. As many arenas are made as runs may execute at a time, each with the
//     addresses of all buffers in it, and what a run has of a GPU and of other
//     ranks.
//  5. When the context is shut down, all of it is freed, though futures may
//     still refer to the context.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_RESOURCES_H
#define TINH_RUNTIME_RESOURCES_H

#include "collectives/collective_steps.h"
#include "program/program.h"
#include "resources/state.h"

#include <atomic>
#include <chrono>
#include <optional>

namespace tinh::runtime {

/// The memory of one executing run: an arena and, for each program, addresses
/// of buffers in it.
struct Arena {
  MappedMemory memory; ///< Of a context without a GPU.
  std::vector<std::vector<void *>> tables;
  std::unique_ptr<DeviceRun> device;            ///< Of one with a GPU.
  std::unique_ptr<CollectiveSteps> collectives; ///< Of one with other ranks.
};

struct Resources {
  /// Throws what says in one sentence why the context cannot be.
  Resources(std::shared_ptr<const Module> module,
            const tinh_context_options_t &options);
  Resources(const Resources &) = delete;

  /// Whether all goes to a stream of the program's, which nobody waits for.
  bool on_stream() const { return options.cuda_stream != nullptr; }
  /// Whether workers do one step after the other together, of one run at a
  /// time: see lockstep.h.
  bool in_lockstep() const {
    return options.parallel_for ||
           options.check_numerics != TINH_CHECK_NOTHING || on_stream();
  }
  Trace *trace_or_null() { return trace ? &*trace : nullptr; }
  /// In a child of the process that made it: leaves alone what has to do with
  /// threads, the driver or other ranks.
  void free_memory();

  std::shared_ptr<const Module> module;
  const tinh_context_options_t options;
  std::chrono::microseconds spin; ///< Before a thread that waits sleeps.
  std::optional<Trace> trace;     ///< For a file, for profiles, or both.
  DeviceModulePtr gpu;            ///< If it is used.
  std::string why_not_cuda, cuda_libraries;
  std::optional<State> variables;
  std::shared_ptr<Ranks> ranks; ///< If there are others.
  std::vector<Program> programs;
  MappedMemory scratch_memory; ///< That of worker w at w * scratch_stride.
  uint64_t scratch_stride = 0;
  uint64_t arena_size = 0, device_arena_size = 0;
  std::vector<Arena> arenas;
  /// Of the last run on the GPU, in milliseconds; negative: none is known. A
  /// callback may ask for it while what executes runs is taken down.
  std::atomic<double> last_cuda_time{-1};

private:
  void make_programs();
  void make_arenas();
  void make_host_arena(Arena &arena);
  void make_device_arena(Arena &arena);
  tinh_collectives_t *ranks_of_gpus() const;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_RESOURCES_H
