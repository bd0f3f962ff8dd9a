//===- prepare_run.cpp - What a run on the GPU needs ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory, streams, events and graphs, made before anything runs; but graphs
// with collectives, before the function's first run in the arena.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/device_run.h"

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "cuda/driver/stream.h"

#include <algorithm>

namespace tinh::runtime::cuda {

DeviceRun::DeviceRun(std::shared_ptr<const LoadedModule> module,
                     const Options &options)
    : loaded(std::move(module)), artifact(loaded->artifact()), options(options),
      spin(options.spin_us), libraries(*loaded),
      collectives(options.collectives, loaded->device()) {
  const DevicePtr &device = loaded->device();
  host_memory = allocate_pinned(device, options.host_size, "an arena");
  device_memory = allocate(device, options.device_size, "an arena");
  collectives.add_memory(device_memory.get(), options.device_size);
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

/// What nodes copy that want the number of an iteration.
void DeviceRun::make_numbers() {
  std::vector<int64_t> list;
  for (const Prepared &one : functions)
    for (const Segment &segment : one.plan.segments())
      for (const Node &node : one.plan.nodes(segment)) {
        const tinh_step_t &step = one.plan.step(node);
        if (step.opcode == TINH_OP_COPY &&
            step.buffers[0].space == TINH_SPACE_LOOP)
          while (static_cast<int64_t>(list.size()) <=
                 one.plan.iterations(node)[step.buffers[0].index])
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
void DeviceRun::place_node(const FunctionPlan &plan, const Node &node,
                           std::span<void *> buffers) const {
  const tinh_step_t &step = plan.step(node);
  std::vector<int64_t> iterations = plan.iterations(node);
  for (uint32_t b = 0; b < step.num_buffers; ++b)
    if (step.buffers[b].space == TINH_SPACE_LOOP)
      buffers[b] = reinterpret_cast<int64_t *>(numbers.get()) +
                   iterations[step.buffers[b].index];
    else if (buffers[b]) // Or it is the caller's.
      buffers[b] = static_cast<char *>(buffers[b]) +
                   FunctionPlan::offset_of(step, b, iterations);
}

void DeviceRun::add_graphs(Prepared &to_make, void *const *table) {
  const FunctionPlan &of = to_make.plan;
  std::vector<uint32_t> first_entries;
  uint32_t entry = 0;
  for (uint32_t s = 0; s < of.function().num_steps;
       entry += of.function().steps[s++].num_buffers)
    first_entries.push_back(entry);
  for (uint32_t i = 0; i < of.segments().size(); ++i) {
    const Segment &segment = of.segments()[i];
    NodeBuffers buffers;
    bool has_collectives = false;
    for (const Node &node : of.nodes(segment)) {
      auto first = table + first_entries[node.step];
      buffers.emplace_back(first, first + of.step(node).num_buffers);
      place_node(of, node, buffers.back());
      has_collectives |= of.step(node).opcode == TINH_OP_START;
    }
    to_make.copies.add_to(i, buffers);
    to_make.graphs.emplace_back();
    if (has_collectives)
      to_make.with_collectives[i] = std::move(buffers);
    else
      make_graph(to_make, i, buffers);
  }
}

void DeviceRun::make_graph(Prepared &to_make, uint32_t index,
                           const NodeBuffers &buffers) {
  const FunctionPlan &of = to_make.plan;
  SegmentGraph::Number number = {
      static_cast<uint32_t>(&to_make - functions.data()), index};
  to_make.graphs[index]
      .emplace(*loaded, of, buffers, libraries, collectives, number)
      .upload(streams[of.segments()[index].stream].get());
}

void DeviceRun::prepare(std::span<const DeviceApi::Function> given) {
  size_t num_segments = 0;
  uint64_t staging_size = 0;
  for (const DeviceApi::Function &one : given) {
    FunctionPlan plan(artifact, *one.function, options.one_by_one);
    CallerCopies copies(*loaded, plan);
    staging_size = std::max(staging_size, copies.staging_size());
    num_segments = std::max(num_segments, plan.segments().size());
    functions.push_back({std::move(plan), std::move(copies)});
  }
  const DevicePtr &device = loaded->device();
  staging = allocate_pinned(device, staging_size, "inputs and outputs");
  for (size_t i = 0; i < num_segments; ++i)
    segment_events.push_back(
        {options.timing ? make_event(device, true) : Event(),
         make_event(device, options.timing)});
  is_finished.resize(num_segments);
  make_numbers();
  Current current(*device);
  for (size_t i = 0; i < functions.size(); ++i)
    libraries.add(functions[i].plan, given[i].table);
  libraries.allocate_workspaces();
  for (size_t i = 0; i < functions.size(); ++i) {
    functions[i].copies.set_staging(static_cast<char *>(staging.get()));
    add_graphs(functions[i], given[i].table);
  }
  for (const Stream &stream : streams) // Uploads may not be done.
    check(driver().cuStreamSynchronize(stream.get()),
          "cannot prepare CUDA graphs");
}

} // namespace tinh::runtime::cuda
