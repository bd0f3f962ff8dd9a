//===- cpp_wrapper_test.cpp - The runtime for C++ programs ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each call of tinh/runtime.hpp, compiled as C++17: owners, exceptions, waits.
//
//===----------------------------------------------------------------------===//
#include "tinh/runtime.hpp"

#include "toy.h"

#include <array>
#include <atomic>
#include <gtest/gtest.h>
#include <optional>
#include <thread>

static_assert(__cplusplus < 202002L, "tinh/runtime.hpp is C++17");
static_assert(!std::is_copy_constructible_v<tinh::Context> &&
              std::is_nothrow_move_constructible_v<tinh::Context> &&
              std::is_nothrow_move_assignable_v<tinh::Future>);

namespace {

class Wrapper : public testing::Test {
protected:
  /// A run of "main" that starts after `wait_for`.
  tinh::Future submit(const tinh::Context::Futures &wait_for = {}) {
    return context->submit({tinh::buffer(x)}, {tinh::buffer(y)}, wait_for);
  }

  Toy toy;
  tinh::Module module{toy.path()};
  std::vector<float> x = std::vector<float>(1024, 3.0f);
  std::vector<float> y = std::vector<float>(1024);
  std::optional<tinh::Context> context{std::in_place, module};
};

/// The status and message of what `call` throws; TINH_OK if it does not.
template <typename Call>
std::pair<tinh_status_t, std::string> thrown_by(Call call) {
  try {
    call();
  } catch (const tinh::Error &error) {
    return {error.status(), error.what()};
  }
  return {TINH_OK, ""};
}

} // namespace

TEST_F(Wrapper, TellsSignatures) {
  EXPECT_STREQ(module.info().model, "toy");
  EXPECT_EQ(module.find_function("count"), 1u);
  EXPECT_TRUE(module.function_info(1).mutates_state);
  ASSERT_EQ(module.inputs().size(), 1u);
  EXPECT_STREQ(module.inputs()[0].name, "x");
  EXPECT_STREQ(module.outputs(1)[0].name, "runs");
  EXPECT_TRUE(module.inputs(1).empty());
}

TEST_F(Wrapper, ThrowsWhatTheRuntimeSays) {
  auto [status, message] =
      thrown_by([] { tinh::Module("/nonexistent/model.so"); });
  EXPECT_EQ(status, TINH_NOT_FOUND);
  EXPECT_EQ(message, "cannot open the artifact '/nonexistent/model.so': No "
                     "such file or directory");
  EXPECT_EQ(thrown_by([&] { module.find_function("f"); }).first,
            TINH_NOT_FOUND);
  EXPECT_EQ(thrown_by([&] { context->run({}, {}); }).second,
            "the function has 1 inputs, but 0 were given");
  tinh::ContextOptions options;
  options.max_in_flight = 0;
  EXPECT_EQ(thrown_by([&] { tinh::Context(module, options); }).second,
            "max_in_flight must be at least 1");
}

TEST_F(Wrapper, BuffersOfContainers) {
  const std::array<int16_t, 3> array = {1, 2, 3};
  EXPECT_EQ(tinh::buffer(array).data, array.data());
  EXPECT_EQ(tinh::buffer(array).size, 6u);
  double plain[2] = {};
  EXPECT_EQ(tinh::buffer(plain).size, 16u);
  EXPECT_EQ(tinh::buffer(x.data() + 1, 5).data, &x[1]);
  EXPECT_EQ(tinh::buffer(x.data() + 1, 5).size, 20u);
}

TEST_F(Wrapper, Runs) {
  tinh::ContextOptions options;
  options.threads = 2;
  context.emplace(module, options);
  EXPECT_EQ(context->info().threads, 2u);
  context->run({tinh::buffer(x)}, {tinh::buffer(y)});
  EXPECT_EQ(y, expected_of(x));
  int64_t runs = 0;
  for (int i = 0; i < 3; ++i)
    context->run({}, {tinh::buffer(&runs, 1)}, module.find_function("count"));
  EXPECT_EQ(runs, 3);
}

TEST_F(Wrapper, WaitsForEventsAndRuns) {
  tinh::Promise ready;
  tinh::Future first = submit({ready});
  std::vector<float> y2(1024);
  tinh::Future second =
      context->submit({tinh::buffer(x)}, {tinh::buffer(y2)}, {first, ready});
  EXPECT_FALSE(second.done());
  ready.settle();
  second.wait();
  EXPECT_TRUE(first.done());
  EXPECT_EQ(y2, expected_of(x));
  EXPECT_EQ(thrown_by([&] { ready.settle(); }).first, TINH_ALREADY_STARTED);
}

TEST_F(Wrapper, ErrorsTravelThroughFutures) {
  tinh::Promise ready;
  tinh::Future first = submit({ready}), second = submit({first});
  ready.settle(TINH_IO_ERROR, "the camera is off");
  auto [status, message] = thrown_by([&] { second.wait(); });
  EXPECT_EQ(status, TINH_DEPENDENCY_FAILED);
  EXPECT_NE(message.find("the camera is off"), std::string::npos) << message;
  context->wait_all();
}

TEST_F(Wrapper, CallsBackOnce) {
  tinh::Promise ready;
  std::atomic<int> calls{0};
  auto owned = std::make_unique<int>(7); // Callbacks may own things.
  submit({ready}).then([&calls, owned = std::move(owned)](tinh_status_t status,
                                                          const char *message) {
    calls += status == TINH_OK && !*message ? *owned : 100;
  });
  EXPECT_EQ(calls, 0);
  ready.settle();
  context->wait_all();
  context.reset(); // Callbacks have returned after this.
  EXPECT_EQ(calls, 7);
  ready.then([&](tinh_status_t, const char *) { ++calls; });
  EXPECT_EQ(calls, 8);
}

TEST_F(Wrapper, CancelsWhatHasNotStarted) {
  tinh::Promise ready;
  tinh::Future future = submit({ready});
  EXPECT_TRUE(future.cancel());
  EXPECT_EQ(thrown_by([&] { future.wait(); }).first, TINH_CANCELLED);
  EXPECT_FALSE(future.cancel());
  EXPECT_EQ(thrown_by([&] { ready.cancel(); }).first, TINH_INVALID_ARGUMENT);
}

TEST_F(Wrapper, AContextKeepsItsModule) {
  tinh::Module moved = std::move(module);
  {
    tinh::Module gone = std::move(moved);
  }
  tinh::Future future = submit();
  future.wait();
  EXPECT_EQ(y, expected_of(x));
  context.reset();
  EXPECT_TRUE(future.done());
}
