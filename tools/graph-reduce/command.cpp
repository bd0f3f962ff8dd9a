//===- command.cpp - A command of the user's --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "command.h"

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <mutex>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tinh::tools {
namespace {

constexpr int kCannotRun = 126; // What shells say of it.

//===----------------------------------------------------------------------===//
// Signals that end this program
//===----------------------------------------------------------------------===//

/// The group of the command that runs, which those of a terminal do not reach;
/// 0: there is none.
std::atomic<pid_t> running = 0;
static_assert(std::atomic<pid_t>::is_always_lock_free);

constexpr std::array kEnding = {SIGINT, SIGTERM, SIGHUP};
/// What happened on these before, such as the removal of temporary files.
std::array<struct sigaction, kEnding.size()> before;

void endRunning(int signal) {
  if (pid_t group = running.exchange(0))
    kill(-group, SIGKILL);
  for (size_t i = 0; i < kEnding.size(); ++i)
    if (kEnding[i] == signal)
      sigaction(signal, &before[i], nullptr);
  raise(signal); // Once this returns.
}

/// Makes the end of this program that of the command, too.
void watchSignals() {
  std::signal(SIGCHLD, SIG_DFL); // If it is ignored no exit code is kept.
  struct sigaction ours = {};
  ours.sa_handler = endRunning;
  for (size_t i = 0; i < kEnding.size(); ++i) {
    sigaction(kEnding[i], nullptr, &before[i]);
    if (before[i].sa_handler != SIG_IGN)
      sigaction(kEnding[i], &ours, nullptr);
  }
}

//===----------------------------------------------------------------------===//
// Processes
//===----------------------------------------------------------------------===//

/// In the new process: becomes the shell, in a group of its own. However this
/// program ends, the shell ends with it; what that has started does so on the
/// signals above alone.
[[noreturn]] void becomeShell(const char *script, const char *argument,
                              bool shows_output, int start) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (char byte; read(start, &byte, 1) != 1)
    _exit(kCannotRun);
  int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(shows_output ? STDERR_FILENO : nothing, STDOUT_FILENO);
  if (!shows_output)
    dup2(nothing, STDERR_FILENO);
  execl("/bin/sh", "sh", "-c", script, "sh", argument, nullptr);
  _exit(kCannotRun);
}

int exitCodeOf(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Waits for a process, a little longer each time, and gives how it has ended
/// or that it takes too long.
CommandEnd waitFor(pid_t process, double timeout) {
  using namespace std::chrono;
  auto start = steady_clock::now();
  auto pause = microseconds(200);
  int status = 0;
  pid_t ended;
  while ((ended = waitpid(process, &status, WNOHANG)) == 0) {
    if (timeout > 0 &&
        duration<double>(steady_clock::now() - start).count() > timeout)
      return {true, 128 + SIGKILL};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, microseconds(20'000));
  }
  return {false, ended < 0 ? kCannotRun : exitCodeOf(status)};
}

} // namespace

CommandEnd runCommand(const std::string &command, const std::string &argument,
                      double timeout, bool showsOutput) {
  static std::once_flag watched;
  std::call_once(watched, watchSignals);
  std::string script = command + " \"$@\"";
  int start[2]; // The command does, once signals would end it.
  if (pipe2(start, O_CLOEXEC) != 0)
    return {false, kCannotRun};
  pid_t process = fork();
  if (process == 0) {
    close(start[1]);
    becomeShell(script.c_str(), argument.c_str(), showsOutput, start[0]);
  }
  if (process > 0) {
    setpgid(process, process); // Whoever comes first.
    running = process;
  }
  bool isStarted = process > 0 && write(start[1], "", 1) == 1;
  close(start[0]);
  close(start[1]);
  if (!isStarted)
    return {false, kCannotRun};
  CommandEnd end = waitFor(process, timeout);
  running = 0;
  if (end.timedOut) {
    kill(-process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  return end;
}

} // namespace tinh::tools
