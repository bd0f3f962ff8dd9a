//===- Engine.cpp - Queueing operations and waiting for them --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The callers' side. Queueing takes no lock: an operation is put in front of a
// list that workers take as a whole. Who waits for longer than a moment does so
// under the engine's lock, with a condition that workers look at whenever they
// complete an operation.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Engine.h"

#include "compiler/Eager/Engine/Dependencies.h"
#include "compiler/Eager/Engine/Pool.h"
#include "compiler/Eager/FreeList.h"
#include "runtime/src/shared/futex.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace tinh::eager {

using runtime::spin_until;

thread_local Worker *Engine::current = nullptr;

// Bytes accessed by an operation of one piece from which on it takes so long
// that another worker should look after the queue.
static constexpr uint64_t kLongWeight = 256 << 10;
// For how long callers look whether what they wait for is done before they
// sleep.
static constexpr std::chrono::microseconds kCallerSpin{20};

using Nodes = FreeList<sizeof(Operation), alignof(Operation)>;

Operation *Engine::make(const Call &call) {
  return new (Nodes::allocate()) Operation(call);
}

void Engine::discard(Operation *operation) {
  if (operation->destroyPayload)
    operation->destroyPayload(operation->payload);
  if (operation->accesses != operation->inlineAccesses)
    delete[] operation->accesses;
  operation->~Operation();
  Nodes::deallocate(operation);
}

void Engine::Garbage::clear() {
  if (operation)
    discard(std::exchange(operation, nullptr));
  while (Storage *storage = storages) {
    storages = storage->nextDead;
    Storage::destroy(storage);
  }
}

//===----------------------------------------------------------------------===//
// Queueing
//===----------------------------------------------------------------------===//

/// Registers an access, or joins it with one of the same storage.
void Engine::addAccess(Operation &operation, Storage &storage,
                       AccessKind kind) {
  for (uint32_t i = 0; i < operation.numAccesses; ++i) {
    Access &other = operation.accesses[i];
    if (other.storage != &storage)
      continue;
    if (other.kind == AccessKind::Read && kind != AccessKind::Read)
      other.kind = AccessKind::Write;
    return;
  }
  if (storage.fresh.load(std::memory_order_relaxed)) {
    storage.fresh.store(false, std::memory_order_relaxed);
    operation.bytes += storage.numBytes;
    // What nobody has written is given memory by who reads it, alone.
    if (kind == AccessKind::Read && !storage.bytes)
      kind = AccessKind::Write;
  }
  operation.weight += storage.numBytes;
  operation.accesses[operation.numAccesses++] = {&storage, &operation, nullptr,
                                                 kind};
}

void Engine::submit(Operation *operation, std::span<Storage *const> reads,
                    std::span<Storage *const> writes, bool overwrites) {
  std::unique_ptr<Operation, Discard> owner(operation);
  size_t most = reads.size() + writes.size();
  if (most > Operation::kInlineAccesses)
    operation->accesses = new Access[most];
  for (Storage *storage : reads)
    addAccess(*operation, *storage, AccessKind::Read);
  for (Storage *storage : writes)
    addAccess(*operation, *storage,
              overwrites ? AccessKind::Overwrite : AccessKind::Write);
  bool isSynchronous =
      mode.load(std::memory_order_relaxed) == EngineMode::Synchronous;
  if (isSynchronous)
    refuseWithin(*operation, current);
  for (uint32_t i = 0; i < operation->numAccesses; ++i) {
    const Access &access = operation->accesses[i];
    access.storage->uses.fetch_add(
        access.kind == AccessKind::Read ? Storage::kRead : Storage::kWrite,
        std::memory_order_relaxed);
  }
  if (isSynchronous)
    return runNow(owner.release());
  owner.release();
  if (operation->numChunks == 1 && operation->weight > kLongWeight)
    operation->mayTakeLong = true;
  bool isNested = current && current->operation;
  if (!operation->isQuick || isNested ||
      !(runAtOnce(operation) ||
        (waitForQuick(*operation) && runAtOnce(operation))))
    queue(operation);
}

void Engine::queue(Operation *operation) {
  if (isFull(operation->bytes) && !(current && current->operation))
    waitForRoom(operation->bytes);
  operation->isCounted = true;
  if (!operation->isQuick)
    pushedSlow.fetch_add(1, std::memory_order_relaxed);
  operation->ticket = pushed.fetch_add(1, std::memory_order_relaxed);
  pushedBytes.fetch_add(operation->bytes, std::memory_order_relaxed);
  Operation *head = incoming.load(std::memory_order_relaxed);
  do
    operation->next = head;
  while (!incoming.compare_exchange_weak(
      head, operation, std::memory_order_seq_cst, std::memory_order_relaxed));
  // Either this thread sees that nobody will look, or who has just stopped
  // looking sees the operation: both sides write, then read, in one order.
  if (numAttentive.load(std::memory_order_seq_cst) <= 0 &&
      numSleeping.load(std::memory_order_relaxed) > 0) {
    Lock lock(mutex);
    if (numAttentive.load(std::memory_order_relaxed) <= 0)
      wakeOne();
  }
}

