//===- check_device_plan.cpp - Whether a plan for a GPU is sound *- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each step goes to the GPU once or, in loops, as often as they say; nodes
// follow nodes before them; and who waits for something waits for what has been
// launched, in each run. Whether the order is that of the memory is not looked
// at, as with the steps' wait_for.
//
//===----------------------------------------------------------------------===//
#include "artifact/check_artifact.h"

#include "artifact/step_buffers.h"
#include "artifact/steps.h"
#include "support/error.h"

#include <algorithm>

namespace tinh::runtime {
namespace {

class PlanChecker {
public:
  PlanChecker(const tinh_artifact_t &artifact,
              const tinh_function_desc_t &function)
      : artifact(artifact), function(function), plan(*function.device_plan),
        enclosing(enclosing_loops(function)), conditional(function.num_steps),
        started(function.num_steps) {}

  std::string run() {
    if (!plan.launches || !plan.gates ||
        (plan.num_segments && !plan.segments) ||
        (plan.num_nodes && !plan.nodes) || (plan.num_edges && !plan.edges))
      return "an array is missing";
    find_conditional();
    for (uint32_t s = 0; s < function.num_steps; ++s) {
      if (!valid_launch(s))
        return message_of({"step ", s, " cannot go to it so"});
      if (!valid_gate(s))
        return message_of({"the CPU cannot wait before step ", s});
    }
    uint32_t first_node = 0;
    for (uint32_t i = 0; i < plan.num_segments; ++i) {
      if (const char *wrong = wrong_segment(i, first_node))
        return message_of({"segment ", i, wrong});
      first_node += plan.segments[i].num_nodes;
    }
    if (first_node != plan.num_nodes || !has_each_once())
      return "not each step is in segments once for each iteration";
    for (uint32_t i = 0; i < plan.num_segments; ++i)
      if (!orders_collectives(plan.segments[i]))
        return "its collectives are in no order, or awaited before they start";
    return {};
  }

private:
  /// What not each run executes, or not once.
  void find_conditional() {
    uint32_t until = 0;
    for (uint32_t s = 0; s < function.num_steps; ++s) {
      conditional[s] = s < until;
      if (is_control(s) && plan.launches[s] == TINH_LAUNCH_NONE)
        until = std::max(until, function.steps[s].target);
    }
  }

  bool is_control(uint32_t s) const {
    return function.steps[s].opcode >= TINH_OP_BRANCH;
  }

  bool valid_launch(uint32_t s) {
    uint8_t launch = plan.launches[s];
    has_loose |= launch == TINH_LAUNCH_LOOSE;
    if (launch == TINH_LAUNCH_SEGMENT && conditional[s])
      return false;
    if (is_collective(function.steps[s]) && launch == TINH_LAUNCH_LOOSE)
      return false;
    if (!is_control(s))
      return launch <= TINH_LAUNCH_LOOSE &&
             (launch != TINH_LAUNCH_NONE) ==
                 on_device(artifact, function, function.steps[s]);
    return launch == TINH_LAUNCH_NONE ||
           (launch == TINH_LAUNCH_SEGMENT && valid_unrolled(s));
  }

  /// Whether a loop of a known length begins at `s`, all of which goes into
  /// segments; or whether one ends there.
  bool valid_unrolled(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    if (step.opcode == TINH_OP_NEXT)
      return plan.launches[step.target - 1] == TINH_LAUNCH_SEGMENT;
    return step.opcode == TINH_OP_LOOP && step.num_buffers == 0 &&
           std::all_of(
               plan.launches + s, plan.launches + step.target,
               [](uint8_t launch) { return launch == TINH_LAUNCH_SEGMENT; });
  }

  bool valid_gate(uint32_t s) const {
    return plan.gates[s] == 0 || (plan.gates[s] == 1 && s > 0 &&
                                  plan.launches[s] == TINH_LAUNCH_NONE &&
                                  function.steps[s].opcode != TINH_OP_JUMP &&
                                  function.steps[s].opcode != TINH_OP_NEXT);
  }

  /// How often the loops around a step have it executed, if 64 bits can tell.
  uint64_t executions_of(uint32_t s) const {
    uint64_t all = 1;
    for (int32_t loop = enclosing[s]; loop >= 0; loop = enclosing[size_t(loop)])
      if (__builtin_mul_overflow(all, function.steps[loop].num_chunks, &all))
        all = UINT64_MAX;
    return all;
  }

  bool goes_into_segment(uint32_t s) const {
    const tinh_step_t &step = function.steps[s];
    bool is_empty = step.size == 0 && (step.opcode == TINH_OP_COPY ||
                                       step.opcode == TINH_OP_ZERO);
    return plan.launches[s] == TINH_LAUNCH_SEGMENT && !is_control(s) &&
           !is_empty;
  }

