//===- device_run.h - A run on the GPU --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each arena has of the GPU: memory there, streams, the graphs of all
// functions' segments with the addresses of this arena, and pinned memory
// through which tensors of the caller go. One thread, worker 0, starts a run
// and gives the GPU its steps; any thread may wait for its end.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_DEVICE_RUN_H
#define TINH_RUNTIME_CUDA_DEVICE_RUN_H

#include "cuda/run/caller_copies.h"
#include "cuda/run/device_collectives.h"

namespace tinh::runtime::cuda {

class DeviceRun {
public:
  using Options = DeviceApi::RunOptions;
  DeviceRun(std::shared_ptr<const LoadedModule> loaded, const Options &options);

  char *host_arena() const { return static_cast<char *>(host_memory.get()); }
  char *device_arena() const {
    return reinterpret_cast<char *>(device_memory.get());
  }

  /// Makes the graphs of all functions, but those with collectives.
  void prepare(std::span<const DeviceApi::Function> functions);

  /// Begins a run of a function; `arguments` are where its tensors lie.
  void begin(uint32_t function, void *const *arguments, bool on_state);
  /// Has the GPU wait until `other` is done with its last run.
  void follow(const DeviceRun &other);
  void launch(uint32_t segment);
  /// A loose step.
  void execute(uint32_t step, void *const *buffers);
  /// Waits until the GPU is done with the segments that are due at steps up to
  /// `position`, and with all loose steps that it was given. What they have
  /// copied to the caller is there then.
  void wait(uint32_t position);
  /// Nothing more is given to the GPU in this run.
  void finish();

  /// Waits for the end of the last run, but leaves to others what comes then.
  void wait_for_end() const;
  /// Waits for the end, and copies to the caller.
  void complete();
  /// Milliseconds of the GPU's for a run that is complete, if measured.
  double elapsed() const;
  /// Waits until nothing is going on, whatever that ends with.
  void abandon() noexcept;

  /// Tells when each segment and each loose step was executed. After
  /// complete().
  void trace_steps(const DeviceApi::TraceSink &sink, uint64_t run) const;

private:
  using NodeBuffers = std::vector<std::vector<void *>>;
  /// A function, and what is made for it.
  struct Prepared {
    FunctionPlan plan;
    CallerCopies copies;
    /// By segment; those with collectives, whose buffers these are, are made
    /// for the first run, since all ranks have to make them.
    std::vector<std::optional<SegmentGraph>> graphs = {};
    std::map<uint32_t, NodeBuffers> with_collectives = {};
  };

  void make_numbers();
  void add_graphs(Prepared &to_make, void *const *table);
  void place_node(const FunctionPlan &plan, const Node &node,
                  std::span<void *> buffers) const;
  void make_graph(Prepared &of, uint32_t segment, const NodeBuffers &buffers);
  void execute_copy(uint32_t step, void *const *buffers);
  void execute_caller_copy(CallerCopy &copy, void *const *buffers);
  bool execute_call(uint32_t step, void *const *buffers) const;
  void check_step(CUresult result, uint32_t step) const;
  void join_streams();
  void give(uint32_t step, void *const *buffers);
  void wait_for_collectives();
  void wait_for_segment(uint32_t segment);
  void wait_for_loose();
  void finished(uint32_t segment);
  std::string failure() const;
  void time_loose(uint32_t step, bool begins);
  bool trace_step(const DeviceApi::TraceSink &sink, uint64_t run,
                  const Event &from, const Event &to, uint32_t step,
                  uint32_t count) const;
  const tinh_function_desc_t &function() const {
    return prepared->plan.function();
  }
  const FunctionPlan &plan() const { return prepared->plan; }

  const std::shared_ptr<const LoadedModule> loaded;
  const tinh_artifact_t &artifact;
  const Options options;
  const std::chrono::microseconds spin;
  LibraryCalls libraries;
  PinnedMemory host_memory, staging;
  DeviceMemory device_memory;
  DeviceCollectives collectives; ///< Of what lies there.
  DeviceMemory numbers;          ///< 0, 1, 2 … as i64, for unrolled loops.
  Stream streams[2];
  Event began, ended, loose_done, joined;
  struct SegmentEvents {
    Event began; ///< For traces.
    Event done;
  };
  std::vector<SegmentEvents> segment_events; ///< As many as any function needs.
  /// For traces: of the first loose steps of a run.
  struct LooseEvents {
    uint32_t step;
    Event began, done;
  };
  static constexpr uint32_t kMaxTimed = 4096;
  std::vector<LooseEvents> loose_events;
  std::vector<Prepared> functions;

  // Of the present run.
  Prepared *prepared = nullptr;
  uint32_t num_launched = 0;     ///< Segments.
  std::vector<bool> is_finished; ///< Segments that have been waited for.
  /// Loose steps that have not been waited for lie between these.
  uint32_t loose_first = 0, loose_last = 0;
  uint64_t num_loose = 0; ///< In this run; for traces.
  int64_t began_at = 0;   ///< For traces.
  bool second_stream = false, loose = false, has_ended = false;
  std::vector<void *> parameters; ///< Of a kernel that is being launched.
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_DEVICE_RUN_H
