//===- control_flow_test.cpp - Runs with branches and loops -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Runs of the artifact in control_artifact.c through the C API: results on any
// number of threads, on a pool of the program's, overlapping with different
// trip counts, and what a trace says of iterations.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include <algorithm>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

namespace {

constexpr uint32_t kCollatz = 0, kPrefix = 1, kNested = 2; // Its functions.
constexpr size_t kRow = 16, kLength = 1000, kOuter = 20, kInner = 5;

int64_t collatz_steps(int64_t n) {
  int64_t steps = 0;
  for (; n != 1; ++steps)
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
  return steps;
}

template <typename T> tinh_buffer_t buffer(std::vector<T> &values) {
  return {values.data(), values.size() * sizeof(T)};
}

class ControlFlow : public testing::Test {
protected:
  ControlFlow() { tinh_context_options_init(&options); }
  ~ControlFlow() override {
    tinh_context_release(context);
    tinh_module_release(module);
  }

  void open(uint32_t threads) {
    tinh_context_release(context);
    context = nullptr;
    if (!module)
      ASSERT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
          << tinh_last_error();
    options.threads = threads;
    ASSERT_EQ(tinh_context_create(module, &options, &context), TINH_OK)
        << tinh_last_error();
  }

  void use_own_pool() {
    options.parallel_for = [](void *, uint32_t count,
                              void (*task)(void *, uint32_t), void *argument) {
      for (uint32_t i = count; i-- > 0;)
        task(argument, i);
    };
  }

  /// Runs "prefix" and compares with the obvious loop.
  void check_prefix(int64_t count) {
    std::vector<float> xs(kLength * kRow), total(kRow), sums(xs.size(), -1);
    std::vector<int64_t> counts = {count}, indices(kLength, -1);
    for (size_t i = 0; i < xs.size(); ++i)
      xs[i] = float(i % 97);
    tinh_buffer_t in[] = {buffer(xs), buffer(counts)};
    tinh_buffer_t out[] = {buffer(total), buffer(sums), buffer(indices)};
    ASSERT_EQ(tinh_context_run(context, kPrefix, in, 2, out, 3), TINH_OK);
    std::vector<float> expected(kRow), rows(xs.size());
    std::vector<int64_t> numbers(kLength);
    auto rows_made = std::clamp<int64_t>(count, 0, kLength);
    for (size_t i = 0; i < size_t(rows_made); ++i) {
      numbers[i] = int64_t(i);
      for (size_t k = 0; k < kRow; ++k)
        rows[i * kRow + k] = expected[k] += xs[i * kRow + k];
    }
    EXPECT_EQ(total, expected) << count;
    EXPECT_EQ(sums, rows) << count;
    EXPECT_EQ(indices, numbers) << count;
  }

  void check_nested() {
    std::vector<float> x(kOuter * kInner * kRow), y(x.size(), -1),
        expected(x.size());
    std::vector<int64_t> counts(kOuter);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i);
    for (size_t i = 0; i < kOuter; ++i) {
      counts[i] = int64_t(i % (kInner + 3)) - 1; // Also less than none.
      auto made = size_t(std::clamp<int64_t>(counts[i], 0, kInner));
      for (size_t j = 0; j < made; ++j)
        for (size_t k = 0; k < kRow; ++k)
          expected[(i * kInner + kInner - 1 - j) * kRow + k] =
              x[(i * kInner + j) * kRow + k] + float(100 * i + j);
    }
    tinh_buffer_t in[] = {buffer(x), buffer(counts)}, out = buffer(y);
    ASSERT_EQ(tinh_context_run(context, kNested, in, 2, &out, 1), TINH_OK);
    EXPECT_EQ(y, expected);
  }

  int64_t run_collatz(int64_t n) {
    int64_t steps = -1;
    tinh_buffer_t in = {&n, 8}, out = {&steps, 8};
    EXPECT_EQ(tinh_context_run(context, kCollatz, &in, 1, &out, 1), TINH_OK);
    return steps;
  }

  Toy toy{{}, false, CONTROL_ARTIFACT};
  tinh_module_t *module = nullptr;
  tinh_context_t *context = nullptr;
  tinh_context_options_t options;
};

} // namespace

TEST_F(ControlFlow, AnyNumberOfThreads) {
  for (uint32_t threads : {1u, 2u, 3u, 9u}) {
    open(threads);
    for (int64_t n : {1, 2, 3, 7, 27, 97})
      EXPECT_EQ(run_collatz(n), collatz_steps(n)) << threads << " threads";
    for (int64_t count : {-5, 0, 1, 2, 999, 1000, 5000})
      check_prefix(count);
    check_nested();
  }
}

TEST_F(ControlFlow, OnAPoolOfTheProgram) {
  use_own_pool();
  open(3);
  for (int64_t n : {1, 6, 27})
    EXPECT_EQ(run_collatz(n), collatz_steps(n));
  check_prefix(0);
  check_prefix(17);
  check_nested();
}

TEST_F(ControlFlow, OverlappingRunsWithDifferentTripCounts) {
  constexpr size_t kRuns = 400;
  options.max_in_flight = 4;
  for (uint32_t threads : {1u, 2u, 3u}) {
    open(threads);
    std::vector<int64_t> n(kRuns), steps(kRuns, -1);
    for (size_t i = 0; i < kRuns; ++i) {
      n[i] = int64_t(i * 7 % 300) + 1;
      tinh_buffer_t in = {&n[i], 8}, out = {&steps[i], 8};
      ASSERT_EQ(tinh_context_submit(context, kCollatz, &in, 1, &out, 1, nullptr,
                                    0, nullptr),
                TINH_OK);
    }
    ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
    for (size_t i = 0; i < kRuns; ++i)
      ASSERT_EQ(steps[i], collatz_steps(n[i])) << n[i];
  }
}

TEST_F(ControlFlow, CancelledRunsLeaveTheOthersAlone) {
  options.max_in_flight = 8;
  open(2);
  tinh_future_t *gate = nullptr, *cancelled = nullptr;
  ASSERT_EQ(tinh_future_create(&gate), TINH_OK);
  int64_t n[] = {27, 97, 9}, steps[] = {-1, -1, -1};
  for (int i = 0; i < 3; ++i) {
    tinh_buffer_t in = {&n[i], 8}, out = {&steps[i], 8};
    ASSERT_EQ(tinh_context_submit(context, kCollatz, &in, 1, &out, 1, &gate, 1,
                                  i == 1 ? &cancelled : nullptr),
              TINH_OK);
  }
  ASSERT_EQ(tinh_future_cancel(cancelled), TINH_OK);
  ASSERT_EQ(tinh_future_settle(gate, TINH_OK, nullptr), TINH_OK);
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  EXPECT_EQ(steps[0], collatz_steps(27));
  EXPECT_EQ(steps[1], -1);
  EXPECT_EQ(steps[2], collatz_steps(9));
  tinh_future_release(cancelled);
  tinh_future_release(gate);
}

TEST_F(ControlFlow, ATraceShowsIterations) {
  std::string path = (toy.folder / "trace.json").string();
  options.trace_path = path.c_str();
  open(2);
  EXPECT_EQ(run_collatz(27), 111);
  tinh_context_release(context);
  context = nullptr;
  std::ifstream file(path);
  std::string json((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(json.find("\"name\":\"iteration\""), std::string::npos);
  // The last one is that which finds n to be 1.
  EXPECT_NE(json.find("\"iteration\":111}"), std::string::npos);
  EXPECT_EQ(json.find("\"iteration\":112}"), std::string::npos);
}
