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
#include "cuda/device_run.h"

#include <algorithm>

namespace tinh::runtime::cuda {

DeviceRun::DeviceRun(std::shared_ptr<const LoadedModule> module,
                     const tinh_artifact_t &artifact, const Options &options)
    : loaded(std::move(module)), artifact(artifact), options(options) {
  const DevicePtr &device = loaded->device();
  host_memory = allocate_pinned(device, options.host_size, "an arena");
  device_memory = allocate(device, options.device_size, "an arena");
  for (Stream &stream : streams)
    stream = make_stream(device);
  if (options.timing)
    began = make_event(device, true);
  ended = make_event(device, false);
  loose_done = make_event(device, false);
  joined = make_event(device, false);
  uint32_t num_operands = 0;
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    num_operands = std::max(num_operands, artifact.kernels[i].num_operands);
  parameters.resize(num_operands);
}

/// Which copies go from or to memory of the caller. Of their two buffers one is
/// on the GPU.
void DeviceRun::find_copies(Plan &to_make) {
  const Schedule &schedule = to_make.program->schedule();
  const tinh_function_desc_t &of = to_make.program->function();
  for (uint32_t s = 0; s < of.num_steps; ++s) {
    const tinh_step_t &step = of.steps[s];
    if (!schedule.on_device(s) || step.opcode != TINH_OP_COPY || step.size == 0)
      continue;
    bool to_device = !on_device(artifact, of, step.buffers[0]);
    const tinh_buffer_ref_t &host = step.buffers[to_device ? 0 : 1];
    bool is_input = host.space == TINH_SPACE_INPUT;
    if (on_device(artifact, of, host) ||
        (!is_input && host.space != TINH_SPACE_OUTPUT))
      continue;
    CallerCopy &copy = to_make.copies.emplace_back();
    copy.step = s;
    copy.argument = host.index + (is_input ? 0 : of.num_inputs);
    copy.offset = host.offset;
    copy.size = step.size;
    copy.to_device = to_device;
    copy.staging_offset = to_make.staging_size;
    uint64_t rest = step.size % TINH_BUFFER_ALIGNMENT;
    to_make.staging_size +=
        rest ? step.size - rest + TINH_BUFFER_ALIGNMENT : step.size;
  }
}

void DeviceRun::add_graphs(Plan &to_make, const std::vector<void *> &table) {
  const Program &program = *to_make.program;
  const tinh_function_desc_t &of = program.function();
  std::vector<uint32_t> first_entries;
  uint32_t entry = 0;
  for (uint32_t s = 0; s < of.num_steps; entry += of.steps[s++].num_buffers)
    first_entries.push_back(entry);
  std::vector<void *> addresses = table;
  const std::vector<Segment> &segments = program.schedule().segments();
  for (uint32_t i = 0; i < segments.size(); ++i) {
    std::vector<std::span<void *const>> buffers;
    for (uint32_t node = 0; node < segments[i].steps.size(); ++node) {
      uint32_t step = segments[i].steps[node];
      void **of_step = addresses.data() + first_entries[step];
      if (CallerCopy *copy = copy_at(to_make, step)) {
        copy->segment = i;
        copy->node = node;
        copy->in_graph = copy->staging;
        of_step[copy->to_device ? 0 : 1] = copy->staging;
        copy->on_device = of_step[copy->to_device ? 1 : 0];
      }
      buffers.emplace_back(of_step, of.steps[step].num_buffers);
    }
    to_make.graphs.emplace_back(*loaded, artifact, of, segments[i], buffers);
    to_make.graphs.back().upload(streams[segments[i].stream].get());
  }
}

void DeviceRun::prepare(const std::vector<Program> &programs,
                        const std::vector<std::vector<void *>> &tables) {
  size_t num_segments = 0, num_copies = 0;
  uint64_t staging_size = 0;
  for (const Program &program : programs) {
    Plan &to_make = plans.emplace_back();
    to_make.program = &program;
    find_copies(to_make);
    staging_size = std::max(staging_size, to_make.staging_size);
    num_copies = std::max(num_copies, to_make.copies.size());
    num_segments = std::max(num_segments, program.schedule().segments().size());
  }
  arrivals.reserve(num_copies);
  const DevicePtr &device = loaded->device();
  staging = allocate_pinned(device, staging_size, "inputs and outputs");
  for (size_t i = 0; i < num_segments; ++i)
    segment_events.push_back(
        {options.timing ? make_event(device, true) : Event(),
         make_event(device, options.timing)});
  Current current(*device);
  for (size_t i = 0; i < plans.size(); ++i) {
    for (CallerCopy &copy : plans[i].copies)
      copy.staging = static_cast<char *>(staging.get()) + copy.staging_offset;
    add_graphs(plans[i], tables[i]);
  }
  for (const Stream &stream : streams) // Uploads may not be done.
    check(driver().cuStreamSynchronize(stream.get()),
          "cannot prepare CUDA graphs");
}

} // namespace tinh::runtime::cuda
