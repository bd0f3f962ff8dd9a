//===- conversation.cpp - A program that answers lines ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "conversation.h"

#include "inputs.h"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char **environ;

namespace tinh::tools {

/// Starts a program whose standard input and output are `end`; the reason, as
/// in errno, if it cannot be.
static int start(std::vector<std::string> &command, int end, pid_t &process) {
  std::vector<char *> arguments;
  for (std::string &argument : command)
    arguments.push_back(argument.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, end, STDOUT_FILENO);
  int error = posix_spawnp(&process, arguments[0], &actions, nullptr,
                           arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

Conversation::Conversation(std::vector<std::string> words)
    : command(std::move(words)) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw UserError(std::string("cannot make a socket: ") +
                    std::strerror(errno));
  socket = ends[0];
  int error = start(command, ends[1], process);
  ::close(ends[1]);
  if (error == 0)
    return;
  process = -1;
  stop();
  throw UserError("cannot run '" + command[0] + "': " + std::strerror(error));
}

Conversation::~Conversation() { stop(); }

void Conversation::stop() {
  ::close(socket);
  if (process < 0)
    return;
  ::kill(process, SIGKILL);
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

/// Waits a second for a process to end. Gives what waitpid does: 0 if it goes
/// on, and -1 if nobody knows, as where SIGCHLD is ignored.
static pid_t waitASecond(pid_t process, int &status) {
  pid_t found = 0;
  for (int wait = 0; wait < 100 && found == 0; ++wait) {
    if (wait > 0)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    found = ::waitpid(process, &status, WNOHANG);
  }
  return found;
}

/// What became of a process that answers no more.
std::string Conversation::howItEnded() {
  int status = 0;
  pid_t found = waitASecond(process, status);
  if (found == 0)
    return "has closed its output before it answered"; // stop() ends it.
  process = -1;
  std::string text = "has ended before it answered";
  if (found < 0)
    return text;
  if (WIFSIGNALED(status))
    return text + ", by a signal: " + strsignal(WTERMSIG(status));
  return text + ", with exit code " + std::to_string(WEXITSTATUS(status));
}

void Conversation::reportEnd() {
  throw UserError("'" + command[0] + "' " + howItEnded());
}

void Conversation::say(const std::string &bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t size = ::send(socket, bytes.data() + sent, bytes.size() - sent,
                          MSG_NOSIGNAL); // Rather an error than SIGPIPE.
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0)
      reportEnd();
    sent += static_cast<size_t>(size);
  }
}

std::string Conversation::ask(const std::string &line) {
  say(line + "\n");
  size_t end;
  while ((end = rest.find('\n')) == std::string::npos) {
    char buffer[4096];
    ssize_t size = ::recv(socket, buffer, sizeof buffer, 0);
    if (size < 0 && errno == EINTR)
      continue;
    if (size <= 0)
      reportEnd();
    rest.append(buffer, static_cast<size_t>(size));
  }
  std::string answer = rest.substr(0, end);
  rest.erase(0, end + 1);
  return answer;
}

} // namespace tinh::tools
