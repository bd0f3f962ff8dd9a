//===- library_calls.cpp - The steps that libraries compute -----*- C++ -*-===//
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
#include "cuda/run/library_calls.h"

#include <algorithm>

namespace tinh::runtime::cuda {

/// The largest power of 2 that is known to divide all of these bits.
static uint32_t alignment_of(uint64_t bits) {
  bits |= kMostAlignment;
  return static_cast<uint32_t>(bits & -bits);
}

/// Those of a step's buffers, wherever in their loops they lie.
static Alignments alignments_of(const tinh_step_t &step,
                                void *const *addresses) {
  Alignments alignments;
  for (uint32_t b = 0; b < step.num_buffers; ++b) {
    uint64_t bits = address(addresses[b]);
    for (uint32_t i = 0; i < step.num_strides; ++i)
      if (step.strides[i].buffer == b)
        bits |= static_cast<uint64_t>(step.strides[i].bytes);
    alignments.push_back(alignment_of(bits));
  }
  return alignments;
}

void LibraryCalls::add(const FunctionPlan &plan, void *const *table) {
  Calls &calls = functions.emplace_back();
  const tinh_function_desc_t &function = plan.function();
  std::map<uint32_t, LibraryCall> by_step;
  uint32_t entry = 0;
  for (uint32_t s = 0; s < function.num_steps; ++s) {
    const tinh_step_t &step = function.steps[s];
    void *const *addresses = table + entry;
    entry += step.num_buffers;
    if (step.opcode != TINH_OP_DISPATCH ||
        !loaded.artifact().kernels[step.kernel].library)
      continue;
    Alignments alignments = alignments_of(step, addresses);
    if (auto *found = loaded.libraries().plan(step.kernel, alignments))
      by_step[s] = {found, std::move(alignments), step.kernel};
  }
  for (uint32_t i = 0; i < plan.segments().size(); ++i) {
    std::span<const Node> nodes = plan.nodes(plan.segments()[i]);
    for (uint32_t node = 0; node < nodes.size(); ++node)
      if (auto call = by_step.find(nodes[node].step); call != by_step.end())
        calls[{i, node}] = call->second;
  }
  for (const auto &[step, call] : by_step)
    if (plan.is_loose(step))
      calls[{TINH_NO_SEGMENT, step}] = call;
  share_workspaces(plan, calls);
}

/// By node: how many of the segment's first nodes it comes after.
static std::vector<uint32_t> count_followed(const FunctionPlan &plan,
                                            const Segment &segment) {
  std::vector<uint32_t> followed;
  for (const Node &node : plan.nodes(segment)) {
    uint32_t count = 0;
    for (uint32_t other : plan.follows(node))
      count = std::max(count, followed[other]);
    for (uint32_t other : plan.follows(node))
      count += other == count;
    followed.push_back(count);
  }
  return followed;
}

void LibraryCalls::share_workspaces(const FunctionPlan &plan, Calls &calls) {
  for (uint32_t i = 0; i < plan.segments().size(); ++i) {
    const Segment &segment = plan.segments()[i];
    std::vector<uint32_t> followed = count_followed(plan, segment);
    // The last node that has had each workspace of the segment's stream.
    std::vector<uint32_t> last;
    for (uint32_t node = 0; node < segment.num_nodes; ++node) {
      auto call = calls.find({i, node});
      if (call == calls.end() || call->second.plan->workspace_size == 0)
        continue;
      uint32_t end = followed[node];
      auto free = std::find_if(last.begin(), last.end(),
                               [&](uint32_t user) { return user < end; });
      if (free == last.end() && last.size() < kEach)
        free = last.insert(last.end(), node);
      if (free == last.end()) {
        free = std::min_element(last.begin(), last.end());
        call->second.after = *free;
      }
      *free = node;
      call->second.workspace =
          segment.stream * kEach + static_cast<uint32_t>(free - last.begin());
    }
  }
  // Loose steps follow each other, on the first stream.
  for (const auto &[place, call] : calls)
    sizes[call.workspace] =
        std::max(sizes[call.workspace], call.plan->workspace_size);
}

void LibraryCalls::allocate_workspaces() {
  for (uint32_t i = 0; i < kStreams * kEach; ++i)
    workspaces[i] = allocate(loaded.device(), sizes[i],
                             "what libraries of matmuls work with");
}

const LibraryCall *LibraryCalls::find(uint32_t function, uint32_t segment,
                                      uint32_t number) const {
  auto found = functions[function].find({segment, number});
  return found == functions[function].end() ? nullptr : &found->second;
}

bool LibraryCalls::execute(const LibraryCall &call,
                           std::span<void *const> buffers,
                           CUstream stream) const {
  for (size_t i = 0; i < buffers.size(); ++i)
    if (address(buffers[i]) % call.alignments[i] != 0)
      return false;
  call.plan->execute(buffers.data(), workspaces[call.workspace].get(), stream);
  return true;
}

Graph LibraryCalls::capture(const LibraryCall &call,
                            std::span<void *const> buffers) const {
  Stream stream = make_stream(loaded.device());
  try {
    return cuda::capture(loaded.device(), stream, "its work",
                         [&] { execute(call, buffers, stream.get()); });
  } catch (const Error &error) {
    loaded.libraries().refuse(call.kernel, call.alignments, error.what());
    return {};
  }
}

} // namespace tinh::runtime::cuda
