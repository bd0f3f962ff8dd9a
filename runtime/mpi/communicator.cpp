//===- communicator.cpp - The thread that calls MPI -----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "communicator.h"

#include "messages.h"
#include "rounds.h"

#include <algorithm>

namespace tinh::mpi {

namespace {

using namespace std::chrono_literals;

/// How long a rank that has failed lives on, for the others to hear of it: one
/// that ends while another reads its memory takes that one with it (UCX).
constexpr auto kGrace = 500ms;

/// How long programs may take to start, however short the timeout is.
constexpr Clock::duration kStarting = 10s;

/// How often ranks that share memory ask MPI for heartbeats, which come every
/// 10 ms at most.
constexpr auto kPolling = 5ms;

/// Elements of all ranks in a message, which MPI counts by an int.
constexpr uint64_t kLargestMessage = 1 << 22;

Communicator &from(tinh_collectives_t *table) {
  return *static_cast<Communicator *>(table);
}

} // namespace

//===----------------------------------------------------------------------===//
// For the program's threads
//===----------------------------------------------------------------------===//

Communicator::Communicator(Clock::duration timeout)
    : tinh_collectives_t{}, timeout(timeout) {
  struct_size = sizeof(tinh_collectives_t);
  start = [](tinh_collectives_t *table, const tinh_collective_t *collective,
             uint64_t *ticket) {
    return from(table).begin(*collective, *ticket);
  };
  wait = [](tinh_collectives_t *table, uint64_t ticket) {
    return from(table).wait_for(ticket, nullptr);
  };
  wait_timed = [](tinh_collectives_t *table, uint64_t ticket,
                  int64_t *finished) {
    return from(table).wait_for(ticket, finished);
  };
  abort = [](tinh_collectives_t *table, const char *why) {
    from(table).give_up(why);
  };
  destroy = [](tinh_collectives_t *table) { delete &from(table); };
  tinh_collectives_t::failure = [](tinh_collectives_t *table) {
    return from(table).known_failure();
  };
}

std::unique_ptr<Communicator> Communicator::join(Clock::duration timeout) {
  std::unique_ptr<Communicator> owned(new Communicator(timeout));
  Communicator &own = *owned;
  own.thread = std::thread([&own] { own.run(); });
  std::unique_lock lock(own.mutex);
  Clock::duration limit = std::max(timeout, kStarting);
  if (!own.for_program.wait_for(
          lock, limit, [&] { return own.is_ready || !own.failure.empty(); })) {
    std::string why = "not all ranks have joined within " + seconds(limit) +
                      ": one of them has ended, or runs another program, or "
                      "what needs no others";
    // MPI may wait for them for ever. If they come, they are told.
    own.abort_reason = why;
    own.thread.detach();
    owned.release();
    throw NotJoined(why);
  }
  if (own.failure.empty())
    return owned;
  lock.unlock();
  own.thread.join();
  throw Failure(own.failure);
}

Communicator::~Communicator() {
  {
    std::lock_guard lock(mutex);
    is_leaving = true;
    wake();
  }
  if (thread.joinable())
    thread.join();
}

const char *Communicator::begin(const tinh_collective_t &collective,
                                uint64_t &ticket) {
  std::lock_guard lock(mutex);
  if (!failure.empty())
    return failure.c_str();
  std::string mistake = find_mistake(collective, static_cast<int>(num_ranks));
  if (!mistake.empty())
    return mistakes.emplace_back(std::move(mistake)).c_str();
  ticket = num_started++;
  tickets.emplace(ticket, std::nullopt);
  queue.emplace_back(ticket, collective);
  wake();
  return nullptr;
}

const char *Communicator::wait_for(uint64_t ticket, int64_t *finished) {
  std::unique_lock lock(mutex);
  auto found = tickets.find(ticket);
  if (found == tickets.end())
    return mistakes
        .emplace_back("there is no collective to wait for with ticket " +
                      std::to_string(ticket))
        .c_str();
  for_program.wait(lock, [&] { return found->second || !failure.empty(); });
  std::optional<Clock::time_point> done = found->second;
  tickets.erase(found);
  if (!done)
    return failure.c_str();
  if (finished)
    *finished = std::chrono::nanoseconds(done->time_since_epoch()).count();
  return nullptr;
}

const char *Communicator::known_failure() {
  std::lock_guard lock(mutex);
  return failure.empty() ? nullptr : failure.c_str();
}

void Communicator::give_up(const char *why) {
  std::lock_guard lock(mutex);
  if (abort_reason.empty())
    abort_reason = "rank " + std::to_string(rank) + " has given up: " + why;
  wake();
}

/// The progress thread. With the mutex locked, without which it does not end.
void Communicator::wake() {
  for_progress.notify_one();
  if (memory && failure.empty())
    memory->wake(static_cast<int>(local_rank));
}

//===----------------------------------------------------------------------===//
// The progress thread
//===----------------------------------------------------------------------===//

void Communicator::run() {
  try {
    Group group;
    auto owned = std::make_unique<Peers>(group, timeout);
    Peers &peers = *owned;
    {
      std::lock_guard lock(mutex);
      memory = group.share_memory();
      rank = static_cast<uint32_t>(group.rank);
      num_ranks = static_cast<uint32_t>(group.num_ranks);
      local_rank = static_cast<uint32_t>(group.local_rank);
      num_local_ranks = static_cast<uint32_t>(group.num_local_ranks);
      cpus = group.cpus;
      library_name = group.library + (memory ? ", shared memory" : "");
      library = library_name.c_str();
      is_ready = true;
    }
    for_program.notify_all();
    try {
      progress(group, peers);
    } catch (const std::exception &error) {
      // Messages may still be on their way to and from the memory of both, if
      // the program goes on to call MPI: it is never freed.
      owned.release();
      new std::deque<Active>(std::move(active));
      // Before the program knows, which may end then.
      const auto *failure = dynamic_cast<const Failure *>(&error);
      if (!failure || !failure->is_told)
        peers.tell(error.what(), failure ? failure->rank : -1);
      std::this_thread::sleep_for(kGrace);
      throw;
    }
  } catch (const std::exception &error) {
    fail(error.what());
  }
}

void Communicator::progress(Group &group, Peers &peers) {
  for (;;) {
    bool has_moved = take_started(group);
    has_moved |= advance();
    memory ? sleep(has_moved) : rest(has_moved);
    if (auto now = Clock::now(); !memory || now - last_polled >= kPolling) {
      last_polled = now;
      peers.poll(num_begun);
      check_overdue(peers);
    }
    std::unique_lock lock(mutex);
    if (!abort_reason.empty())
      throw Failure(abort_reason);
    if (!is_leaving || !queue.empty())
      continue;
    lock.unlock();
    if (!active.empty())
      throw Failure("rank " + std::to_string(rank) + " has left before the " +
                    active.front().operation->describe() + " was finished");
    peers.leave(num_begun);
    if (memory)
      memory->release();
    return group.finalize();
  }
}

/// Begins what the program has started, and says whether that was anything;
/// waits for it for some milliseconds if there is nothing else to do.
bool Communicator::take_started(const Group &group) {
  std::deque<std::pair<uint64_t, tinh_collective_t>> started;
  {
    std::unique_lock lock(mutex);
    if (active.empty() && !memory)
      for_progress.wait_for(lock, 10ms, [&] {
        return !queue.empty() || is_leaving || !abort_reason.empty();
      });
    started.swap(queue);
  }
  for (auto &[ticket, collective] : started) {
    for (std::unique_ptr<Operation> &operation : make(collective, group)) {
      operation->begin();
      active.push_back({std::move(operation), ticket, Clock::now()});
    }
    ++num_begun;
  }
  return !started.empty();
}

/// One, or several messages, one after the other.
std::vector<std::unique_ptr<Operation>>
Communicator::make(const tinh_collective_t &collective, const Group &group) {
  std::vector<std::unique_ptr<Operation>> made;
  if (memory) {
    auto rounds =
        std::make_unique<Rounds>(collective, group, *memory, num_rounds);
    num_rounds = rounds->end();
    made.push_back(std::move(rounds));
    return made;
  }
  for (const tinh_collective_t &part :
       divide(collective, group.num_ranks, kLargestMessage))
    made.push_back(std::make_unique<Messages>(part, group, collective.count));
  return made;
}

/// Whether anything has been done.
bool Communicator::advance() {
  bool may_gather = true, has_moved = false;
  for (Active &each : active) {
    Operation &operation = *each.operation;
    if (each.is_finished)
      continue;
    has_moved |= operation.advance(may_gather);
    may_gather &= !operation.will_gather();
    if (operation.is_done()) {
      each.is_finished = true;
      if (is_finished(each.ticket))
        finish(each.ticket);
    }
  }
  while (!active.empty() && active.front().is_finished)
    active.pop_front();
  if (has_moved)
    last_advanced = Clock::now();
  return has_moved;
}

void Communicator::check_overdue(const Peers &peers) const {
  for (const Active &each : active) {
    // One may wait for earlier ones, as long as these go on.
    auto late = Clock::now() - std::max(each.begun, last_advanced);
    if (each.operation->has_all_ranks() ||
        (late <= timeout && !peers.previous_has_left()))
      continue;
    // Whether it is there at all will be known soon, and is more to the point.
    if (peers.previous_is_silent())
      return;
    int previous = peers.previous();
    auto what = "the " + each.operation->describe() + ", collective " +
                std::to_string(each.ticket);
    auto that = "rank " + std::to_string(previous);
    if (peers.started_by_previous() <= each.ticket)
      throw Failure(peers.previous_has_left()
                        ? that + " has left without " + what +
                              ", which others wait for"
                        : that + " has not started " + what +
                              ", which others wait for; it hangs, or runs "
                              "another program",
                    previous);
    if (late > 2 * timeout)
      throw Failure(what + " does not end, though " + that + " has started it");
  }
}

/// Leaves the CPU to others while messages are on their way.
void Communicator::rest(bool has_moved) {
  auto now = Clock::now();
  if (has_moved || active.empty())
    last_moved = now;
  else if (now - last_moved < 200us)
    std::this_thread::yield();
  else
    std::this_thread::sleep_for(20us);
}

/// Until another rank has gone on, or the program wants something.
void Communicator::sleep(bool has_moved) {
  bool may_sleep = is_announced && !has_moved;
  is_announced = !is_announced && !has_moved;
  if (may_sleep)
    memory->sleep(10ms);
  else if (is_announced)
    memory->announce(); // And looks once more.
  else
    memory->retract();
}

bool Communicator::is_finished(uint64_t ticket) const {
  return std::ranges::all_of(active, [&](const Active &each) {
    return each.ticket != ticket || each.is_finished;
  });
}

void Communicator::finish(uint64_t ticket) {
  {
    std::lock_guard lock(mutex);
    tickets.at(ticket) = Clock::now();
  }
  for_program.notify_all();
}

void Communicator::fail(const std::string &why) {
  {
    std::lock_guard lock(mutex);
    failure = why;
  }
  for_program.notify_all();
}

} // namespace tinh::mpi
