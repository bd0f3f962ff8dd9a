//===- progress.h - A line that says what is being done ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROGRESS_H
#define TINH_TOOLS_PROGRESS_H

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>

namespace tinh::tools {

/// One line on a terminal that says what a tool is doing, once it has taken so
/// long that one asks. It is rewritten in place a few times a second by a
/// thread of its own, and erased in the end; the cursor stays before it. On
/// what is no terminal nothing is written. All functions may be called from any
/// thread.
class Progress {
public:
  using Clock = std::chrono::steady_clock;

  explicit Progress(int stream = STDERR_FILENO,
                    Clock::duration delay = std::chrono::seconds(2),
                    Clock::duration after_message = std::chrono::seconds(1));
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// "reading the model"
  void show(std::string_view what);
  /// "compiling kernels 12 of 60"
  void show(std::string_view what, uint64_t done, uint64_t total);
  /// "tuning 14 of 60 s", counting from now.
  void show_seconds(std::string_view what, double total);
  /// Erases the line before something else is printed, which stands alone for
  /// `after_message` before the line comes back.
  void erase();

private:
  enum class Kind { plain, counted, timed };
  void set(Kind next, std::string_view what, uint64_t done, double total);
  std::string text() const;
  void keep_drawing();
  void draw();
  void write(const std::string &bytes);

  const int stream;
  const bool is_shown; ///< Whether it is a terminal.
  const Clock::duration after_message;
  std::mutex mutex; ///< Of all that follows.
  std::condition_variable ends;
  bool ended = false;
  Clock::time_point next;  ///< When the line is drawn again.
  Clock::time_point since; ///< When what it says began.
  Kind kind = Kind::plain;
  std::string what, drawn;
  uint64_t done = 0;
  double total = 0;
  std::thread drawer;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_PROGRESS_H
