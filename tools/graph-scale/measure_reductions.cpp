//===- measure_reductions.cpp - Measured times of collectives -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "inputs.h"
#include "measure.h"
#include "percentile.h"

#include <algorithm>
#include <chrono>
#include <ctime>

namespace tinh::tools {

/// An all-reduce of these numbers, in place: seconds.
static double time_reduction(tinh_collectives_t *table,
                             std::vector<float> &numbers) {
  using Clock = std::chrono::steady_clock;
  tinh_collective_t what = {};
  what.kind = TINH_ALL_REDUCE;
  what.reduction = TINH_REDUCE_MEAN;
  what.dtype = what.communication_dtype = TINH_DTYPE_F32;
  what.count = numbers.size();
  what.input = what.output = numbers.data();
  uint64_t ticket = 0;
  auto begin = Clock::now();
  const char *error = table->start(table, &what, &ticket);
  if (!error)
    error = table->wait(table, ticket);
  if (error)
    throw Error(TINH_COLLECTIVE_FAILED, error);
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

/// Of all threads of this process.
static double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

std::vector<ReductionTime> measure_reductions(const Plan &plan,
                                              const Ranks &ranks) {
  constexpr uint64_t kFewest = 1 << 10, kMost = 1 << 20; // Bytes.
  constexpr int kWarmup = 3, kRuns = 25;
  if (!ranks.are_many())
    throw UserError("--fit measures collectives between ranks: start some of "
                    "them, as mpirun -n 2 graph-scale … --fit");
  uint64_t most = kMost;
  for (const Collective &collective : plan.collectives)
    most = std::max(most, collective.bytes);
  std::vector<ReductionTime> times;
  for (uint64_t bytes = kFewest;; bytes = std::min(4 * bytes, most)) {
    std::vector<float> numbers(bytes / sizeof(float));
    std::vector<double> runs;
    for (int i = 0; i < kWarmup; ++i)
      time_reduction(ranks.table(), numbers);
    double busy = cpu_seconds();
    for (int i = 0; i < kRuns; ++i)
      runs.push_back(time_reduction(ranks.table(), numbers));
    busy = (cpu_seconds() - busy) / kRuns;
    std::vector<double> sums = {percentile(runs, 50), busy};
    ranks.sum(sums);
    times.push_back({bytes, sums[0] / ranks.count(), sums[1] / ranks.count()});
    if (bytes == most)
      return times;
  }
}

double fit_host_share(const std::vector<ReductionTime> &times, double cpus) {
  double busy = 0, all = 0;
  for (const ReductionTime &time : times) {
    busy += time.cpu_seconds;
    all += time.seconds;
  }
  double sharing = cpus > 0 ? std::max(1 / cpus, 1.0) : 1;
  return all > 0 ? std::min(busy * sharing / all, 1.0) : 1;
}

Network fit_network(const std::vector<ReductionTime> &times,
                    const Network &network, uint32_t ranks) {
  // Messages and bytes by their times: the sums of products of a least-squares
  // problem whose right-hand sides are 1.
  double mm = 0, mb = 0, bb = 0, m = 0, b = 0;
  for (const ReductionTime &time : times) {
    Traffic traffic =
        traffic_of({TINH_ALL_REDUCE, time.bytes}, network.algorithm, ranks);
    double messages = traffic.messages / time.seconds;
    double bytes = traffic.bytes / time.seconds;
    mm += messages * messages;
    mb += messages * bytes;
    bb += bytes * bytes;
    m += messages;
    b += bytes;
  }
  double determinant = mm * bb - mb * mb;
  double latency = determinant > 0 ? (m * bb - b * mb) / determinant : 0;
  double per_byte = determinant > 0 ? (b * mm - m * mb) / determinant : b / bb;
  if (latency < 0 || per_byte <= 0) { // The bandwidth alone.
    latency = 0;
    per_byte = b / bb;
  }
  Network fitted = network;
  fitted.latency = latency;
  fitted.bandwidth = 1 / per_byte;
  return fitted;
}

} // namespace tinh::tools
