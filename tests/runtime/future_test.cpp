//===- future_test.cpp - Waits, callbacks and errors of futures -----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What may be done with a future, and what a callback may do.
//
//===----------------------------------------------------------------------===//
#include "held_thread.h"
#include "toy_context.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

namespace {

class Future : public ToyContext {
protected:
  Future() { EXPECT_EQ(tinh_future_create(&event), TINH_OK); }
  ~Future() override {
    close();
    for (tinh_future_t *future : {event, first, second})
      tinh_future_release(future);
  }

  /// A callback that tries all that could make it wait.
  static void try_everything(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    test.statuses = {tinh_context_wait_all(test.context),
                     test.run(test.x, test.y),
                     test.submit(0, test.x, test.y, nullptr, &test.second),
                     test.submit(0, test.x, test.y, nullptr, nullptr),
                     tinh_future_wait(test.second),
                     tinh_future_wait(test.first)};
    test.called = true;
  }

  /// The same with another context, which is full.
  static void try_another(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    std::swap(test.context, test.other);
    test.statuses = {
        test.submit(0, test.x, test.y, nullptr, nullptr),
        test.run(test.x, test.y), tinh_context_wait_all(test.context),
        tinh_context_reset_state(test.context), tinh_future_wait(test.second)};
    std::swap(test.context, test.other);
    test.called = true;
  }

  static void run_another(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    std::swap(test.context, test.other);
    test.statuses = {test.run(test.x, test.y)};
    std::swap(test.context, test.other);
    test.called = true;
  }

  /// A callback of an event that polls for what it has brought about.
  static void settle_and_poll(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    tinh_future_settle(test.second, TINH_OK, nullptr);
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    bool done = false;
    while (!done && std::chrono::steady_clock::now() < end)
      tinh_future_poll(test.first, &done);
    test.called = done;
  }

  /// A callback that settles the second future and waits for what that brings.
  static void settle_and_wait(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    test.statuses = {tinh_future_settle(test.second, TINH_OK, nullptr),
                     tinh_future_wait(test.first),
                     tinh_context_wait_all(test.context),
                     test.run(test.x, test.y)};
  }

  /// A callback that goes on until the context is closed under it.
  static void submit_until_refused(void *user, tinh_status_t, const char *) {
    Future &test = *static_cast<Future *>(user);
    test.called = true;
    tinh_status_t status;
    do
      status = test.submit(0, test.x, test.y, nullptr, nullptr);
    while (status == TINH_OK || status == TINH_BUSY);
    test.statuses = {status};
  }

  tinh_future_t *event = nullptr, *first = nullptr, *second = nullptr;
  tinh_context_t *other = nullptr;
  std::vector<float> x = input(1);
  std::vector<tinh_status_t> statuses;
  std::atomic<bool> called{false};
};

/// What a callback was told.
struct Told {
  std::atomic<int> calls{0};
  tinh_status_t status = TINH_OK;
  std::string message;

  static void callback(void *user, tinh_status_t status, const char *message) {
    Told &told = *static_cast<Told *>(user);
    told.status = status;
    told.message = message;
    ++told.calls;
  }
};

/// This process's thread of that name.
pid_t thread_named(const std::string &name) {
  for (const auto &task :
       std::filesystem::directory_iterator("/proc/self/task")) {
    std::string found;
    std::getline(std::ifstream(task.path() / "comm"), found);
    if (found == name)
      return std::stoi(task.path().filename());
  }
  return 0;
}

} // namespace

