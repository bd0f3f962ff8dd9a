//===- ranks_test.cpp - Runs that need those of other ranks ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The ranks are contexts of one process, and their collectives this test's.
//
//===----------------------------------------------------------------------===//
#include "toy.h"

#include "tinh/collectives.h"
#include "tinh/profile.h"

#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <gtest/gtest.h>
#include <mutex>
#include <thread>

namespace {

/// Collectives among threads, reductions of f32. The last rank to start one
/// computes it.
class LocalRanks {
public:
  explicit LocalRanks(uint32_t count) {
    for (uint32_t rank = 0; rank < count; ++rank) {
      Rank &table = tables.emplace_back();
      table.struct_size = sizeof(tinh_collectives_t);
      table.rank = rank;
      table.num_ranks = count;
      table.ranks = this;
      table.start = [](tinh_collectives_t *from, const tinh_collective_t *what,
                       uint64_t *ticket) {
        auto &self = *static_cast<Rank *>(from);
        return self.ranks->start(self, *what, *ticket);
      };
      table.wait = [](tinh_collectives_t *from, uint64_t ticket) {
        return static_cast<Rank *>(from)->ranks->wait(ticket);
      };
    }
  }

  tinh_collectives_t *table(uint32_t rank) { return &tables[rank]; }

  void fail() {
    std::lock_guard lock(mutex);
    failure = "rank 7 has given up";
    changed.notify_all();
  }

  /// Messages of reductions that come after the failure.
  void write_sums_late() {
    for (const Parts &all : parts)
      for (const tinh_collective_t &part : all)
        if (part.kind == TINH_ALL_REDUCE && part.output)
          std::memset(part.output, 0, part.count * sizeof(float));
  }

  std::vector<tinh_collective_kind_t> kinds; ///< Of those that are done.

private:
  struct Rank : tinh_collectives_t {
    LocalRanks *ranks = nullptr;
    uint64_t started = 0;
  };
  using Parts = std::vector<tinh_collective_t>;

  const char *start(Rank &rank, const tinh_collective_t &what,
                    uint64_t &ticket) {
    std::lock_guard lock(mutex);
    ticket = rank.started++;
    if (parts.size() <= ticket)
      parts.emplace_back(tables.size());
    Parts &all = parts[ticket];
    all[rank.rank] = what;
    if (std::all_of(tables.begin(), tables.end(),
                    [&](const Rank &r) { return r.started > ticket; })) {
      compute(all);
      kinds.push_back(what.kind);
      num_done = ticket + 1;
      changed.notify_all();
    }
    return failure;
  }

  const char *wait(uint64_t ticket) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return failure || num_done > ticket; });
    return failure;
  }

  static void gather(const Parts &all) {
    std::vector<char> result;
    for (const tinh_collective_t &part : all) {
      auto *from = static_cast<const char *>(part.input);
      result.insert(result.end(), from,
                    from + part.count * tinh_dtype_size(part.dtype));
    }
    for (const tinh_collective_t &part : all)
      std::memcpy(part.output, result.data(), result.size());
  }

  static void compute(const Parts &all) {
    if (all[0].kind == TINH_ALL_GATHER)
      return gather(all);
    uint64_t count = all[0].count;
    bool scatters = all[0].kind == TINH_REDUCE_SCATTER;
    std::vector<float> result(count * (scatters ? all.size() : 1));
    for (const tinh_collective_t &part : all)
      for (size_t i = 0; i < result.size(); ++i)
        result[i] += static_cast<const float *>(part.input)[i];
    if (all[0].reduction == TINH_REDUCE_MEAN)
      for (float &x : result)
        x /= static_cast<float>(all.size());
    for (size_t rank = 0; rank < all.size(); ++rank)
      std::memcpy(all[rank].output,
                  result.data() + (scatters ? rank * count : 0),
                  (scatters ? count : result.size()) * sizeof(float));
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Rank> tables;
  std::deque<Parts> parts; ///< Of each collective, of each rank.
  uint64_t num_done = 0;
  const char *failure = nullptr;
};

class Ranks : public testing::Test {
protected:
  enum Function : uint32_t { sum, pair };

  Ranks() {
    tinh_context_options_init(&options);
    EXPECT_EQ(tinh_module_load(toy.path().c_str(), &module), TINH_OK)
        << tinh_last_error();
  }
  ~Ranks() override { tinh_module_release(module); }

  tinh_context_t *open(tinh_collectives_t *collectives) {
    options.collectives = collectives;
    tinh_context_t *context = nullptr;
    EXPECT_EQ(tinh_context_create(module, &options, &context), TINH_OK)
        << tinh_last_error();
    return context;
  }

