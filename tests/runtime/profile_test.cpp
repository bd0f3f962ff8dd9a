//===- profile_test.cpp - How long steps take -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Profiles of the toy artifact's runs, and of runs with loops and branches.
//
//===----------------------------------------------------------------------===//
#include "tinh/profile.h"

#include "tinh/artifact.h"
#include "toy_context.h"

#include <cstring>
#include <set>

namespace {

constexpr uint32_t kMain = 0, kLate = 3; // Functions of the toy.

/// Of a context that measures its steps.
class Profiles : public ToyContext {
protected:
  Profiles() { options.measure_steps = true; }

  void run_main(int runs) {
    std::vector<float> x = input(1);
    for (int i = 0; i < runs; ++i)
      ASSERT_EQ(run(x, y), TINH_OK) << tinh_last_error();
  }

  tinh_function_profile_t of_function(uint32_t function = kMain) {
    tinh_function_profile_t profile = {};
    EXPECT_EQ(tinh_context_function_profile(context, function, &profile),
              TINH_OK)
        << tinh_last_error();
    return profile;
  }

  tinh_step_profile_t of_step(uint32_t step, uint32_t function = kMain) {
    tinh_step_profile_t profile = {};
    EXPECT_EQ(tinh_context_step_profile(context, function, step, &profile),
              TINH_OK)
        << tinh_last_error();
    return profile;
  }
};

TEST_F(Profiles, TellWhatTheArtifactSaysOfSteps) {
  open(1);
  tinh_function_profile_t all = of_function();
  EXPECT_EQ(all.num_steps, 3u);
  EXPECT_EQ(all.core_operations, 16);
  EXPECT_EQ(all.core_bytes, 8);
  tinh_step_profile_t twice = of_step(0), add = of_step(1), copy = of_step(2);
  EXPECT_EQ(twice.kind, TINH_STEP_KERNEL);
  EXPECT_STREQ(twice.kernel, "twice");
  EXPECT_STREQ(twice.nodes, "Double_0");
  EXPECT_STREQ(twice.plan, "#toy.rows<chunk = 64>");
  EXPECT_FALSE(twice.on_cuda);
  EXPECT_EQ(twice.chunks, 16u);
  EXPECT_EQ(twice.operations, 1024u);
  EXPECT_EQ(twice.bytes, 8192u);
  EXPECT_EQ(twice.estimated_cycles, 4096);
  EXPECT_STREQ(add.plan, "rows");
  EXPECT_EQ(add.estimated_cycles, 0);
  EXPECT_EQ(copy.kind, TINH_STEP_COPY);
  EXPECT_EQ(copy.kernel, nullptr);
  EXPECT_STREQ(copy.plan, "");
  EXPECT_EQ(copy.bytes, 8192u); // Read and written.
  EXPECT_EQ(copy.operations, 0u);
}

TEST_F(Profiles, HaveTheTimesOfEachStep) {
  for (uint32_t threads : {1u, 2u, 3u}) {
    open(threads);
    run_main(20);
    tinh_function_profile_t all = of_function();
    EXPECT_EQ(all.runs, 20u);
    EXPECT_EQ(all.lost, 0u);
    EXPECT_GT(all.min_ms, 0);
    EXPECT_LE(all.min_ms, all.median_ms);
    for (uint32_t i = 0; i < all.num_steps; ++i) {
      tinh_step_profile_t step = of_step(i);
      EXPECT_EQ(step.runs, 20u);
      EXPECT_EQ(step.executions, 20u);
      EXPECT_EQ(step.num_steps_timed, 1u);
      EXPECT_LE(step.min_ms, step.median_ms);
      EXPECT_GT(step.work_ms, 0);
      if (threads == 1) { // Its work is all that there is.
        EXPECT_EQ(step.work_ms, step.median_ms);
      }
    }
  }
}

/// A thread that comes late may have no part of a step.
TEST_F(Profiles, TellWhoDidWhatInTheMedianRun) {
  for (uint32_t threads : {1u, 2u}) {
    open(threads);
    run_main(5);
    tinh_function_profile_t all = of_function();
    EXPECT_GE(all.num_spans, all.num_steps);
    EXPECT_LE(all.num_spans, threads * all.num_steps);
    tinh_step_span_t last = {};
    std::set<uint32_t> steps;
    for (uint32_t i = 0; i < all.num_spans; ++i) {
      tinh_step_span_t span = {};
      ASSERT_EQ(tinh_context_step_span(context, kMain, i, &span), TINH_OK);
      EXPECT_LT(span.worker, threads);
      EXPECT_GE(span.worker, last.worker);
      EXPECT_GE(span.begin_ms, span.worker == last.worker ? last.end_ms : 0);
      EXPECT_GE(span.end_ms, span.begin_ms);
      EXPECT_LE(span.end_ms, all.median_ms);
      steps.insert(span.step);
      last = span;
    }
    EXPECT_EQ(steps.size(), all.num_steps);
  }
}

TEST_F(Profiles, HaveNoMoreSpansThanTheyTell) {
  open(1);
  run_main(1);
  tinh_step_span_t span = {};
  EXPECT_EQ(tinh_context_step_span(context, kMain, 3, &span),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "there is no span 3; the run has 3");
}

TEST_F(Profiles, HaveTheArtifactBehindThem) {
  open(1);
  const tinh_artifact_t *artifact = nullptr;
  ASSERT_EQ(tinh_module_artifact(module, &artifact), TINH_OK);
  EXPECT_EQ(artifact->functions[kMain].num_steps, of_function().num_steps);
  EXPECT_EQ(tinh_module_artifact(nullptr, &artifact), TINH_INVALID_ARGUMENT);
}

TEST_F(Profiles, AreFromTheFirstBeginningToTheLastEnd) {
  open(2);
  std::vector<float> x = input(1);
  for (int i = 0; i < 5; ++i)
    ASSERT_EQ(run(x, y, kLate), TINH_OK);
  tinh_step_profile_t late = of_step(0, kLate);
  EXPECT_GE(late.min_ms, 5); // One thread sleeps for so long,
  EXPECT_LT(late.work_ms, 1.9 * late.median_ms); // and the other one does not.
  EXPECT_EQ(of_function(kMain).runs, 0u);
  EXPECT_EQ(of_step(0, kMain).num_steps_timed, 0u);
}

TEST_F(Profiles, GoOnWithTheRunsAndForgetThemWhenTold) {
  open(2);
  run_main(3);
  EXPECT_EQ(of_function().runs, 3u);
  run_main(2);
  EXPECT_EQ(of_function().runs, 5u);
  EXPECT_EQ(of_step(0).executions, 5u);
  ASSERT_EQ(tinh_context_reset_profile(context), TINH_OK);
  EXPECT_EQ(of_function().runs, 0u);
  EXPECT_EQ(of_step(0).runs, 0u);
  EXPECT_EQ(of_step(0).median_ms, 0);
  run_main(1);
  EXPECT_EQ(of_function().runs, 1u);
}

TEST_F(Profiles, LeaveTheTraceAsItIs) {
  std::string path = (toy.folder / "trace.json").string();
  options.trace_path = path.c_str();
  open(1);
  run_main(2);
  ASSERT_EQ(tinh_context_reset_profile(context), TINH_OK);
  run_main(3);
  EXPECT_EQ(of_function().runs, 3u);
  EXPECT_EQ(of_step(1).executions, 3u);
  close();
  EXPECT_GT(std::filesystem::file_size(path), 0u);
}

TEST_F(Profiles, HaveOverlappingRuns) {
  options.max_in_flight = 2;
  open(2);
  std::vector<std::vector<float>> ys(50, std::vector<float>(1024));
  std::vector<float> x = input(2);
  for (std::vector<float> &each : ys)
    ASSERT_EQ(submit(kMain, x, each, nullptr, nullptr), TINH_OK);
  EXPECT_EQ(of_function().runs, 50u);
  EXPECT_EQ(of_step(2).executions, 50u);
}

TEST_F(Profiles, AreOfAPoolOfTheProgramToo) {
  options.parallel_for = [](void *, uint32_t count,
                            void (*task)(void *, uint32_t), void *argument) {
    for (uint32_t i = 0; i < count; ++i)
      task(argument, i);
  };
  open(3);
  run_main(4);
  EXPECT_EQ(of_step(1).executions, 4u);
  EXPECT_GT(of_step(1).work_ms, 0);
}

TEST_F(Profiles, HaveOnlyRunsThatFitWhole) {
  open(1); // 256 steps a run, and room for 2^20.
  for (int i = 0; i < 4100; ++i)
    ASSERT_EQ(tinh_context_run(context, 2, nullptr, 0, nullptr, 0), TINH_OK);
  tinh_function_profile_t chain = of_function(2);
  EXPECT_EQ(chain.runs, 4096u);
  EXPECT_EQ(chain.lost, 4u);
  EXPECT_EQ(of_step(255, 2).executions, 4096u);
}

TEST_F(Profiles, AreRefusedOfContextsThatMeasureNothing) {
  options.measure_steps = false;
  open(1);
  tinh_function_profile_t all;
  EXPECT_EQ(tinh_context_function_profile(context, kMain, &all),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "the context measures no steps; set "
                                  "measure_steps in its options");
  EXPECT_EQ(tinh_context_reset_profile(context), TINH_INVALID_ARGUMENT);
}

TEST_F(Profiles, AreRefusedOfWhatIsNotThere) {
  open(1);
  tinh_step_profile_t step;
  EXPECT_EQ(tinh_context_step_profile(context, kMain, 3, &step),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "there is no step 3; the function has 3");
  EXPECT_EQ(tinh_context_step_profile(context, 9, 0, &step),
            TINH_INVALID_ARGUMENT);
  EXPECT_EQ(tinh_context_step_profile(context, kMain, 0, nullptr),
            TINH_INVALID_ARGUMENT);
}

/// Runs with branches and loops.
class ControlProfiles : public Profiles {
protected:
  ControlProfiles() {
    EXPECT_EQ(tinh_module_load(control.path().c_str(), &module), TINH_OK)
        << tinh_last_error();
  }
  Toy control{{}, false, CONTROL_ARTIFACT};
};

TEST_F(ControlProfiles, SumUpTheIterationsOfALoop) {
  constexpr uint32_t kPrefix = 1; // Steps 4 to 6 lie in the loop, step 3.
  for (uint32_t threads : {1u, 2u}) {
    open(threads);
    std::vector<float> xs(1000 * 16), total(16), sums(1000 * 16);
    std::vector<int64_t> indices(1000);
    for (int64_t count : {10, 20, 30}) {
      tinh_buffer_t in[] = {{xs.data(), xs.size() * 4}, {&count, 8}};
      tinh_buffer_t out[] = {{total.data(), 64},
                             {sums.data(), sums.size() * 4},
                             {indices.data(), 8000}};
      ASSERT_EQ(tinh_context_run(context, kPrefix, in, 2, out, 3), TINH_OK);
    }
    tinh_step_profile_t loop = of_step(3, kPrefix), add = of_step(4, kPrefix);
    EXPECT_EQ(loop.kind, TINH_STEP_LOOP);
    EXPECT_EQ(add.kind, TINH_STEP_KERNEL);
    EXPECT_EQ(add.runs, 3u);
    EXPECT_EQ(add.executions, 60u);
    EXPECT_EQ(loop.executions, 60u);
    EXPECT_LE(add.median_ms, loop.median_ms);
    EXPECT_EQ(of_step(7, kPrefix).kind, TINH_STEP_CONTROL);
    EXPECT_EQ(of_step(7, kPrefix).num_steps_timed, 0u);
  }
}

TEST_F(ControlProfiles, CountTheRunsThatTakeABranch) {
  constexpr uint32_t kCollatz = 0;
  open(2);
  auto executions = [&](int64_t n) {
    tinh_context_reset_profile(context);
    int64_t steps;
    tinh_buffer_t in = {&n, 8}, out = {&steps, 8};
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(tinh_context_run(context, kCollatz, &in, 1, &out, 1), TINH_OK);
    uint64_t most = 0, unexecuted = 0;
    for (uint32_t i = 0; i < of_function(kCollatz).num_steps; ++i) {
      tinh_step_profile_t step = of_step(i, kCollatz);
      most = std::max(most, step.executions);
      unexecuted += step.kind == TINH_STEP_KERNEL && step.runs == 0;
    }
    return std::pair(most, unexecuted);
  };
  EXPECT_EQ(executions(8).first, 2 * 4u); // 8, 4, 2, and 1, which ends it.
  EXPECT_GT(executions(8).second, 0u);    // None of them is odd.
  EXPECT_EQ(executions(3).second, 0u);
}

} // namespace
