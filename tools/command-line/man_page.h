//===- man_page.h - Manual pages of the tools -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_MAN_PAGE_H
#define TINH_TOOLS_MAN_PAGE_H

#include <CLI/CLI.hpp>
#include <string>

namespace tinh::tools {

/// The manual page of the command `tool`, in the language of man(7), made of
/// what `app` says of itself and of its options.
std::string man_page(const CLI::App &app, const std::string &tool);

} // namespace tinh::tools

#endif // TINH_TOOLS_MAN_PAGE_H
