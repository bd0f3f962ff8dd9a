//===- ByteAccesses.h - Who reads and writes which bytes --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of two accesses to the same bytes, one of which writes, the second one has to
// follow the first one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PLANNING_BYTEACCESSES_H
#define TINH_COMPILER_PLANNING_BYTEACCESSES_H

#include <cstdint>
#include <map>
#include <vector>

namespace tinh::planning {

/// Bytes of one memory, from the first to behind the last one.
struct ByteAccess {
  uint64_t memory = 0; ///< Any number that no other memory has.
  uint64_t begin = 0, end = 0;
  bool writes = false;
  bool hasGaps = false; ///< There are others in between, which it leaves alone.

  bool conflicts(const ByteAccess &other) const {
    return memory == other.memory && begin < other.end && other.begin < end &&
           (writes || other.writes);
  }
};

/// Goes through accesses in the order of the steps.
class AccessOrder {
public:
  /// Whom `number` has to follow, each once, in order: only those before
  /// `ordered`. The memory plan orders no others, so their bytes lie between
  /// each other's.
  std::vector<uint32_t> add(uint32_t number, uint32_t ordered,
                            const std::vector<ByteAccess> &accesses);

private:
  struct Piece {
    uint64_t end;
    std::vector<uint32_t> writers, readers;
  };
  using Pieces = std::map<uint64_t, Piece>; ///< By their beginnings.
  static Pieces::iterator cut(Pieces &pieces, uint64_t at);
  static void fill(Pieces &pieces, uint64_t begin, uint64_t end);

  std::map<uint64_t, Pieces> memories;
};

} // namespace tinh::planning

#endif // TINH_COMPILER_PLANNING_BYTEACCESSES_H
