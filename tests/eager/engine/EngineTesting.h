//===- EngineTesting.h - Operations for tests of the engine -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions as operations, and numbers in storages.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_EAGER_ENGINE_ENGINETESTING_H
#define TINH_TESTS_EAGER_ENGINE_ENGINETESTING_H

#include "compiler/Eager/Engine/Engine.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace tinh::eager {

struct FunctionPayload {
  std::function<void(uint32_t)> function; // Called with each chunk.
  uint32_t chunks = 1;
  bool overwriting = false;
  bool isLong = true;
  bool quick = false;

  uint32_t numChunks() const { return chunks; }
  bool overwrites() const { return overwriting; }
  bool mayTakeLong() const { return isLong; }
  bool isQuick() const { return quick; }
  void run(uint32_t begin, uint32_t end, Worker &) {
    for (uint32_t i = begin; i < end; ++i)
      function(i);
  }
};

inline void push(std::vector<Storage *> reads, std::vector<Storage *> writes,
                 std::function<void()> function, const char *name = "test",
                 std::source_location at = std::source_location::current()) {
  Engine::get().push({name, at}, reads, writes,
                     FunctionPayload{[function](uint32_t) { function(); }});
}

inline void
pushQuick(std::vector<Storage *> reads, std::vector<Storage *> writes,
          std::function<void()> function,
          std::source_location at = std::source_location::current()) {
  Engine::get().push({"quick", at}, reads, writes,
                     FunctionPayload{[function](uint32_t) { function(); }, 1,
                                     false, false, true});
}

inline int64_t &number(Storage &storage) {
  return *static_cast<int64_t *>(storage.data());
}

inline Ref<Storage> makeNumber(int64_t value) {
  Ref<Storage> storage = Storage::allocate(sizeof(int64_t));
  number(*storage) = value;
  return storage;
}

/// A gate that operations wait at.
class Gate {
public:
  void open() {
    std::lock_guard lock(mutex);
    isOpen = true;
    changed.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex);
    ++passing;
    changed.notify_all();
    changed.wait(lock, [this] { return isOpen; });
  }
  /// Until so many are at the gate.
  void waitFor(int count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return passing >= count; });
  }

private:
  std::mutex mutex;
  std::condition_variable changed;
  bool isOpen = false;
  int passing = 0;
};

inline EngineOptions withWorkers(uint32_t workers) {
  EngineOptions options;
  options.workers = workers;
  return options;
}

/// The message and status of the tinh::Error that `action` throws.
template <typename Action> Error errorOf(Action action) {
  try {
    action();
  } catch (const Error &error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return Error(TINH_OK, "");
}

} // namespace tinh::eager

#endif // TINH_TESTS_EAGER_ENGINE_ENGINETESTING_H
