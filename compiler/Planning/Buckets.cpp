//===- Buckets.cpp - Reductions that ranks do together --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Buckets.h"

#include <algorithm>
#include <limits>

namespace tinh::planning {

namespace {

/// By the number of reductions from the first on: when they are finished at the
/// soonest, and where the last bucket of them then begins.
struct Soonest {
  std::vector<double> finished;
  std::vector<size_t> begin;
};

/// What a bucket of reductions up to `end` takes, with what comes behind the
/// last one.
double secondsOf(size_t end, double bytes,
                 const std::vector<Reduction> &reductions,
                 const Network &network, double update) {
  bool isLast = end == reductions.size();
  return network.seconds(bytes) + (isLast ? update * bytes : 0);
}

/// A bucket behind those of `before`.
Soonest addBucket(const std::vector<double> &before,
                  const std::vector<Reduction> &reductions,
                  const Network &network, double update) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  Soonest result{std::vector<double>(before.size(), kNever),
                 std::vector<size_t>(before.size(), 0)};
  for (size_t end = 1; end < before.size(); ++end) {
    double bytes = 0;
    for (size_t begin = end; begin-- > 0;) {
      bytes += reductions[begin].bytes;
      double finished = std::max(before[begin], reductions[end - 1].ready) +
                        secondsOf(end, bytes, reductions, network, update);
      if (finished < result.finished[end]) {
        result.finished[end] = finished;
        result.begin[end] = begin;
      }
    }
  }
  return result;
}

/// When the last of any number of buckets is finished.
double leastTime(const std::vector<Reduction> &reductions,
                 const Network &network, double update) {
  std::vector<double> finished(reductions.size() + 1, 0);
  for (size_t end = 1; end <= reductions.size(); ++end) {
    double bytes = 0, least = std::numeric_limits<double>::infinity();
    for (size_t begin = end; begin-- > 0;) {
      bytes += reductions[begin].bytes;
      least = std::min(least,
                       std::max(finished[begin], reductions[end - 1].ready) +
                           secondsOf(end, bytes, reductions, network, update));
    }
    finished[end] = least;
  }
  return finished.back();
}

} // namespace

std::vector<size_t> chooseBuckets(const std::vector<Reduction> &reductions,
                                  const Network &network, double update) {
  constexpr double kRounding = 1e-9;
  if (reductions.empty())
    return {};
  double least = leastTime(reductions, network, update) * (1 + kRounding);
  std::vector<Soonest> by; // By the number of buckets, from one on.
  std::vector<double> none(reductions.size() + 1,
                           std::numeric_limits<double>::infinity());
  none[0] = 0;
  do
    by.push_back(addBucket(by.empty() ? none : by.back().finished, reductions,
                           network, update));
  while (by.back().finished.back() > least);
  std::vector<size_t> ends(by.size());
  size_t end = reductions.size();
  for (size_t i = by.size(); i-- > 0; end = by[i].begin[end])
    ends[i] = end;
  return ends;
}

} // namespace tinh::planning
