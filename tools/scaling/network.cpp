//===- network.cpp - What collectives take --------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "network.h"

#include <bit>

namespace tinh::tools {

/// Up to how many bytes of all ranks' inputs runtime/mpi reduces by one message
/// to each rank (runtime/mpi/operation.cpp).
static constexpr double kSmall = 32 << 10;

static Traffic all_reduce(double bytes, Algorithm algorithm, double ranks,
                          double rounds) {
  double others = ranks - 1, sent = 2 * others / ranks * bytes;
  switch (algorithm) {
  case Algorithm::direct:
    if (ranks * bytes <= kSmall)
      return {rounds, others * bytes};
    return {2 * others, sent};
  case Algorithm::ring:
    return {2 * others, sent};
  case Algorithm::tree:
    return {2 * rounds, 2 * rounds * bytes};
  case Algorithm::halving:
    return {2 * rounds, sent};
  }
  return {};
}

/// All-gather and reduce-scatter are each other backwards.
static Traffic all_gather(double bytes, Algorithm algorithm, double ranks,
                          double rounds) {
  bool by_neighbours =
      algorithm == Algorithm::direct || algorithm == Algorithm::ring;
  return {by_neighbours ? ranks - 1 : rounds, (ranks - 1) / ranks * bytes};
}

static Traffic broadcast(double bytes, Algorithm algorithm, double ranks,
                         double rounds) {
  if (algorithm == Algorithm::ring) // It is scattered, then gathered.
    return {rounds + ranks - 1, 2 * (ranks - 1) / ranks * bytes};
  return {rounds, rounds * bytes};
}

Traffic traffic_of(const Collective &collective, Algorithm algorithm,
                   uint32_t ranks) {
  auto bytes = static_cast<double>(collective.bytes);
  double rounds = std::bit_width(ranks - 1); // ⌈log2⌉
  switch (collective.kind) {
  case TINH_ALL_REDUCE:
    return all_reduce(bytes, algorithm, ranks, rounds);
  case TINH_ALL_GATHER:
  case TINH_REDUCE_SCATTER:
    return all_gather(bytes, algorithm, ranks, rounds);
  case TINH_BROADCAST:
    return broadcast(bytes, algorithm, ranks, rounds);
  }
  return {};
}

double Network::seconds(const Collective &collective, uint32_t ranks) const {
  Traffic traffic = traffic_of(collective, algorithm, ranks);
  return traffic.messages * latency + traffic.bytes / bandwidth;
}

} // namespace tinh::tools
