//===- Operation.h - A node of the engine's queue ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is to be done, and what it reads and writes. All of it lies in one block
// of a fixed size that is used again, the work's own data included.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ENGINE_OPERATION_H
#define TINH_EAGER_ENGINE_OPERATION_H

#include "compiler/Eager/Engine/Storage.h"

#include <atomic>
#include <condition_variable>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>

namespace tinh::eager {

class Operation;
class Worker;

/// Of the AtScope on this thread; without a line if there is none.
inline thread_local constinit std::source_location placeOfScope;

/// What the user called, for messages and traces.
struct Call {
  constexpr Call(const char *name, std::source_location at)
      : name(name), at(at) {
    // What the compiler asks for has no place.
    if (!std::is_constant_evaluated() && at.line() != 0 &&
        placeOfScope.line() != 0)
      this->at = placeOfScope;
  }

  const char *name; // Static.
  std::source_location at;
};

/// The place of the call, if it has one, and the operation.
std::string place(const Call &call);

/// `message` with the place of the call before it.
std::string describe(const Call &call, std::string_view message);

enum class AccessKind : uint8_t {
  Read,
  Write,    ///< Some of it, or after reading it.
  Overwrite ///< All of it, whatever it held.
};

/// A place in the order of a storage's accesses.
struct Access {
  Storage *storage;
  Operation *operation;
  Access *next; // That waits for the same storage.
  AccessKind kind;
};

/// A caller that runs its operation itself waits here until it may.
struct Owner {
  std::condition_variable changed;
};

class alignas(64) Operation {
public:
  static constexpr size_t kPayloadSize = 704;
  static constexpr uint32_t kInlineAccesses = 4;

  explicit Operation(const Call &call) : call(call) {}

  void (*run)(void *payload, uint32_t begin, uint32_t end, Worker &worker);
  void (*destroyPayload)(void *payload) = nullptr; // Null: nothing to do.
  Operation *next = nullptr;                       // In whatever list it is.
  Access *accesses = inlineAccesses;
  uint32_t numAccesses = 0;
  uint32_t numChunks = 1;
  uint32_t numWaiting = 0; // Accesses that are not allowed yet.
  /// Of the same worker, one after the other: others should watch the queue.
  bool mayTakeLong = false;
  /// It takes less time than handing it to another thread.
  bool isQuick = false;
  bool isCounted = false; // As one that is queued.
  Call call;
  uint64_t ticket = 0; // Its place in the queue.
  uint64_t bytes = 0;  // Of storages that it is the first to access.
  uint64_t weight = 0; // Bytes of all storages that it accesses.
  Owner *owner = nullptr;

  // While its chunks run.
  std::atomic<uint32_t> nextChunk{0};
  uint32_t numRunners = 0;
  std::atomic<bool> failed{false};
  Ref<OperationError> error;

  Access inlineAccesses[kInlineAccesses];
  alignas(64) std::byte payload[kPayloadSize];
};

} // namespace tinh::eager

#endif // TINH_EAGER_ENGINE_OPERATION_H
