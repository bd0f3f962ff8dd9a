//===- Buckets.cpp - Reductions that ranks do together --------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Buckets.h"

#include <algorithm>

namespace tinh::planning {

/// By the number of reductions from the first on, the best division of these:
/// when it is finished, and where its last bucket begins.
std::vector<size_t> chooseBuckets(const std::vector<Reduction> &reductions,
                                  const Network &network) {
  struct Best {
    double finished = 0;
    size_t buckets = 0, begin = 0;
  };
  std::vector<Best> best(reductions.size() + 1);
  for (size_t end = 1; end <= reductions.size(); ++end) {
    double bytes = 0, ready = reductions[end - 1].ready;
    for (size_t begin = end; begin-- > 0;) {
      bytes += reductions[begin].bytes;
      Best with = {std::max(best[begin].finished, ready) +
                       network.seconds(bytes),
                   best[begin].buckets + 1, begin};
      bool isSooner = with.finished < best[end].finished ||
                      (with.finished == best[end].finished &&
                       with.buckets < best[end].buckets);
      if (begin + 1 == end || isSooner)
        best[end] = with;
    }
  }
  std::vector<size_t> ends;
  for (size_t end = reductions.size(); end > 0; end = best[end].begin)
    ends.push_back(end);
  std::reverse(ends.begin(), ends.end());
  return ends;
}

} // namespace tinh::planning
