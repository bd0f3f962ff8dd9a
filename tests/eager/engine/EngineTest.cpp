//===- EngineTest.cpp - Order, waiting, back-pressure, memory -------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine by small programs whose order is forced by gates.
//
//===----------------------------------------------------------------------===//
#include "EngineTesting.h"

#include <atomic>
#include <numeric>
#include <thread>

namespace tinh::eager {
namespace {

class EngineTest : public testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override { configure(withWorkers(GetParam())); }
  void TearDown() override { configure({}); }
};

INSTANTIATE_TEST_SUITE_P(Workers, EngineTest, testing::Values(1, 2, 3));

int64_t next(int64_t x, int i) { return (x * 3 + i) % 1'000'003; }

TEST_P(EngineTest, ChainRunsInOrder) {
  Ref<Storage> x = makeNumber(1);
  for (int i = 0; i < 5000; ++i)
    push({x.get()}, {x.get()}, [x, i] { number(*x) = next(number(*x), i); });
  int64_t expected = 1;
  for (int i = 0; i < 5000; ++i)
    expected = next(expected, i);
  Engine::get().waitToRead(*x);
  EXPECT_EQ(number(*x), expected);
}

TEST_P(EngineTest, PushReturnsBeforeTheOperationRuns) {
  Ref<Storage> x = Storage::create(sizeof(int64_t));
  Gate gate;
  push({}, {x.get()}, [&, x] {
    gate.pass();
    number(*x) = 7;
  });
  EXPECT_FALSE(Engine::get().isReadyToRead(*x));
  gate.open();
  Engine::get().waitToRead(*x);
  EXPECT_TRUE(Engine::get().isReadyToRead(*x));
  EXPECT_EQ(number(*x), 7);
}

TEST_P(EngineTest, WriteWaitsForReads) {
  Ref<Storage> x = makeNumber(1), y = makeNumber(0);
  Gate gate;
  push({x.get()}, {y.get()}, [&, x, y] {
    gate.pass();
    number(*y) = number(*x);
  });
  push({}, {x.get()}, [x] { number(*x) = 2; });
  EXPECT_EQ(number(*x), 1); // No other thread may write it yet.
  gate.open();
  Engine::get().waitToWrite(*x);
  EXPECT_EQ(number(*x), 2);
  Engine::get().waitToRead(*y);
  EXPECT_EQ(number(*y), 1);
}

TEST_P(EngineTest, WaitToReadDoesNotWaitForReaders) {
  Ref<Storage> x = makeNumber(5), y = makeNumber(0);
  Gate gate;
  push({x.get()}, {y.get()}, [&, x, y] { gate.pass(); });
  Engine::get().waitToRead(*x); // Returns while the reader is at the gate.
  EXPECT_EQ(number(*x), 5);
  gate.open();
  Engine::get().waitAll();
}

TEST_P(EngineTest, IndependentOperationsOverlap) {
  if (GetParam() < 2)
    GTEST_SKIP() << "needs two workers";
  Ref<Storage> x = makeNumber(0), y = makeNumber(0);
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  push({}, {y.get()}, [&] { gate.pass(); });
  gate.waitFor(2); // Both run at this time.
  gate.open();
  Engine::get().waitAll();
}

TEST_P(EngineTest, ReadsOfOneStorageOverlap) {
  if (GetParam() < 2)
    GTEST_SKIP() << "needs two workers";
  Ref<Storage> x = makeNumber(0), y = makeNumber(0), z = makeNumber(0);
  Gate gate;
  push({x.get()}, {y.get()}, [&] { gate.pass(); });
  push({x.get()}, {z.get()}, [&] { gate.pass(); });
  gate.waitFor(2);
  gate.open();
  Engine::get().waitAll();
}

TEST_P(EngineTest, ASmallOperationDoesNotWaitForALongOne) {
  if (GetParam() < 2)
    GTEST_SKIP() << "needs two workers";
  Ref<Storage> x = makeNumber(0), y = makeNumber(0);
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  gate.waitFor(1);
  // Queued while the only worker that was awake is at the gate.
  Engine::get().push(
      {"small", std::source_location::current()}, {}, std::array{y.get()},
      FunctionPayload{[y](uint32_t) { number(*y) = 3; }, 1, false, false});
  Engine::get().waitToRead(*y);
  EXPECT_EQ(number(*y), 3);
  gate.open();
  Engine::get().waitAll();
}

TEST_P(EngineTest, QuickOperationsRunAtOnceIfNothingIsInTheirWay) {
  Ref<Storage> x = makeNumber(0), y = makeNumber(0), z = makeNumber(0);
  // But for moments in which a worker that looks for work has the lock.
  auto runsAtOnce = [](Storage &read, Storage &written, int value) {
    std::atomic<std::thread::id> by;
    for (int tries = 0; tries < 1000; ++tries) {
      pushQuick({&read}, {&written}, [&] {
        number(written) = value;
        by = std::this_thread::get_id();
      });
      if (by.load() == std::this_thread::get_id())
        return true;
      Engine::get().waitToRead(written);
    }
    return false;
  };
  EXPECT_TRUE(runsAtOnce(*x, *y, 1));
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  gate.waitFor(1);
  EXPECT_TRUE(runsAtOnce(*y, *z, 2));
  pushQuick({x.get()}, {z.get()}, [z] { number(*z) = 3; });
  pushQuick({z.get()}, {y.get()}, [y, z] { number(*y) = number(*z); });
  EXPECT_EQ(number(*z), 2);
  gate.open();
  Engine::get().waitToRead(*y);
  EXPECT_EQ(number(*y), 3);
}

TEST_P(EngineTest, QuickOperationsOvertakeNothing) {
  // However many are before them that nobody has looked at yet.
  for (int64_t before = 1; before < 100; ++before) {
    std::vector<Ref<Storage>> held;
    Gate gate;
    for (uint32_t i = 0; i < GetParam(); ++i) {
      held.push_back(makeNumber(0));
      push({}, {held.back().get()}, [&] { gate.pass(); });
    }
    gate.waitFor(GetParam());
    Ref<Storage> x = makeNumber(0), y = makeNumber(0), z = makeNumber(0);
    for (int64_t i = 0; i < before; ++i)
      push({}, {x.get()}, [x] { ++number(*x); });
    pushQuick({x.get()}, {y.get()}, [x, y] { number(*y) = number(*x); });
    pushQuick({y.get()}, {z.get()}, [y, z] { number(*z) = number(*y); });
    gate.open();
    Engine::get().waitAll();
    EXPECT_EQ(number(*z), before);
  }
}

TEST_P(EngineTest, EachChunkRunsOnce) {
  Ref<Storage> x = Storage::create(1000 * sizeof(int));
  auto *counts = new std::vector<std::atomic<int>>(1000);
  for (int round = 0; round < 20; ++round)
    Engine::get().push(
        {"chunks", std::source_location::current()}, std::array{x.get()},
        std::array{x.get()},
        FunctionPayload{[counts](uint32_t i) { ++(*counts)[i]; }, 1000});
  Engine::get().waitAll();
  for (const std::atomic<int> &count : *counts)
    ASSERT_EQ(count, 20);
  delete counts;
}

TEST_P(EngineTest, ChunksAreShared) {
  if (GetParam() < 2)
    GTEST_SKIP() << "needs two workers";
  Ref<Storage> x = makeNumber(0);
  Gate gate;
  Engine::get().push({"chunks", std::source_location::current()}, {},
                     std::array{x.get()},
                     FunctionPayload{[&](uint32_t) { gate.pass(); }, 2});
  gate.waitFor(2);
  gate.open();
  Engine::get().waitAll();
}

TEST_P(EngineTest, ManyAccessesAndTheSameStorageTwice) {
  std::vector<Ref<Storage>> storages;
  std::vector<Storage *> reads;
  for (int i = 0; i < 50; ++i) {
    storages.push_back(makeNumber(i));
    reads.push_back(storages.back().get());
    reads.push_back(storages.back().get());
  }
  Ref<Storage> first = storages[0];
  push(reads, {first.get(), first.get()}, [storages] {
    int64_t sum = 0;
    for (const Ref<Storage> &storage : storages)
      sum += number(*storage);
    number(*storages[0]) = sum;
  });
  Engine::get().waitToRead(*first);
  EXPECT_EQ(number(*first), 49 * 50 / 2);
}

TEST_P(EngineTest, ManyThreadsWaitForOneStorage) {
  Ref<Storage> x = makeNumber(0);
  Gate gate;
  push({}, {x.get()}, [&, x] {
    gate.pass();
    number(*x) = 11;
  });
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&, i] {
      i % 2 ? Engine::get().waitToRead(*x) : Engine::get().waitToWrite(*x);
      right += number(*x) == 11;
    });
  gate.waitFor(1);
  gate.open();
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(right, 8);
}

