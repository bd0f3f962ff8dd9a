//===- command.cpp - A command of the user's --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "command.h"

#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace tinh::tools {
namespace {

constexpr int kCannotRun = 126; // What shells say of it.

/// In the new process: becomes the shell, in a group of its own, which ends
/// with this program.
[[noreturn]] void becomeShell(const char *script, const char *argument,
                              bool shows_output) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
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

/// Waits for a process, a little longer each time; false once it takes too
/// long.
bool waitFor(pid_t process, double timeout, int *status) {
  using namespace std::chrono;
  auto start = steady_clock::now();
  auto pause = microseconds(200);
  while (waitpid(process, status, WNOHANG) == 0) {
    if (timeout > 0 &&
        duration<double>(steady_clock::now() - start).count() > timeout)
      return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, microseconds(20'000));
  }
  return true;
}

} // namespace

CommandEnd runCommand(const std::string &command, const std::string &argument,
                      double timeout, bool showsOutput) {
  std::string script = command + " \"$@\"";
  pid_t process = fork();
  if (process == 0)
    becomeShell(script.c_str(), argument.c_str(), showsOutput);
  if (process < 0)
    return {false, kCannotRun};
  setpgid(process, process); // Whoever comes first.
  int status = 0;
  if (waitFor(process, timeout, &status))
    return {false, exitCodeOf(status)};
  kill(-process, SIGKILL);
  waitpid(process, &status, 0);
  return {true, exitCodeOf(status)};
}

} // namespace tinh::tools
