//===- rounds.h - A collective through shared memory ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A round is about as many elements as a slot has place for. Of an
// all-reduce, each rank reduces its piece of them, in the order of the ranks,
// so that sums are the same bits as by messages.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_ROUNDS_H
#define TINH_RUNTIME_MPI_ROUNDS_H

#include "operation.h"
#include "shared_memory.h"

namespace tinh::mpi {

class Rounds final : public Operation {
public:
  /// Its rounds begin at `first`.
  Rounds(const tinh_collective_t &collective, const Group &group,
         SharedMemory &memory, uint64_t first);

  /// The one behind its rounds.
  uint64_t end() const { return behind; }

  void begin() override {}
  bool advance(bool may_gather) override;
  bool is_done() const override { return memory.rounds(Phase::read) >= behind; }
  bool has_all_ranks() const override {
    return memory.have_all(Phase::written, first + 1);
  }

private:
  bool go_on(Phase phase);
  void compare_started() const;
  void write(uint64_t round) const;
  void reduce_slots(uint64_t round);
  void reduce_parts(uint64_t round, size_t own, size_t in_slot, size_t count,
                    void *to) const;
  void read(uint64_t round) const;

  /// Those of a round; of the part of a rank, where each has one.
  Piece elements(uint64_t round) const;
  /// Puts so many elements of the input, from `offset` on, into a slot.
  void send(size_t offset, size_t count, std::byte *to) const;
  /// Puts what is in a slot into the output.
  void receive(const std::byte *from, size_t offset, size_t count) const;

  /// Whether each rank reduces a piece for all others.
  bool sends_results() const {
    return what.kind == TINH_ALL_REDUCE && !is_small(group.num_ranks);
  }
  /// Whether what this `rank` reduces is read where it is, not in a slot.
  bool reads_input(int rank) const {
    return rank == group.rank && !is_rounded();
  }
  bool is_root() const { return group.rank == static_cast<int>(what.root); }
  const std::byte *input(size_t offset) const {
    return static_cast<const std::byte *>(what.input) + offset * size;
  }
  std::byte *output(size_t offset) const {
    return static_cast<std::byte *>(what.output) + offset * size;
  }

  const Group &group;
  SharedMemory &memory;
  const uint64_t first;
  const size_t size; ///< Of an element, as it is sent.
  size_t in_round;   ///< Elements of a round.
  uint64_t behind;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_ROUNDS_H
