//===- random_runs_test.cpp - Random workloads against a serial twin ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs that read and write a few buffers, in two contexts, are ordered by their
// futures alone; some are cancelled. Afterwards the same runs, one by one and
// without the runtime, must leave the same buffers.
//
//===----------------------------------------------------------------------===//
#include "toy_context.h"

#include <random>
#include <set>

namespace {

struct Submitted {
  size_t source, target;
  std::set<size_t> after; ///< The runs that it waits for.
  bool cancelled = false;
  tinh_future_t *future = nullptr;
};

class RandomRuns : public ToyContext {
protected:
  static constexpr size_t kBuffers = 5, kRuns = 60;

  ~RandomRuns() override {
    close();
    tinh_context_release(other);
  }

  int below(size_t bound) { return static_cast<int>(random() % bound); }

  /// Whoever wrote what the run reads, and whoever used what it writes.
  std::set<size_t> conflicts_of(const Submitted &run) const {
    std::set<size_t> found;
    for (size_t i = 0; i < runs.size(); ++i)
      if (runs[i].target == run.source || runs[i].target == run.target ||
          runs[i].source == run.target)
        found.insert(i);
    return found;
  }

  void submit_one(tinh_future_t *gate) {
    Submitted run;
    run.source = size_t(below(kBuffers));
    run.target = (run.source + 1 + size_t(below(kBuffers - 1))) % kBuffers;
    run.after = conflicts_of(run);
    std::vector<tinh_future_t *> futures = {gate};
    for (size_t i : run.after)
      futures.push_back(runs[i].future);
    tinh_buffer_t in = {buffers[run.source].data(), 4096};
    tinh_buffer_t out = {buffers[run.target].data(), 4096};
    constexpr uint32_t kMain = 0, kLate = 3;
    ASSERT_EQ(tinh_context_submit(below(2) ? context : other,
                                  below(10) ? kMain : kLate, &in, 1, &out, 1,
                                  futures.data(), uint32_t(futures.size()),
                                  &run.future),
              TINH_OK);
    runs.push_back(run);
    if (below(8) == 0) {
      Submitted &victim = runs[size_t(below(runs.size()))];
      victim.cancelled |= tinh_future_cancel(victim.future) == TINH_OK;
    }
  }

  /// Waits for all, and does what they should have done to `expected`.
  void replay(std::vector<std::vector<float>> &expected) {
    std::vector<bool> failed;
    for (const Submitted &run : runs) {
      bool blocked = false;
      for (size_t i : run.after)
        blocked |= failed[i];
      tinh_status_t status = tinh_future_wait(run.future);
      EXPECT_EQ(status, run.cancelled ? TINH_CANCELLED
                        : blocked     ? TINH_DEPENDENCY_FAILED
                                      : TINH_OK);
      failed.push_back(status != TINH_OK);
      if (!failed.back())
        expected[run.target] = expected_of(expected[run.source]);
    }
  }

  std::mt19937 random;
  std::vector<std::vector<float>> buffers;
  std::vector<Submitted> runs;
  tinh_context_t *other = nullptr;
};

} // namespace

TEST_F(RandomRuns, LeaveWhatSerialRunsLeave) {
  options.max_in_flight = 6;
  open(2);
  options.threads = 3;
  ASSERT_EQ(tinh_context_create(module, &options, &other), TINH_OK);
  for (uint32_t trial = 0; trial < 30; ++trial) {
    random.seed(trial);
    buffers.clear();
    runs.clear();
    for (size_t i = 0; i < kBuffers; ++i)
      buffers.push_back(input(float(i)));
    std::vector<std::vector<float>> expected = buffers;
    tinh_future_t *gate = nullptr;
    ASSERT_EQ(tinh_future_create(&gate), TINH_OK);
    for (size_t i = 0; i < kRuns; ++i) {
      if (i == 4) // Until then, what is cancelled has surely not started.
        ASSERT_EQ(tinh_future_settle(gate, TINH_OK, nullptr), TINH_OK);
      submit_one(gate);
    }
    replay(expected);
    EXPECT_EQ(buffers, expected) << "trial " << trial;
    for (const Submitted &run : runs)
      tinh_future_release(run.future);
    tinh_future_release(gate);
  }
}