/// Lets quick operations that are queued finish, rather than queue more of them
/// behind: to hand each over would take longer. False if that is not what
/// `operation` waits for.
bool Engine::waitForQuick(const Operation &operation) {
  if (pushedSlow.load(std::memory_order_relaxed) !=
      completedSlow.load(std::memory_order_relaxed))
    return false;
  auto canStart = [&] {
    return std::all_of(
        operation.accesses, operation.accesses + operation.numAccesses,
        [](const Access &access) {
          uint64_t uses = access.storage->uses.load(std::memory_order_acquire);
          return access.kind == AccessKind::Read
                     ? (uses & Storage::kWrites) == 0
                     : (uses & Storage::kReadsAndWrites) == Storage::kWrite;
        });
  };
  return help(canStart) || spin_until(kCallerSpin, canStart);
}

/// Runs a quick operation on the calling thread if nothing is in its way.
/// Errors are kept, as if it had been queued.
bool Engine::runAtOnce(Operation *operation) {
  Garbage garbage;
  Lock lock(mutex, std::try_to_lock);
  if (!lock)
    return false;
  analyse(kBatch);
  // What was queued before must be known: a batch may end where `arrived` does.
  bool isBehind = arrived.first || incoming.load(std::memory_order_relaxed);
  if (isBehind || !Dependencies::canStart(*operation)) {
    publishOffer();
    return false;
  }
  Dependencies::add(*operation);
  operation->ticket = pushed.load(std::memory_order_relaxed);
  operation->numRunners = 1;
  std::unique_ptr<Worker> worker = takeSpareWorker();
  lock.unlock();
  current = worker.get();
  perform(*operation, *worker, true);
  current = nullptr;
  lock = acquire();
  spareWorkers.push_back(std::move(worker));
  complete(operation, garbage);
  publishOffer();
  return true;
}

bool Engine::isFull(uint64_t bytes) const {
  auto full = [&] {
    uint64_t queued = pushed.load(std::memory_order_relaxed) -
                      seenCompleted.load(std::memory_order_relaxed);
    uint64_t queuedBytes = pushedBytes.load(std::memory_order_relaxed) -
                           seenCompletedBytes.load(std::memory_order_relaxed);
    return queued >= maxOperations.load(std::memory_order_relaxed) ||
           (queued > 0 &&
            queuedBytes + bytes > maxBytes.load(std::memory_order_relaxed));
  };
  if (!full())
    return false;
  // What callers saw last may be old.
  seenCompletedBytes.store(completedBytes.load(std::memory_order_relaxed),
                           std::memory_order_relaxed);
  seenCompleted.store(completed.load(std::memory_order_relaxed),
                      std::memory_order_relaxed);
  return full();
}

/// Lets a caller go on when half of the queue is done: to wake it for each
/// single operation would cost more than that.
void Engine::waitForRoom(uint64_t bytes) {
  auto hasRoom = [&] {
    uint64_t queued = pushed.load(std::memory_order_relaxed) -
                      completed.load(std::memory_order_relaxed);
    return queued <= maxOperations.load(std::memory_order_relaxed) / 2 &&
           !isFull(bytes);
  };
  if (spin_until(kCallerSpin, hasRoom))
    return;
  Lock lock(mutex);
  block(lock, hasRoom);
}

/// Throws if `operation` would have to wait for one that waits for it, since it
/// is queued by it in synchronous mode.
void Engine::refuseWithin(const Operation &operation, const Worker *outer) {
  for (; outer; outer = outer->outer)
    for (uint32_t i = 0; i < operation.numAccesses; ++i)
      for (uint32_t j = 0; j < outer->operation->numAccesses; ++j) {
        const Access &inner = operation.accesses[i];
        const Access &held = outer->operation->accesses[j];
        if (inner.storage == held.storage &&
            (inner.kind != AccessKind::Read || held.kind != AccessKind::Read))
          throw Error(TINH_INVALID_ARGUMENT,
                      describe(operation.call,
                               std::string("accesses what the function ") +
                                   outer->operation->call.name +
                                   " writes, or writes what it reads, while "
                                   "that runs in synchronous mode"));
      }
}

/// What a caller runs operations with.
std::unique_ptr<Worker> Engine::takeSpareWorker() {
  if (spareWorkers.empty())
    return std::make_unique<Worker>();
  std::unique_ptr<Worker> worker = std::move(spareWorkers.back());
  spareWorkers.pop_back();
  return worker;
}

/// Runs an operation on the calling thread, and throws its error.
void Engine::runNow(Operation *operation) {
  Garbage garbage;
  Ref<OperationError> error;
  {
    std::unique_ptr<Worker> worker;
    Owner owner;
    operation->owner = &owner;
    Lock lock = acquire();
    worker = takeSpareWorker();
    analyse(UINT32_MAX);
    Dependencies::add(*operation);
    publishOffer();
    owner.changed.wait(lock, [&] { return operation->numWaiting == 0; });
    operation->numRunners = 1;
    lock.unlock();

    worker->outer = std::exchange(current, worker.get());
    perform(*operation, *worker, true);
    current = worker->outer;

    lock = acquire();
    error = operation->error;
    complete(operation, garbage);
    publishOffer();
    spareWorkers.push_back(std::move(worker));
  }
  if (error)
    throw Error(error->status, error->message);
}

