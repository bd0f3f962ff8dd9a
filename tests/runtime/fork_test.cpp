//===- fork_test.cpp - The child of a program that runs models --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The child has the handles of its parent, and none of the threads.
//
//===----------------------------------------------------------------------===//
#include "toy_context.h"

#include <algorithm>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace {

class Fork : public ToyContext {
protected:
  ~Fork() override {
    close();
    for (tinh_future_t *future : {event, done, pending})
      tinh_future_release(future);
  }

  /// Has a child call `body`, and says what is wrong there.
  static std::string in_child(const std::function<std::string()> &body) {
    int ends[2];
    if (pipe(ends) != 0)
      return "no pipe";
    pid_t child = fork();
    if (child == 0) {
      alarm(20); // What waits for ever is a failure.
      std::string wrong = body();
      bool written = ::write(ends[1], wrong.data(), wrong.size()) >= 0;
      _exit(written ? 0 : 1);
    }
    ::close(ends[1]);
    char text[1000];
    ssize_t size = ::read(ends[0], text, sizeof text);
    ::close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status))
      return "signal " + std::to_string(WTERMSIG(status));
    return std::string(text, static_cast<size_t>(std::max<ssize_t>(size, 0)));
  }

  /// Whether `status` is that of a context of another process.
  static std::string refused(const char *call, tinh_status_t status) {
    bool is_right =
        status == TINH_INVALID_ARGUMENT &&
        std::string(tinh_last_error())
                .find("the process that this one was forked from") !=
            std::string::npos;
    return is_right ? "" : std::string(call) + ": " + tinh_last_error() + "; ";
  }

  std::string use_inherited() {
    int64_t count = 0;
    auto ignore = [](void *, tinh_status_t, const char *) {};
    std::string wrong =
        refused("run", run(x, y)) +
        refused("submit", submit(0, x, y, nullptr, nullptr)) +
        refused("wait_all", tinh_context_wait_all(context)) +
        refused("read", tinh_context_read_variable(context, 0, &count, 8)) +
        refused("wait", tinh_future_wait(pending)) +
        refused("then", tinh_future_then(pending, ignore, nullptr)) +
        refused("cancel", tinh_future_cancel(pending));
    if (tinh_future_wait(done) != TINH_OK)
      wrong += "what is done is no longer";
    // The parent's run is none of the child's business.
    if (tinh_future_settle(event, TINH_OK, nullptr) != TINH_OK)
      wrong += "an event cannot be settled";
    close();
    tinh_future_release(std::exchange(pending, nullptr));
    return wrong;
  }

  tinh_future_t *event = nullptr, *done = nullptr, *pending = nullptr;
  std::vector<float> x = input(1);
};

} // namespace

TEST_F(Fork, TheChildMayReleaseAContextAndNothingElse) {
  std::string trace = (toy.folder / "trace.json").string();
  options.trace_path = trace.c_str();
  open(3);
  ASSERT_EQ(tinh_future_create(&event), TINH_OK);
  ASSERT_EQ(submit(0, x, y, nullptr, &done), TINH_OK);
  ASSERT_EQ(tinh_future_wait(done), TINH_OK);
  ASSERT_EQ(submit(0, x, y, event, &pending), TINH_OK);
  EXPECT_EQ(in_child([&] { return use_inherited(); }), "");
  EXPECT_FALSE(std::filesystem::exists(trace)); // It is the parent's.
  ASSERT_EQ(tinh_future_settle(event, TINH_OK, nullptr), TINH_OK);
  EXPECT_EQ(tinh_future_wait(pending), TINH_OK);
  EXPECT_EQ(y, expected_of(x));
}

TEST_F(Fork, TheChildMayCreateAContextOfAnInheritedModule) {
  open(3);
  ASSERT_EQ(submit(0, x, y, nullptr, nullptr), TINH_OK);
  ASSERT_EQ(tinh_context_wait_all(context), TINH_OK);
  y.assign(y.size(), 0);
  EXPECT_EQ(in_child([&]() -> std::string {
              open(1); // Releases the other.
              return run(x, y) == TINH_OK && y == expected_of(x) ? "" : "wrong";
            }),
            "");
}
