//===- Buckets.h - Reductions that ranks do together ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Gradients become ready one after the other, and are reduced over the ranks
// meanwhile, in buckets. By the α–β model (Thakur, Rabenseifner and Gropp,
// "Optimization of Collective Communication Operations in MPICH", 2005) a
// bucket takes a latency and a time by its bytes, and the wire takes one after
// the other.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_BUCKETS_H
#define TINH_COMPILER_PLANNING_BUCKETS_H

#include <cstddef>
#include <vector>

namespace tinh::planning {

struct Network {
  double latency = 50e-6;    ///< Seconds, of a collective without bytes.
  double bandwidth = 1.25e9; ///< Bytes of a collective's operand per second.

  double seconds(double bytes) const { return latency + bytes / bandwidth; }
};

struct Reduction {
  double ready = 0; ///< Seconds from the beginning of the step.
  double bytes = 0;
};

/// Divides reductions, in the order in which they are ready, into buckets so
/// that what depends on the last one, `update` seconds for each of its bytes,
/// is finished as soon as it can be, with as few as that takes: what depends on
/// others is done meanwhile. Gives the ends of the buckets: each begins where
/// the one before ends.
std::vector<size_t> chooseBuckets(const std::vector<Reduction> &reductions,
                                  const Network &network, double update = 0);

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_BUCKETS_H