  static std::vector<float> input(uint32_t rank, int run) {
    std::vector<float> x(1024);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] =
          static_cast<float>(i + 100 * rank + 7 * static_cast<uint32_t>(run));
    return x;
  }

  static tinh_status_t run(tinh_context_t *context, uint32_t function,
                           std::vector<float> &x, std::vector<float> &y) {
    tinh_buffer_t in = {x.data(), x.size() * 4}, out = {y.data(), y.size() * 4};
    return tinh_context_run(context, function, &in, 1, &out, 1);
  }

  /// Has as many ranks run `function` together, each on threads of its own.
  void run_together(uint32_t count, uint32_t function) {
    LocalRanks ranks(count);
    std::vector<tinh_context_t *> contexts;
    for (uint32_t rank = 0; rank < count; ++rank) {
      options.threads = 1 + rank;
      contexts.push_back(open(ranks.table(rank)));
    }
    std::vector<std::thread> threads;
    for (uint32_t rank = 0; rank < count; ++rank)
      threads.emplace_back([&, rank] {
        for (int i = 0; i < 20; ++i) {
          std::vector<float> x = input(rank, i), y(x.size());
          EXPECT_EQ(run(contexts[rank], function, x, y), TINH_OK)
              << tinh_last_error();
          EXPECT_EQ(y, expected(count, function, rank, i));
        }
      });
    for (std::thread &thread : threads)
      thread.join();
    for (tinh_context_t *context : contexts)
      tinh_context_release(context);
    // Before the first one, ranks compare what they run.
    EXPECT_EQ(ranks.kinds.size(), 4 + (function == sum ? 20 : 40));
  }

  static std::vector<float> expected(uint32_t count, uint32_t function,
                                     uint32_t rank, int run) {
    std::vector<float> y(1024), x = input(rank, run);
    for (uint32_t other = 0; other < count; ++other) {
      std::vector<float> of_other = input(other, run);
      for (size_t i = 0; i < y.size(); ++i)
        y[i] += function == sum ? 2 * of_other[i] : of_other[i] / 2;
    }
    for (size_t i = 0; i < y.size() && function == sum; ++i)
      y[i] += 2 * x[i];
    return y;
  }

  Toy toy{{}, false, RANKS_ARTIFACT};
  tinh_module_t *module = nullptr;
  tinh_context_options_t options;
};

} // namespace

TEST_F(Ranks, ComputeTogether) {
  run_together(1, sum);
  run_together(3, sum);
  run_together(2, pair);
}

TEST_F(Ranks, ComputeTogetherStepByStep) {
  options.check_numerics = TINH_CHECK_NANS;
  run_together(2, sum);
  run_together(2, pair);
}

TEST_F(Ranks, StartRunsInTheOrderOfTheirSubmission) {
  LocalRanks ranks(2);
  options.threads = 2;
  tinh_context_t *contexts[] = {open(ranks.table(0)), open(ranks.table(1))};
  constexpr int kRuns = 50;
  std::vector<std::vector<float>> x, y;
  for (int i = 0; i < kRuns; ++i)
    for (uint32_t rank = 0; rank < 2; ++rank) {
      x.push_back(input(rank, i));
      y.emplace_back(1024);
    }
  auto submit_all = [&](size_t rank) {
    for (size_t i = rank; i < x.size(); i += 2) {
      tinh_buffer_t in = {x[i].data(), 4096}, out = {y[i].data(), 4096};
      EXPECT_EQ(tinh_context_submit(contexts[rank], sum, &in, 1, &out, 1,
                                    nullptr, 0, nullptr),
                TINH_OK);
    }
    EXPECT_EQ(tinh_context_wait_all(contexts[rank]), TINH_OK);
  };
  std::thread other(submit_all, 1);
  submit_all(0);
  other.join();
  for (int i = 0; i < kRuns; ++i)
    for (uint32_t rank = 0; rank < 2; ++rank)
      EXPECT_EQ(y[static_cast<size_t>(2 * i) + rank],
                expected(2, sum, rank, i));
  for (tinh_context_t *context : contexts)
    tinh_context_release(context);
}

TEST_F(Ranks, AreNeededByWhatComputesWithThem) {
  tinh_context_t *context = open(nullptr);
  std::vector<float> x = input(0, 0), y(x.size());
  EXPECT_EQ(run(context, sum, x, y), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "'main' computes together with other ranks: its context needs "
               "collectives (tinh_context_options_t), as those of MPI in a "
               "process that mpirun has started");
  tinh_context_release(context);

  LocalRanks ranks(3);
  context = open(ranks.table(0));
  EXPECT_EQ(run(context, pair, x, y), TINH_INCOMPATIBLE);
  EXPECT_STREQ(tinh_last_error(),
               "'pair' was compiled for 2 ranks, and there are 3");
  tinh_context_release(context);
}

