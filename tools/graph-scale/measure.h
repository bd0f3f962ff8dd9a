//===- measure.h - Measured times of steps ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What this machine takes for the steps of a function, and for collectives. As
// ranks that mpirun has started, which all make these calls, processes share
// the machine while they measure, as they do when they train.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_SCALE_MEASURE_H
#define TINH_GRAPH_SCALE_MEASURE_H

#include "ranks.h"
#include "simulation.h"

namespace tinh::tools {

struct MeasureOptions {
  ContextOptions of_context; ///< Its threads and its device.
  double seconds = 2;        ///< Of runs, at least a few.
};

/// Gives the steps of `plan` the times that they take in `function` on random
/// inputs, where collectives take none. They add up to what a run takes: steps
/// of several threads that overlap are as much shorter. Of several ranks they
/// are the means.
/// `program` is what of the module contexts run here.
void measure_steps(Plan &plan, const Module &module,
                   const tinh_artifact_t &program, uint32_t function,
                   const Ranks &ranks, const MeasureOptions &options);

/// An all-reduce between the ranks of this machine.
struct ReductionTime {
  uint64_t bytes;
  double seconds;
  double cpu_seconds; ///< That a rank's cores are busy with it.
};

/// From 1 KiB to 1 MiB, or to the most that `plan` sends at once.
std::vector<ReductionTime> measure_reductions(const Plan &plan,
                                              const Ranks &ranks);

/// How much of their time reductions take from ranks that compute, each of
/// which has so many CPUs. What a rank is busy with takes the time of all that
/// share its core, and while it waits these compute.
double fit_host_share(const std::vector<ReductionTime> &times, double cpus);

/// The latency and the bandwidth with which the model is closest to the times
/// of `ranks` ranks: by least squares of relative errors; the bandwidth alone
/// if no latency fits. All else is that of `network`.
Network fit_network(const std::vector<ReductionTime> &times,
                    const Network &network, uint32_t ranks);

} // namespace tinh::tools

#endif // TINH_GRAPH_SCALE_MEASURE_H