TEST_P(EngineTest, PayloadsOfAnySizeAreDestroyedOnce) {
  struct Large {
    std::shared_ptr<int> owner;
    std::array<char, 3000> bytes = {};
    uint32_t numChunks() const { return 1; }
    void run(uint32_t, uint32_t, Worker &) { ++*owner; }
  };
  auto owner = std::make_shared<int>(0);
  Ref<Storage> x = makeNumber(0);
  for (int i = 0; i < 10; ++i)
    Engine::get().emplace<Large>({"large", std::source_location::current()}, {},
                                 std::array{x.get()}, owner);
  Engine::get().waitAll();
  EXPECT_EQ(*owner, 10);
  EXPECT_EQ(owner.use_count(), 1);
}

TEST_P(EngineTest, ScratchIsAlignedAndAWorkersOwn) {
  struct Scratch {
    uint64_t size;
    uint32_t numChunks() const { return 8; }
    void run(uint32_t begin, uint32_t, Worker &worker) {
      auto *bytes = static_cast<unsigned char *>(worker.scratch(size));
      ASSERT_EQ(reinterpret_cast<uintptr_t>(bytes) % 64, 0u);
      std::fill_n(bytes, size, begin);
      std::this_thread::yield();
      for (uint64_t i = 0; i < size; ++i)
        ASSERT_EQ(bytes[i], begin);
    }
  };
  Ref<Storage> x = makeNumber(0);
  for (uint64_t size : {1, 1000, 100'000, 10})
    Engine::get().emplace<Scratch>({"scratch", std::source_location::current()},
                                   {}, std::array{x.get()}, size);
  Engine::get().waitAll();
}

TEST_P(EngineTest, OperationsQueueOperations) {
  Ref<Storage> x = makeNumber(1), y = makeNumber(0);
  push({}, {x.get()}, [x, y] {
    push({x.get()}, {y.get()}, [x, y] { number(*y) = number(*x); });
    number(*x) = 9;
  });
  Engine::get().waitAll();
  EXPECT_EQ(number(*y), 9);
}

TEST_P(EngineTest, BlocksWhileTooManyOperationsAreQueued) {
  EngineOptions options = withWorkers(GetParam());
  options.max_queued_operations = 10;
  configure(options);
  Ref<Storage> x = makeNumber(0);
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  std::atomic<int> queued = 1;
  std::thread caller([&] {
    for (int i = 0; i < 100; ++i, ++queued)
      push({x.get()}, {x.get()}, [x] { ++number(*x); });
  });
  while (queued < 10)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queued, 10);
  gate.open();
  caller.join();
  Engine::get().waitAll();
  EXPECT_EQ(number(*x), 100);
}

TEST_P(EngineTest, BlocksWhileTooManyBytesAreQueued) {
  EngineOptions options = withWorkers(GetParam());
  options.max_queued_bytes = 10'000;
  configure(options);
  Ref<Storage> x = makeNumber(0);
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  std::atomic<int> queued = 0;
  std::thread caller([&] {
    for (int i = 0; i < 100; ++i, ++queued) {
      Ref<Storage> y = Storage::create(3000);
      push({x.get()}, {y.get()}, [x, y] { number(*y) = number(*x); });
    }
    // Larger than the limit: alone.
    Ref<Storage> y = Storage::create(100'000);
    push({x.get()}, {y.get()}, [x, y] { number(*y) = number(*x); });
  });
  while (queued < 3)
    std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(queued, 3);
  gate.open();
  caller.join();
  Engine::get().waitAll();
}

TEST_P(EngineTest, MemoryIsAllocatedWhenWrittenAndGivenBackWhenDropped) {
  uint64_t before = memory_statistics().in_use;
  Ref<Storage> x = Storage::create(1 << 20);
  Gate gate;
  push({}, {x.get()}, [&] { gate.pass(); });
  gate.waitFor(1);
  EXPECT_EQ(memory_statistics().in_use, before + (1 << 20));
  Ref<Storage> y = Storage::create(1 << 20);
  push({x.get()}, {y.get()}, [] {});
  EXPECT_EQ(memory_statistics().in_use, before + (1 << 20));
  x = nullptr;
  y = nullptr; // Both are kept by what is queued.
  gate.open();
  Engine::get().waitAll();
  EXPECT_EQ(memory_statistics().in_use, before);
}

TEST_P(EngineTest, AChainNeedsTheMemoryOfTwoLinks) {
  configure(withWorkers(GetParam()));
  uint64_t before = memory_statistics().in_use;
  reset_peak_memory();
  Ref<Storage> x = Storage::create(1 << 16);
  push({}, {x.get()}, [] {});
  for (int i = 0; i < 500; ++i) {
    Ref<Storage> y = Storage::create(1 << 16);
    push({x.get()}, {y.get()}, [] {});
    x = y;
  }
  Engine::get().waitAll();
  EXPECT_LE(memory_statistics().peak, before + (2 << 16));
}

TEST_P(EngineTest, WrappedMemoryIsReleasedOnce) {
  static std::atomic<int> released;
  released = 0;
  int64_t value = 4;
  Ref<Storage> x =
      Storage::wrap(&value, sizeof value, [](void *) { ++released; }, nullptr);
  push({x.get()}, {x.get()}, [x = x.get()] { ++number(*x); });
  x = nullptr;
  configure({}); // Waits for the threads, too.
  EXPECT_EQ(released, 1);
  EXPECT_EQ(value, 5);
}

TEST_P(EngineTest, WhatNobodyWroteCanBeRead) {
  Ref<Storage> x = Storage::create(64), y = Storage::create(64);
  push({x.get()}, {y.get()}, [x] { ASSERT_NE(x->data(), nullptr); });
  Engine::get().waitToRead(*y);
  Ref<Storage> z = Storage::create(64);
  Engine::get().waitToRead(*z);
  EXPECT_NE(z->data(), nullptr);
}

TEST(SynchronousTest, CallsReturnWhenTheOperationIsDone) {
  for (uint32_t workers : {1, 3}) {
    EngineOptions options = withWorkers(workers);
    options.mode = EngineMode::Synchronous;
    configure(options);
    Ref<Storage> x = makeNumber(0);
    std::thread::id thread;
    push({}, {x.get()}, [&] { thread = std::this_thread::get_id(); });
    EXPECT_EQ(thread, std::this_thread::get_id());
    std::atomic<int> chunks = 0;
    Engine::get().push({"chunks", std::source_location::current()}, {},
                       std::array{x.get()},
                       FunctionPayload{[&](uint32_t) { ++chunks; }, 50});
    EXPECT_EQ(chunks, 50);
    // What is queued within an operation runs within it.
    Ref<Storage> y = makeNumber(0);
    push({}, {x.get()}, [&] {
      push({}, {y.get()}, [&] { number(*y) = 1; });
      EXPECT_EQ(number(*y), 1);
    });
  }
  configure({});
}

TEST(SynchronousTest, ThreadsRespectEachOther) {
  EngineOptions options = withWorkers(2);
  options.mode = EngineMode::Synchronous;
  configure(options);
  Ref<Storage> x = makeNumber(0);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([x] {
      for (int j = 0; j < 500; ++j)
        push({x.get()}, {x.get()}, [x] { ++number(*x); });
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(number(*x), 2000);
  configure({});
}

TEST(ConfigureTest, TellsWhatIsInEffect) {
  EngineOptions options = withWorkers(3);
  options.max_queued_operations = 17;
  configure(options);
  EXPECT_EQ(engine_options().workers, 3u);
  EXPECT_EQ(engine_options().max_queued_operations, 17u);
  configure({});
  EXPECT_GE(engine_options().workers, 1u);
}

} // namespace
} // namespace tinh::eager
