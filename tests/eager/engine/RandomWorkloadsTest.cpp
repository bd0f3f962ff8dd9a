//===- RandomWorkloadsTest.cpp - Random programs on the engine ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations that read and write random storages, with errors among them, give
// what they give one after the other.
//
//===----------------------------------------------------------------------===//
#include "EngineTesting.h"

#include <optional>
#include <random>
#include <thread>

namespace tinh::eager {
namespace {

/// A program of one thread: each step mixes what it reads into what it writes.
struct Step {
  std::vector<uint32_t> reads, writes;
  uint64_t constant;
  uint32_t chunks;
  bool fails, quick;
  bool drops; // Its first output gets a new storage.
};

std::vector<Step> makeProgram(uint32_t seed, uint32_t numValues, int length,
                              bool failures) {
  std::mt19937 random(seed);
  std::vector<Step> steps(length);
  for (Step &step : steps) {
    for (uint32_t i = random() % 6; i > 0; --i)
      step.reads.push_back(random() % numValues);
    for (uint32_t i = 1 + random() % 2; i > 0; --i)
      step.writes.push_back(random() % numValues);
    step.constant = random();
    step.chunks = random() % 4 ? 1 : 1 + random() % 40;
    step.fails = failures && random() % 50 == 0;
    step.drops = random() % 3 == 0;
    step.quick = random() % 2 && step.chunks == 1;
  }
  return steps;
}

uint64_t mix(uint64_t sum, uint32_t output, uint64_t constant) {
  return (sum * 0x9E3779B97F4A7C15 + output) ^ constant;
}

/// The values after `steps` one after the other; none: poisoned.
std::vector<std::optional<uint64_t>> runSerially(const std::vector<Step> &steps,
                                                 uint32_t numValues) {
  std::vector<std::optional<uint64_t>> values(numValues);
  for (uint32_t i = 0; i < numValues; ++i)
    values[i] = i;
  for (const Step &step : steps) {
    // Others than those that it gives new storages to.
    auto isNew = [&](uint32_t value) {
      return step.drops && value == step.writes[0];
    };
    uint64_t sum = 0;
    bool valid = !step.fails;
    for (uint32_t read : step.reads) {
      valid &= values[read].has_value();
      sum = sum * 31 + values[read].value_or(0);
    }
    for (uint32_t write : step.writes)
      valid &= isNew(write) || values[write].has_value();
    for (uint32_t write : step.writes)
      values[write] =
          valid ? std::optional(mix(sum, write, step.constant)) : std::nullopt;
  }
  return values;
}

struct MixPayload {
  std::vector<Storage *> reads;
  std::vector<std::pair<Storage *, uint32_t>> writes;
  // Not a Step: nobody waits for operations whose outputs are dropped.
  uint64_t constant;
  uint32_t chunks;
  bool fails, quick;
  std::shared_ptr<std::atomic<uint32_t>> left; // Chunks.

