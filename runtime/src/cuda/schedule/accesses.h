//===- accesses.h - Who reads and writes which bytes ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of two accesses to the same bytes, one of which writes, the second one has to
// follow the first one. Knows nothing of CUDA.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_ACCESSES_H
#define TINH_RUNTIME_CUDA_ACCESSES_H

#include "tinh/artifact.h"

#include <map>
#include <vector>

namespace tinh::runtime::cuda {

/// Bytes of one memory, from the first to behind the last one. What nobody
/// writes is none.
struct Access {
  uint64_t memory; ///< An arena, or a tensor of the caller's or the state's.
  uint64_t begin, end;
  bool writes;
  bool has_gaps; ///< There are others in between, which it leaves alone.

  bool conflicts(const Access &other) const {
    return memory == other.memory && begin < other.end && other.begin < end &&
           (writes || other.writes);
  }
};

/// How far behind its place in the first iterations of the loops around it, the
/// outermost first, a buffer lies in these.
int64_t iteration_offset(const tinh_step_t &step, uint32_t buffer,
                         const std::vector<int64_t> &iterations);

/// What a step accesses in these iterations; of loops around it beyond those,
/// in any iteration, their `lengths` being known.
std::vector<Access> accesses_of(const tinh_artifact_t &artifact,
                                const tinh_function_desc_t &function,
                                const tinh_step_t &step,
                                const std::vector<int64_t> &iterations,
                                const std::vector<uint64_t> &lengths);

/// Goes through accesses in the order of the steps.
class AccessOrder {
public:
  /// Whom `number` has to follow, each once, in order: only those before
  /// `ordered`. The memory plan orders no others, so their bytes lie between
  /// each other's.
  std::vector<uint32_t> add(uint32_t number, uint32_t ordered,
                            const std::vector<Access> &accesses);

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

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_ACCESSES_H
