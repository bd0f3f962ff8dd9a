//===- trace.h - Traces in Chrome's format ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What each worker did when, kept in memory: for profiles, and written as JSON
// that chrome://tracing and Perfetto open.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_TRACE_H
#define TINH_RUNTIME_TRACE_H

#include "artifact/module.h"
#include "trace/trace_clock.h"

#include <mutex>
#include <string>
#include <vector>

namespace tinh::runtime {

class Trace {
public:
  /// `path` is the file's, or empty if none is wanted.
  Trace(std::string path, uint32_t num_workers);

  static constexpr int64_t kNoIteration = -1;

  /// A step's share, by the thread that is `worker` at the time; or, of a LOOP,
  /// its iteration `iteration`.
  void add_step(uint32_t worker, const tinh_function_desc_t &function,
                uint32_t step, uint64_t run, int64_t begin, int64_t end,
                int64_t iteration = kNoIteration);
  /// What worker `worker` does about the GPU, for `step`.
  void add_call(uint32_t worker, const tinh_function_desc_t &function,
                uint32_t step, uint64_t run, int64_t begin, int64_t end,
                const char *what);
  /// A segment of `count` steps from `step` on, by the GPU; from any thread.
  void add_segment(const tinh_function_desc_t &function, uint32_t step,
                   uint32_t count, uint64_t run, int64_t begin, int64_t end);
  /// Says that the GPU has done more in a run than has been added.
  void drop_segments(uint64_t run, uint64_t count);
  /// A collective, from where step `step` has started it to where it was
  /// finished; from any thread.
  void add_collective(const tinh_function_desc_t &function, uint32_t step,
                      uint64_t run, int64_t begin, int64_t end);
  /// A whole run, from its submission to its completion; from any thread.
  void add_run(const tinh_function_desc_t &function, uint64_t run,
               int64_t submitted, int64_t completed);

  /// Writes the file, if one is wanted, as a whole or not at all; throws
  /// IO_ERROR.
  void write(const tinh_artifact_t &artifact) const;

  struct Event {
    const tinh_function_desc_t *function;
    uint32_t step;
    uint64_t run;
    int64_t begin, end;
    int64_t iteration;
    uint32_t count = 1;         ///< Of steps.
    const char *what = nullptr; ///< Other than executing the step.
  };
  struct alignas(64) Track {
    std::vector<Event> events;
    uint64_t dropped = 0;
    uint64_t first_dropped = UINT64_MAX; ///< The first run that misses some.
  };
  // While no run executes.
  const std::vector<Track> &of_workers() const { return workers; }
  const Track &of_device() const { return device; }
  const Track &of_runs() const { return runs; }
  /// Makes room: forgets all that no file wants.
  void forget();

private:
  /// Beyond this many, events of a worker are dropped and counted.
  static constexpr size_t kMaxEvents = 1u << 20;

  static void drop(Track &track, uint64_t run, uint64_t count);
  static void add(Track &track, const Event &event);
  void append(std::string &json, const Track &track, size_t id,
              const std::string &name, const tinh_artifact_t &artifact) const;
  void append_spans(std::string &json, const Track &track,
                    const char *category) const;
  std::string to_json(const tinh_artifact_t &artifact) const;

  std::string path;
  int64_t start;
  std::vector<Track> workers;
  std::mutex runs_mutex; ///< Of all three.
  Track runs, device, collectives;
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_TRACE_H
