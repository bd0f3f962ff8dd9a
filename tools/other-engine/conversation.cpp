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
#include <csignal>
#include <cstring>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
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
  ::waitpid(process, nullptr, 0);
}

void Conversation::reportEnd() {
  int status = 0;
  ::waitpid(process, &status, 0);
  process = -1;
  throw UserError(
      "'" + command[0] + "' has ended before it answered, " +
      (WIFSIGNALED(status)
           ? std::string("by a signal: ") + strsignal(WTERMSIG(status))
           : "with exit code " + std::to_string(WEXITSTATUS(status))));
}

void Conversation::say(const std::string &bytes) {
  for (size_t sent = 0; sent < bytes.size();) {
    ssize_t size = ::send(socket, bytes.data() + sent, bytes.size() - sent,
                          MSG_NOSIGNAL); // Rather an error than SIGPIPE.
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
    if (size <= 0)
      reportEnd();
    rest.append(buffer, static_cast<size_t>(size));
  }
  std::string answer = rest.substr(0, end);
  rest.erase(0, end + 1);
  return answer;
}

} // namespace tinh::tools
