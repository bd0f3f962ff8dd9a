//===- decimal.h - Integers of options --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_DECIMAL_H
#define TINH_TOOLS_DECIMAL_H

#include <CLI/CLI.hpp>

namespace tinh::tools {

/// Has all options of integers, of their own or by their range, refuse what is
/// no decimal number of 64 bits: CLI11 takes 010 for octal, and the largest
/// integer for what is beyond it.
void read_integers_as_decimal(CLI::App &app);

} // namespace tinh::tools

#endif // TINH_TOOLS_DECIMAL_H