  /// What is wrong with a segment whose nodes begin at `first_node`; or null.
  const char *wrong_segment(uint32_t i, uint32_t first_node) const {
    const tinh_device_segment_t &segment = plan.segments[i];
    if (segment.first_node != first_node || segment.num_nodes == 0 ||
        segment.num_nodes > plan.num_nodes - first_node)
      return " has no nodes, or not those behind the one before it";
    for (uint32_t n = 0; n < segment.num_nodes; ++n)
      if (!valid_node(segment, n))
        return " has a step that is for none, or comes before what it follows, "
               "before the launch or after what needs it";
    if (conditional[segment.launch] || segment.wait > segment.launch ||
        (i > 0 && segment.launch < plan.segments[i - 1].launch))
      return " is launched where not each run comes, or too early";
    if (segment.due != TINH_AT_END &&
        (segment.due >= function.num_steps || !plan.gates[segment.due] ||
         !segment.is_awaited))
      return " is due where nobody waits";
    if (segment.is_awaited > 1 || segment.stream > (has_loose ? 0 : 1) ||
        !valid_after(i))
      return " is on no stream, or waits for what is none of the other one's";
    return nullptr;
  }

  /// The node at place `n` of a segment.
  bool valid_node(const tinh_device_segment_t &segment, uint32_t n) const {
    const tinh_device_node_t &node = plan.nodes[segment.first_node + n];
    return node.step < function.num_steps && goes_into_segment(node.step) &&
           node.iteration < executions_of(node.step) &&
           segment.launch <= node.step && segment.due > node.step &&
           valid_edges(node, n);
  }

  /// Whether in a segment each START comes after the one before, and each AWAIT
  /// after its START, which may be in a segment before.
  bool orders_collectives(const tinh_device_segment_t &segment) {
    // How many of the STARTs each node comes after, or is.
    std::vector<uint32_t> passed(segment.num_nodes);
    uint32_t num_started = 0;
    for (uint32_t n = 0; n < segment.num_nodes; ++n) {
      const tinh_device_node_t &node = plan.nodes[segment.first_node + n];
      const tinh_step_t &step = function.steps[node.step];
      for (uint32_t e = 0; e < node.num_edges; ++e)
        passed[n] =
            std::max(passed[n], passed[plan.edges[node.first_edge + e]]);
      if (step.opcode == TINH_OP_START) {
        if (passed[n] != num_started)
          return false;
        started[node.step] = {segment.first_node, passed[n] = ++num_started};
      } else if (step.opcode == TINH_OP_AWAIT) {
        auto [first_node, number] = started[step.target];
        if (number == 0 ||
            (first_node == segment.first_node && passed[n] < number))
          return false;
      }
    }
    return true;
  }

  bool valid_edges(const tinh_device_node_t &node, uint32_t n) const {
    if (node.first_edge > plan.num_edges ||
        node.num_edges > plan.num_edges - node.first_edge)
      return false;
    const uint32_t *edges = plan.edges + node.first_edge;
    for (uint32_t e = 0; e < node.num_edges; ++e)
      if (edges[e] >= n || (e > 0 && edges[e] <= edges[e - 1]))
        return false;
    return true;
  }

  bool valid_after(uint32_t i) const {
    const tinh_device_segment_t &segment = plan.segments[i];
    return segment.after == TINH_NO_SEGMENT ||
           (segment.after < i && plan.segments[segment.after].is_awaited &&
            plan.segments[segment.after].stream != segment.stream);
  }

  bool has_each_once() const {
    uint64_t expected = 0;
    for (uint32_t s = 0; s < function.num_steps; ++s)
      if (goes_into_segment(s) &&
          __builtin_add_overflow(expected, executions_of(s), &expected))
        return false;
    if (expected != plan.num_nodes)
      return false;
    std::vector<uint64_t> all;
    for (uint32_t i = 0; i < plan.num_nodes; ++i)
      all.push_back(uint64_t(plan.nodes[i].step) << 32 |
                    plan.nodes[i].iteration);
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) == all.end();
  }

  const tinh_artifact_t &artifact;
  const tinh_function_desc_t &function;
  const tinh_device_plan_t &plan;
  const std::vector<int32_t> enclosing;
  std::vector<bool> conditional;
  bool has_loose = false;
  struct Started {
    uint32_t first_node = 0, number = 0; ///< Its segment's; in that, from 1.
  };
  std::vector<Started> started; ///< By START: the last node of it so far.
};

} // namespace

std::string wrong_device_plan(const tinh_artifact_t &artifact,
                              const tinh_function_desc_t &function) {
  bool is_for_device =
      std::any_of(function.steps, function.steps + function.num_steps,
                  [&](const tinh_step_t &step) {
                    return on_device(artifact, function, step);
                  });
  if (is_for_device != (function.device_plan != nullptr))
    return is_for_device ? "it is missing" : "no step is for a GPU";
  if (!is_for_device)
    return {};
  return PlanChecker(artifact, function).run();
}

} // namespace tinh::runtime