TEST_F(Future, CallbacksAreToldOfSuccessAndFailure) {
  open(2);
  Told first_told, second_told;
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(submit(0, x, y, first, &second), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, Told::callback, &first_told), TINH_OK);
  ASSERT_EQ(tinh_future_then(second, Told::callback, &second_told), TINH_OK);
  EXPECT_EQ(first_told.calls, 0);
  ASSERT_EQ(tinh_future_cancel(first), TINH_OK);
  EXPECT_EQ(first_told.status, TINH_CANCELLED);
  EXPECT_EQ(second_told.status, TINH_DEPENDENCY_FAILED);
  EXPECT_EQ(second_told.message,
            "a run that this one waits for failed: the run was cancelled");
  // A completed one calls back at once.
  ASSERT_EQ(tinh_future_then(second, Told::callback, &second_told), TINH_OK);
  EXPECT_EQ(first_told.calls, 1);
  EXPECT_EQ(second_told.calls, 2);
}

TEST_F(Future, AChainOfFailuresTellsTheFirst) {
  constexpr uint32_t kRuns = 20'000;
  options.max_in_flight = kRuns;
  open(2);
  std::vector<tinh_future_t *> chain = {event};
  for (uint32_t i = 0; i < kRuns; ++i) {
    tinh_future_t *next = nullptr;
    ASSERT_EQ(submit(0, x, y, chain.back(), &next), TINH_OK);
    chain.push_back(next);
  }
  Told told;
  ASSERT_EQ(tinh_future_then(chain.back(), Told::callback, &told), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_IO_ERROR, "no data"), TINH_OK);
  EXPECT_EQ(told.calls, 1);
  EXPECT_EQ(told.status, TINH_DEPENDENCY_FAILED);
  EXPECT_EQ(told.message, "a run that this one waits for failed: no data");
  EXPECT_EQ(tinh_future_wait(chain.back()), TINH_DEPENDENCY_FAILED);
  EXPECT_EQ(tinh_last_error(), told.message);
  EXPECT_EQ(run(x, y), TINH_OK);
  std::for_each(chain.begin() + 1, chain.end(), tinh_future_release);
}

