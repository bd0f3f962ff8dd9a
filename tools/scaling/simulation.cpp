//===- simulation.cpp - A step of many ranks, simulated -------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "simulation.h"

#include "tinh/runtime.h"

#include <algorithm>

namespace tinh::tools {

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

double Plan::compute_seconds() const {
  double seconds = 0;
  for (const PlanStep &step : steps)
    seconds += step.seconds;
  return seconds;
}

static Collective collective_of(const tinh_collective_desc_t &what) {
  auto kind = static_cast<tinh_collective_kind_t>(what.kind);
  bool is_part = kind == TINH_ALL_GATHER || kind == TINH_REDUCE_SCATTER;
  return {kind, what.count * (is_part ? what.num_ranks : 1) *
                    tinh_dtype_size(
                        static_cast<tinh_dtype_t>(what.communication_dtype))};
}

static std::string name_of(const tinh_artifact_t &artifact,
                           const tinh_step_t &step) {
  static const char *const kNames[] = {"kernel", "copy",  "zero",
                                       "start",  "await", "branch",
                                       "jump",   "loop",  "next"};
  return step.opcode == TINH_OP_DISPATCH ? artifact.kernels[step.kernel].name
                                         : kNames[step.opcode];
}

Plan plan_of(const tinh_artifact_t &artifact,
             const tinh_function_desc_t &function) {
  Plan plan;
  std::vector<uint32_t> collectives(function.num_steps); // By start.
  for (uint32_t i = 0; i < function.num_steps; ++i) {
    const tinh_step_t &step = function.steps[i];
    PlanStep &made = plan.steps.emplace_back();
    made.name = name_of(artifact, step);
    if (step.opcode == TINH_OP_START) {
      made.kind = PlanStep::Kind::start;
      made.collective = collectives[i] =
          static_cast<uint32_t>(plan.collectives.size());
      plan.collectives.push_back(collective_of(*step.collective));
      plan.num_ranks = std::max(plan.num_ranks, step.collective->num_ranks);
    } else if (step.opcode == TINH_OP_AWAIT) {
      made.kind = PlanStep::Kind::await;
      made.collective = collectives[step.target];
    }
  }
  return plan;
}

//===----------------------------------------------------------------------===//
// Simulation
//===----------------------------------------------------------------------===//

namespace {

/// What happens on one rank, and when: seconds since the step began.
class Rank {
public:
  Rank(const Plan &plan, const Network &network, uint32_t ranks)
      : plan(plan), network(network), ranks(ranks),
        ends(plan.collectives.size()) {}

  Scaling run() {
    for (const PlanStep &step : plan.steps)
      switch (step.kind) {
      case PlanStep::Kind::compute:
        compute(step.seconds);
        break;
      case PlanStep::Kind::start:
        start(step.collective);
        break;
      case PlanStep::Kind::await:
        now = std::max(now, ends[step.collective]);
        break;
      }
    return {ranks, plan.compute_seconds(), in_use, now};
  }

private:
  /// From now on the wire is in use without a break until `wire_free`: what has
  /// been started begins as soon as it can.
  void compute(double seconds) {
    double busy = std::max(0.0, wire_free - now);
    double rate = 1 - network.host_share;
    if (rate * busy >= seconds)
      now += seconds > 0 ? seconds / rate : 0;
    else
      now += busy + seconds - rate * busy;
  }

  void start(uint32_t collective) {
    double seconds = network.seconds(plan.collectives[collective], ranks);
    wire_free = std::max(now, wire_free) + seconds;
    ends[collective] = wire_free;
    in_use += seconds;
  }

  const Plan &plan;
  const Network &network;
  const uint32_t ranks;
  std::vector<double> ends; ///< By collective.
  double now = 0, wire_free = 0, in_use = 0;
};

} // namespace

Scaling simulate(const Plan &plan, const Network &network, uint32_t ranks) {
  return Rank(plan, network, ranks).run();
}

} // namespace tinh::tools
