//===- operation.h - A collective on its way --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_OPERATION_H
#define TINH_RUNTIME_MPI_OPERATION_H

#include "group.h"
#include "tinh/collectives.h"

namespace tinh::mpi {

/// Why a collective cannot be done by `num_ranks`; empty if it can.
std::string find_mistake(const tinh_collective_t &collective, int num_ranks);

/// Whether ranks that have started these compute the same one.
bool are_alike(const tinh_collective_t &a, const tinh_collective_t &b);

/// With all that makes it another one:
/// "all-reduce of 1000 elements of f32 (sum, sent as bf16)".
std::string describe_in_full(const tinh_collective_t &collective);

/// Of the thread that calls MPI. Ranks begin their operations in one order.
class Operation {
public:
  explicit Operation(const tinh_collective_t &collective) : what(collective) {}
  virtual ~Operation() = default;

  virtual void begin() = 0;
  /// Goes on as far as the other ranks let it; says whether it has. A second
  /// message is posted only if those of all earlier operations are, which
  /// `may_gather` says.
  virtual bool advance(bool may_gather) = 0;
  /// Whether a second message of it is yet to be posted.
  virtual bool will_gather() const { return false; }
  virtual bool is_done() const = 0;
  /// Whether all ranks are known to have begun it.
  virtual bool has_all_ranks() const = 0;

  std::string describe() const; ///< "all-reduce of 1000 elements of f32"

protected:
  /// The part of a tensor that a rank reduces.
  struct Piece {
    size_t offset, count; ///< In elements.
  };
  /// Of `total` elements, which are divided among so many ranks.
  static Piece piece(size_t total, int rank, int num_ranks);

  bool is_reduction() const {
    return what.kind == TINH_ALL_REDUCE || what.kind == TINH_REDUCE_SCATTER;
  }
  bool is_rounded() const { return what.communication_dtype != what.dtype; }
  /// Whether an all-reduce is one of so few elements that each rank gets all of
  /// them and reduces them itself.
  bool is_small(int num_ranks) const;

  tinh_collective_t what;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_OPERATION_H
