//===- prepare_run.cpp - What a run on the GPU needs ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, streams, events and graphs, all made before anything runs.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/device_run.h"

#include "artifact/steps.h"
#include "cuda/driver/stream.h"

#include <algorithm>

namespace tinh::runtime::cuda {

DeviceRun::DeviceRun(std::shared_ptr<const LoadedModule> module,
                     const Options &options)
    : loaded(std::move(module)), artifact(loaded->artifact()), options(options),
      spin(options.spin_us), libraries(*loaded) {
  const DevicePtr &device = loaded->device();
  host_memory = allocate_pinned(device, options.host_size, "an arena");
  device_memory = allocate(device, options.device_size, "an arena");
  for (Stream &stream : streams)
    stream = options.stream ? Stream(nullptr, options.stream->handle.get())
                            : make_stream(device);
  if (options.timing || options.measure)
    began = make_event(device, true);
  ended = make_event(device, options.measure);
  loose_done = make_event(device, false);
  joined = make_event(device, false);
  uint32_t num_operands = 0;
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    num_operands = std::max(num_operands, artifact.kernels[i].num_operands);
  parameters.resize(num_operands);
}

/// Which copies go from or to memory of the caller.
void DeviceRun::find_copies(Plan &to_make) {
  const Schedule &schedule = *to_make.schedule;
  const std::vector<Segment> &segments = schedule.segments();
  for (uint32_t i = 0; i < segments.size(); ++i)
    for (uint32_t node = 0; node < segments[i].nodes.size(); ++node)
      find_copy(to_make, segments[i].nodes[node].step,
                segments[i].nodes[node].iterations, i, node);
  for (uint32_t s = 0; s < schedule.function().num_steps; ++s)
    if (schedule.is_loose(s))
      find_copy(to_make, s, {}, kNoSegment, 0);
  std::sort(to_make.copies.begin(), to_make.copies.end(),
            [](const CallerCopy &a, const CallerCopy &b) {
              return std::pair(a.step, a.node) < std::pair(b.step, b.node);
            });
}

/// Adds the step if it is such a copy. Of its two buffers one is on the GPU.
void DeviceRun::find_copy(Plan &to_make, uint32_t number,
                          const std::vector<int64_t> &iterations,
                          uint32_t segment, uint32_t node) {
  const tinh_function_desc_t &of = to_make.schedule->function();
  const tinh_step_t &step = of.steps[number];
  if (step.opcode != TINH_OP_COPY || step.size == 0)
    return;
  bool to_device = !on_device(artifact, of, step.buffers[0]);
  const tinh_buffer_ref_t &host = step.buffers[to_device ? 0 : 1];
  bool is_input = host.space == TINH_SPACE_INPUT;
  if (on_device(artifact, of, host) ||
      (!is_input && host.space != TINH_SPACE_OUTPUT))
    return;
  CallerCopy &copy = to_make.copies.emplace_back();
  copy.step = number;
  copy.segment = segment;
  copy.node = node;
  copy.argument = host.index + (is_input ? 0 : of.num_inputs);
  copy.offset = host.offset + static_cast<uint64_t>(iteration_offset(
                                  step, to_device ? 0 : 1, iterations));
  copy.size = step.size;
  copy.to_device = to_device;
  copy.staging_offset = to_make.staging_size;
  uint64_t rest = step.size % TINH_BUFFER_ALIGNMENT;
  to_make.staging_size +=
      rest ? step.size - rest + TINH_BUFFER_ALIGNMENT : step.size;
}

/// What nodes copy that want the number of an iteration.
void DeviceRun::make_numbers(const std::vector<Function> &functions) {
  std::vector<int64_t> list;
  for (const Function &one : functions)
    for (const Segment &segment : one.schedule->segments())
      for (const Node &node : segment.nodes) {
        const tinh_step_t &step = one.schedule->function().steps[node.step];
        if (step.opcode == TINH_OP_COPY &&
            step.buffers[0].space == TINH_SPACE_LOOP)
          while (static_cast<int64_t>(list.size()) <=
                 node.iterations[step.buffers[0].index])
            list.push_back(static_cast<int64_t>(list.size()));
      }
  numbers = allocate(loaded->device(), list.size() * sizeof(int64_t),
                     "the numbers of iterations");
  if (!list.empty())
    loaded->device()->upload(numbers.get(), list.data(),
                             list.size() * sizeof(int64_t),
                             "the numbers of iterations");
}

/// Moves a step's buffers on to where they lie in the node's iteration.
void DeviceRun::place_node(const tinh_step_t &step, const Node &node,
                           std::span<void *> buffers) const {
  for (uint32_t b = 0; b < step.num_buffers; ++b)
    if (step.buffers[b].space == TINH_SPACE_LOOP)
      buffers[b] = reinterpret_cast<int64_t *>(numbers.get()) +
                   node.iterations[step.buffers[b].index];
    else if (buffers[b]) // Or it is the caller's.
      buffers[b] = static_cast<char *>(buffers[b]) +
                   iteration_offset(step, b, node.iterations);
}

void DeviceRun::add_graphs(Plan &to_make, void *const *table) {
  const tinh_function_desc_t &of = to_make.schedule->function();
  std::vector<uint32_t> first_entries;
  uint32_t entry = 0;
  for (uint32_t s = 0; s < of.num_steps; entry += of.steps[s++].num_buffers)
    first_entries.push_back(entry);
  const std::vector<Segment> &segments = to_make.schedule->segments();
  for (uint32_t i = 0; i < segments.size(); ++i) {
    std::vector<std::vector<void *>> buffers;
    for (const Node &node : segments[i].nodes) {
      const tinh_step_t &step = of.steps[node.step];
      auto first = table + first_entries[node.step];
      buffers.emplace_back(first, first + step.num_buffers);
      place_node(step, node, buffers.back());
    }
    for (CallerCopy &copy : to_make.copies) {
      if (copy.segment != i)
        continue;
      copy.in_graph = copy.staging;
      buffers[copy.node][copy.to_device ? 0 : 1] = copy.staging;
      copy.on_device = buffers[copy.node][copy.to_device ? 1 : 0];
    }
    SegmentGraph::Number number = {
        static_cast<uint32_t>(&to_make - plans.data()), i};
    to_make.graphs.emplace_back(*loaded, artifact, of, segments[i], buffers,
                                libraries, number);
    to_make.graphs.back().upload(streams[segments[i].stream].get());
  }
}

void DeviceRun::prepare(const std::vector<Function> &functions) {
  size_t num_segments = 0, num_copies = 0;
  uint64_t staging_size = 0;
  for (const Function &one : functions) {
    Plan &to_make = plans.emplace_back();
    to_make.schedule = one.schedule;
    find_copies(to_make);
    staging_size = std::max(staging_size, to_make.staging_size);
    num_copies = std::max(num_copies, to_make.copies.size());
    num_segments = std::max(num_segments, one.schedule->segments().size());
  }
  arrivals.reserve(num_copies);
  const DevicePtr &device = loaded->device();
  staging = allocate_pinned(device, staging_size, "inputs and outputs");
  for (size_t i = 0; i < num_segments; ++i)
    segment_events.push_back(
        {options.timing ? make_event(device, true) : Event(),
         make_event(device, options.timing)});
  is_finished.resize(num_segments);
  make_numbers(functions);
  Current current(*device);
  for (const Function &one : functions)
    libraries.add(*one.schedule, one.table);
  libraries.allocate_workspaces();
  for (size_t i = 0; i < plans.size(); ++i) {
    for (CallerCopy &copy : plans[i].copies)
      copy.staging = static_cast<char *>(staging.get()) + copy.staging_offset;
    add_graphs(plans[i], functions[i].table);
  }
  for (const Stream &stream : streams) // Uploads may not be done.
    check(driver().cuStreamSynchronize(stream.get()),
          "cannot prepare CUDA graphs");
}

} // namespace tinh::runtime::cuda
