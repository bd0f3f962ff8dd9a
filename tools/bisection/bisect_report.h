//===- bisect_report.h - What a bisection says to the user ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_BISECT_REPORT_H
#define TINH_TOOLS_BISECT_REPORT_H

#include "compiler/Bisection/Bisection.h"

namespace tinh::tools {

/// Results, and the node that is computed wrong, if there is one.
void printBisection(const bisection::BisectReport &report,
                    llvm::raw_ostream &out);

} // namespace tinh::tools

#endif // TINH_TOOLS_BISECT_REPORT_H
