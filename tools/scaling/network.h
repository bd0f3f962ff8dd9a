//===- network.h - What collectives take ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The α–β model: a message takes a latency, α, and, for each byte, β, one by
// the bandwidth. How many messages and bytes a collective of p ranks takes one
// after the other is that of R. Thakur, R. Rabenseifner and W. Gropp,
// "Optimization of Collective Communication Operations in MPICH", International
// Journal of High Performance Computing Applications 19(1), 2005, section 4.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_NETWORK_H
#define TINH_TOOLS_NETWORK_H

#include "tinh/collectives.h"

#include <cstdint>

namespace tinh::tools {

enum class Algorithm {
  direct, ///< What runtime/mpi does: all-to-all, then all-gather.
  ring,   ///< Reduce-scatter and all-gather from neighbour to neighbour.
  tree,   ///< Binomial trees: all is reduced to one rank, which broadcasts it.
  halving ///< Rabenseifner's: recursive halving, then recursive doubling.
};

struct Collective {
  tinh_collective_kind_t kind;
  /// As they are sent, of the whole tensor: of an all-gather's output, of a
  /// reduce-scatter's input.
  uint64_t bytes;
};

/// What a rank sends one after the other.
struct Traffic {
  double messages, bytes;
};

Traffic traffic_of(const Collective &collective, Algorithm algorithm,
                   uint32_t ranks);

struct Network {
  double latency = 20e-6;    ///< Seconds, of a message.
  double bandwidth = 1.25e9; ///< Bytes a second, of each rank, each way.
  /// How much of a collective's time is taken from the computation: 0 where
  /// others than the cores that compute do it, 1 where these do all of it.
  double host_share = 0;
  Algorithm algorithm = Algorithm::direct;

  /// What a collective takes if it has the network for itself.
  double seconds(const Collective &collective, uint32_t ranks) const;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_NETWORK_H
