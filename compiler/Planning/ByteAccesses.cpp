//===- ByteAccesses.cpp - Who reads and writes which bytes ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Memory is cut into pieces where accesses begin and end. Each piece knows its
// last writers and who has read it since. Whoever writes all of a piece stands
// for those that it follows there. Who leaves gaps does not: others that fit
// into these follow the same ones, but not it.
//
//===----------------------------------------------------------------------===//
#include "compiler/Planning/ByteAccesses.h"

#include <algorithm>

namespace tinh::planning {

/// Has a piece begin at `at`, if there is one around it; the first piece from
/// there on.
AccessOrder::Pieces::iterator AccessOrder::cut(Pieces &pieces, uint64_t at) {
  auto next = pieces.lower_bound(at);
  if (next == pieces.begin() || (next != pieces.end() && next->first == at))
    return next;
  Piece &piece = std::prev(next)->second;
  if (piece.end <= at)
    return next;
  auto made = pieces.emplace_hint(next, at, piece);
  piece.end = at;
  return made;
}

/// Has pieces for all bytes.
void AccessOrder::fill(Pieces &pieces, uint64_t begin, uint64_t end) {
  auto next = cut(pieces, begin);
  cut(pieces, end);
  for (uint64_t at = begin; at < end; at = next++->second.end)
    if (next == pieces.end() || next->first > at) {
      uint64_t until = next == pieces.end() ? end : std::min(end, next->first);
      next = pieces.emplace_hint(next, at, Piece{until, {}, {}});
    }
}

std::vector<uint32_t>
AccessOrder::add(uint32_t number, uint32_t ordered,
                 const std::vector<ByteAccess> &accesses) {
  std::vector<uint32_t> follows;
  auto follow = [&](uint32_t other) {
    if (other < ordered)
      follows.push_back(other);
    return other < ordered || other == number;
  };
  auto go = [&](const ByteAccess &access, auto &&visit) {
    Pieces &pieces = memories[access.memory];
    fill(pieces, access.begin, access.end);
    for (auto at = pieces.find(access.begin);
         at != pieces.end() && at->first < access.end; ++at)
      visit(at->second);
  };
  for (const ByteAccess &access : accesses)
    if (!access.writes)
      go(access, [&](Piece &piece) {
        std::for_each(piece.writers.begin(), piece.writers.end(), follow);
        piece.readers.push_back(number);
      });
  for (const ByteAccess &access : accesses)
    if (access.writes)
      go(access, [&](Piece &piece) {
        if (access.hasGaps) {
          std::for_each(piece.readers.begin(), piece.readers.end(), follow);
          std::for_each(piece.writers.begin(), piece.writers.end(), follow);
        } else {
          std::erase_if(piece.readers, follow);
          std::erase_if(piece.writers, follow);
        }
        piece.writers.push_back(number);
      });
  std::sort(follows.begin(), follows.end());
  follows.erase(std::unique(follows.begin(), follows.end()), follows.end());
  return follows;
}

} // namespace tinh::planning
