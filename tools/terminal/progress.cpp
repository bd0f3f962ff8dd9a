//===- progress.cpp - A line that says what is being done -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "progress.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/ioctl.h>

namespace tinh::tools {

namespace {

constexpr std::chrono::milliseconds kBetween{200};
constexpr char kErase[] = "\r\x1b[K";

/// Whether lines can be rewritten there.
bool is_terminal(int stream) {
  const char *kind = std::getenv("TERM");
  return isatty(stream) && !(kind && std::strcmp(kind, "dumb") == 0);
}

/// A longer line would be two, of which only one is erased.
size_t width_of(int stream) {
  struct winsize size = {};
  bool is_known = ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return is_known ? size.ws_col - 1 : 79;
}

} // namespace

Progress::Progress(int stream, Clock::duration delay,
                   Clock::duration after_message)
    : stream(stream), is_shown(is_terminal(stream)),
      after_message(after_message), next(Clock::now() + delay) {
  if (is_shown)
    drawer = std::thread([this] { keep_drawing(); });
}

Progress::~Progress() {
  if (!is_shown)
    return;
  {
    std::lock_guard lock(mutex);
    ended = true;
  }
  ends.notify_one();
  drawer.join();
  erase();
}

void Progress::set(Kind next_kind, std::string_view next_what,
                   uint64_t next_done, double next_total) {
  if (!is_shown)
    return;
  std::lock_guard lock(mutex);
  kind = next_kind;
  what = next_what;
  done = next_done;
  total = next_total;
  since = kind == Kind::timed ? Clock::now() : since;
}

void Progress::show(std::string_view what) { set(Kind::plain, what, 0, 0); }

void Progress::show(std::string_view what, uint64_t done, uint64_t total) {
  set(Kind::counted, what, done, static_cast<double>(total));
}

void Progress::show_seconds(std::string_view what, double total) {
  set(Kind::timed, what, 0, total);
}

void Progress::erase() {
  if (!is_shown)
    return;
  std::lock_guard lock(mutex);
  if (!drawn.empty())
    write(kErase);
  drawn.clear();
  next = std::max(next, Clock::now() + after_message);
}

std::string Progress::text() const {
  if (kind == Kind::plain)
    return what;
  double passed = std::chrono::duration<double>(Clock::now() - since).count();
  auto now = kind == Kind::timed
                 ? static_cast<uint64_t>(std::min(passed, total))
                 : done;
  return what + " " + std::to_string(now) + " of " +
         std::to_string(static_cast<uint64_t>(total)) +
         (kind == Kind::timed ? " s" : "");
}

void Progress::keep_drawing() {
  std::unique_lock lock(mutex);
  while (!ended) {
    auto until = next; // A message may put it off meanwhile.
    ends.wait_until(lock, until, [this] { return ended; });
    if (!ended && Clock::now() >= next)
      draw();
  }
}

void Progress::draw() {
  std::string line = text().substr(0, width_of(stream));
  if (line != drawn)
    // The cursor stays before the line: what else is printed, even by a
    // program that is about to die, begins there.
    write("\r" + line + "\x1b[K\r");
  drawn = line;
  next = Clock::now() + kBetween;
}

void Progress::write(const std::string &bytes) {
  // A terminal that is gone is no reason to stop.
  [[maybe_unused]] ssize_t size = ::write(stream, bytes.data(), bytes.size());
}

} // namespace tinh::tools
