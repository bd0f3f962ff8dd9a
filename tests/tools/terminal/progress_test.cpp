//===- progress_test.cpp - Tests of the line of progress ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a pseudo-terminal, whose other end sees what is written. A line without
// delay is waited for, not slept for.
//
//===----------------------------------------------------------------------===//
#include "progress.h"

#include <cstdlib>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <sys/ioctl.h>

using namespace tinh::tools;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

namespace {

constexpr Progress::Clock::duration kNone{0};
constexpr std::chrono::hours kLong{1};
const std::string kErased = "\r\x1b[K";

/// How `line` is drawn.
std::string drawn(const std::string &line) { return "\r" + line + "\x1b[K\r"; }

class ProgressTest : public testing::Test {
protected:
  void SetUp() override {
    ::setenv("TERM", "xterm", 1);
    struct winsize size = {24, 80, 0, 0};
    ASSERT_EQ(::openpty(&seen, &terminal, nullptr, nullptr, &size), 0);
  }
  void TearDown() override {
    ::close(seen);
    ::close(terminal);
  }

  /// Waits for `text`; gives all that was written since the last call.
  std::string read_to(const std::string &text) {
    std::string all;
    char next;
    while (!all.ends_with(text) && ::read(seen, &next, 1) == 1)
      all += next;
    return all;
  }

  /// All that is there already.
  std::string read_rest() {
    ::fcntl(seen, F_SETFL, O_NONBLOCK);
    char buffer[4096];
    ssize_t size = ::read(seen, buffer, sizeof buffer);
    return size < 0 ? "" : std::string(buffer, static_cast<size_t>(size));
  }

  int seen = -1, terminal = -1;
};

} // namespace

TEST_F(ProgressTest, DrawsAndErases) {
  {
    Progress progress(terminal, kNone);
    progress.show("reading the model");
    read_to(drawn("reading the model"));
    progress.show("compiling kernels", 12, 60);
    read_to(drawn("compiling kernels 12 of 60"));
    progress.show_seconds("tuning", 60);
    // 0 of 60, or more where this has been waiting for its turn.
    EXPECT_THAT(read_to(" of 60 s\x1b[K\r"), StartsWith("\rtuning "));
  }
  EXPECT_THAT(read_rest(), EndsWith(kErased));
}

TEST_F(ProgressTest, SaysNothingOfWhatIsQuick) {
  {
    Progress progress(terminal, kLong);
    progress.show("reading the model");
    progress.erase();
  }
  EXPECT_EQ(read_rest(), "");
}

TEST_F(ProgressTest, LeavesMessagesAlone) {
  const std::string message = "error: no such file\n";
  {
    Progress progress(terminal, kNone, kLong);
    progress.show("reading the model");
    read_to(drawn("reading the model"));
    progress.erase();
    ASSERT_EQ(::write(terminal, message.data(), message.size()),
              static_cast<ssize_t>(message.size()));
    progress.show("compiling kernels", 1, 2); // Not while it is read.
  }
  EXPECT_EQ(read_rest(), kErased + "error: no such file\r\n");
}

TEST_F(ProgressTest, FitsIntoOneLine) {
  struct winsize narrow = {24, 10, 0, 0};
  ASSERT_EQ(::ioctl(terminal, TIOCSWINSZ, &narrow), 0);
  Progress progress(terminal, kNone);
  progress.show("compiling kernels", 1, 2);
  EXPECT_THAT(read_to(drawn("compiling")), Not(HasSubstr("kernels")));
}

TEST_F(ProgressTest, IsToldByManyThreads) {
  Progress progress(terminal, kNone);
  std::vector<std::thread> threads;
  for (uint64_t i = 1; i <= 4; ++i)
    threads.emplace_back([&progress, i] {
      for (int repeat = 0; repeat < 1000; ++repeat)
        progress.show("kernels", i, 4);
    });
  for (std::thread &thread : threads)
    thread.join();
  progress.show("linking");
  read_to(drawn("linking"));
}

TEST_F(ProgressTest, WritesNothingWhereLinesStay) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::setenv("TERM", "dumb", 1);
  for (int stream : {ends[1], terminal, -1}) {
    Progress progress(stream, kNone);
    progress.show("reading the model");
    progress.erase();
  }
  ::close(ends[1]);
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 0);
  ::close(ends[0]);
  EXPECT_EQ(read_rest(), "");
}
