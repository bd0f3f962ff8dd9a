//===- tinh/engine.h - How operations on tensors are run --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Operations on tensors (tinh/tensor.h) are queued and run by threads of an
// engine, in an order that respects what each reads and writes. Programs need
// this header only to choose how, to wait for everything, to ask about memory,
// and to queue functions of their own.
//
// All functions may be called from any thread. What fails throws a tinh::Error.
// The header needs the standard library and the runtime's headers alone.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_ENGINE_H
#define TINH_ENGINE_H

#include "tinh/runtime.hpp"
#include "tinh/types.h"

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <source_location>
#include <span>

namespace tinh {

class Tensor;

enum class EngineMode {
  Asynchronous, ///< Operations are queued; calls return at once.
  Synchronous   ///< A call returns when its operation is done, or throws.
};

struct EngineOptions {
  EngineMode mode = EngineMode::Asynchronous;
  /// Threads that run operations, in synchronous mode the caller among them;
  /// 0: as many as there are CPUs for the process. Results do not depend on it.
  uint32_t workers = 0;
  /// Calls block while this many operations are queued, or while the queued
  /// ones need this much memory beyond what there was before them, in bytes.
  /// 0: no such limit (100,000 operations in any case).
  uint32_t max_queued_operations = 1024;
  uint64_t max_queued_bytes = uint64_t(256) << 20;
  /// What tensors may occupy, in bytes; beyond that operations fail. 0: what
  /// there is.
  uint64_t memory_limit = 0;
  /// How long a thread looks for work before it sleeps, in microseconds.
  uint32_t spin_us = 50;
  /// Write the names of kernels that are compiled from now on to
  /// /tmp/perf-PID.map, where Linux's `perf` looks for them.
  bool perf_map = false;
  /// Look through the floating-point results of each operation for NaNs, or for
  /// infinities as well. The first operation that gives one fails, with
  /// TINH_NOT_FINITE and a message that says where in the result it is, whether
  /// the operands were in order and, in a backward pass, of which operation it
  /// is the gradient. Compiled functions tell the kernel and its operations.
  tinh_check_numerics_t check_numerics = TINH_CHECK_NOTHING;
};

/// Waits until all operations are done and goes on with `options`.
void configure(const EngineOptions &options);
/// The options in effect, with the number of workers filled in.
EngineOptions engine_options();

/// Waits until nothing is queued. Throws the error of the first operation that
/// has failed since the last call; others are unaffected by it.
void wait_all();

struct MemoryStatistics {
  uint64_t in_use = 0; ///< Bytes that tensors occupy.
  uint64_t peak = 0;   ///< The most that they have occupied.
  uint64_t cached = 0; ///< Bytes that are kept for tensors to come.
  uint64_t limit = 0;  ///< As in the options.
};

/// As of now: operations that are queued have yet to allocate and to free.
MemoryStatistics memory_statistics();
/// Starts a new peak, from what is in use now.
void reset_peak_memory();
/// Gives what is cached back to the system.
void trim_memory();

/// The elements of a tensor, for a function that reads or writes them.
struct HostArray {
  void *data; ///< The first element. Not to be written where it is read only.
  tinh_dtype_t dtype;
  std::span<const int64_t> sizes, strides; ///< Strides in elements.

  template <typename Element> Element *as() const {
    return static_cast<Element *>(data);
  }
};

using HostFunction = std::function<void(std::span<const HostArray> reads,
                                        std::span<const HostArray> writes)>;

/// Queues `function`, of the name `name` in messages, which is not copied. It
/// is called once, on any thread, when what it reads has been written and what
/// it writes is read no more; a tensor that it changes belongs in both lists.
/// What it throws is the error of the tensors that it writes. It may queue
/// operations, but not wait for tensors other than its own.
void call(const char *name, HostFunction function,
          std::initializer_list<Tensor> reads,
          std::initializer_list<Tensor> writes,
          std::source_location at = std::source_location::current());
void call(const char *name, HostFunction function,
          std::span<const Tensor> reads, std::span<const Tensor> writes,
          std::source_location at = std::source_location::current());

} // namespace tinh

#endif // TINH_ENGINE_H