  uint32_t numChunks() const { return chunks; }
  bool isQuick() const { return quick; }
  void run(uint32_t begin, uint32_t end, Worker &) {
    if (fails)
      throw Error(TINH_NOT_FOUND, "as it should");
    // The last chunk does it all: the others may not have run after it.
    if (left->fetch_sub(end - begin) != end - begin)
      return;
    uint64_t sum = 0;
    for (Storage *read : reads)
      sum = sum * 31 + static_cast<uint64_t>(number(*read));
    for (auto [write, index] : writes)
      number(*write) = static_cast<int64_t>(mix(sum, index, constant));
  }
};

void queue(const Step &step, std::vector<Ref<Storage>> &values) {
  MixPayload payload{{},         {},         step.constant, step.chunks,
                     step.fails, step.quick, nullptr};
  payload.left = std::make_shared<std::atomic<uint32_t>>(step.chunks);
  std::vector<Ref<Storage>> kept; // What is read may be dropped below.
  for (uint32_t read : step.reads) {
    kept.push_back(values[read]);
    payload.reads.push_back(values[read].get());
  }
  if (step.drops)
    values[step.writes[0]] = Storage::create(sizeof(int64_t));
  std::vector<Storage *> writes;
  for (uint32_t write : step.writes) {
    payload.writes.push_back({values[write].get(), write});
    writes.push_back(values[write].get());
  }
  std::vector<Storage *> reads = payload.reads;
  try {
    Engine::get().push({"mix", std::source_location::current()}, reads, writes,
                       std::move(payload));
  } catch (const Error &) { // In synchronous mode.
  }
}

std::vector<std::optional<uint64_t>> runQueued(const std::vector<Step> &steps,
                                               uint32_t numValues) {
  std::vector<Ref<Storage>> values;
  for (uint32_t i = 0; i < numValues; ++i)
    values.push_back(makeNumber(i));
  for (const Step &step : steps)
    queue(step, values);
  std::vector<std::optional<uint64_t>> results(numValues);
  for (uint32_t i = 0; i < numValues; ++i)
    try {
      Engine::get().waitToRead(*values[i]);
      results[i] = static_cast<uint64_t>(number(*values[i]));
    } catch (const Error &error) {
      EXPECT_EQ(error.status(), TINH_NOT_FOUND);
    }
  return results;
}

void compare(uint32_t seed, bool failures) {
  uint32_t numValues = 2 + seed % 20;
  std::vector<Step> steps = makeProgram(seed, numValues, 400, failures);
  ASSERT_EQ(runQueued(steps, numValues), runSerially(steps, numValues))
      << "seed " << seed;
}

void clearErrors() {
  try {
    wait_all();
  } catch (const Error &) {
  }
}

class RandomWorkloadsTest : public testing::TestWithParam<EngineOptions> {
protected:
  void SetUp() override { configure(GetParam()); }
  void TearDown() override {
    clearErrors();
    configure({});
  }
};

std::vector<EngineOptions> configurations() {
  std::vector<EngineOptions> all;
  for (uint32_t workers : {1, 2, 3}) {
    all.push_back(withWorkers(workers));
    all.back().max_queued_operations = 16;
    all.push_back(withWorkers(workers));
    all.back().spin_us = 0;
    all.push_back(withWorkers(workers));
    all.back().mode = EngineMode::Synchronous;
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, RandomWorkloadsTest,
                         testing::ValuesIn(configurations()),
                         [](const testing::TestParamInfo<EngineOptions> &info) {
                           const EngineOptions &options = info.param;
                           return (options.mode == EngineMode::Synchronous
                                       ? "Synchronous"
                                   : options.spin_us ? "ShortQueue"
                                                     : "NoSpinning") +
                                  std::to_string(options.workers);
                         });

TEST_P(RandomWorkloadsTest, GiveWhatSerialExecutionGives) {
  for (uint32_t seed = 0; seed < 20; ++seed)
    compare(seed, false);
}

TEST_P(RandomWorkloadsTest, WithErrors) {
  for (uint32_t seed = 0; seed < 20; ++seed)
    compare(seed, true);
}

TEST_P(RandomWorkloadsTest, FromSeveralThreads) {
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([thread] {
      for (uint32_t seed = 0; seed < 5; ++seed)
        compare(100 * (thread + 1) + seed, seed % 2);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Threads that write the same storages: sums do not depend on the order.
TEST_P(RandomWorkloadsTest, OnSharedStorages) {
  std::vector<Ref<Storage>> sums;
  for (int i = 0; i < 4; ++i)
    sums.push_back(makeNumber(0));
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      std::mt19937 random(thread);
      for (int i = 0; i < 600; ++i) {
        Storage *from = sums[random() % 4].get(), *to = sums[i % 4].get();
        push({from, to}, {to}, [to] { ++number(*to); });
        if (i % 100 == 0)
          Engine::get().waitToWrite(*to);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const Ref<Storage> &sum : sums) {
    Engine::get().waitToRead(*sum);
    EXPECT_EQ(number(*sum), 450);
  }
}

} // namespace
} // namespace tinh::eager
