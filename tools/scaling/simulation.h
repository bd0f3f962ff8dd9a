//===- simulation.h - A step of many ranks, simulated -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All ranks do the same steps, each of which takes the same time on all of
// them, so that what one rank does is what all do: it computes one step after
// the other, and has one wire, which does one collective after the other in the
// order in which they are started. START costs nothing, AWAIT blocks.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_SIMULATION_H
#define TINH_TOOLS_SIMULATION_H

#include "network.h"
#include "tinh/artifact.h"

#include <string>
#include <vector>

namespace tinh::tools {

struct PlanStep {
  enum class Kind { compute, start, await };
  Kind kind = Kind::compute;
  std::string name;        ///< The kernel's, or what it does.
  double seconds = 0;      ///< Of computation, by one rank.
  uint32_t collective = 0; ///< Of start and await.
};

/// A function, as a list of what is done one after the other.
struct Plan {
  std::vector<Collective> collectives; ///< In the order of their starts.
  /// Those of the function; the steps within loops are of no time, which is the
  /// loop's.
  std::vector<PlanStep> steps;
  uint32_t num_ranks = 0; ///< It was compiled for so many; 0: any number.

  double compute_seconds() const;
};

/// Without times.
Plan plan_of(const tinh_artifact_t &artifact,
             const tinh_function_desc_t &function);

/// What a number of ranks is estimated to take for a step: seconds.
struct Scaling {
  uint32_t ranks = 1;
  double compute = 0;       ///< What one rank alone takes.
  double communication = 0; ///< How long the wire is in use.
  double step = 0;

  double exposed() const { return step - compute; }
  /// How much of the communication takes no time of the step; 1 if there is no
  /// communication.
  double overlap() const {
    return communication > 0 ? 1 - exposed() / communication : 1;
  }
  /// Weak scaling: of the samples that so many times as many ranks would have
  /// computed in the time, if each were alone.
  double efficiency() const { return step > 0 ? compute / step : 1; }
};

Scaling simulate(const Plan &plan, const Network &network, uint32_t ranks);

} // namespace tinh::tools

#endif // TINH_TOOLS_SIMULATION_H