//===----------------------------------------------------------------------===//
// Waiting
//===----------------------------------------------------------------------===//

/// Sleeps until `condition()`, which is called under the lock, by workers.
template <typename Condition>
void Engine::block(Lock &lock, Condition condition) {
  Waiter waiter;
  waiter.condition = &condition;
  waiter.isMet = [](void *met) { return (*static_cast<Condition *>(met))(); };
  waiter.next = waiters;
  waiters = &waiter;
  waiter.met.wait(lock, condition);
  Waiter **link = &waiters;
  while (*link != &waiter)
    link = &(*link)->next;
  *link = waiter.next;
}

template <typename Condition> void Engine::waitUntil(Condition condition) {
  if (help(condition) || spin_until(kCallerSpin, condition))
    return;
  Lock lock(mutex);
  block(lock, condition);
}

/// Runs small operations as long as no worker is at work: then what this thread
/// waits for is done before a worker is awake. True if the condition is met.
template <typename Condition> bool Engine::help(Condition condition) {
  Garbage garbage;
  Lock lock = acquire();
  std::unique_ptr<Worker> worker = takeSpareWorker();
  for (;;) {
    analyse(kBatch);
    Operation *operation = ready.first;
    if (condition() || numRunning > 0 || !operation ||
        operation->numChunks > 1 || operation->mayTakeLong)
      break;
    popReady();
    ++numRunning;
    operation->numRunners = 1;
    publishOffer();
    lock.unlock();
    garbage.clear();
    current = worker.get();
    perform(*operation, *worker, true);
    current = nullptr;
    lock = acquire();
    --numRunning;
    complete(operation, garbage);
  }
  spareWorkers.push_back(std::move(worker));
  publishOffer();
  return condition();
}

/// Whether this thread runs an operation that must not wait for `storage`. Its
/// own storages are ready; for others it could wait for ever.
static bool accesses(const Operation &operation, const Storage &storage) {
  return std::any_of(
      operation.accesses, operation.accesses + operation.numAccesses,
      [&](const Access &access) { return access.storage == &storage; });
}

void Engine::wait(Storage &storage, uint64_t uses) {
  auto isDone = [&] {
    return (storage.uses.load(std::memory_order_acquire) & uses) == 0;
  };
  if (isDone())
    return;
  if (current && current->operation) {
    if (accesses(*current->operation, storage))
      return;
    throw Error(TINH_INVALID_ARGUMENT,
                describe(current->operation->call,
                         "a function that the engine runs waits for a tensor "
                         "that it does not read; declare that it does"));
  }
  waitUntil(isDone);
}

void Engine::waitToRead(Storage &storage) {
  wait(storage, Storage::kWrites);
  if (!(storage.uses.load(std::memory_order_acquire) & Storage::kPoisoned) &&
      (storage.bytes || storage.numBytes == 0))
    return;
  Lock lock(mutex);
  if (Ref<OperationError> error = storage.error)
    throw Error(error->status, error->message);
  // Nobody has written it.
  if (!storage.bytes)
    storage.bytes = Pool::get().allocate(storage.numBytes);
}

void Engine::waitToWrite(Storage &storage) {
  wait(storage, Storage::kReadsAndWrites);
  waitToRead(storage);
}

bool Engine::isReadyToRead(const Storage &storage) const {
  return (storage.uses.load(std::memory_order_acquire) & Storage::kWrites) == 0;
}

bool Engine::isDone() const {
  return completed.load(std::memory_order_acquire) ==
         pushed.load(std::memory_order_acquire);
}

/// For all that is queued, whatever its errors.
void Engine::waitUntilDone() {
  Lock lock(mutex);
  block(lock, [this] { return isDone(); });
}

void Engine::waitAll() {
  if (current && current->operation)
    throw Error(TINH_INVALID_ARGUMENT,
                describe(current->operation->call,
                         "a function that the engine runs waits for all "
                         "operations, and so for itself"));
  waitUntil([this] { return isDone(); });
  Lock lock(mutex);
  if (Ref<OperationError> error = std::exchange(firstError, nullptr))
    throw Error(error->status, error->message);
}

std::string place(const Call &call) {
  if (call.at.line() == 0) // Asked for by the compiler, not by a program.
    return call.name;
  const char *file = call.at.file_name();
  const char *slash = std::strrchr(file, '/');
  return std::string(slash ? slash + 1 : file) + ":" +
         std::to_string(call.at.line()) + ": " + call.name;
}

std::string describe(const Call &call, std::string_view message) {
  return (place(call) + ": ").append(message);
}

} // namespace tinh::eager