TEST_F(Ranks, EndRunsByTheirFailure) {
  for (uint32_t num_threads : {1, 2}) {
    LocalRanks ranks(2); // Of which one never comes.
    options.threads = num_threads;
    tinh_context_t *context = open(ranks.table(0));
    std::thread giving_up([&] { ranks.fail(); });
    std::vector<float> x = input(0, 0), y(x.size());
    EXPECT_EQ(run(context, sum, x, y), TINH_COLLECTIVE_FAILED);
    EXPECT_STREQ(tinh_last_error(), "rank 7 has given up");
    giving_up.join();
    tinh_buffer_t in = {x.data(), 4096}, out = {y.data(), 4096};
    tinh_future_t *future = nullptr;
    ASSERT_EQ(
        tinh_context_submit(context, sum, &in, 1, &out, 1, nullptr, 0, &future),
        TINH_OK);
    EXPECT_EQ(tinh_future_wait(future), TINH_COLLECTIVE_FAILED);
    EXPECT_STREQ(tinh_last_error(), "rank 7 has given up");
    tinh_future_release(future);
    EXPECT_EQ(tinh_context_save_state(context, "state", nullptr, 0),
              TINH_COLLECTIVE_FAILED);
    tinh_context_release(context);
  }
}

TEST_F(Ranks, LeaveMemoryToMessagesThatComeLate) {
  LocalRanks ranks(1);
  tinh_context_t *context = open(ranks.table(0));
  std::vector<float> x = input(0, 0), y(x.size());
  EXPECT_EQ(run(context, sum, x, y), TINH_OK);
  ranks.fail();
  EXPECT_EQ(run(context, sum, x, y), TINH_COLLECTIVE_FAILED);
  tinh_context_release(context);
  ranks.write_sums_late();
}

TEST_F(Ranks, CompareWhatTheyRun) {
  LocalRanks ranks(2);
  tinh_context_t *contexts[] = {open(ranks.table(0)), open(ranks.table(1))};
  auto run_other = [&](uint32_t rank) {
    std::vector<float> x = input(rank, 0), y(x.size());
    EXPECT_EQ(run(contexts[rank], rank == 0 ? sum : pair, x, y),
              TINH_COLLECTIVE_FAILED);
    EXPECT_STREQ(tinh_last_error(),
                 "rank 1 has another function to run than other ranks");
  };
  std::thread other(run_other, 1);
  run_other(0);
  other.join();
  for (tinh_context_t *context : contexts)
    tinh_context_release(context);
}

TEST_F(Ranks, ShareTheirMachine) {
  LocalRanks ranks(2);
  tinh_collectives_t *table = ranks.table(0);
  auto threads = [&] {
    options.threads = 0;
    tinh_context_t *context = open(table);
    tinh_context_info_t info = {};
    EXPECT_EQ(tinh_context_info(context, &info), TINH_OK);
    tinh_context_release(context);
    return info.threads;
  };
  table->cpus = 0.5;
  EXPECT_EQ(threads(), 1u);
  table->cpus = 0; // Not known.
  table->num_local_ranks = 1000;
  EXPECT_EQ(threads(), 1u);
  // A table of before there was such a number.
  table->struct_size = offsetof(tinh_collectives_t, cpus);
  table->num_local_ranks = 1;
  table->cpus = 0.5;
  uint32_t all = threads();
  table = nullptr;
  EXPECT_EQ(all, threads());
}

TEST(Collectives, AreLoadedForALauncher) {
  tinh_collectives_t *table = nullptr;
  for (const char *name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    unsetenv(name);
  EXPECT_EQ(tinh_collectives_library(), nullptr);
  EXPECT_EQ(tinh_collectives_load(nullptr, nullptr, &table),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "this process is not one of several ranks: mpirun, of Open MPI "
               "or MPICH, starts it as one");
  setenv("PMI_SIZE", "2", 1);
  EXPECT_STREQ(tinh_collectives_library(), "libtinh_mpi_mpich.so");
  unsetenv("PMI_SIZE");
  EXPECT_EQ(tinh_collectives_load("nowhere.so", nullptr, &table),
            TINH_NOT_FOUND);
  EXPECT_STREQ(tinh_last_error(),
               "cannot load collectives: nowhere.so: cannot open shared object "
               "file: No such file or directory");
}

TEST_F(Ranks, AreInProfiles) {
  LocalRanks ranks(1);
  options.measure_steps = true;
  tinh_context_t *context = open(ranks.table(0));
  std::vector<float> x = input(0, 0), y(x.size());
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(run(context, sum, x, y), TINH_OK);
  for (uint32_t step : {1, 3}) {
    tinh_step_profile_t profile;
    ASSERT_EQ(tinh_context_step_profile(context, sum, step, &profile), TINH_OK);
    EXPECT_EQ(profile.kind, TINH_STEP_COLLECTIVE);
    EXPECT_GT(profile.runs, 0u);
  }
  tinh_context_release(context);
}
