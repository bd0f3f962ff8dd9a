//===- caller_copies.cpp - Copies from and to the caller's memory ---------===//
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
#include "cuda/run/caller_copies.h"

#include "artifact/steps.h"

#include <algorithm>
#include <cstring>

namespace tinh::runtime::cuda {

CallerCopies::CallerCopies(const LoadedModule &loaded, const FunctionPlan &plan)
    : loaded(&loaded), function(&plan.function()) {
  for (uint32_t i = 0; i < plan.segments().size(); ++i) {
    std::span<const Node> nodes = plan.nodes(plan.segments()[i]);
    for (uint32_t node = 0; node < nodes.size(); ++node)
      find(plan, nodes[node].step, plan.iterations(nodes[node]), i, node);
  }
  for (uint32_t s = 0; s < function->num_steps; ++s)
    if (plan.is_loose(s))
      find(plan, s, {}, TINH_NO_SEGMENT, 0);
  std::sort(copies.begin(), copies.end(),
            [](const CallerCopy &a, const CallerCopy &b) {
              return std::pair(a.step, a.node) < std::pair(b.step, b.node);
            });
  arrivals.reserve(copies.size());
}

/// Adds the step if it is such a copy. Of its two buffers one is on the GPU.
void CallerCopies::find(const FunctionPlan &plan, uint32_t number,
                        const std::vector<int64_t> &iterations,
                        uint32_t segment, uint32_t node) {
  const tinh_artifact_t &artifact = loaded->artifact();
  const tinh_step_t &step = function->steps[number];
  if (step.opcode != TINH_OP_COPY || step.size == 0)
    return;
  bool to_device = !on_device(artifact, *function, step.buffers[0]);
  const tinh_buffer_ref_t &host = step.buffers[to_device ? 0 : 1];
  bool is_input = host.space == TINH_SPACE_INPUT;
  if (on_device(artifact, *function, host) ||
      (!is_input && host.space != TINH_SPACE_OUTPUT))
    return;
  CallerCopy &copy = copies.emplace_back();
  copy.step = number;
  copy.segment = segment;
  copy.node = node;
  copy.argument = host.index + (is_input ? 0 : function->num_inputs);
  copy.offset = host.offset + static_cast<uint64_t>(plan.offset_of(
                                  step, to_device ? 0 : 1, iterations));
  copy.size = step.size;
  copy.to_device = to_device;
  copy.staging_offset = size_of_staging;
  uint64_t rest = step.size % TINH_BUFFER_ALIGNMENT;
  size_of_staging +=
      rest ? step.size - rest + TINH_BUFFER_ALIGNMENT : step.size;
}

void CallerCopies::set_staging(char *staging) {
  for (CallerCopy &copy : copies)
    copy.staging = staging + copy.staging_offset;
}

void CallerCopies::add_to(uint32_t segment,
                          std::vector<std::vector<void *>> &buffers) {
  for (CallerCopy &copy : copies) {
    if (copy.segment != segment)
      continue;
    copy.in_graph = copy.staging;
    buffers[copy.node][copy.to_device ? 0 : 1] = copy.staging;
    copy.on_device = buffers[copy.node][copy.to_device ? 1 : 0];
  }
}

/// Finds out whether the GPU can use the caller's memory itself. That of the
/// context's state is pinned. A node of a graph goes on copying from, or to,
/// the kind of memory that it was made for: the host's.
void CallerCopies::look_at(CallerCopy &copy, bool on_state) const {
  const tinh_tensor_desc_t &tensor = argument_of(*function, copy.argument);
  MemoryKind kind = on_state && tensor.variable != TINH_NOT_VARIABLE
                        ? MemoryKind::pinned
                        : kind_of(copy.caller);
  copy.on_gpu = kind == MemoryKind::device;
  copy.direct = kind == MemoryKind::pinned ||
                (copy.on_gpu && copy.segment == TINH_NO_SEGMENT);
}

/// Has the graph use the memory that the copy goes from or to in this run.
static void place(CallerCopy &copy,
                  std::vector<std::optional<SegmentGraph>> &graphs) {
  char *host = copy.direct ? copy.caller : copy.staging;
  if (copy.segment == TINH_NO_SEGMENT || copy.in_graph == host)
    return;
  SegmentGraph &graph = *graphs[copy.segment];
  copy.in_graph = nullptr; // Should it fail.
  if (copy.to_device)
    graph.set_copy(copy.node, host, copy.on_device, copy.size);
  else
    graph.set_copy(copy.node, copy.on_device, host, copy.size);
  copy.in_graph = host;
}

void CallerCopies::begin(void *const *arguments, bool on_state,
                         std::vector<std::optional<SegmentGraph>> &graphs) {
  arrivals.clear();
  for (CallerCopy &copy : copies) {
    copy.caller = static_cast<char *>(arguments[copy.argument]) + copy.offset;
    look_at(copy, on_state);
    copy.busy = false;
    place(copy, graphs);
  }
}

/// From the caller's memory, or to it.
void CallerCopies::copy_staged(const CallerCopy &copy, void *to,
                               const void *from) const {
  const char *name = argument_of(*function, copy.argument).name;
  if (!copy.on_gpu)
    std::memcpy(to, from, copy.size);
  else if (copy.to_device)
    loaded->device()->download(to, address(from), copy.size, name);
  else
    loaded->device()->upload(address(to), from, copy.size, name);
}

void CallerCopies::stage(uint32_t segment) const {
  for (const CallerCopy &copy : copies)
    if (copy.segment == segment && copy.to_device && !copy.direct)
      stage(copy, copy.caller);
}

void CallerCopies::expect(uint32_t segment, uint32_t due) {
  for (const CallerCopy &copy : copies)
    if (copy.segment == segment && !copy.to_device && !copy.direct)
      arrivals.push_back({due, false, &copy, copy.caller});
}

CallerCopy *CallerCopies::loose_copy(uint32_t step) {
  auto found = std::lower_bound(
      copies.begin(), copies.end(), step,
      [](const CallerCopy &copy, uint32_t s) { return copy.step < s; });
  bool is_there = found != copies.end() && found->step == step;
  return is_there ? &*found : nullptr;
}

template <typename IsThere> void CallerCopies::arrive_if(IsThere &&is_there) {
  std::erase_if(arrivals, [&](const Arrival &arrival) {
    if (!is_there(arrival))
      return false;
    copy_staged(*arrival.copy, arrival.to, arrival.copy->staging);
    return true;
  });
}

void CallerCopies::arrive(uint32_t position) {
  arrive_if([&](const Arrival &arrival) {
    return !arrival.is_loose && arrival.due <= position;
  });
}

void CallerCopies::arrive_loose() {
  arrive_if([](const Arrival &arrival) { return arrival.is_loose; });
  for (CallerCopy &copy : copies)
    copy.busy = false;
}

void CallerCopies::arrive_all() {
  arrive_if([](const Arrival &) { return true; });
}

bool CallerCopies::all_direct() const {
  return std::ranges::all_of(copies, &CallerCopy::direct);
}

} // namespace tinh::runtime::cuda
