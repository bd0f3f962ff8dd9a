//===- clock.h - How fast a core's clock runs -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_CLOCK_H
#define TINH_TOOLS_CLOCK_H

namespace tinh::tools {

/// The clock of the core that this thread is on, in GHz, measured here and now
/// for some 10 milliseconds; 0 if that is not known to be possible.
double measure_clock();

} // namespace tinh::tools

#endif // TINH_TOOLS_CLOCK_H
