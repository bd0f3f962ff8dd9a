//===- executor.cpp - Queue and execution of runs ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue: submitting, waiting, cancelling and completing. What happens while
// a run executes is in executor_walk.cpp.
//
//===----------------------------------------------------------------------===//
#include "executor.h"

#include "choose_device.h"
#include "cpu_count.h"
#include "error.h"
#include "handles.h"
#include "start_thread.h"

#include <algorithm>
#include <string_view>

namespace tinh::runtime {

static constexpr uint32_t kMaxThreads = 4096;
/// About twice what waking a sleeping thread costs: less loses on free CPUs,
/// more burns the time of a CPU that workers have come to share.
static constexpr std::chrono::microseconds kDefaultSpin{50};

tinh_context_options_t Executor::default_options() {
  tinh_context_options_t options = {};
  options.max_in_flight = 4;
  options.spin_us = -1;
  return options;
}

/// What `options` ask for, in full. Throws INVALID_ARGUMENT.
static tinh_context_options_t checked(tinh_context_options_t options) {
  if (options.threads == 0)
    options.threads =
        std::max(1u, static_cast<uint32_t>(usable_cpus(options.collectives)));
  if (options.threads > kMaxThreads)
    throw_error(TINH_INVALID_ARGUMENT, {"a context has at most ", kMaxThreads,
                                        " threads, not ", options.threads});
  if (options.max_in_flight == 0)
    throw_error(TINH_INVALID_ARGUMENT, {"max_in_flight must be at least 1"});
  if (options.check_numerics < TINH_CHECK_NOTHING ||
      options.check_numerics > TINH_CHECK_NANS_AND_INFINITIES)
    throw_error(TINH_INVALID_ARGUMENT,
                {"check_numerics is none of the values of "
                 "tinh_check_numerics_t"});
  if (options.cuda_stream)
    options.cuda_device = device_api().stream_device(*options.cuda_stream);
  return options;
}

static ThreadPool::Options pool_options(const tinh_context_options_t &options) {
  ThreadPool::Options of_pool;
  of_pool.num_workers = options.parallel_for ? 1 : options.threads;
  of_pool.pin = options.pin_threads;
  if (options.spin_us >= 0)
    of_pool.spin = std::chrono::microseconds(options.spin_us);
  else if (options.threads <= usable_cpus(options.collectives))
    of_pool.spin = kDefaultSpin;
  return of_pool;
}

Executor::Executor(std::shared_ptr<const Module> module,
                   const tinh_context_options_t &wanted)
    : loaded(std::move(module)), options(checked(wanted)) {
  if (options.trace_path || options.measure_steps)
    trace.emplace(options.trace_path ? options.trace_path : "",
                  options.threads);
  options.trace_path = nullptr; // The caller's.
  ChosenDevice chosen = choose_device(loaded, options);
  loaded = std::move(chosen.module);
  gpu = std::move(chosen.gpu);
  why_not_cuda = std::move(chosen.why_not_cuda);
  if (options.check_numerics != TINH_CHECK_NOTHING)
    numerics.emplace(*loaded, options.check_numerics);

  ThreadPool::Options of_pool = pool_options(options);
  spin = of_pool.spin;
  make_memory();
  pool = std::make_unique<ThreadPool>(of_pool);
}

Executor::~Executor() = default;

/// Of each thread, in bytes.
static uint64_t scratch_size(const tinh_artifact_t &artifact) {
  uint64_t scratch = 0;
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    if (artifact.kernels[i].device == TINH_DEVICE_CPU)
      scratch = std::max(scratch, artifact.kernels[i].scratch_size);
  constexpr uint64_t kPage = 4096;
  return (scratch + kPage - 1) / kPage * kPage;
}

/// What an arena that is large enough for all functions is for.
static std::string arena_purpose(const tinh_artifact_t &artifact) {
  uint64_t size = 0;
  std::string purpose = "the arena";
  for (uint32_t i = 0; i < artifact.num_functions; ++i)
    if (const auto &function = artifact.functions[i];
        function.arena_size > size) {
      size = function.arena_size;
      purpose = message_of({"the arena, which holds the intermediate tensors "
                            "of '",
                            function.name, "'"});
    }
  return purpose;
}

/// That of a context without a GPU.
static void make_arena(const Module &module,
                       const std::vector<Program> &programs, uint64_t size,
                       Arena &arena) {
  arena.memory =
      MappedMemory::anonymous(size, arena_purpose(module.artifact()));
  for (const Program &program : programs)
    arena.tables.push_back(
        program.address_table({arena.memory.data(), module.weights()}));
}

void Executor::make_memory() {
  const tinh_artifact_t &artifact = loaded->artifact();
  scratch_stride = scratch_size(artifact);
  scratch_memory = MappedMemory::anonymous(
      scratch_stride * options.threads,
      message_of({"the scratch memory of ", options.threads, " threads"}));
  variables.emplace(*loaded, gpu, /*is_given=*/is_on_stream());

  for (uint32_t i = 0; i < artifact.num_functions; ++i) {
    programs.emplace_back(*loaded, artifact.functions[i], options.threads,
                          /*all_walk=*/goes_by_steps());
    arena_size = std::max(arena_size, artifact.functions[i].arena_size);
    device_arena_size =
        std::max(device_arena_size, artifact.functions[i].device_arena_size);
  }
  for (uint32_t worker = 0; worker < options.threads; ++worker)
    walks.emplace_back(programs);
  // One worker finishes a run before it starts the next.
  bool overlap = (options.threads > 1 || gpu) && !goes_by_steps();
  arenas.resize(overlap ? std::min(options.max_in_flight, 2u) : 1);
  if (options.collectives)
    ranks = std::make_shared<Ranks>(options.collectives, loaded->identity());
  for (Arena &arena : arenas) {
    if (ranks)
      arena.collectives =
          std::make_unique<CollectiveSteps>(ranks, trace ? &*trace : nullptr);
    if (gpu)
      make_device_arena(arena);
    else
      make_arena(*loaded, programs, arena_size, arena);
    free_arenas.push_back(&arena);
  }
  if (gpu)
    cuda_libraries = gpu->report_libraries();
}

tinh_context_info_t Executor::info() const {
  tinh_context_info_t info = {};
  info.threads = options.threads;
  info.max_in_flight = options.max_in_flight;
  info.arena_size = arena_size;
  info.num_arenas = static_cast<uint32_t>(arenas.size());
  info.scratch_size = scratch_stride * options.threads;
  info.uses_cuda = gpu != nullptr;
  info.cuda_device = options.cuda_device;
  info.why_not_cuda = why_not_cuda.empty() ? nullptr : why_not_cuda.c_str();
  info.cuda_libraries =
      cuda_libraries.empty() ? nullptr : cuda_libraries.c_str();
  info.device_arena_size = device_arena_size;
  return info;
}

/// Under the mutex.
void Executor::require_open() const {
  if (releasing)
    throw_error(TINH_CANCELLED, {"the context is being released"});
}

bool Executor::has_room() const {
  return num_in_flight < options.max_in_flight && num_state_users == 0;
}

void Executor::wait_for_room(Lock &lock) {
  require_open();
  if (has_room())
    return;
  if (options.refuse_when_full && num_state_users)
    throw_error(TINH_BUSY, {"the context's state is being read or changed"});
  if (options.refuse_when_full)
    throw_error(
        TINH_BUSY,
        {num_in_flight, " runs are in flight, as many as the context allows"});
  lock.unlock();
  Future::prepare_to_wait("submitting to a full context");
  lock.lock();
  room.wait(lock, [&] { return releasing || has_room(); });
  require_open();
}

std::shared_ptr<Run>
Executor::submit(uint32_t function, Arguments arguments,
                 const std::vector<std::shared_ptr<Future>> &wait_for) {
  for (const std::shared_ptr<Future> &future : wait_for)
    future->require_this_process();
  programs[function].require_ranks(options.collectives);
  auto run =
      std::make_shared<Run>(shared_from_this(), function, std::move(arguments));
  run->num_pending = static_cast<uint32_t>(wait_for.size());
  run->submitted = trace ? trace_clock() : 0;
  {
    Lock lock(mutex);
    wait_for_room(lock);
    if (!leader.joinable())
      leader = start_thread("the thread for submitted runs",
                            &Executor::leader_loop, this);
    if (gpu && !completer.joinable())
      completer = start_thread("the thread that waits for the GPU",
                               &Executor::completer_loop, this);
    queue.push_back(run);
    ++num_in_flight;
    run->keep_self = run;
    if (run->num_pending == 0)
      signal_work();
  }
  for (const std::shared_ptr<Future> &future : wait_for)
    future->then([run](tinh_status_t status, const char *message) {
      run->executor->dependency_done(run, status, message);
    });
  return run;
}

/// Of a chain of runs each tells why the first has failed.
static std::string first_cause(std::string message) {
  constexpr std::string_view kBegin = "a run that this one waits for failed: ";
  if (!message.starts_with(kBegin))
    message.insert(0, kBegin);
  return message;
}

/// A queued run, under the mutex.
void Executor::remove(Run &run) {
  queue.erase(std::ranges::find(queue, run.keep_self));
  run.state = Run::State::completed;
}

void Executor::dependency_done(const std::shared_ptr<Run> &run,
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

tinh_status_t Run::wait() {
  Future::call_due();
  require_this_process();
  if (!done())
    Future::prepare_to_wait("waiting for a run");
  return Future::wait();
}

void Run::require_this_process() const {
  if (!done())
    executor->require_this_process();
}

void Run::cancel() { executor->cancel(*this); }

void Executor::cancel(Run &run) {
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

void Executor::release_place(Run &run) {
  run.state = Run::State::completed;
  if (run.arena)
    free_arenas.push_back(run.arena);
  --num_in_flight;
  room.notify_all();
  if (!queue.empty())
    signal_work();
  if (trace && run.arena)
    trace->add_run(programs[run.function].function(), run.number, run.submitted,
                   trace_clock());
}

void Executor::complete(Run &run, tinh_status_t status, std::string message) {
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

void Executor::run_now(uint32_t function, Arguments arguments) {
  Lock lock(mutex);
  require_open();
  if (has_leader || !queue.empty() || free_arenas.empty() || !has_room()) {
    lock.unlock();
    std::shared_ptr<Run> run = submit(function, std::move(arguments), {});
    tinh_status_t status = run->Future::wait(); // Also in callbacks.
    if (status != TINH_OK)
      throw_error(status, {run->message()});
    return;
  }
  programs[function].require_ranks(options.collectives);
  Run run(shared_from_this(), function, std::move(arguments));
  run.completes_itself = false;
  run.submitted = trace ? trace_clock() : 0;
  ++num_in_flight;
  has_leader = true;
  start(run);
  lock.unlock();
  execute_parts(run);
  if (uses_device(run) && !goes_by_steps()) {
    if (!programs[function].on_leader())
      pool->wait_for_others(0, next_base);
    // Others may start while this thread waits for the GPU.
    lock.lock();
    has_leader = false;
    if (!queue.empty())
      signal_work();
    lock.unlock();
    complete_on_device(run);
    lock.lock();
  } else {
    pool->wait_for_others(0, next_base);
    lock.lock();
    has_leader = false;
  }
  run.end_collectives();
  release_place(run);
  lock.unlock();
  if (run.status != TINH_OK)
    throw_error(run.status, {run.why});
}

void Executor::wait_all() {
  home.require();
  Future::prepare_to_wait("waiting for all runs");
  Lock lock(mutex);
  room.wait(lock, [&] { return num_in_flight == 0; });
}

void Executor::with_state(const std::function<void(State &)> &use) {
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
    if (ranks)
      ranks->require_whole();
    use(*variables);
  } catch (...) {
    finish();
    throw;
  }
  finish();
}

/// Its threads are in another process, and who held its locks, too: nothing of
/// what has to do with them is touched any more, not even to be destroyed.
void Executor::abandon() {
  kept = shared_from_this();
  if (gpu)
    return; // Nor may the driver be called.
  arenas.clear();
  variables.reset();
  scratch_memory = {};
  loaded.reset();
}

void Executor::shut_down() {
  if (!home.is_here())
    return abandon();
  std::deque<std::shared_ptr<Run>> cancelled;
  {
    Lock lock(mutex);
    releasing = true; // A callback may still try to submit.
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
  if (completer.joinable()) {
    {
      std::lock_guard lock(completing_mutex);
      no_more_completing = true;
      completing_changed.notify_one();
    }
    completer.join();
  }
  pool.reset();
  try {
    if (trace)
      trace->write(loaded->artifact());
  } catch (const std::exception &error) {
    set_last_error(TINH_IO_ERROR, error.what());
  }
  if (ranks && ranks->failure())
    return keep_for_ever(shared_from_this());
  // Futures may still refer to this object, but not to its memory.
  profiles.clear();
  arenas.clear();
  walks.clear();
  programs.clear();
  variables.reset();
  scratch_memory = {};
  gpu.reset();
  loaded.reset();
}

} // namespace tinh::runtime
