//===- print.h - What pruning says to the user ---------------- -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_PRUNE_PRINT_H
#define TINH_GRAPH_PRUNE_PRINT_H

#include "compiler/Pruning/Pruning.h"

namespace tinh::tools {

/// A line for each layer, and what the model takes.
void printReport(const pruning::PruneReport &report);

/// A line for each layer, and all together.
void printReport(const std::vector<pruning::SparsityReport> &report);

} // namespace tinh::tools

#endif // TINH_GRAPH_PRUNE_PRINT_H
