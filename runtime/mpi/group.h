//===- group.h - The ranks of an MPI program --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// For the one thread that calls MPI.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_GROUP_H
#define TINH_RUNTIME_MPI_GROUP_H

#include <cstdint>
#include <memory>
#include <mpi.h>
#include <stdexcept>
#include <string>

namespace tinh::mpi {

class SharedMemory;

/// What a user is told.
struct Failure : std::runtime_error {
  explicit Failure(const std::string &what, int rank = -1, bool is_told = false)
      : std::runtime_error(what), rank(rank), is_told(is_told) {}
  const int rank;     ///< That has failed, if it is known.
  const bool is_told; ///< By another rank, which tells all.
};

/// Throws a Failure that says what MPI has said, unless it succeeded.
void check(int code, const char *call);

/// All ranks. MPI matches nonblocking collectives of a communicator by the
/// order in which they are posted, so that each kind of message has one of its
/// own.
class Group {
public:
  /// Initialises MPI, unless the program has done so.
  Group();

  /// Memory of all ranks, if all are on one machine, and the environment does
  /// not say TINH_MPI_SHARED_MEMORY=off; else null. All ranks must ask for it.
  std::unique_ptr<SharedMemory> share_memory() const;

  /// Ends MPI if it was begun here. All ranks must do so.
  void finalize();

  int rank = 0, num_ranks = 1;
  int local_rank = 0, num_local_ranks = 1; ///< Of this machine.
  double cpus = 0; ///< Its share of those of the machine.
  std::string library;

  MPI_Comm scatter = MPI_COMM_NULL; ///< First messages of collectives,
  MPI_Comm gather = MPI_COMM_NULL;  ///< their second ones,
  MPI_Comm control = MPI_COMM_NULL; ///< and what ranks tell one another.
  MPI_Comm machine = MPI_COMM_NULL; ///< The ranks of this one.

private:
  bool is_ours = false; ///< MPI was initialised here.
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_GROUP_H
