//===- Engine.h - Runs operations in the order of their data ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A queue of operations that declare what they read and what they write.
// Independent ones run at the same time, dependent ones in the order in which
// they were queued. See tinh/engine.h for what users see of it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_ENGINE_ENGINE_H
#define TINH_EAGER_ENGINE_ENGINE_H

#include "compiler/Eager/Engine/Operation.h"
#include "tinh/engine.h"

#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace tinh::eager {

/// The thread that runs a piece of an operation.
class Worker {
public:
  ~Worker();
  /// Memory of its own, of at least `size` bytes, aligned to 64; its content
  /// does not survive the call of run().
  void *scratch(uint64_t size);
  /// To be called in run() before what takes milliseconds: others then look
  /// after the queue.
  void expectDelay();

private:
  friend class Engine;

  void *memory = nullptr;
  uint64_t memorySize = 0;
  Operation *operation = nullptr; // That it runs.
  Worker *outer = nullptr; // Whose operation queued this one, of callers.
  bool isThread = false;   // Of the engine; otherwise a caller.
  bool busy = false;       // For others to look after the queue.
};

/// Work is an object of a type `Payload`, which has
///   uint32_t numChunks() const;
///     Independent pieces, fixed by sizes and never by threads; at least 1.
///   void run(uint32_t begin, uint32_t end, Worker &worker);
///     Does the pieces from `begin` to `end`. May throw. Several threads may
///     call it at a time, for different pieces.
/// and may have
///   bool overwrites() const;
///     Whether it writes all bytes of what it writes, whatever they held.
///   bool mayTakeLong() const;
///     Whether one piece may take milliseconds.
///   bool isQuick() const;
///     Whether all of it takes about a microsecond at most.
/// It is destroyed when it has run, or when it is not going to run at all, on
/// any thread.
class Engine {
public:
  static Engine &get();

  /// Queues a Payload{args…}. `reads` and `writes` are kept until it is done; a
  /// storage that is modified in place is in both. Throws what the operation
  /// throws in synchronous mode, and nothing but std::bad_alloc otherwise.
  template <typename Payload, typename... Args>
  void emplace(const Call &call, std::span<Storage *const> reads,
               std::span<Storage *const> writes, Args &&...args);

  template <typename Payload>
  void push(const Call &call, std::span<Storage *const> reads,
            std::span<Storage *const> writes, Payload payload) {
    emplace<Payload>(call, reads, writes, std::move(payload));
  }

  /// Blocks until what was queued to write `storage` is done; throws what kept
  /// it from being written.
  void waitToRead(Storage &storage);
  /// Blocks until what was queued to read or write `storage` is done.
  void waitToWrite(Storage &storage);
  /// Whether waitToRead() would not block.
  bool isReadyToRead(const Storage &storage) const;
  /// Blocks until nothing is queued; throws the first error since the last
  /// call.
  void waitAll();

  void configure(const EngineOptions &options);
  EngineOptions options();
  /// As in the options.
  tinh_check_numerics_t checkNumerics() const {
    return wantedCheck.load(std::memory_order_relaxed);
  }

private:
  using Lock = std::unique_lock<std::mutex>;
  /// A caller that sleeps until a condition holds.
  struct Waiter {
    bool (*isMet)(void *condition);
    void *condition;
    Waiter *next;
    std::condition_variable met;
  };
  /// A worker that sleeps until it is woken.
  struct Sleeper {
    Sleeper *next;
    bool awake = false;
    std::condition_variable woken;
  };
  /// A list of operations, linked by `next`.
  struct List {
    Operation *first = nullptr, *last = nullptr;
    void pushBack(Operation *operation);
    void pushFront(Operation *operation);
    Operation *popFront();
    void remove(Operation *operation);
  };
  /// What is to be taken back outside the lock.
  struct Garbage {
    Operation *operation = nullptr;
    Storage *storages = nullptr;
    ~Garbage() { clear(); }
    void clear();
    bool isEmpty() const { return !operation && !storages; }
  };
  struct Discard {
    void operator()(Operation *operation) const { discard(operation); }
  };

  Engine();
  struct AtMainThreadEnd;
  static void finishAtExit();
  static Operation *make(const Call &call);
  static void discard(Operation *operation);

  // Callers (Engine.cpp).
  void submit(Operation *operation, std::span<Storage *const> reads,
              std::span<Storage *const> writes, bool overwrites);
  static void addAccess(Operation &operation, Storage &storage,
                        AccessKind kind);
  bool isFull(uint64_t bytes) const;
  void waitForRoom(uint64_t bytes);
  void queue(Operation *operation);
  bool runAtOnce(Operation *operation);
  bool waitForQuick(const Operation &operation);
  void runNow(Operation *operation);
  static void refuseWithin(const Operation &operation, const Worker *outer);
  void wait(Storage &storage, uint64_t uses);
  bool isDone() const;
  void waitUntilDone();
  template <typename Condition> void waitUntil(Condition condition);
  template <typename Condition> bool help(Condition condition);
  template <typename Condition> void block(Lock &lock, Condition condition);
  std::unique_ptr<Worker> takeSpareWorker();

