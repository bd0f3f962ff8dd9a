//===- scale_test.cpp - The model of many ranks -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "measure.h"

#include <gtest/gtest.h>

using namespace tinh::tools;

/// Seconds and bytes a second of a network in which 1000 bytes take a second.
static Network slow_network() {
  Network network;
  network.latency = 0;
  network.bandwidth = 1000;
  network.algorithm = Algorithm::ring;
  return network;
}

static PlanStep compute(double seconds) {
  return {PlanStep::Kind::compute, "", seconds, 0};
}
static PlanStep start(uint32_t collective) {
  return {PlanStep::Kind::start, "", 0, collective};
}
static PlanStep await(uint32_t collective) {
  return {PlanStep::Kind::await, "", 0, collective};
}

/// Two reductions of 4 and 2 s (of two ranks) below 3 + 1 s of computation.
static Plan two_reductions() {
  Plan plan;
  plan.collectives = {{TINH_ALL_REDUCE, 4000}, {TINH_ALL_REDUCE, 2000}};
  plan.steps = {compute(1), start(0), compute(3), start(1),
                compute(1), await(0), await(1),   compute(1)};
  return plan;
}

TEST(Simulation, DoesOneCollectiveAfterTheOther) {
  // The second waits from 4 to 5 for the wire, and is done at 7.
  Scaling scaling = simulate(two_reductions(), slow_network(), 2);
  EXPECT_DOUBLE_EQ(scaling.compute, 6);
  EXPECT_DOUBLE_EQ(scaling.communication, 6);
  EXPECT_DOUBLE_EQ(scaling.step, 8);
  EXPECT_DOUBLE_EQ(scaling.exposed(), 2);
  EXPECT_DOUBLE_EQ(scaling.overlap(), 2.0 / 3);
  EXPECT_DOUBLE_EQ(scaling.efficiency(), 0.75);
}

TEST(Simulation, LeavesTheWireIdleUntilSomethingIsStarted) {
  Plan plan = two_reductions();
  plan.collectives[0].bytes = 1000;
  // From 1 to 2, and from 4 to 6; awaited from 5 on.
  EXPECT_DOUBLE_EQ(simulate(plan, slow_network(), 2).step, 7);
}

TEST(Simulation, TakesTheHostsShareFromTheComputation) {
  Network network = slow_network();
  network.host_share = 1;
  EXPECT_DOUBLE_EQ(simulate(two_reductions(), network, 2).step, 12);
  // From 1 to 5 at half the rate 2 s; from 5 to 6 the third one; both are
  // awaited behind 1 s at half the rate, from 6 to 8.
  network.host_share = 0.5;
  EXPECT_DOUBLE_EQ(simulate(two_reductions(), network, 2).step, 9);
}

TEST(Simulation, OfOneRankHasNoCommunication) {
  for (Algorithm algorithm : {Algorithm::direct, Algorithm::ring,
                              Algorithm::tree, Algorithm::halving}) {
    Network network = slow_network();
    network.algorithm = algorithm;
    network.latency = 1;
    Scaling scaling = simulate(two_reductions(), network, 1);
    EXPECT_EQ(scaling.communication, 0);
    EXPECT_DOUBLE_EQ(scaling.step, 6);
    EXPECT_EQ(scaling.overlap(), 1);
  }
}

TEST(Network, ScattersAndGathersAsItReduces) {
  for (Algorithm algorithm : {Algorithm::ring, Algorithm::halving})
    for (uint32_t ranks : {2u, 3u, 64u, 1000u}) {
      auto of = [&](tinh_collective_kind_t kind) {
        return traffic_of({kind, 1 << 20}, algorithm, ranks);
      };
      Traffic whole = of(TINH_ALL_REDUCE), scatter = of(TINH_REDUCE_SCATTER),
              gather = of(TINH_ALL_GATHER);
      EXPECT_EQ(whole.messages, scatter.messages + gather.messages);
      EXPECT_DOUBLE_EQ(whole.bytes, scatter.bytes + gather.bytes);
    }
}

/// What a network takes for reductions of some sizes.
static std::vector<ReductionTime> times_of(const Network &network,
                                           uint32_t ranks) {
  std::vector<ReductionTime> times;
  for (uint64_t bytes : {1u << 10, 1u << 16, 1u << 20})
    times.push_back(
        {bytes, network.seconds({TINH_ALL_REDUCE, bytes}, ranks), 0});
  return times;
}

TEST(Fit, FindsTheNetworkThatWasMeasured) {
  Network network;
  network.latency = 30e-6;
  network.bandwidth = 3e9;
  Network found = fit_network(times_of(network, 4), Network(), 4);
  EXPECT_NEAR(found.latency, 30e-6, 1e-12);
  EXPECT_NEAR(found.bandwidth, 3e9, 1);
}

TEST(Fit, SharesOfTheHostCountForAllThatShareACore) {
  std::vector<ReductionTime> times = {{1024, 1, 0.5}, {4096, 3, 0.5}};
  EXPECT_DOUBLE_EQ(fit_host_share(times, 4), 0.25);
  EXPECT_DOUBLE_EQ(fit_host_share(times, 0.5), 0.5);
  EXPECT_DOUBLE_EQ(fit_host_share(times, 0.1), 1);
}

TEST(Fit, HasNoLatencyBelowZero) {
  Network network;
  network.latency = 0;
  std::vector<ReductionTime> times = times_of(network, 2);
  times[0].seconds /= 2; // Faster than its bytes.
  Network found = fit_network(times, Network(), 2);
  EXPECT_EQ(found.latency, 0);
  EXPECT_GT(found.bandwidth, 1.25e9);
}
