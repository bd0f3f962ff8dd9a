//===- schedule.cpp - Which steps a GPU does, and how they go to it -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step waits for the steps up to its own wait_for or that of any step before
// it, whichever comes last; so these bounds only grow, and steps that may be
// launched together lie side by side among those of the GPU.
//
//===----------------------------------------------------------------------===//
#include "cuda/schedule.h"

#include "program.h"

#include <algorithm>

namespace tinh::runtime::cuda {

bool needs_device(const tinh_artifact_t &artifact) {
  auto has_kernel = [&](const tinh_step_t &step) {
    return step.opcode == TINH_OP_DISPATCH &&
           artifact.kernels[step.kernel].device == TINH_DEVICE_CUDA;
  };
  auto function_needs = [&](const tinh_function_desc_t &function) {
    return function.device_arena_size != 0 ||
           std::any_of(function.steps, function.steps + function.num_steps,
                       has_kernel);
  };
  return artifact.device_state_size != 0 ||
         std::any_of(artifact.functions,
                     artifact.functions + artifact.num_functions,
                     function_needs);
}

bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function,
               const tinh_buffer_ref_t &buffer) {
  const tinh_tensor_desc_t *tensor = nullptr;
  switch (buffer.space) {
  case TINH_SPACE_DEVICE:
  case TINH_SPACE_DEVICE_WEIGHTS:
    return true;
  case TINH_SPACE_INPUT:
    tensor = &function.inputs[buffer.index];
    break;
  case TINH_SPACE_OUTPUT:
    tensor = &function.outputs[buffer.index];
    break;
  }
  return tensor && tensor->variable != TINH_NOT_VARIABLE &&
         artifact.variables[tensor->variable].device == TINH_DEVICE_CUDA;
}

bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function, const tinh_step_t &step) {
  if (step.opcode == TINH_OP_DISPATCH)
    return artifact.kernels[step.kernel].device == TINH_DEVICE_CUDA;
  return step.opcode < TINH_OP_BRANCH &&
         std::any_of(
             step.buffers, step.buffers + step.num_buffers,
             [&](const tinh_buffer_ref_t &buffer) {
               return on_device(artifact, function, buffer);
             });
}

static bool is_empty(const tinh_step_t &step) {
  return step.opcode != TINH_OP_DISPATCH && step.size == 0;
}

Schedule::Schedule(const tinh_artifact_t &artifact,
                   const tinh_function_desc_t &function, bool one_by_one)
    : kind(function.num_steps, Kind::cpu), before(function.num_steps + 1u) {
  find_kinds(artifact, function, one_by_one);
  if (num_loose < num_steps)
    find_segments(function);
}

void Schedule::find_kinds(const tinh_artifact_t &artifact,
                          const tinh_function_desc_t &function,
                          bool one_by_one) {
  uint32_t conditional_until = 0; // Within a loop, or jumped over by something.
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    if (cuda::on_device(artifact, function, step)) {
      ++num_steps;
      bool loose = one_by_one || s < conditional_until;
      kind[s] = loose ? Kind::loose : Kind::segment;
      num_loose += loose;
    } else if (step.opcode < TINH_OP_BRANCH) {
      ++num_cpu;
      small_cpu &= is_one_piece(step);
    } else {
      conditional_until = std::max(conditional_until, step.target);
    }
    before[s + 1] = num_steps;
  }
}

uint32_t Schedule::next(uint32_t begin) const {
  auto found = std::find_if(kind.begin() + begin, kind.end(),
                            [](Kind k) { return k != Kind::cpu; });
  return static_cast<uint32_t>(found - kind.begin());
}

/// How many of the segments so far have a step before `position`.
uint32_t Schedule::covered_by(uint32_t position) const {
  auto end = std::partition_point(
      all_segments.begin(), all_segments.end(),
      [&](const Segment &segment) { return segment.first() < position; });
  return static_cast<uint32_t>(end - all_segments.begin());
}

void Schedule::find_segments(const tinh_function_desc_t &function) {
  std::vector<bool> is_target(function.num_steps + 1u);
  for (uint32_t s = 0; s < function.num_steps; ++s)
    if (function.steps[s].opcode >= TINH_OP_BRANCH)
      is_target[function.steps[s].target] = true;
  uint32_t wait = 0;  // The position that step s waits for.
  uint32_t block = 0; // Where steps have run straight through from.
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    wait = std::max(wait, static_cast<uint32_t>(step.wait_for + 1));
    if (is_target[s])
      block = s;
    if (step.opcode >= TINH_OP_BRANCH)
      block = s + 1;
    if (kind[s] != Kind::segment || is_empty(step))
      continue;
    uint32_t launch = wait;
    while (launch > block && kind[launch - 1] != Kind::cpu)
      --launch;
    launch = std::max(launch, block);
    add(s, launch, std::min(wait, launch), covered_by(wait));
  }
}

/// The last of the first `count` segments that is on another stream than
/// `stream`, or kNoSegment.
uint32_t Schedule::last_elsewhere(uint32_t count, uint32_t stream) const {
  while (count-- > 0)
    if (all_segments[count].stream != stream)
      return count;
  return kNoSegment;
}

/// Puts a step, which waits for the first `covered` segments, into the last one
/// if that waits for the others of them as well, or begins another.
void Schedule::add(uint32_t step, uint32_t launch, uint32_t wait,
                   uint32_t covered) {
  if (!all_segments.empty() && all_segments.back().launch == launch) {
    Segment &last = all_segments.back();
    auto num_others = static_cast<uint32_t>(all_segments.size() - 1);
    uint32_t needed =
        last_elsewhere(std::min(covered, num_others), last.stream);
    if (needed == kNoSegment ||
        (last.after != kNoSegment && needed <= last.after)) {
      last.steps.push_back(step);
      last.wait = std::max(last.wait, wait);
      return;
    }
  }
  // Where steps are loose, the first stream has all of them in order.
  uint32_t stream = 0;
  if (!all_segments.empty() && num_loose == 0) {
    uint32_t previous = all_segments.back().stream;
    stream = covered == all_segments.size() ? previous : 1 - previous;
  }
  uint32_t after = last_elsewhere(covered, stream);
  all_segments.push_back({{step}, launch, wait, stream, after});
}

std::vector<std::vector<uint32_t>>
dependencies(const tinh_function_desc_t &function, const Segment &segment) {
  const std::vector<uint32_t> &steps = segment.steps;
  auto num_before = [&](uint32_t position) {
    return static_cast<uint32_t>(
        std::lower_bound(steps.begin(), steps.end(), position) - steps.begin());
  };
  std::vector<uint32_t> waits; // In nodes, of each.
  std::vector<std::vector<uint32_t>> all;
  uint32_t wait = 0, s = 0;
  for (uint32_t step : steps) {
    for (; s <= step; ++s)
      wait =
          std::max(wait, static_cast<uint32_t>(function.steps[s].wait_for + 1));
    uint32_t end = num_before(wait);
    // The last of them has waited for those that it waits for itself.
    uint32_t begin = end ? waits[end - 1] : 0;
    waits.push_back(end);
    std::vector<uint32_t> &list = all.emplace_back();
    for (uint32_t node = begin; node < end; ++node)
      list.push_back(node);
  }
  return all;
}

} // namespace tinh::runtime::cuda
