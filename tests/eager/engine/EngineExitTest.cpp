//===- EngineExitTest.cpp - Programs that end while operations run
//---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is queued is done first; nothing is destroyed that is still needed.
//
//===----------------------------------------------------------------------===//
#include "EngineTesting.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tinh::eager {
namespace {

class EngineExitTest : public testing::Test {
protected:
  void SetUp() override {
    // The program starts anew: threads do not survive a fork.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

/// Destroyed after the engine has stopped.
Ref<Storage> kept;

[[noreturn]] void endWithWorkQueued() {
  kept = makeNumber(0);
  for (int i = 0; i < 10; ++i)
    push({kept.get()}, {kept.get()}, [] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ++number(*kept);
    });
  push({kept.get()}, {}, [] {
    std::fprintf(stderr, "%d are done\n", static_cast<int>(number(*kept)));
  });
  std::exit(0);
}

TEST_F(EngineExitTest, FinishesWhatIsQueued) {
  EXPECT_EXIT(endWithWorkQueued(), testing::ExitedWithCode(0), "10 are done");
}

TEST_F(EngineExitTest, AnotherThreadMayEndTheProgram) {
  EXPECT_EXIT(
      {
        Engine::get();
        std::thread(endWithWorkQueued).join();
      },
      testing::ExitedWithCode(0), "10 are done");
}

[[noreturn]] void endWithin(EngineMode mode) {
  EngineOptions options;
  options.mode = mode;
  configure(options);
  kept = makeNumber(0);
  push({}, {kept.get()}, [] { std::exit(3); });
  Engine::get().waitToRead(*kept);
  std::exit(4);
}

TEST_F(EngineExitTest, AnOperationMayEndTheProgram) {
  EXPECT_EXIT(endWithin(EngineMode::Synchronous), testing::ExitedWithCode(3),
              "");
  EXPECT_EXIT(endWithin(EngineMode::Asynchronous), testing::ExitedWithCode(3),
              "");
}

/// Operations of static objects that are destroyed late run at once.
struct AtTheVeryEnd {
  bool isWanted = false;
  ~AtTheVeryEnd() {
    if (!isWanted)
      return;
    push({kept.get()}, {kept.get()}, [] { number(*kept) = 5; });
    Engine::get().waitToRead(*kept);
    std::fprintf(stderr, "the end, %d\n", static_cast<int>(number(*kept)));
  }
} atTheVeryEnd;

TEST_F(EngineExitTest, StaticObjectsMayStillUseTheEngine) {
  EXPECT_EXIT(
      {
        atTheVeryEnd.isWanted = true;
        endWithWorkQueued();
      },
      testing::ExitedWithCode(0), "the end, 5");
}

} // namespace
} // namespace tinh::eager
