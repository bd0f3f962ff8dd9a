//===- profile_page.h - A profile as a page ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROFILE_PAGE_H
#define TINH_TOOLS_PROFILE_PAGE_H

#include "run_data.h"

#include <string>

namespace tinh::tools {

/// The page of a function's profile.
class ProfilePage {
public:
  /// Of what `context` runs. `report` is the page that graph-compile has
  /// written of the artifact, whose data is to be there, too; or nothing.
  /// Throws a UserError if it is about something else.
  ProfilePage(const std::string &report, const Module &module,
              const Context &context);

  /// Writes it to `path`. Throws a UserError.
  void write(const std::string &path, const Context &context, uint32_t function,
             const FunctionProfile &profile);

private:
  Json data;
};

} // namespace tinh::tools

#endif // TINH_TOOLS_PROFILE_PAGE_H
