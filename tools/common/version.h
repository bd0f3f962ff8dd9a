//===- version.h - What --version prints ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_VERSION_H
#define TINH_TOOLS_VERSION_H

#include <string>

namespace tinh::tools {

/// "graph-run 0.1.0 (7aae163ca1)": with the commit, if it was built from one.
std::string version_of(const std::string &tool);

} // namespace tinh::tools

#endif // TINH_TOOLS_VERSION_H
