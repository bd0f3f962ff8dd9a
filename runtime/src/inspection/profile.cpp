//===- profile.cpp - How long steps take, over many runs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "inspection/profile.h"

#include <algorithm>

namespace tinh::runtime {

static double milliseconds(int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e6;
}

/// The smallest of some values that half of them do not exceed; 0 of none.
static int64_t median(std::vector<int64_t> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() - 1) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

static int64_t least(const std::vector<int64_t> &values) {
  return values.empty() ? 0 : std::ranges::min(values);
}

Profile::Profile(const tinh_artifact_t &artifact, const Program &program,
                 const Trace &trace, uint64_t first_run)
    : artifact(artifact), program(program) {
  whole.num_steps = program.function().num_steps;
  whole.core_operations = artifact.core.operations;
  whole.core_bytes = artifact.core.bytes;
  parts.resize(whole.num_steps);
  for (uint32_t step = 0; step < whole.num_steps; ++step)
    describe(step);
  collect_runs(trace, first_run);
  samples.resize(whole.num_steps, std::vector<Sample>(runs.size()));
  for (const Trace::Track &track : trace.of_workers())
    collect_steps(track, /*of_device=*/false);
  collect_steps(trace.of_device(), /*of_device=*/true);
  for (uint32_t step = 0; step < whole.num_steps; ++step)
    summarise(step);
  collect_spans(trace, first_run);
}

static tinh_step_kind_t kind_of(const tinh_step_t &step) {
  switch (step.opcode) {
  case TINH_OP_DISPATCH:
    return TINH_STEP_KERNEL;
  case TINH_OP_COPY:
    return TINH_STEP_COPY;
  case TINH_OP_ZERO:
    return TINH_STEP_ZERO;
  case TINH_OP_START:
  case TINH_OP_AWAIT:
    return TINH_STEP_COLLECTIVE;
  case TINH_OP_LOOP:
    return TINH_STEP_LOOP;
  default:
    return TINH_STEP_CONTROL;
  }
}

/// What the artifact says of it.
void Profile::describe(uint32_t step) {
  const tinh_step_t &desc = program.function().steps[step];
  tinh_step_profile_t &part = parts[step];
  part.kind = kind_of(desc);
  part.on_cuda = program.schedule().on_device(step);
  part.nodes = desc.label ? desc.label : "";
  part.plan = "";
  part.chunks = 1;
  if (part.kind == TINH_STEP_COPY || part.kind == TINH_STEP_ZERO) {
    part.nodes = ""; // It says that it is one.
    part.bytes = part.kind == TINH_STEP_COPY ? 2 * desc.size : desc.size;
  }
  if (part.kind != TINH_STEP_KERNEL)
    return;
  const tinh_kernel_desc_t &kernel = artifact.kernels[desc.kernel];
  part.kernel = kernel.name;
  part.plan = kernel.plan ? kernel.plan : "";
  part.chunks = desc.num_chunks;
  part.operations = kernel.operations;
  part.bytes = kernel.bytes;
  part.estimated_cycles = kernel.estimated_cycles;
}

/// The runs of the function of which everything has been recorded.
void Profile::collect_runs(const Trace &trace, uint64_t first_run) {
  uint64_t lost = trace.of_device().first_dropped;
  for (const Trace::Track &track : trace.of_workers())
    lost = std::min(lost, track.first_dropped);
  std::vector<int64_t> times;
  for (const Trace::Event &event : trace.of_runs().events) {
    if (event.function != &program.function() || event.run < first_run)
      continue;
    if (event.run >= lost) {
      ++whole.lost;
      continue;
    }
    runs.emplace(event.run, runs.size());
    times.push_back(event.end - event.begin);
  }
  whole.runs = times.size();
  whole.median_ms = milliseconds(median(times));
  whole.min_ms = milliseconds(least(times));
}

/// What one thread, or the GPU, has done.
void Profile::collect_steps(const Trace::Track &track, bool of_device) {
  std::vector<size_t> executed(parts.size());
  uint64_t current = UINT64_MAX;
  for (const Trace::Event &event : track.events) {
    auto run = runs.find(event.run);
    if (event.function != &program.function() || event.what ||
        run == runs.end())
      continue;
    if (std::exchange(current, event.run) != event.run)
      std::ranges::fill(executed, 0);
    Sample &sample = samples[event.step][run->second];
    size_t execution = executed[event.step]++;
    if (execution == sample.executions.size())
      sample.executions.push_back({event.begin, event.end});
    Span &span = sample.executions[execution];
    span = {std::min(span.begin, event.begin), std::max(span.end, event.end)};
    sample.work += of_device ? 0 : event.end - event.begin;
    parts[event.step].num_steps_timed = event.count;
  }
}

/// The numbers of a step over the runs that have executed it.
void Profile::summarise(uint32_t step) {
  tinh_step_profile_t &part = parts[step];
  std::vector<int64_t> times, work;
  for (const Sample &sample : samples[step]) {
    if (sample.executions.empty())
      continue;
    int64_t time = 0;
    for (const Span &span : sample.executions)
      time += span.end - span.begin;
    times.push_back(time);
    work.push_back(sample.work);
    part.executions += sample.executions.size();
  }
  part.runs = times.size();
  part.median_ms = milliseconds(median(times));
  part.min_ms = milliseconds(least(times));
  part.work_ms = milliseconds(median(work));
}

void Profile::collect_spans(const Trace &trace, uint64_t first_run) {
  const auto &events = trace.of_runs().events;
  auto run = std::ranges::find_if(events, [&](const Trace::Event &event) {
    return event.function == &program.function() && event.run >= first_run &&
           runs.contains(event.run) &&
           milliseconds(event.end - event.begin) == whole.median_ms;
  });
  if (run == events.end())
    return;
  uint32_t worker = 0;
  for (const Trace::Track &track : trace.of_workers())
    add_spans(track, *run, worker++);
  add_spans(trace.of_device(), *run, TINH_SPAN_OF_CUDA);
  whole.num_spans = static_cast<uint32_t>(median_run.size());
}

void Profile::add_spans(const Trace::Track &track, const Trace::Event &run,
                        uint32_t worker) {
  for (const Trace::Event &event : track.events)
    if (event.run == run.run && event.function == run.function && !event.what &&
        event.iteration == Trace::kNoIteration)
      median_run.push_back({event.step, worker,
                            milliseconds(event.begin - run.begin),
                            milliseconds(event.end - run.begin)});
}

std::shared_ptr<const Profile> Profiles::get(const tinh_artifact_t &artifact,
                                             const Program &program,
                                             const Trace &trace,
                                             uint64_t num_runs) {
  if (std::exchange(known_runs, num_runs) != num_runs)
    known.clear();
  std::shared_ptr<const Profile> &profile = known[&program];
  if (!profile)
    profile =
        std::make_shared<const Profile>(artifact, program, trace, first_run);
  return profile;
}

void Profiles::forget(uint64_t num_runs) {
  first_run = num_runs;
  known.clear();
}

} // namespace tinh::runtime
