//===- printable.h - Text that a terminal only shows ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Names come from models and artifacts, and may hold what moves the cursor or
// turns the text around.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PRINTABLE_H
#define TINH_TOOLS_PRINTABLE_H

#include <string>
#include <string_view>

namespace tinh::tools {

/// `text` with controls and what is no UTF-8 as \x1b and \u{202e}; newlines
/// stay where a text may have lines.
std::string printable(std::string_view text, bool has_lines = false);

} // namespace tinh::tools

#endif // TINH_TOOLS_PRINTABLE_H
