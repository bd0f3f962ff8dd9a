//===- work.h - What is queued for the fake GPU -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Nothing runs when it is queued. Where the host waits, work runs until what it
// waits for is done: any operation may be next that no stream, event or edge of
// a graph orders behind another one, and the settings choose among these. So
// what a program forgets to order comes in the wrong order.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_WORK_H
#define TINH_TESTS_CUDA_DRIVER_WORK_H

#include "block.h"
#include "compute.h"
#include "log.h"
#include "memory.h"

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <vector>

namespace tinh::fake {

/// Bytes at a place, of the host or of the GPU.
struct Place {
  char *address = nullptr;
  MemoryKind kind = MemoryKind::Device;
};

/// One thing that the GPU does.
struct Operation {
  enum class Kind { Kernel, Copy, Fill, Compute, Nothing };
  Kind kind = Kind::Nothing;
  // Kernel
  std::string kernel;
  Launch launch;                    // Without code, it does nothing.
  std::vector<uint64_t> parameters; // As many bytes of each as it has.
  // Copy, Fill
  Place to, from;
  std::shared_ptr<const std::vector<char>> staged; // What `from` has had.
  size_t size = 0;
  uint32_t value = 0, elementSize = 1;
  // Compute: a library's.
  std::function<void()> work;
  std::vector<std::pair<Place, size_t>> touched;
  std::optional<Meeting> meeting;
  // Of a graph: operations before this one.
  std::vector<size_t> after;

  std::string describe() const;
};

/// What one call has queued: operations, of which each may wait for others.
struct Work {
  uint64_t number = 0; // In the order of queueing.
  std::shared_ptr<const std::vector<Operation>> operations;
  std::vector<bool> executed;
  size_t left = 0;
  std::vector<std::shared_ptr<Work>> after; // Besides the stream's order.
  std::chrono::steady_clock::time_point end;

  bool isDone() const { return left == 0; }
};

using Stream = std::deque<std::shared_ptr<Work>>;

/// The fake GPU: its memory, and work that is queued.
class Gpu {
public:
  explicit Gpu(const Settings &settings) { configure(settings); }
  void configure(const Settings &wanted);

  Memory memory;
  Log log;
  Settings settings;
  int failure = 0; // The code that all calls return from now on.

  std::shared_ptr<Work> queue(const std::shared_ptr<Stream> &stream,
                              std::shared_ptr<const std::vector<Operation>> ops,
                              std::vector<std::shared_ptr<Work>> after = {});
  /// Executes one operation, if there is one that may run.
  bool advance();
  /// Executes until `work` is done; false if that never comes. Other threads
  /// may call meanwhile: with `held`, which this one holds, they give what it
  /// meets.
  bool finish(const std::shared_ptr<Work> &work, std::mutex &held);
  void finishAll();
  bool isIdle() const;
  /// Whether the operands of an operation are memory that exists; if not, says
  /// what is wrong.
  std::string check(const Operation &operation) const;
  /// Does it now.
  void execute(const Operation &operation);

private:
  struct Candidate {
    std::shared_ptr<Work> work;
    size_t operation;

    const Operation &get() const { return (*work->operations)[operation]; }
    void finish();
  };
  std::vector<Candidate> findReady() const;
  /// Whether something waits for what other threads have not given yet.
  bool isMeeting() const;
  std::vector<Candidate> findCandidates() const;
  std::string checkKernel(const Operation &operation) const;
  /// Takes what is done off the streams.
  void retire();

  // Those that have work.
  std::vector<std::shared_ptr<Stream>> streams;
  uint64_t queued = 0;
  std::minstd_rand random;
};

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_WORK_H
