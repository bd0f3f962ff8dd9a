//===- lanes.cpp - Columns for the lines of a graph -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "lanes.h"

#include <algorithm>

namespace tinh::tools {
namespace {

constexpr uint32_t kLanes = 8; // That lines may have; dots alone have one more.
constexpr uint32_t kFarthest = 60; // Rows that a line goes down at most.

/// Takes rows from above to below.
class Assigner {
public:
  explicit Assigner(const Edges &reads) : reads(reads), ends(reads.size()) {
    result.lanes.resize(reads.size());
    lines.resize(reads.size());
    result.near.resize(reads.size());
    result.far.resize(reads.size());
    for (uint32_t row = 0; row < reads.size(); ++row)
      for (uint32_t read : reads[row])
        if (is_near(row, read))
          ends[read] = std::max(ends[read], row);
  }

  Lanes run() {
    for (uint32_t row = 0; row < reads.size(); ++row) {
      for (uint32_t read : reads[row])
        (is_near(row, read) && lines[read] ? result.near : result.far)[row]
            .push_back(read);
      take_lane(row);
    }
    return std::move(result);
  }

private:
  static bool is_near(uint32_t row, uint32_t read) {
    return read < row && row - read <= kFarthest;
  }
  /// The lane that is free behind `row`: that of what it reads first, whose
  /// line ends here, or the first one.
  void take_lane(uint32_t row) {
    for (uint32_t &user : users)
      if (user && ends[user - 1] <= row)
        user = 0;
    uint32_t lane = 0;
    while (lane < kLanes && users[lane])
      ++lane;
    for (uint32_t read : result.near[row])
      if (uint32_t of = result.lanes[read]; of < kLanes && !users[of]) {
        lane = of;
        break;
      }
    result.lanes[row] = lane;
    if (lane < kLanes && ends[row] > row) {
      users[lane] = row + 1;
      lines[row] = true;
    }
  }

  const Edges &reads;
  Lanes result;
  std::vector<uint32_t> ends;  ///< By row: the last one that a line goes to.
  std::vector<bool> lines;     ///< By row: whether it has one.
  uint32_t users[kLanes] = {}; ///< By lane: the row whose line it has, plus 1.
};

} // namespace

Lanes assign_lanes(const Edges &reads) { return Assigner(reads).run(); }

} // namespace tinh::tools