TEST_F(Future, ThatSettleEachOtherMayBeAny) {
  struct Link {
    tinh_future_t *future = nullptr, *next = nullptr;
    static void settle_next(void *user, tinh_status_t status, const char *) {
      Link &link = *static_cast<Link *>(user);
      if (link.next)
        tinh_future_settle(link.next, status, "");
      tinh_future_release(std::exchange(link.future, nullptr));
    }
  };
  std::vector<Link> chain(200'000);
  for (Link &link : chain)
    ASSERT_EQ(tinh_future_create(&link.future), TINH_OK);
  for (size_t i = 0; i < chain.size(); ++i) {
    if (i + 1 < chain.size())
      chain[i].next = chain[i + 1].future;
    ASSERT_EQ(tinh_future_then(chain[i].future, Link::settle_next, &chain[i]),
              TINH_OK);
  }
  ASSERT_EQ(tinh_future_settle(chain[0].future, TINH_OK, nullptr), TINH_OK);
  for (const Link &link : chain)
    ASSERT_EQ(link.future, nullptr);
}

/// What a callback has settled must not wait for the callback's end if that
/// waits for it.
TEST_F(Future, CallbacksOfEventsMayWaitForWhatTheySettle) {
  open(2);
  ASSERT_EQ(tinh_future_create(&second), TINH_OK);
  ASSERT_EQ(submit(0, x, y, second, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(event, settle_and_wait, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(statuses, std::vector(4, TINH_OK));
}

TEST_F(Future, IsDoneWhenNoRunIsLeft) {
  open(2);
  for (int i = 0; i < 2000; ++i) {
    ASSERT_EQ(submit(0, x, y, nullptr, &first), TINH_OK);
    ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
    bool done = false;
    ASSERT_EQ(tinh_future_poll(first, &done), TINH_OK);
    ASSERT_TRUE(done) << i;
    tinh_future_release(std::exchange(first, nullptr));
  }
}

/// Else two contexts, each full and in a callback that submits to the other,
/// would wait for each other.
TEST_F(Future, CallbacksMayNotWaitForAnyContext) {
  options.max_in_flight = 1;
  open(1);
  ASSERT_EQ(tinh_context_create(module, &options, &other), TINH_OK);
  std::swap(context, other);
  ASSERT_EQ(submit(0, x, y, event, &second), TINH_OK);
  std::swap(context, other);
  tinh_future_t *go = nullptr;
  ASSERT_EQ(tinh_future_create(&go), TINH_OK);
  ASSERT_EQ(submit(0, x, y, go, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, try_another, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(go, TINH_OK, nullptr), TINH_OK);
  while (!called)
    std::this_thread::yield();
  EXPECT_EQ(statuses, std::vector(5, TINH_BUSY));
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(tinh_future_wait(second), TINH_OK);
  tinh_context_release(other);
  tinh_future_release(go);
}

TEST_F(Future, CallbacksMayRunAnotherContext) {
  open(1);
  ASSERT_EQ(tinh_context_create(module, &options, &other), TINH_OK);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, run_another, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  while (!called)
    std::this_thread::yield();
  EXPECT_EQ(statuses, std::vector(1, TINH_OK));
  tinh_context_release(other);
}

TEST_F(Future, CallbacksMayRunAnotherContextThatIsBusy) {
  open(1);
  ASSERT_EQ(tinh_context_create(module, &options, &other), TINH_OK);
  tinh_future_t *later = nullptr;
  ASSERT_EQ(tinh_future_create(&later), TINH_OK);
  std::swap(context, other);
  ASSERT_EQ(submit(0, x, y, later, &second), TINH_OK); // Stays in its queue.
  std::swap(context, other);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, run_another, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  while (!called)
    std::this_thread::yield();
  EXPECT_EQ(statuses, std::vector(1, TINH_OK));
  ASSERT_EQ(tinh_future_settle(later, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(tinh_future_wait(second), TINH_OK);
  tinh_context_release(other);
  tinh_future_release(later);
}

TEST_F(Future, CallbacksOfEventsMayPollForWhatTheySettle) {
  open(2);
  ASSERT_EQ(tinh_future_create(&second), TINH_OK);
  ASSERT_EQ(submit(0, x, y, second, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(event, settle_and_poll, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_TRUE(called);
}

TEST_F(Future, CallbacksMayNotWaitForTheirOwnContext) {
  options.max_in_flight = 1;
  open(1);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, try_everything, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  while (!called)
    std::this_thread::yield();
  close();
  // There is room for one submission; the last wait is for a completed run.
  EXPECT_EQ(statuses, (std::vector{TINH_BUSY, TINH_BUSY, TINH_OK, TINH_BUSY,
                                   TINH_BUSY, TINH_OK}));
}

TEST_F(Future, WhoWaitsForARunOfItsOwnCallsBackForNoOther) {
  using namespace std::chrono_literals;
  options.spin_us = 0;
  open(2);
  ASSERT_EQ(run(x, y), TINH_OK);
  std::this_thread::sleep_for(50ms); // The worker goes to sleep.
  pid_t worker = thread_named("tinh-worker");
  ASSERT_NE(worker, 0);
  HeldThread held(worker);
  // Its only step is the worker's, and nothing waits for that.
  int64_t runs = 0;
  tinh_buffer_t out = {&runs, sizeof runs};
  ASSERT_EQ(
      tinh_context_submit(context, 1, nullptr, 0, &out, 1, nullptr, 0, &first),
      TINH_OK);
  std::atomic<pid_t> caller{0};
  auto note = [](void *user, tinh_status_t, const char *) {
    *static_cast<std::atomic<pid_t> *>(user) = gettid();
  };
  ASSERT_EQ(tinh_future_then(first, note, &caller), TINH_OK);
  std::this_thread::sleep_for(50ms); // The leader has nothing more to do.
  std::thread release([&] {
    std::this_thread::sleep_for(100ms);
    held.release();
  });
  // It waits for the run before, whose step this thread does for the worker.
  EXPECT_EQ(run(x, y), TINH_OK);
  release.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(caller, worker);
}

TEST_F(Future, CallbacksDuringReleaseAreRefused) {
  options.max_in_flight = 1;
  open(2);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(tinh_future_then(first, submit_until_refused, this), TINH_OK);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  while (!called)
    std::this_thread::yield();
  close();
  EXPECT_EQ(statuses, std::vector{TINH_CANCELLED});
}

TEST_F(Future, RunsWaitForFuturesOfOtherContexts) {
  open(2);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  ASSERT_EQ(tinh_context_create(module, nullptr, &other), TINH_OK);
  std::vector<float> z(1024);
  tinh_buffer_t in = {y.data(), 4096}, out = {z.data(), 4096};
  tinh_future_t *both[] = {first, event, first};
  ASSERT_EQ(tinh_context_submit(other, 0, &in, 1, &out, 1, both, 3, &second),
            TINH_OK);
  bool done = true;
  ASSERT_EQ(tinh_future_poll(second, &done), TINH_OK);
  EXPECT_FALSE(done);
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  ASSERT_EQ(tinh_future_wait(second), TINH_OK);
  EXPECT_EQ(z, expected_of(expected_of(x)));
  tinh_context_release(other);
}

TEST_F(Future, AFailureDoesNotWaitForTheOthers) {
  open(1);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  tinh_future_t *failed = nullptr, *late[] = {event, nullptr};
  ASSERT_EQ(tinh_future_create(&failed), TINH_OK);
  ASSERT_EQ(tinh_future_settle(failed, TINH_IO_ERROR, "no data"), TINH_OK);
  late[1] = failed;
  tinh_buffer_t in = {x.data(), 4096}, out = {y.data(), 4096};
  ASSERT_EQ(tinh_context_submit(context, 0, &in, 1, &out, 1, late, 2, &second),
            TINH_OK);
  EXPECT_EQ(tinh_future_wait(second), TINH_DEPENDENCY_FAILED);
  EXPECT_STREQ(tinh_last_error(),
               "a run that this one waits for failed: no data");
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(tinh_future_wait(first), TINH_OK); // It is none of its concern.
  tinh_future_release(failed);
}

TEST_F(Future, OutlivesContextAndModule) {
  open(2);
  ASSERT_EQ(submit(0, x, y, nullptr, &first), TINH_OK);
  ASSERT_EQ(tinh_future_wait(first), TINH_OK);
  close();
  tinh_module_release(module);
  module = nullptr;
  bool done = false;
  EXPECT_EQ(tinh_future_poll(first, &done), TINH_OK);
  EXPECT_TRUE(done);
  EXPECT_EQ(tinh_future_cancel(first), TINH_ALREADY_STARTED);
  EXPECT_STREQ(tinh_last_error(),
               "the run has started and cannot be cancelled any more");
}

TEST_F(Future, ManyThreadsMayWaitForOne) {
  open(2);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  std::atomic<int> successes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      if (tinh_future_wait(first) == TINH_OK && y == expected_of(x))
        ++successes;
    });
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(successes, 4);
}

TEST_F(Future, OnlyEventsAreSettledAndOnlyRunsCancelled) {
  open(1);
  ASSERT_EQ(submit(0, x, y, event, &first), TINH_OK);
  EXPECT_EQ(tinh_future_settle(first, TINH_OK, nullptr), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(),
               "only a future from tinh_future_create can be settled");
  EXPECT_EQ(tinh_future_cancel(event), TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "this future is no run; complete it with "
                                  "tinh_future_settle");
  tinh_future_t *none = nullptr;
  tinh_buffer_t in = {x.data(), 4096}, out = {y.data(), 4096};
  EXPECT_EQ(tinh_context_submit(context, 0, &in, 1, &out, 1, &none, 1, nullptr),
            TINH_INVALID_ARGUMENT);
  EXPECT_STREQ(tinh_last_error(), "a future to wait for is NULL");
}
