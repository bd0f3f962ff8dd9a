//===- Workers.cpp - The threads that run operations ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A worker takes what callers have queued, finds out what may start, and runs
// it. One is enough for operations that are small: others are woken only for
// work that is worth it, and one at most looks for work without sleeping.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Engine/Dependencies.h"
#include "compiler/Eager/Engine/Engine.h"
#include "compiler/Eager/Engine/Pool.h"
#include "runtime/src/shared/futex.h"

#include <algorithm>
#include <pthread.h>

namespace tinh::eager {

using runtime::cpu_relax;
using runtime::spin_until;

// Bytes accessed by operations that may start, from which on it pays to wake a
// thread for them.
static constexpr uint64_t kWorthWaking = 64 << 10;

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

void Engine::List::pushBack(Operation *operation) {
  operation->next = nullptr;
  (first ? last->next : first) = operation;
  last = operation;
}

void Engine::List::pushFront(Operation *operation) {
  operation->next = first;
  if (!first)
    last = operation;
  first = operation;
}

Operation *Engine::List::popFront() {
  Operation *operation = first;
  first = operation->next;
  return operation;
}

void Engine::List::remove(Operation *operation) {
  Operation *previous = nullptr;
  for (Operation *at = first; at; previous = at, at = at->next) {
    if (at != operation)
      continue;
    (previous ? previous->next : first) = at->next;
    if (last == at)
      last = previous;
    return;
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

/// Critical sections are short: it pays to wait for a moment before sleeping.
Engine::Lock Engine::acquire() {
  for (int i = 0; i < 100; ++i) {
    if (mutex.try_lock())
      return Lock(mutex, std::adopt_lock);
    cpu_relax();
  }
  return Lock(mutex);
}

void Engine::startWorkers() {
  // In synchronous mode, callers are workers.
  uint32_t count =
      chosen.workers - (chosen.mode == EngineMode::Synchronous ? 1 : 0);
  numThreads = count;
  numAttentive = static_cast<int32_t>(count);
  try {
    for (uint32_t i = 0; i < count; ++i)
      threads.emplace_back(&Engine::work, this);
  } catch (const std::system_error &error) {
    numAttentive -= static_cast<int32_t>(count - threads.size());
    numThreads = static_cast<uint32_t>(threads.size());
    if (threads.empty())
      throw Error(TINH_OUT_OF_MEMORY,
                  std::string("no thread to run operations: ") + error.what());
  }
}

void Engine::stopWorkers() {
  {
    Lock lock(mutex);
    stopping = true;
    while (wakeOne())
      ;
    publishOffer();
  }
  for (std::thread &thread : threads)
    thread.join();
  threads.clear();
  stopping = false;
  offer = false;
}

void Engine::work() {
  pthread_setname_np(pthread_self(), "tinh-engine");
  Worker worker;
  worker.isThread = true;
  current = &worker;
  bool wasRunning = false;
  Operation *done = nullptr;
  for (;;) {
    Garbage garbage;
    Lock lock = acquire();
    numRunning -= std::exchange(wasRunning, true);
    if (worker.busy) {
      worker.busy = false;
      numAttentive.fetch_add(1);
    }
    if (done)
      complete(done, garbage);
    Operation *operation = take(lock, garbage);
    if (!operation)
      break;
    ++numRunning;
    bool isFirst = operation->numRunners++ == 0;
    if (operation->mayTakeLong)
      becomeBusy(worker);
    publishOffer();
    lock.unlock();
    garbage.clear();
    done = perform(*operation, worker, isFirst) ? operation : nullptr;
  }
  numAttentive.fetch_sub(1);
  current = nullptr;
}

/// The next operation to run, or one that has chunks left; null to stop.
Operation *Engine::take(Lock &lock, Garbage &garbage) {
  for (bool hasSpun = false;;) {
    analyse(kBatch);
    if (shared.first)
      return shared.first;
    if (ready.first)
      return popReady();
    if (arrived.first)
      continue;
    if (stopping)
      return nullptr;
    if (!garbage.isEmpty()) {
      lock.unlock();
      garbage.clear();
      lock.lock();
    } else if (!hasSpun && !spinning) {
      spin(lock);
      hasSpun = true;
    } else {
      sleep(lock);
      hasSpun = false;
    }
  }
}

Operation *Engine::popReady() {
  Operation *operation = ready.popFront();
  readyWeight -= operation->weight;
  return operation;
}

void Engine::takeIncoming() {
  if (!incoming.load(std::memory_order_relaxed))
    return;
  Operation *operation = incoming.exchange(nullptr, std::memory_order_acquire);
  while (operation) {
    Operation *earlier = operation->next;
    // Callers have just written all of this, in another core's cache.
    for (size_t line = 64; line < 512; line += 64)
      __builtin_prefetch(reinterpret_cast<char *>(operation) + line);
    arrived.pushFront(operation);
    operation = earlier;
  }
}

/// Finds out which of the operations that were queued first may start: up to
/// `most` of them, so that running them is not put off for long.
void Engine::analyse(uint32_t most) {
  for (; most; --most) {
    if (!arrived.first)
      takeIncoming();
    if (!arrived.first)
      return;
    Operation *operation = arrived.popFront();
    if (Operation *following = arrived.first)
      for (uint32_t i = 0; i < following->numAccesses; ++i) {
        __builtin_prefetch(following->accesses[i].storage, 1);
        __builtin_prefetch(&following->accesses[i].storage->runningReads, 1);
      }
    if (Dependencies::add(*operation))
      addReady(operation, false);
  }
}

void Engine::addReady(Operation *operation, bool first) {
  if (operation->owner)
    return operation->owner->changed.notify_one();
  first ? ready.pushFront(operation) : ready.pushBack(operation);
  readyWeight += operation->weight;
}

//===----------------------------------------------------------------------===//
// Waking and sleeping
//===----------------------------------------------------------------------===//

/// Tells other workers whether there is something for them. Work is worth
/// waking a thread if it is large, or if nobody else is going to see to it.
void Engine::publishOffer() {
  int32_t others = numAttentive.load(std::memory_order_relaxed) - spinning;
  bool isNeeded = others <= 0 && (ready.first || arrived.first ||
                                  incoming.load(std::memory_order_seq_cst));
  bool value =
      shared.first || stopping || readyWeight >= kWorthWaking || isNeeded;
  if (offer.load(std::memory_order_relaxed) != value)
    offer.store(value, std::memory_order_release);
  if (value && !spinning)
    wakeOne();
}

/// Looks for work for a while. Operations that have just been queued are left
/// to a worker that is up and at small work.
void Engine::spin(Lock &lock) {
  std::chrono::microseconds time{chosen.spin_us};
  spinning = true;
  lock.unlock();
  spin_until(time, [this] {
    // Callers write `incoming` with each operation: looking at it more often
    // would slow them down.
    for (int i = 0; i < 16; ++i)
      cpu_relax();
    return offer.load(std::memory_order_acquire) ||
           (incoming.load(std::memory_order_relaxed) &&
            numAttentive.load(std::memory_order_relaxed) <= 1);
  });
  lock.lock();
  spinning = false;
}

void Engine::sleep(Lock &lock) {
  Sleeper sleeper;
  sleeper.next = sleepers;
  sleepers = &sleeper;
  numSleeping.fetch_add(1);
  // See submit() for the other side.
  if (numAttentive.fetch_sub(1, std::memory_order_seq_cst) == 1 &&
      incoming.load(std::memory_order_seq_cst))
    wakeOne();
  sleeper.woken.wait(lock, [&] { return sleeper.awake; });
}

/// False if no worker sleeps.
bool Engine::wakeOne() {
  if (!sleepers)
    return false;
  Sleeper *sleeper = std::exchange(sleepers, sleepers->next);
  sleeper->awake = true;
  numSleeping.fetch_sub(1);
  numAttentive.fetch_add(1);
  sleeper->woken.notify_one();
  return true;
}

/// Leaves the queue to others for a while; what is in it may need a thread that
/// sleeps, which publishOffer() finds out.
void Engine::becomeBusy(Worker &worker) {
  if (!worker.isThread || worker.busy)
    return;
  worker.busy = true;
  numAttentive.fetch_sub(1, std::memory_order_seq_cst);
}

Worker::~Worker() { std::free(memory); }

void *Worker::scratch(uint64_t size) {
  if (size <= memorySize)
    return memory;
  std::free(std::exchange(memory, nullptr));
  memorySize = 0;
  uint64_t block = Pool::blockSize(size);
  if (posix_memalign(&memory, 64, block) != 0)
    throw Error(TINH_OUT_OF_MEMORY, "out of memory: " + std::to_string(size) +
                                        " bytes of scratch asked for");
  memorySize = block;
  return memory;
}

void Worker::expectDelay() {
  Engine &engine = Engine::get();
  Engine::Lock lock = engine.acquire();
  engine.becomeBusy(*this);
  engine.publishOffer();
}

//===----------------------------------------------------------------------===//
// Running an operation
//===----------------------------------------------------------------------===//

/// Keeps the exception that is being handled as the operation's error.
static void fail(Operation &operation) {
  if (operation.failed.exchange(true))
    return;
  tinh_status_t status = TINH_DEPENDENCY_FAILED;
  std::string message = "an exception that is no std::exception";
  try {
    throw;
  } catch (const Error &error) {
    status = error.status();
    message = error.what();
  } catch (const std::bad_alloc &) {
    status = TINH_OUT_OF_MEMORY;
    message = "out of memory";
  } catch (const std::exception &error) {
    message = error.what();
  } catch (...) {
  }
  operation.error =
      new OperationError(status, describe(operation.call, message));
}

/// Runs an operation, or helps with it. True if it is done, and to be
/// completed by this thread.
bool Engine::perform(Operation &operation, Worker &worker, bool isFirst) {
  uint32_t hands =
      numThreads.load(std::memory_order_relaxed) + (operation.owner ? 1 : 0);
  bool isShared = operation.numChunks > 1 && hands > 1;
  bool isLast = true;
  worker.operation = &operation;
  if (!isFirst || prepare(operation)) {
    if (isShared && isFirst)
      share(operation);
    runChunks(operation, worker);
    if (isShared)
      isLast = leave(operation, isFirst);
  }
  worker.operation = nullptr;
  if (isLast && operation.destroyPayload)
    std::exchange(operation.destroyPayload, nullptr)(operation.payload);
  return isLast;
}

/// Sees to memory for what is written. False if the operation cannot run.
bool Engine::prepare(Operation &operation) {
  operation.error = Dependencies::inherited(operation);
  if (operation.error)
    return false;
  try {
    for (uint32_t i = 0; i < operation.numAccesses; ++i) {
      const Access &access = operation.accesses[i];
      Storage &storage = *access.storage;
      if (storage.bytes || storage.numBytes == 0)
        continue;
      if (access.kind == AccessKind::Read)
        throw Error(TINH_INVALID_ARGUMENT, "reads what was never written");
      storage.allocateBytes();
    }
    return true;
  } catch (...) {
    fail(operation);
    return false;
  }
}

/// Runs chunks as long as there are any that no thread has begun.
void Engine::runChunks(Operation &operation, Worker &worker) {
  uint32_t total = operation.numChunks;
  if (total == 1) {
    try {
      operation.run(operation.payload, 0, 1, worker);
    } catch (...) {
      fail(operation);
    }
    return;
  }
  uint32_t threads = numThreads.load(std::memory_order_relaxed) + 1;
  uint32_t batch = std::max(1u, total / (4 * threads));
  while (!operation.failed.load(std::memory_order_relaxed)) {
    uint32_t begin =
        operation.nextChunk.fetch_add(batch, std::memory_order_relaxed);
    if (begin >= total)
      return;
    try {
      operation.run(operation.payload, begin, std::min(begin + batch, total),
                    worker);
    } catch (...) {
      fail(operation);
    }
  }
}

/// Has other workers help.
void Engine::share(Operation &operation) {
  Lock lock = acquire();
  shared.pushBack(&operation);
  for (uint32_t i = 1; i < operation.numChunks && wakeOne(); ++i)
    ;
  publishOffer();
}

/// Has no chunk left to run. True for the thread that has to complete it.
bool Engine::leave(Operation &operation, bool isFirst) {
  Lock lock = acquire();
  shared.remove(&operation);
  bool isLast = --operation.numRunners == 0;
  if (!operation.owner)
    return isLast;
  if (isFirst) {
    operation.owner->changed.wait(lock,
                                  [&] { return operation.numRunners == 0; });
    return true;
  }
  if (isLast)
    operation.owner->changed.notify_one();
  return false;
}

/// Takes a finished operation out of the order: successors may start.
void Engine::complete(Operation *operation, Garbage &garbage) {
  if (operation->failed.load(std::memory_order_relaxed) && !operation->owner &&
      (!firstError || operation->ticket < firstErrorTicket)) {
    firstError = operation->error;
    firstErrorTicket = operation->ticket;
  }
  Dependencies::remove(
      *operation, [this](Operation *successor) { addReady(successor, true); },
      garbage.storages);
  garbage.operation = operation;
  if (operation->isCounted) {
    completedBytes.fetch_add(operation->bytes, std::memory_order_relaxed);
    completedSlow.fetch_add(!operation->isQuick, std::memory_order_relaxed);
    completed.fetch_add(1, std::memory_order_release);
  }
  for (Waiter *waiter = waiters; waiter; waiter = waiter->next)
    if (waiter->isMet(waiter->condition))
      waiter->met.notify_one();
}

} // namespace tinh::eager
