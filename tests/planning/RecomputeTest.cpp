//===- RecomputeTest.cpp - Values that are computed again -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/Recompute.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace tinh::planning;

namespace {

Computation step(std::vector<uint32_t> reads, std::vector<uint32_t> writes,
                 uint64_t cost = 1) {
  Computation result;
  result.reads = std::move(reads);
  result.writes = std::move(writes);
  result.cost = cost;
  result.repeatable = true;
  return result;
}

/// `layers` activations, of which the backward pass reads each again, from the
/// last one on. Value 0 is the input, 1 … layers are the activations, those
/// after them the gradients.
Computations chain(uint32_t layers, uint64_t size) {
  Computations problem;
  problem.sizes.assign(2 * layers + 2, size);
  problem.sizes[0] = 0;
  for (uint32_t i = 0; i < layers; ++i)
    problem.steps.push_back(step({i}, {i + 1}));
  problem.steps.push_back(step({layers}, {layers + 1}));
  for (uint32_t i = 0; i < layers; ++i)
    problem.steps.push_back(
        step({layers - i, layers + 1 + i}, {layers + 2 + i}));
  problem.steps.push_back(step({2 * layers + 1}, {}));
  problem.steps.back().repeatable = false;
  return problem;
}

/// The steps in their own order, each once.
Recomputation withoutRecomputing(const Computations &problem) {
  return planRecomputation(problem, UINT64_MAX);
}

/// Runs the steps, with numbers in place of tensors; what each step computes
/// for the first time.
std::vector<uint64_t> run(const Computations &problem,
                          const std::vector<uint32_t> &order) {
  std::vector<uint64_t> values(problem.sizes.size(), 0);
  std::vector<uint64_t> results(problem.steps.size(), 0);
  for (uint32_t at : order) {
    uint64_t sum = at + 1;
    for (uint32_t value : problem.steps[at].reads)
      sum = (sum + values[value]) * 0x9e3779b97f4a7c15;
    for (uint32_t value : problem.steps[at].writes)
      values[value] = sum;
    for (uint32_t value : problem.steps[at].overwrites)
      values[value] = 0; // Who reads it now is wrong.
    if (results[at] == 0)
      results[at] = sum;
    EXPECT_EQ(results[at], sum) << "step " << at << " computes another value";
  }
  return results;
}

/// What is live at most, from the definition: a value is needed from where it
/// is computed to its last reader before it is computed again.
uint64_t livePeak(const Computations &problem,
                  const std::vector<uint32_t> &order) {
  std::vector<uint64_t> live(order.size(), 0);
  for (uint32_t from = 0; from < order.size(); ++from)
    for (uint32_t value : problem.steps[order[from]].writes) {
      uint32_t last = from;
      for (uint32_t at = from + 1; at < order.size(); ++at) {
        const Computation &reader = problem.steps[order[at]];
        if (std::count(reader.reads.begin(), reader.reads.end(), value))
          last = at;
        if (std::count(reader.writes.begin(), reader.writes.end(), value))
          break;
      }
      for (uint32_t at = from; at <= last; ++at)
        live[at] += problem.sizes[value];
    }
  return *std::max_element(live.begin(), live.end());
}

TEST(Recompute, NothingUnderTheLimit) {
  Computations problem = chain(8, 100);
  Recomputation plan = planRecomputation(problem, 1000);
  EXPECT_EQ(plan.order.size(), problem.steps.size());
  EXPECT_EQ(plan.peak, withoutRecomputing(problem).peak);
  EXPECT_EQ(plan.peak, 1000u); // All activations and two gradients.
}

TEST(Recompute, ChainsGetByWithTheSquareRoot) {
  Computations problem = chain(100, 10);
  ASSERT_EQ(withoutRecomputing(problem).peak, 1020u);
  Recomputation plan = planRecomputation(problem, 300);
  EXPECT_LE(plan.peak, 300u);
  EXPECT_EQ(plan.peak, livePeak(problem, plan.order));
  EXPECT_EQ(run(problem, plan.order),
            run(problem, withoutRecomputing(problem).order));
  // One more forward pass is enough for segments of ten steps.
  EXPECT_LE(plan.order.size(), problem.steps.size() + 110);
}

TEST(Recompute, PrefersWhatCostsLess) {
  // Two values wait for a reader at the end while a third one is there; one of
  // them is dear.
  Computations problem;
  problem.sizes = {0, 100, 100, 100, 100, 0};
  problem.steps = {step({0}, {1}, /*cost=*/1000),
                   step({0}, {2}, /*cost=*/10),
                   step({0}, {3}),
                   step({3}, {4}),
                   step({4, 1}, {5}),
                   step({2}, {}),
                   step({5}, {})};
  Recomputation plan = planRecomputation(problem, 300);
  EXPECT_EQ(plan.peak, 300u);
  EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 1u), 2);
  EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), 0u), 1);
}

