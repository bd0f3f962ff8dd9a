//===- peers.h - Which ranks are alive, and what they say -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank tells the next one, the last one the first, that it is alive, and
// how many collectives it has started: heartbeats in a ring, so that a rank's
// work does not grow with their number. What has failed, a rank tells all
// others.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_PEERS_H
#define TINH_RUNTIME_MPI_PEERS_H

#include "group.h"

#include <chrono>
#include <vector>

namespace tinh::mpi {

using Clock = std::chrono::steady_clock;

/// "0.5 s".
std::string seconds(Clock::duration time);

class Peers {
public:
  Peers(const Group &group, Clock::duration timeout);

  /// Sends and receives what is due; `started` is the number of collectives of
  /// this rank. Throws the Failure that another rank has told, or that of one
  /// which has been silent for too long.
  void poll(uint64_t started);

  /// The rank that tells this one, and how many collectives it has started.
  int previous() const {
    return (group.rank + group.num_ranks - 1) % group.num_ranks;
  }
  uint64_t started_by_previous() const { return heard_started; }
  bool previous_has_left() const { return previous_leaves; }
  /// For several beats, if the timeout is more than some tens of milliseconds,
  /// but not yet for the timeout.
  bool previous_is_silent() const {
    return !previous_leaves && Clock::now() - heard > timeout / 2;
  }

  /// Tells all other ranks, but one that may be dead, what has failed; waits
  /// for a second at most until they have been told.
  void tell(const std::string &failure, int dead_rank);

  /// Says that no more comes from this rank, and waits until all do so. Throws
  /// a Failure if one does not in time.
  void leave(uint64_t started);

private:
  struct Message {
    enum Kind : uint32_t { beat, leaving, failed } kind;
    uint64_t started;
    char text[1000]; ///< With a 0 at its end.
  };

  void receive();
  void send_beat(Message::Kind kind, uint64_t started);
  bool may_send(); ///< Whether the last beat is on its way.

  const Group &group;
  const Clock::duration timeout, interval;
  Message incoming = {}, outgoing = {};
  MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
  Clock::time_point heard, sent;
  uint64_t heard_started = 0;
  bool is_leaving = false, previous_leaves = false;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_PEERS_H
