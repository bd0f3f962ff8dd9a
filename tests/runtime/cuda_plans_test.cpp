//===- cuda_plans_test.cpp - Plans for a GPU that make no sense -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each test changes one thing in a plan of the toy's; what loads must refuse
// it.
//
//===----------------------------------------------------------------------===//
#include "cuda_plans.h"

#include "artifact/check_artifact.h"
#include "artifact/module.h"
#include "toy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace tinh::runtime;
using testing::HasSubstr;

namespace {

// Functions of cuda_artifact.c, in their order.
enum Function { kMain, kMixed, kTrain, kLoop, kWhile, kBranch, kShared, kCpu };

class CudaPlans : public testing::Test {
protected:
  /// Whether function `f` is accepted after `change` has altered its plan.
  template <typename Change> bool accepts(Function f, Change change) {
    artifact = module.artifact();
    function = artifact.functions[f];
    steps.assign(function.steps, function.steps + function.num_steps);
    function.steps = steps.data();
    plan = plan_of(artifact, function);
    view = plan.view();
    change();
    view = plan.view();
    function.device_plan = &view;
    return is_valid();
  }
  bool is_valid() {
    artifact.functions = &function;
    artifact.num_functions = 1;
    wrong.clear();
    return valid_artifact(artifact, &wrong);
  }

  Toy toy{{}, false, CUDA_ARTIFACT};
  Module module{toy.path()};
  tinh_artifact_t artifact;
  tinh_function_desc_t function;
  std::vector<tinh_step_t> steps;
  tinh::planning::DevicePlan plan;
  tinh_device_plan_t view;
  std::string wrong;
};

template <typename T> std::vector<uint32_t> words(const T *array, size_t size) {
  auto first = reinterpret_cast<const uint32_t *>(array);
  return {first, first + size * sizeof(T) / sizeof(uint32_t)};
}

TEST_F(CudaPlans, ThoseOfTheToyAreAsTheCompilerMakesThem) {
  artifact = module.artifact();
  for (uint32_t f = kMain; f < kCpu; ++f) {
    SCOPED_TRACE(artifact.functions[f].name);
    tinh::planning::DevicePlan planned =
        plan_of(artifact, artifact.functions[f]);
    tinh_device_plan_t made = planned.view();
    const tinh_device_plan_t &has = *artifact.functions[f].device_plan;
    EXPECT_EQ(std::vector(has.launches, has.launches + planned.launches.size()),
              planned.launches);
    EXPECT_EQ(std::vector(has.gates, has.gates + planned.gates.size()),
              planned.gates);
    EXPECT_EQ(words(has.segments, has.num_segments),
              words(made.segments, made.num_segments));
    EXPECT_EQ(words(has.nodes, has.num_nodes),
              words(made.nodes, made.num_nodes));
    EXPECT_EQ(words(has.edges, has.num_edges),
              words(made.edges, made.num_edges));
  }
}

TEST_F(CudaPlans, AreThereWhereSomethingIsForAGpu) {
  for (Function f : {kMain, kMixed, kTrain, kLoop, kWhile, kBranch, kShared})
    EXPECT_TRUE(accepts(f, [] {})) << f << ": " << wrong;
  function.device_plan = nullptr;
  EXPECT_FALSE(is_valid());
  EXPECT_THAT(wrong,
              HasSubstr("the plan of 'shared' for a GPU: it is missing"));
  EXPECT_FALSE(accepts(kCpu, [] {})) << "no step is for a GPU";
  accepts(kMain, [] {});
  view.nodes = nullptr;
  EXPECT_FALSE(is_valid());
}

TEST_F(CudaPlans, LaunchEachStepInAWayThatItCanBe) {
  EXPECT_FALSE(accepts(kMain, [&] { plan.launches[0] = TINH_LAUNCH_NONE; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.launches[0] = 3; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.launches[0] = TINH_LAUNCH_LOOSE; }));
  // Steps in branches and loops, and what decides on them.
  EXPECT_FALSE(
      accepts(kWhile, [&] { plan.launches[2] = TINH_LAUNCH_SEGMENT; }));
  EXPECT_FALSE(
      accepts(kBranch, [&] { plan.launches[3] = TINH_LAUNCH_SEGMENT; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.launches[1] = TINH_LAUNCH_NONE; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.launches[2] = TINH_LAUNCH_LOOSE; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.launches[4] = TINH_LAUNCH_NONE; }));
}

TEST_F(CudaPlans, HaveGatesBeforeStepsOfTheCpu) {
  EXPECT_FALSE(accepts(kMixed, [&] { plan.gates[6] = 2; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.gates[6] = 0; })) << "it is due";
  EXPECT_FALSE(accepts(kMixed, [&] { plan.gates[0] = 1; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.gates[5] = 1; }));
  EXPECT_FALSE(accepts(kWhile, [&] { plan.gates[6] = 1; }));
  EXPECT_TRUE(accepts(kWhile, [&] { plan.gates[1] = 1; })) << wrong;
}

TEST_F(CudaPlans, HaveEachStepInOneSegmentAsOftenAsLoopsSay) {
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[0].step = 4; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[0].step = 1; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[0].iteration = 1; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.nodes[0].step = 0; }));
  EXPECT_FALSE(accepts(kWhile, [&] { plan.nodes[0].step = 2; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.nodes[1].step = 1; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.nodes[1].iteration = 5; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.nodes[1].iteration = 1; }));
  EXPECT_FALSE(accepts(kLoop, [&] { steps[1].num_chunks = 6; }));
  EXPECT_FALSE(accepts(kLoop, [&] { steps[1].num_chunks = 1ull << 62; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].first_node = 1; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].num_nodes = 2; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].num_nodes = 4; }));
  EXPECT_THAT(wrong, HasSubstr("'mixed' for a GPU: segment 1"));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].num_nodes = 0; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.segments.clear(); }));
}

TEST_F(CudaPlans, HaveEdgesFromNodesBefore) {
  EXPECT_FALSE(accepts(kMain, [&] { plan.edges[0] = 1; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.edges[2] = ~0u; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[1].first_edge = 3; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[1].first_edge = ~0u; }));
  EXPECT_FALSE(accepts(kMain, [&] { plan.nodes[3].num_edges = ~0u; }));
  EXPECT_FALSE(accepts(kLoop, [&] { plan.edges[1] = 0; })) << "twice";
}

TEST_F(CudaPlans, LaunchSegmentsInOrderWhereEachRunComes) {
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].launch = 2; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].launch = 4; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].wait = 2; }));
  EXPECT_TRUE(accepts(kShared, [&] { plan.segments[1].wait = 7; })) << wrong;
  EXPECT_FALSE(accepts(kShared, [&] { plan.segments[1].launch = 6; }));
}

TEST_F(CudaPlans, WaitForWhatWasLaunched) {
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].due = 2; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].due = 7; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].is_awaited = 0; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[0].is_awaited = 2; }));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].stream = 2; }));
  EXPECT_FALSE(accepts(kShared, [&] { plan.segments[1].stream = 1; }))
      << "there are loose steps";
  auto after = [&](uint32_t segment) {
    return [this, segment] {
      plan.segments[1].stream = 1;
      plan.segments[1].after = segment;
    };
  };
  EXPECT_TRUE(accepts(kMixed, after(0))) << wrong;
  EXPECT_FALSE(accepts(kMixed, after(1)));
  EXPECT_FALSE(accepts(kMixed, after(2)));
  EXPECT_FALSE(accepts(kMixed, [&] { plan.segments[1].after = 0; }))
      << "on one stream";
}

} // namespace
