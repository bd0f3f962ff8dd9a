//===- completion.h - Completions of the tools for shells -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_COMPLETION_H
#define TINH_TOOLS_COMPLETION_H

#include <CLI/CLI.hpp>
#include <string>

namespace tinh::tools {

/// What makes a shell complete the options of the command `tool`, their values
/// and the files that it takes: a script for "bash", "zsh" or "fish".
std::string completion(const CLI::App &app, const std::string &tool,
                       const std::string &shell);

} // namespace tinh::tools

#endif // TINH_TOOLS_COMPLETION_H