TEST(Recompute, NotWhatCannotBeRepeated) {
  Computations problem = chain(8, 100);
  for (Computation &one : problem.steps)
    one.repeatable = false;
  Recomputation plan = planRecomputation(problem, 100);
  EXPECT_EQ(plan.order.size(), problem.steps.size());
  EXPECT_EQ(plan.peak, 1000u);
}

TEST(Recompute, ResultsInPlace) {
  Computations problem;
  problem.sizes = {100, 100};
  problem.steps = {step({}, {0}), step({0}, {1}), step({1}, {})};
  EXPECT_EQ(withoutRecomputing(problem).peak, 200u);
  problem.steps[1].inplace = {0};
  EXPECT_EQ(withoutRecomputing(problem).peak, 100u);
  problem.steps[2].reads = {0, 1}; // It is needed later, too.
  EXPECT_EQ(withoutRecomputing(problem).peak, 200u);
}

/// A chain whose first steps read variables, which the last ones overwrite.
Computations training(uint32_t layers) {
  Computations problem = chain(layers, 100);
  Computation end = problem.steps.back();
  problem.steps.pop_back();
  for (uint32_t i = 0; i < layers; ++i) {
    auto variable = static_cast<uint32_t>(problem.sizes.size());
    problem.sizes.insert(problem.sizes.end(), {0, 0}); // And its next value.
    problem.steps[i].reads.push_back(variable);
    Computation update = step({2 * layers + 1 - i, variable}, {variable + 1});
    update.overwrites = {variable};
    update.repeatable = false;
    problem.steps.push_back(update);
    end.reads.push_back(variable + 1);
  }
  problem.steps.push_back(end);
  return problem;
}

TEST(Recompute, VariablesKeepTheirValuesForReaders) {
  Computations problem = training(30);
  Recomputation plain = withoutRecomputing(problem);
  Recomputation plan = planRecomputation(problem, plain.peak / 2);
  EXPECT_LE(plan.peak, plain.peak / 2);
  EXPECT_EQ(run(problem, plan.order), run(problem, plain.order));
  // Gradients die at once.
  EXPECT_LT(plain.peak, 34u * 100);
}

TEST(Recompute, RandomGraphs) {
  std::mt19937 random(7);
  auto below = [&](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int i = 0; i < 200; ++i) {
    Computations problem;
    problem.sizes = {0};
    uint32_t count = 5 + below(40);
    for (uint32_t j = 0; j < count; ++j) {
      Computation one = step({}, {j + 1}, 1 + below(50));
      for (uint32_t k = 1 + below(3); k > 0; --k)
        one.reads.push_back(below(j + 1));
      std::sort(one.reads.begin(), one.reads.end());
      one.reads.erase(std::unique(one.reads.begin(), one.reads.end()),
                      one.reads.end());
      one.repeatable = below(4) > 0;
      problem.sizes.push_back(below(8) * 64);
      problem.steps.push_back(one);
    }
    problem.steps.push_back(step({count}, {}));
    problem.steps.back().repeatable = false;
    Recomputation plain = withoutRecomputing(problem);
    Recomputation plan =
        planRecomputation(problem, plain.peak * (30 + below(70)) / 100);
    EXPECT_LE(plan.peak, plain.peak);
    EXPECT_EQ(plan.peak, livePeak(problem, plan.order));
    EXPECT_EQ(run(problem, plan.order), run(problem, plain.order));
    for (uint32_t j = 0; j < problem.steps.size(); ++j)
      if (!problem.steps[j].repeatable)
        EXPECT_EQ(std::count(plan.order.begin(), plan.order.end(), j), 1);
  }
}

} // namespace
