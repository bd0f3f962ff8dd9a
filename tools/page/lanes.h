//===- lanes.h - Columns for the lines of a graph ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A graph is drawn as a list of rows, as histories of version control are: each
// row has a dot in some column, its lane, and the line of its result goes down
// in that lane to the last row that reads it. Lines to rows that are far away
// are not drawn, so that a few lanes are enough.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TOOLS_LANES_H
#define TINH_TOOLS_LANES_H

#include <cstdint>
#include <vector>

namespace tinh::tools {

/// By row, those that it reads, or where its dot is.
using Edges = std::vector<std::vector<uint32_t>>;

struct Lanes {
  std::vector<uint32_t> lanes; ///< By row.
  Edges near;                  ///< Rows above that lines come from.
  Edges far;                   ///< All others that are read.
};

/// `reads` has rows, in any order; those that are not above a row are far.
Lanes assign_lanes(const Edges &reads);

} // namespace tinh::tools

#endif // TINH_TOOLS_LANES_H
