//===- version.cpp - What --version prints ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "version.h"

#include "commit.h"
#include "tinh/runtime.h"

namespace tinh::tools {

std::string version_of(const std::string &tool) {
  std::string commit = TINH_COMMIT;
  return tool + ' ' + tinh_runtime_version() +
         (commit.empty() ? "" : " (" + commit + ')');
}

} // namespace tinh::tools
