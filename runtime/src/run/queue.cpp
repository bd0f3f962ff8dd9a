//===- queue.cpp - Runs that wait, and who takes them -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "run/queue.h"

#include "threads/start_thread.h"

#include <algorithm>
#include <pthread.h>
#include <string_view>

namespace tinh::runtime {

Queue::Queue(Resources &resources, Execution &execution)
    : resources(resources), execution(execution) {
  for (Arena &arena : resources.arenas)
    free_arenas.push_back(&arena);
}

/// Under the mutex.
void Queue::require_open() const {
  if (closing)
    throw_error(TINH_CANCELLED, {"the context is being released"});
}

bool Queue::has_room() const {
  return num_in_flight < resources.options.max_in_flight &&
         num_state_users == 0;
}

void Queue::wait_for_room(Lock &lock) {
  require_open();
  if (has_room())
    return;
  bool refuses = resources.options.refuse_when_full;
  if (refuses && num_state_users)
    throw_error(TINH_BUSY, {"the context's state is being read or changed"});
  if (refuses)
    throw_error(
        TINH_BUSY,
        {num_in_flight, " runs are in flight, as many as the context allows"});
  lock.unlock();
  Future::prepare_to_wait("submitting to a full context");
  lock.lock();
  room.wait(lock, [&] { return closing || has_room(); });
  require_open();
}

void Queue::submit(const std::shared_ptr<Run> &run,
                   const std::vector<std::shared_ptr<Future>> &wait_for) {
  for (const std::shared_ptr<Future> &future : wait_for)
    future->require_this_process();
  resources.programs[run->function].require_ranks(
      resources.options.collectives);
  run->num_pending = static_cast<uint32_t>(wait_for.size());
  run->submitted = resources.trace ? trace_clock() : 0;
  {
    Lock lock(mutex);
    wait_for_room(lock);
    if (!leader.joinable())
      leader =
          start_thread("the thread for submitted runs", &Queue::lead, this);
    if (DeviceSteps *device = execution.device_steps())
      device->start_completer();
    queue.push_back(run);
    ++num_in_flight;
    run->keep_self = run;
    if (run->num_pending == 0)
      signal_work();
  }
  for (const std::shared_ptr<Future> &future : wait_for)
    future->then([this, run](tinh_status_t status, const char *message) {
      dependency_done(run, status, message);
    });
}

/// Of a chain of runs each tells why the first has failed.
static std::string first_cause(std::string message) {
  constexpr std::string_view kBegin = "a run that this one waits for failed: ";
  if (!message.starts_with(kBegin))
    message.insert(0, kBegin);
  return message;
}

/// A queued run, under the mutex.
void Queue::remove(Run &run) {
  queue.erase(std::ranges::find(queue, run.keep_self));
  run.state = Run::State::completed;
}

void Queue::dependency_done(const std::shared_ptr<Run> &run,
                            tinh_status_t status, const char *message) {
  if (!home.is_here())
    return;
  {
    Lock lock(mutex);
    if (run->state != Run::State::queued)
      return;
    if (status == TINH_OK) {
      if (--run->num_pending == 0)
        signal_work();
      return;
    }
    remove(*run);
  }
  complete(*run, TINH_DEPENDENCY_FAILED, first_cause(message));
}

void Queue::cancel(Run &run) {
  home.require();
  {
    Lock lock(mutex);
    if (run.state != Run::State::queued)
      throw_error(TINH_ALREADY_STARTED,
                  {"the run has started and cannot be cancelled any more"});
    remove(run);
  }
  complete(run, TINH_CANCELLED, "the run was cancelled");
}

/// What a run leaves in its caller's memory, the caller orders; what other
/// ranks compute with it, they order.
bool Queue::keeps_order(const Run &run) const {
  const Program &program = resources.programs[run.function];
  return program.computes_with_ranks() ||
         (run.arguments.on_state && program.function().mutates_state != 0);
}

/// The arena that a run of the function may start in, or null. All ranks take
/// turns with those for collectives of GPUs in one order: each arena has graphs
/// that ranks have made, and launch, together.
Arena *Queue::arena_for(uint32_t function) const {
  if (!resources.programs[function].computes_with_gpus())
    return free_arenas.empty() ? nullptr : free_arenas.back();
  std::vector<Arena> &arenas = resources.arenas;
  Arena *next = &arenas[num_turns % arenas.size()];
  return std::ranges::find(free_arenas, next) == free_arenas.end() ? nullptr
                                                                   : next;
}

std::shared_ptr<Run> Queue::next_run() {
  for (auto it = queue.begin(); it != queue.end(); ++it) {
    bool ordered = keeps_order(**it);
    if (ordered && it != queue.begin())
      return nullptr;
    if ((*it)->num_pending == 0 && arena_for((*it)->function)) {
      std::shared_ptr<Run> run = std::move(*it);
      queue.erase(it);
      return run;
    }
    if (ordered)
      return nullptr;
  }
  return nullptr;
}

/// Gives `run` its place in the sequence of runs. Under the mutex.
void Queue::start(Run &run) {
  bool ordered = keeps_order(run);
  run.state = Run::State::executing;
  run.number = num_started++;
  run.arena = arena_for(run.function);
  std::erase(free_arenas, run.arena);
  num_turns += resources.programs[run.function].computes_with_gpus();
  run.exclusive = ordered || last_ordered;
  last_ordered = ordered;
  has_leader = true;
}

void Queue::release_place(Run &run) {
  run.state = Run::State::completed;
  if (run.arena)
    free_arenas.push_back(run.arena);
  --num_in_flight;
  room.notify_all();
  if (!queue.empty())
    signal_work();
  if (resources.trace && run.arena)
    resources.trace->add_run(resources.programs[run.function].function(),
                             run.number, run.submitted, trace_clock());
}

void Queue::complete(Run &run, tinh_status_t status, std::string message) {
  std::shared_ptr<Run> keep;
  {
    Lock lock(mutex);
    keep = std::move(run.keep_self);
    // At once: where no place is taken, all runs are done.
    run.Future::complete(status, std::move(message));
    release_place(run);
  }
  run.call_continuations();
}

/// Under the mutex.
bool Queue::may_run_here(uint32_t function) const {
  return !has_leader && queue.empty() && arena_for(function) && has_room();
}

void Queue::run_now(const std::shared_ptr<Context> &context, uint32_t function,
                    Arguments arguments) {
  Lock lock(mutex);
  require_open();
  if (!may_run_here(function)) {
    lock.unlock();
    auto run = std::make_shared<Run>(context, function, std::move(arguments));
    submit(run, {});
    tinh_status_t status = run->Future::wait(); // Also in callbacks.
    if (status != TINH_OK)
      throw_error(status, {run->message()});
    return;
  }
  resources.programs[function].require_ranks(resources.options.collectives);
  Run run(context, function, std::move(arguments));
  execute_here(run, lock);
  lock.unlock();
  if (run.status != TINH_OK)
    throw_error(run.status, {run.why});
}

/// From start to end; under the mutex when it begins and when it returns.
void Queue::execute_here(Run &run, Lock &lock) {
  run.completes_itself = false;
  run.submitted = resources.trace ? trace_clock() : 0;
  ++num_in_flight;
  start(run);
  lock.unlock();
  execution.execute(run);
  execution.wait_for_workers(run);
  lock.lock();
  has_leader = false;
  if (execution.ends_on_device(run)) {
    // Others may start while this thread waits for the GPU.
    if (!queue.empty())
      signal_work();
    lock.unlock();
    execution.complete_on_device(run);
    lock.lock();
  }
  run.end_collectives();
  release_place(run);
}

void Queue::wait_all() {
  home.require();
  Future::prepare_to_wait("waiting for all runs");
  Lock lock(mutex);
  room.wait(lock, [&] { return num_in_flight == 0; });
}

void Queue::while_idle(const std::function<void()> &use) {
  home.require();
  Future::prepare_to_wait("reading or changing the state");
  Lock lock(mutex);
  ++num_state_users;
  room.wait(lock, [&] { return num_in_flight == 0 && !state_in_use; });
  state_in_use = true;
  lock.unlock();
  auto finish = [&] {
    lock.lock();
    state_in_use = false;
    --num_state_users;
    room.notify_all();
  };
  try {
    use();
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

void Queue::lead() {
  pthread_setname_np(pthread_self(), "tinh-leader");
  if (resources.options.pin_threads)
    pin_this_thread(0);
  Lock lock(mutex);
  while (!stopping) {
    std::shared_ptr<Run> run = has_leader ? nullptr : next_run();
    if (!run) {
      wait_for_work(lock);
      continue;
    }
    start(*run);
    lock.unlock();
    execution.execute(*run);
    run.reset();
    lock.lock();
    has_leader = false;
  }
}

void Queue::signal_work() {
  events.fetch_add(1, std::memory_order_release);
  if (leader_sleeps)
    work.notify_one();
}

void Queue::wait_for_work(Lock &lock) {
  uint32_t seen = events.load(std::memory_order_acquire);
  auto news = [&] { return events.load(std::memory_order_acquire) != seen; };
  lock.unlock();
  spin_until(resources.spin, news);
  lock.lock();
  leader_sleeps = true;
  work.wait(lock, news);
  leader_sleeps = false;
}

void Queue::close() {
  std::list<std::shared_ptr<Run>> cancelled;
  {
    Lock lock(mutex);
    closing = true; // A callback may still try to submit.
    room.notify_all();
    cancelled.swap(queue);
    for (const std::shared_ptr<Run> &run : cancelled)
      run->state = Run::State::completed;
  }
  for (const std::shared_ptr<Run> &run : cancelled)
    complete(*run, TINH_CANCELLED, "the run's context was released");
  Future::call_due();
  {
    Lock lock(mutex);
    room.wait(lock, [&] { return num_in_flight == 0; });
    stopping = true;
    signal_work();
  }
  if (leader.joinable())
    leader.join();
}

} // namespace tinh::runtime
