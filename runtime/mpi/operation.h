//===- operation.h - A collective, message by message -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A reduction of many elements is divided among the ranks. Each
//   1. sends to each rank its piece of the input (MPI_Ialltoallv),
//   2. reduces the pieces that it has received, in the order of the ranks,
//   3. sends the result to all (MPI_Iallgatherv).
// Each rank sends and receives twice the tensor, whatever their number, as in a
// ring, and the order of sums depends neither on MPI nor on who comes first. Of
// few elements all ranks send all (MPI_Iallgather) and reduce them themselves:
// one message, and the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_OPERATION_H
#define TINH_RUNTIME_MPI_OPERATION_H

#include "group.h"
#include "tinh/collectives.h"

#include <memory>
#include <vector>

namespace tinh::mpi {

/// Why a collective cannot be done by `num_ranks`; empty if it can.
std::string find_mistake(const tinh_collective_t &collective, int num_ranks);

class Operation {
public:
  Operation(const tinh_collective_t &collective, const Group &group)
      : what(collective), group(group) {}

  /// Posts the first message. In the order of the collectives.
  void begin();

  /// Goes on as far as messages have come. A second message is posted only if
  /// those of all earlier collectives are, which `may_gather` says.
  void advance(bool may_gather);

  bool is_done() const { return stage == Stage::done; }
  /// Whether a second message of it is yet to be posted.
  bool will_gather() const { return gathers && stage < Stage::gathering; }
  /// Whether the first message has not come from all ranks.
  bool is_scattering() const { return stage == Stage::scattering; }

  std::string describe() const; ///< "all-reduce of 1000 elements of f32"

private:
  enum class Stage { scattering, reduced, gathering, done };
  /// The part of a tensor that a rank reduces.
  struct Piece {
    int offset, count; ///< In elements.
  };

  void begin_reduction();
  void end_first_message();
  void begin_gathering();
  void end_gathering();
  bool has_arrived();

  bool is_reduction() const {
    return what.kind == TINH_ALL_REDUCE || what.kind == TINH_REDUCE_SCATTER;
  }
  bool is_rounded() const { return what.wire != what.dtype; }
  /// Of all inputs together, as ranks reduce them.
  int total() const;
  Piece piece(int rank) const;
  /// The input as it is sent.
  const void *sent();

  tinh_collective_t what;
  const Group &group;
  Stage stage = Stage::scattering;
  bool gathers = false;
  MPI_Request request = MPI_REQUEST_NULL;
  /// What each rank sends to, or receives from, each; in elements.
  std::vector<int> counts, offsets, own_counts, own_offsets;
  /// The input and the results as they are sent, and what has been received.
  std::unique_ptr<std::byte[]> outgoing, results, incoming;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_OPERATION_H
