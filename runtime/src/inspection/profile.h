//===- profile.h - How long steps take, over many runs ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Statistics over what a trace has recorded of a function's runs.
//
// Each thread has noted its parts of each step, in the order of its work. All
// threads execute a step equally often, so the k-th part of one that a thread
// has in a run belongs to the k-th execution, whose time is from the first
// thread's beginning to the last one's end.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_PROFILE_H
#define TINH_RUNTIME_PROFILE_H

#include "program/program.h"
#include "trace/trace.h"

#include "tinh/profile.h"

#include <unordered_map>

namespace tinh::runtime {

class Profile {
public:
  /// Of the runs of `program` with the number `first_run` or a later one.
  /// Nothing is being recorded meanwhile.
  Profile(const tinh_artifact_t &artifact, const Program &program,
          const Trace &trace, uint64_t first_run);

  const tinh_function_profile_t &function() const { return whole; }
  const std::vector<tinh_step_profile_t> &steps() const { return parts; }
  /// Of the run whose time is the median.
  const std::vector<tinh_step_span_t> &spans() const { return median_run; }

private:
  struct Span {
    int64_t begin, end;
  };
  /// A step in one run.
  struct Sample {
    std::vector<Span> executions;
    int64_t work = 0;
  };
  void describe(uint32_t step);
  void collect_runs(const Trace &trace, uint64_t first_run);
  void collect_steps(const Trace::Track &track, bool of_device);
  void summarise(uint32_t step);
  void collect_spans(const Trace &trace, uint64_t first_run);
  void add_spans(const Trace::Track &track, const Trace::Event &run,
                 uint32_t worker);

  const tinh_artifact_t &artifact;
  const Program &program;
  tinh_function_profile_t whole = {};
  std::vector<tinh_step_profile_t> parts;
  std::vector<tinh_step_span_t> median_run;
  std::unordered_map<uint64_t, size_t> runs; ///< Places of runs in samples.
  std::vector<std::vector<Sample>> samples;  ///< By step, then by run.
};

/// Of a context: made when they are asked for, while nothing runs, and kept
/// until there have been more runs, as programs ask for one step after the
/// other.
class Profiles {
public:
  /// Of `program`, when `num_runs` runs have started in the context.
  std::shared_ptr<const Profile> get(const tinh_artifact_t &artifact,
                                     const Program &program, const Trace &trace,
                                     uint64_t num_runs);
  /// From now on, when `num_runs` have started, no earlier run counts.
  void forget(uint64_t num_runs);

private:
  std::unordered_map<const Program *, std::shared_ptr<const Profile>> known;
  uint64_t known_runs = 0; ///< Runs that had started when they were made.
  uint64_t first_run = 0;  ///< The first that counts.
};

} // namespace tinh::runtime

#endif // TINH_RUNTIME_PROFILE_H
