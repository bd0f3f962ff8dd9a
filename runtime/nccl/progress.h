//===- progress.h - How far collectives are ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of a collective that a stream has been given, events tell whether the GPU has
// come to it and whether it is done. Each launch of a graph would record the
// same events, and what they say of the launch before could not be told from
// this one's: there the GPU writes it to a word of the host's memory.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NCCL_PROGRESS_H
#define TINH_RUNTIME_NCCL_PROGRESS_H

#include "cuda/driver/driver.h"
#include "tinh/collectives.h"

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinh::nccl {

using Clock = std::chrono::steady_clock;
using runtime::cuda::CUevent;
using runtime::cuda::CUstream;

/// Of all collectives of a GPU, whose context is current in all calls.
class Progress {
public:
  struct Collective {
    std::string what; ///< "all-reduce 3 (1000 elements)"
    CUevent ready = nullptr, done = nullptr;
    uint32_t *word = nullptr;  ///< Of one in a graph.
    CUstream stream = nullptr; ///< That this is launched on.
    /// When somebody who waits has first seen that it was its turn.
    std::optional<Clock::time_point> since = {};
  };

  void allocate();
  void free() noexcept;

  /// Gives it a ticket. The words of those in graphs may be all taken.
  Collective &add(const tinh_collective_t &collective, bool in_graph,
                  uint64_t &ticket);
  /// What `stream` has been given so far comes before it, or is it.
  void begin(const Collective &collective, CUstream stream);
  void end(const Collective &collective, CUstream stream);
  /// Its turn on the GPU is behind all for which this was called before: it was
  /// given, or a graph that has it is launched.
  void run(uint64_t ticket, CUstream stream);

  /// Throws if there is no such ticket.
  Collective &find(uint64_t ticket);
  /// Throws if the GPU has failed.
  bool is_done(const Collective &collective) const;
  /// Collectives are done one after the other. That of the first one which is
  /// not done takes time from when the GPU has come to it; what that has to do
  /// before counts for nothing. Null if it does not take too much.
  const Collective *find_overdue(Clock::duration timeout);

  /// It is done; one in a graph may be launched again.
  void finish(uint64_t ticket);
  /// The same for one in a graph, for ever.
  void release(uint64_t ticket);

private:
  static constexpr uint32_t kReady = 1, kDone = 2; ///< In words.
  static constexpr uint32_t kMostWords = 1 << 14;

  CUevent take_event();
  void write(const Collective &collective, uint32_t state, CUstream stream);
  bool is_ready(const Collective &collective) const;

  std::map<uint64_t, Collective> all; ///< By ticket.
  uint64_t num_tickets = 0;
  std::vector<uint64_t> running; ///< In the order of the GPU.
  std::vector<CUevent> events;   ///< That nothing uses.
  uint32_t *words = nullptr;     ///< Pinned.
  std::vector<uint32_t *> free_words;
  runtime::cuda::CUdeviceptr states = 0; ///< What is written.
};

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_PROGRESS_H
