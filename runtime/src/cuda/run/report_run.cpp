//===- report_run.cpp - What a run on the GPU tells -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Traces, and which steps may have failed: the driver says that something did
// only when somebody waits.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/device_run.h"

#include <algorithm>
#include <set>

namespace tinh::runtime::cuda {

/// So are segments before it on the same stream.
void DeviceRun::finished(uint32_t index) {
  std::span<const Segment> segments = plan().segments();
  for (uint32_t i = 0; i <= index; ++i)
    if (segments[i].stream == segments[index].stream)
      is_finished[i] = true;
}

/// "'conv_0', 'relu_1' and 3 others"
static std::string list_names(const std::vector<std::string> &names) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " others";
  return text;
}

/// Names all steps that the GPU was given and that nobody knows to be finished.
std::string DeviceRun::failure() const {
  std::set<uint32_t> suspects;
  for (uint32_t i = 0; i < num_launched; ++i)
    if (!is_finished[i])
      for (const Node &node : plan().nodes(plan().segments()[i]))
        suspects.insert(node.step);
  for (uint32_t s = loose_first; loose && s <= loose_last; ++s)
    if (plan().is_loose(s))
      suspects.insert(s);
  std::string text = std::string(function().name) + " failed on the GPU";
  if (suspects.empty())
    return text;
  if (suspects.size() == 1)
    return name_of(artifact, function(), *suspects.begin()) +
           " failed on the GPU";
  std::vector<std::string> kernels;
  for (uint32_t s : suspects)
    if (const tinh_step_t &step = function().steps[s];
        step.opcode == TINH_OP_DISPATCH) {
      std::string name = artifact.kernels[step.kernel].name;
      if (std::find(kernels.begin(), kernels.end(), name) == kernels.end())
        kernels.push_back(std::move(name));
    }
  text += ", in one of the steps from " + std::to_string(*suspects.begin()) +
          " to " + std::to_string(*suspects.rbegin());
  return kernels.empty()
             ? text
             : text + (kernels.size() == 1 ? ", kernel " : ", kernels ") +
                   list_names(kernels);
}

/// Records the beginning or the end of a loose step, if it is not one too many.
void DeviceRun::time_loose(uint32_t step, bool begins) {
  num_loose += begins;
  if (num_loose > kMaxTimed)
    return;
  if (num_loose > loose_events.size())
    loose_events.push_back({step, make_event(loaded->device(), true),
                            make_event(loaded->device(), true)});
  LooseEvents &events = loose_events[num_loose - 1];
  events.step = step;
  check(driver().cuEventRecord((begins ? events.began : events.done).get(),
                               streams[0].get()),
        "cannot record when a step is executed");
}

/// False if the driver does not know when that was.
bool DeviceRun::trace_step(const DeviceApi::TraceSink &sink, uint64_t run,
                           const Event &from, const Event &to, uint32_t step,
                           uint32_t count) const {
  float begin = 0, end = 0; // In milliseconds.
  if (driver().cuEventElapsedTime(&begin, began.get(), from.get()) ||
      driver().cuEventElapsedTime(&end, began.get(), to.get()))
    return false;
  auto at = [&](float time) {
    return began_at + static_cast<int64_t>(static_cast<double>(time) * 1e6);
  };
  sink.add_segment(sink.trace, function(), step, count, run, at(begin),
                   at(end));
  return true;
}

void DeviceRun::trace_steps(const DeviceApi::TraceSink &sink,
                            uint64_t run) const {
  for (uint32_t i = 0; i < num_launched; ++i) {
    const Segment &segment = plan().segments()[i];
    if (!trace_step(sink, run, segment_events[i].began, segment_events[i].done,
                    plan().nodes(segment).front().step, segment.num_nodes))
      return;
  }
  uint64_t num_timed = std::min<uint64_t>(num_loose, kMaxTimed);
  for (uint64_t i = 0; i < num_timed; ++i)
    if (!trace_step(sink, run, loose_events[i].began, loose_events[i].done,
                    loose_events[i].step, 1))
      return;
  sink.drop_segments(sink.trace, run, num_loose - num_timed);
}

} // namespace tinh::runtime::cuda
