//===- messages.h - A collective, message by message ------------*- C++ -*-===//
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
#ifndef TINH_RUNTIME_MPI_MESSAGES_H
#define TINH_RUNTIME_MPI_MESSAGES_H

#include "operation.h"

#include <memory>
#include <vector>

namespace tinh::mpi {

/// Parts of a collective that are done one after the other, for MPI counts by
/// ints: each has some of the elements of each rank's part. `in_part` is how
/// many of all ranks together one may have.
std::vector<tinh_collective_t> divide(const tinh_collective_t &collective,
                                      int num_ranks, uint64_t in_part);

class Messages final : public Operation {
public:
  /// Where ranks have parts of a tensor, these lie `stride` elements apart.
  Messages(const tinh_collective_t &collective, const Group &group,
           uint64_t stride)
      : Operation(collective), group(group), stride(stride) {}

  /// Posts the first message.
  void begin() override;
  bool advance(bool may_gather) override;
  bool will_gather() const override {
    return gathers && stage < Stage::gathering;
  }
  bool is_done() const override { return stage == Stage::done; }
  /// Once the first message has come from all of them.
  bool has_all_ranks() const override { return stage != Stage::scattering; }

private:
  enum class Stage { scattering, reduced, gathering, done };

  void begin_gather();
  void begin_reduction();
  void end_first_message();
  void begin_gathering();
  void end_gathering();
  bool has_arrived();

  /// Of all inputs together, as ranks reduce them.
  int total() const;
  Piece piece_of(int rank) const {
    return piece(static_cast<size_t>(total()), rank, group.num_ranks);
  }
  void reduce_parts(size_t count, void *output) const;
  /// Whether it is a part of a collective of which ranks have parts.
  bool is_strided() const {
    return stride != what.count &&
           (what.kind == TINH_ALL_GATHER || what.kind == TINH_REDUCE_SCATTER);
  }
  /// The input as it is sent, without what lies between the parts of ranks.
  const void *sent();

  const Group &group;
  const uint64_t stride;
  Stage stage = Stage::scattering;
  bool gathers = false;
  MPI_Request request = MPI_REQUEST_NULL;
  /// What each rank sends to, or receives from, each; in elements.
  std::vector<int> counts, offsets, own_counts, own_offsets;
  /// The input and the results as they are sent, and what has been received.
  std::unique_ptr<std::byte[]> outgoing, results, incoming;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_MESSAGES_H
