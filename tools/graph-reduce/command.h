//===- command.h - A command of the user's ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_REDUCE_COMMAND_H
#define TINH_GRAPH_REDUCE_COMMAND_H

#include <string>

namespace tinh::tools {

/// How a command has ended.
struct CommandEnd {
  bool timedOut = false;
  int exitCode = 0; ///< As a shell says it: 128 more than a signal's number.

  bool succeeded() const { return !timedOut && exitCode == 0; }
};

/// Runs `command` by the shell with `argument` as its last one, and no input.
/// What it prints is shown or dropped. After `timeout` seconds, unless that is
/// 0, it is killed with all that it has started, and so it is on signals that
/// end this program.
CommandEnd runCommand(const std::string &command, const std::string &argument,
                      double timeout, bool showsOutput);

} // namespace tinh::tools

#endif // TINH_GRAPH_REDUCE_COMMAND_H
