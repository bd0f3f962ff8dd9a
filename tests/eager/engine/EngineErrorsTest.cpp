//===- EngineErrorsTest.cpp - What happens when operations fail -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Errors travel to what depends on them, and no further.
//
//===----------------------------------------------------------------------===//
#include "EngineTesting.h"

#include <atomic>
#include <stdexcept>

// Sanitizers would end the program where there is not enough memory.
extern "C" const char *__asan_default_options() {
  return "allocator_may_return_null=1";
}
extern "C" const char *__tsan_default_options() {
  return "allocator_may_return_null=1";
}

namespace tinh::eager {
namespace {

class EngineErrorsTest : public testing::TestWithParam<uint32_t> {
protected:
  void SetUp() override { configure(withWorkers(GetParam())); }
  void TearDown() override {
    try {
      wait_all();
    } catch (const Error &) {
    }
    configure({});
  }
};

INSTANTIATE_TEST_SUITE_P(Workers, EngineErrorsTest, testing::Values(1, 2, 3));

void failingOperation() { throw std::runtime_error("no luck"); }

TEST_P(EngineErrorsTest, PoisonsDependentsOnly) {
  Ref<Storage> a = makeNumber(1), b = makeNumber(2), c = makeNumber(3),
               d = makeNumber(4);
  std::atomic<bool> ran = false;
  push({a.get()}, {b.get()}, failingOperation, "divide");
  push({b.get()}, {c.get()}, [&] { ran = true; });
  push({a.get()}, {d.get()}, [d] { number(*d) = 5; });
  Engine::get().waitToRead(*d);
  EXPECT_EQ(number(*d), 5);
  Engine::get().waitToRead(*a);
  for (Ref<Storage> storage : {b, c}) {
    Error error = errorOf([&] { Engine::get().waitToRead(*storage); });
    EXPECT_EQ(error.status(), TINH_DEPENDENCY_FAILED);
    std::string message = error.what();
    EXPECT_NE(message.find("EngineErrorsTest.cpp:"), std::string::npos)
        << message;
    EXPECT_NE(message.find("divide: no luck"), std::string::npos) << message;
  }
  EXPECT_FALSE(ran);
}

TEST_P(EngineErrorsTest, WaitAllThrowsTheFirstErrorOnce) {
  Ref<Storage> a = makeNumber(1), b = makeNumber(2);
  push({}, {a.get()}, [] { throw Error(TINH_NOT_FOUND, "first"); });
  push({}, {b.get()}, [] { throw Error(TINH_IO_ERROR, "second"); });
  Error error = errorOf([] { wait_all(); });
  EXPECT_EQ(error.status(), TINH_NOT_FOUND);
  EXPECT_NE(std::string(error.what()).find("first"), std::string::npos);
  wait_all();
  EXPECT_EQ(errorOf([&] { Engine::get().waitToRead(*b); }).status(),
            TINH_IO_ERROR);
}

TEST_P(EngineErrorsTest, QuickOperationsKeepTheirErrors) {
  Ref<Storage> a = makeNumber(1), b = makeNumber(2);
  pushQuick({}, {a.get()}, failingOperation);
  pushQuick({a.get()}, {b.get()}, [] {});
  errorOf([&] { Engine::get().waitToRead(*b); });
  errorOf([] { wait_all(); });
}

TEST_P(EngineErrorsTest, InPlaceOperationsDoNotHeal) {
  Ref<Storage> a = makeNumber(1);
  push({}, {a.get()}, failingOperation);
  push({a.get()}, {a.get()}, [a] { ++number(*a); });
  push({}, {a.get()}, [a] { number(*a) = 0; }); // Of a part, perhaps.
  errorOf([&] { Engine::get().waitToRead(*a); });
}

TEST_P(EngineErrorsTest, OverwritingHeals) {
  Ref<Storage> a = makeNumber(1);
  push({}, {a.get()}, failingOperation);
  Engine::get().push(
      {"fill", std::source_location::current()}, {}, std::array{a.get()},
      FunctionPayload{[a](uint32_t) { number(*a) = 8; }, 1, true});
  Engine::get().waitToRead(*a);
  EXPECT_EQ(number(*a), 8);
}

TEST_P(EngineErrorsTest, AChunkThatFailsFailsTheOperation) {
  Ref<Storage> a = makeNumber(1);
  Engine::get().push({"chunks", std::source_location::current()}, {},
                     std::array{a.get()},
                     FunctionPayload{[](uint32_t i) {
                                       if (i % 10 == 3)
                                         failingOperation();
                                     },
                                     100});
  errorOf([&] { Engine::get().waitToRead(*a); });
  Ref<Storage> b = makeNumber(1);
  push({}, {b.get()}, [] {});
  Engine::get().waitToRead(*b);
}

TEST_P(EngineErrorsTest, WhatIsThrownNeedNotBeAnException) {
  Ref<Storage> a = makeNumber(1);
  push({}, {a.get()}, [] { throw 3; });
  Error error = errorOf([&] { Engine::get().waitToRead(*a); });
  EXPECT_NE(std::string(error.what()).find("no std::exception"),
            std::string::npos);
}

TEST_P(EngineErrorsTest, OutOfMemoryTellsTheSizes) {
  EngineOptions options = withWorkers(GetParam());
  options.memory_limit = memory_statistics().in_use + (2 << 20);
  configure(options);
  Ref<Storage> a = Storage::create(1 << 20), b = Storage::create(4 << 20),
               c = Storage::create(1 << 20);
  push({}, {a.get()}, [] {});
  push({a.get()}, {b.get()}, [] {}, "multiply");
  push({a.get()}, {c.get()}, [] {});
  Error error = errorOf([&] { Engine::get().waitToRead(*b); });
  EXPECT_EQ(error.status(), TINH_OUT_OF_MEMORY);
  std::string message = error.what();
  EXPECT_NE(message.find("multiply"), std::string::npos) << message;
  EXPECT_NE(message.find("4194304 bytes"), std::string::npos) << message;
  EXPECT_NE(message.find(std::to_string(options.memory_limit)),
            std::string::npos)
      << message;
  Engine::get().waitToRead(*c); // There is enough for it.
}

TEST_P(EngineErrorsTest, MoreMemoryThanThereIs) {
  Ref<Storage> a = Storage::create(uint64_t(1) << 60);
  push({}, {a.get()}, [] {});
  EXPECT_EQ(errorOf([&] { Engine::get().waitToRead(*a); }).status(),
            TINH_OUT_OF_MEMORY);
}

TEST_P(EngineErrorsTest, OperationsMayWaitForTheirOwnStorages) {
  Ref<Storage> a = makeNumber(1), b = makeNumber(2);
  push({a.get()}, {b.get()}, [a, b] {
    Engine::get().waitToRead(*a);
    Engine::get().waitToWrite(*b);
    number(*b) = number(*a);
  });
  Engine::get().waitToRead(*b);
  EXPECT_EQ(number(*b), 1);
}

TEST_P(EngineErrorsTest, OperationsMustNotWaitForOthers) {
  Ref<Storage> a = makeNumber(1), b = makeNumber(2);
  push({}, {a.get()}, [a, b] {
    // It waits for this one.
    push({a.get()}, {b.get()}, [] {});
    EXPECT_EQ(errorOf([&] { Engine::get().waitToRead(*b); }).status(),
              TINH_INVALID_ARGUMENT);
    EXPECT_EQ(errorOf([] { wait_all(); }).status(), TINH_INVALID_ARGUMENT);
    EXPECT_EQ(errorOf([] { configure({}); }).status(), TINH_INVALID_ARGUMENT);
  });
  wait_all();
}

TEST(SynchronousErrorsTest, CallsThrow) {
  EngineOptions options;
  options.mode = EngineMode::Synchronous;
  configure(options);
  Ref<Storage> a = makeNumber(1), b = makeNumber(2);
  Error error =
      errorOf([&] { push({}, {a.get()}, failingOperation, "divide"); });
  EXPECT_NE(std::string(error.what()).find("divide: no luck"),
            std::string::npos);
  errorOf([&] { push({a.get()}, {b.get()}, [] {}); });
  errorOf([&] { Engine::get().waitToRead(*b); });
  wait_all(); // The calls have thrown it all.
  configure({});
}

TEST(SynchronousErrorsTest, AnOperationMustNotQueueWhatWaitsForIt) {
  EngineOptions options;
  options.mode = EngineMode::Synchronous;
  configure(options);
  Ref<Storage> a = makeNumber(1);
  push({}, {a.get()}, [&] {
    EXPECT_EQ(errorOf([&] { push({a.get()}, {a.get()}, [] {}); }).status(),
              TINH_INVALID_ARGUMENT);
  });
  configure({});
}

} // namespace
} // namespace tinh::eager
