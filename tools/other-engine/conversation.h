//===- conversation.h - A program that answers lines ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_CONVERSATION_H
#define TINH_TOOLS_CONVERSATION_H

#include <string>
#include <sys/types.h>
#include <vector>

namespace tinh::tools {

/// A program that reads lines and answers each with one. It is ended with this
/// object. Throws UserError if it cannot be run, or ends by itself.
class Conversation {
public:
  /// The program, which is looked for on PATH, and its arguments.
  explicit Conversation(std::vector<std::string> command);
  ~Conversation();
  Conversation(const Conversation &) = delete;
  Conversation &operator=(const Conversation &) = delete;

  /// Says a line, and gives the answer, both without what ends them.
  std::string ask(const std::string &line);

private:
  void say(const std::string &bytes);
  [[noreturn]] void reportEnd();
  std::string howItEnded();
  void stop();

  std::vector<std::string> command;
  pid_t process = -1;
  int socket = -1;
  std::string rest; ///< What has come after the last answer.
};

} // namespace tinh::tools

#endif // TINH_TOOLS_CONVERSATION_H
