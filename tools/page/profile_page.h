//===- profile_page.h - A profile as a page ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROFILE_PAGE_H
#define TINH_TOOLS_PROFILE_PAGE_H

#include "profile.h"

namespace tinh::tools {

struct ProfilePage {
  std::string path;
  /// The page that graph-compile has written of the artifact, whose data is to
  /// be there, too; or nothing.
  std::string report;
};

/// Writes the profile of a function of `module`, run in `context`. Throws a
/// UserError.
void write_profile_page(const ProfilePage &page, const Module &module,
                        const Context &context, uint32_t function,
                        const FunctionProfile &profile);

} // namespace tinh::tools

#endif // TINH_TOOLS_PROFILE_PAGE_H
