//===- profile_report.h - Profiles as tables and as JSON --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_PROFILE_REPORT_H
#define TINH_TOOLS_PROFILE_REPORT_H

#include "profile.h"

namespace tinh::tools {

/// What the table has lines for, and in which order: "time", steps, those that
/// take longest first; "steps", in their own order; "kernels", all steps of a
/// kernel together, again by time.
void print_profile(const FunctionProfile &profile, const std::string &order);

/// All steps, in their own order, with all that is known of them.
void print_profile_json(const FunctionProfile &profile);

} // namespace tinh::tools

#endif // TINH_TOOLS_PROFILE_REPORT_H