  // Workers (Workers.cpp).
  Lock acquire();
  void startWorkers();
  void stopWorkers();
  void work();
  Operation *take(Lock &lock, Garbage &garbage);
  Operation *popReady();
  void takeIncoming();
  void analyse(uint32_t most);
  void addReady(Operation *operation, bool first);
  void publishOffer();
  void spin(Lock &lock);
  void sleep(Lock &lock);
  bool wakeOne();
  void becomeBusy(Worker &worker);
  bool perform(Operation &operation, Worker &worker, bool isFirst);
  static bool prepare(Operation &operation);
  void runChunks(Operation &operation, Worker &worker);
  void share(Operation &operation);
  bool leave(Operation &operation, bool isFirst);
  void complete(Operation *operation, Garbage &garbage);
  friend class Worker;

  static thread_local Worker *current;
  // Operations that are looked at before the next one is run.
  static constexpr uint32_t kBatch = 32;

  // What callers write with each operation, and workers poll.
  alignas(64) std::atomic<Operation *> incoming{nullptr}; // The last one first.
  alignas(64) std::atomic<uint64_t> pushed{0};
  std::atomic<uint64_t> pushedBytes{0};
  std::atomic<uint64_t> pushedSlow{0}; // Those that are not quick.
  // As callers last saw `completed`, which they read only if need be.
  mutable std::atomic<uint64_t> seenCompleted{0}, seenCompletedBytes{0};

  // What callers read and workers seldom write.
  alignas(64) std::atomic<EngineMode> mode{EngineMode::Asynchronous};
  std::atomic<tinh_check_numerics_t> wantedCheck{TINH_CHECK_NOTHING};
  std::atomic<uint64_t> maxOperations{0}, maxBytes{0};
  /// Workers that will look at the queue soon, for they are neither asleep nor
  /// within an operation that may take long.
  std::atomic<int32_t> numAttentive{0};
  std::atomic<uint32_t> numSleeping{0};
  std::atomic<uint32_t> numThreads{0};

  // What workers write.
  alignas(64) std::atomic<uint64_t> completed{0};
  std::atomic<uint64_t> completedBytes{0}, completedSlow{0};
  std::atomic<bool> offer{false}; // There is work that is worth a thread more.

  alignas(64) std::mutex mutex; // Of all that follows.
  List arrived;                 // Taken from `incoming`, in order.
  List ready, shared;           // May start; has chunks left.
  uint64_t readyWeight = 0;
  uint32_t numRunning = 0; // Threads that are within an operation.
  bool spinning = false;   // One worker looks for work.
  bool stopping = false;
  Sleeper *sleepers = nullptr;
  Waiter *waiters = nullptr;
  Ref<OperationError> firstError;
  uint64_t firstErrorTicket = 0;
  std::vector<std::unique_ptr<Worker>> spareWorkers; // For callers.
  std::vector<std::thread> threads;
  EngineOptions chosen;

  std::mutex configuring; // One configure() at a time.
};

template <typename Payload, typename... Args>
void Engine::emplace(const Call &call, std::span<Storage *const> reads,
                     std::span<Storage *const> writes, Args &&...args) {
  std::unique_ptr<Operation, Discard> operation(make(call));
  Payload *payload;
  if constexpr (sizeof(Payload) <= Operation::kPayloadSize &&
                alignof(Payload) <= 64) {
    payload = new (operation->payload) Payload{std::forward<Args>(args)...};
    operation->run = [](void *at, uint32_t begin, uint32_t end,
                        Worker &worker) {
      static_cast<Payload *>(at)->run(begin, end, worker);
    };
    if constexpr (!std::is_trivially_destructible_v<Payload>)
      operation->destroyPayload = [](void *at) {
        static_cast<Payload *>(at)->~Payload();
      };
  } else {
    payload = new Payload{std::forward<Args>(args)...};
    new (operation->payload) Payload *(payload);
    operation->run = [](void *at, uint32_t begin, uint32_t end,
                        Worker &worker) {
      (*static_cast<Payload **>(at))->run(begin, end, worker);
    };
    operation->destroyPayload = [](void *at) {
      delete *static_cast<Payload **>(at);
    };
  }
  operation->numChunks = payload->numChunks();
  if constexpr (requires { payload->mayTakeLong(); })
    operation->mayTakeLong = payload->mayTakeLong();
  if constexpr (requires { payload->isQuick(); })
    operation->isQuick = payload->isQuick();
  bool overwrites = false;
  if constexpr (requires { payload->overwrites(); })
    overwrites = payload->overwrites();
  submit(operation.release(), reads, writes, overwrites);
}

} // namespace tinh::eager

#endif // TINH_EAGER_ENGINE_ENGINE_H
