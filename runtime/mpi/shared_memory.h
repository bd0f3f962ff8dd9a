//===- shared_memory.h - Memory of all ranks of a machine -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where all ranks are on one machine, they exchange tensors through memory that
// all of them see (MPI_Win_allocate_shared): each has a ring of slots, which it
// writes and all read. A slot is for one round, a piece of a collective. In
// each round a rank goes through three phases, in the order of the rounds:
//   written   its slot has what others need of its input,
//   reduced   and what it has reduced of all inputs;
//   read      it has read what it needs of all slots.
// The counters of these, and what collective a round is the first of, are all
// that ranks tell one another.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_SHARED_MEMORY_H
#define TINH_RUNTIME_MPI_SHARED_MEMORY_H

#include "tinh/collectives.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <mpi.h>
#include <vector>

namespace tinh::mpi {

enum class Phase { written, reduced, read };

/// Copies into memory that other ranks have read: past the caches, as each of
/// its lines would first have to come from theirs. What follows in the order of
/// the program is seen after it.
void copy_to_shared(std::byte *to, const std::byte *from, size_t size);

class SharedMemory {
public:
  /// For all ranks of `machine`, which are all that there are. Null, on all of
  /// them, if MPI has no such memory on one, or if they are more than 64.
  static std::unique_ptr<SharedMemory> allocate(MPI_Comm machine);

  /// Of a slot, a multiple of the size of each element.
  size_t slot_size() const { return bytes_of_slot; }

  /// How many rounds this rank has gone through.
  uint64_t rounds(Phase phase) const;
  /// Whether all ranks have gone through so many.
  bool have_all(Phase phase, uint64_t rounds) const;
  /// Whether no rank needs what the slot of this round had before.
  bool is_free(uint64_t round) const;
  std::byte *slot(int rank, uint64_t round) const;
  /// The collective that `rank` has started, of its first round: written and
  /// read when its slot is. Without addresses.
  tinh_collective_t &started(int rank, uint64_t round) const;

  /// Says that this rank has gone through one more round, and wakes those that
  /// wait for it.
  void advance(Phase phase);

  /// Sleeping, for this rank: first announce(), then look once more whether
  /// there is anything to do; if there is, retract(), else sleep() returns when
  /// there may be, or in time for `most`.
  void announce();
  void retract();
  void sleep(std::chrono::milliseconds most);
  /// From any thread.
  void wake(int rank);

  /// All ranks must do so. What is not released lives on: others may read it.
  void release();

private:
  struct Segment;

  SharedMemory() = default;
  Segment &own() const { return *segments[static_cast<size_t>(rank)]; }

  int rank = 0;
  size_t bytes_of_slot = 0;
  std::vector<Segment *> segments; ///< By rank.
  MPI_Win window = MPI_WIN_NULL;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_SHARED_MEMORY_H
