//===- scaling_report.h - What a simulation says to the user ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_SCALE_SCALING_REPORT_H
#define TINH_GRAPH_SCALE_SCALING_REPORT_H

#include "measure.h"

namespace tinh::tools {

struct ScalingReport {
  std::string model, function;
  Plan plan;
  Network network;
  std::vector<ReductionTime> reductions; ///< That the network was fitted to.
  uint32_t fitted_ranks = 0;             ///< How many these were.
  std::vector<Scaling> scaling;
};

void print(const ScalingReport &report);

/// The same as JSON; "steps" is what read_times takes.
void print_json(const ScalingReport &report);

/// Gives the steps of `plan` the times in a file that --json has printed.
/// Throws UserError if it is no such file, or of another function.
void read_times(Plan &plan, const std::string &path);

} // namespace tinh::tools

#endif // TINH_GRAPH_SCALE_SCALING_REPORT_H
