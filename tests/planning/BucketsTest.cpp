//===- BucketsTest.cpp - Which gradients are reduced together
//----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Buckets.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tinh::planning;

namespace {

using Ends = std::vector<size_t>;

/// When what depends on the last of these buckets is finished.
double finished(const std::vector<Reduction> &reductions, const Ends &ends,
                const Network &network, double update) {
  double time = 0, last = 0;
  size_t begin = 0;
  for (size_t end : ends) {
    double bytes = 0;
    for (size_t i = begin; i < end; ++i)
      bytes += reductions[i].bytes;
    time = std::max(time, reductions[end - 1].ready) + network.seconds(bytes);
    last = bytes;
    begin = end;
  }
  return time + update * last;
}

/// The least that any division takes.
double leastOfAll(const std::vector<Reduction> &reductions,
                  const Network &network, double update) {
  double least = 1e9;
  for (unsigned cuts = 0; cuts < 1u << (reductions.size() - 1); ++cuts) {
    Ends ends;
    for (size_t i = 1; i < reductions.size(); ++i)
      if (cuts >> (i - 1) & 1)
        ends.push_back(i);
    ends.push_back(reductions.size());
    least = std::min(least, finished(reductions, ends, network, update));
  }
  return least;
}

} // namespace

TEST(Buckets, NothingIsDivided) {
  EXPECT_EQ(chooseBuckets({}, {}), Ends{});
  EXPECT_EQ(chooseBuckets({{1, 4}}, {}), Ends{1});
}

TEST(Buckets, LatencyAloneMakesOne) {
  Network network{1, 1e12};
  EXPECT_EQ(chooseBuckets({{0, 4}, {0.1, 4}, {0.2, 4}}, network), Ends{3});
}

TEST(Buckets, BytesThatFitUnderTheRestGoFirst) {
  // 10 s for the first two, which are there 20 s before the last one is.
  Network network{0.1, 1};
  EXPECT_EQ(chooseBuckets({{0, 5}, {1, 5}, {20, 1}}, network), (Ends{2, 3}));
}

TEST(Buckets, UpdatesOfTheLastOneCount) {
  // On the wire one bucket is done first, but 10 s of updates come behind it.
  Network network{1, 1};
  EXPECT_EQ(chooseBuckets({{0, 5}, {0, 5}}, network, 0), Ends{2});
  EXPECT_EQ(chooseBuckets({{0, 5}, {0, 5}}, network, 1), (Ends{1, 2}));
}

TEST(Buckets, NoDivisionIsSoonerDone) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> numbers(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Reduction> reductions(1 + trial % 9);
    double time = 0;
    for (Reduction &reduction : reductions)
      reduction = {time += numbers(random), 10 * numbers(random)};
    Network network{numbers(random), 1 + 20 * numbers(random)};
    double update = numbers(random) / 10;
    Ends ends = chooseBuckets(reductions, network, update);
    ASSERT_EQ(ends.back(), reductions.size());
    ASSERT_TRUE(std::is_sorted(ends.begin(), ends.end()));
    EXPECT_NEAR(finished(reductions, ends, network, update),
                leastOfAll(reductions, network, update), 1e-6);
  }
}
