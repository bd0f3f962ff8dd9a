//===- communicator.h - The thread that calls MPI ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The life of a collective:
//   1. start(): a thread of the program puts it into the queue.
//   2. progress(): the communicator's thread takes it from there and posts its
//      first message, in the order of the queue,
//   3. and asks MPI again and again how far its messages are (Messages), or
//      goes through its rounds with the other ranks of the machine (Rounds).
//   4. It is done: its ticket is marked, and whoever waits for it wakes up.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_MPI_COMMUNICATOR_H
#define TINH_RUNTIME_MPI_COMMUNICATOR_H

#include "operation.h"
#include "peers.h"
#include "shared_memory.h"

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

namespace tinh::mpi {

class Communicator : public tinh_collectives_t {
public:
  /// The ranks of the program, once all have joined. Throws a Failure if MPI
  /// cannot be initialised, and NotJoined if others do not do so within the
  /// timeout or 10 s, whichever is longer: to be called no more then.
  static std::unique_ptr<Communicator> join(Clock::duration timeout);
  ~Communicator();

  struct NotJoined : Failure {
    using Failure::Failure;
  };

private:
  explicit Communicator(Clock::duration timeout);
  /// What the progress thread has begun.
  struct Active {
    std::unique_ptr<Operation> operation;
    uint64_t ticket; ///< Of the collective, which may be several operations.
    Clock::time_point begun;
    bool is_finished = false;
  };

  // For the program's threads.
  const char *begin(const tinh_collective_t &collective, uint64_t &ticket);
  const char *wait_for(uint64_t ticket, int64_t *finished);
  const char *known_failure();
  void give_up(const char *why);

  // The progress thread.
  void run();
  void progress(Group &group, Peers &peers);
  bool take_started(const Group &group);
  std::vector<std::unique_ptr<Operation>>
  make(const tinh_collective_t &collective, const Group &group);
  bool advance();
  void check_overdue(const Peers &peers) const;
  void rest(bool has_moved);
  void sleep(bool has_moved);
  void wake();
  bool is_finished(uint64_t ticket) const;
  void finish(uint64_t ticket);
  void fail(const std::string &why);

  const Clock::duration timeout;
  std::string library_name;

  std::mutex mutex; ///< Of what follows, up to the progress thread's own.
  std::condition_variable for_progress, for_program;
  std::deque<std::pair<uint64_t, tinh_collective_t>> queue;
  /// Of collectives that nobody has waited for: when they were done.
  std::map<uint64_t, std::optional<Clock::time_point>> tickets;
  uint64_t num_started = 0;
  bool is_ready = false, is_leaving = false;
  std::string failure;              ///< Set once, and for ever.
  std::string abort_reason;         ///< What the program has given up for.
  std::deque<std::string> mistakes; ///< What calls were refused for.

  // The progress thread's own.
  std::deque<Active> active; ///< In the order of their tickets.
  uint64_t num_begun = 0, num_rounds = 0;
  Clock::time_point last_moved, last_polled;
  Clock::time_point last_advanced; ///< Any of them.
  bool is_announced = false; ///< That it will sleep, if nothing is to be done.

  /// Null if ranks send messages. Set before the program goes on.
  std::unique_ptr<SharedMemory> memory;
  std::thread thread;
};

} // namespace tinh::mpi

#endif // TINH_RUNTIME_MPI_COMMUNICATOR_H
