//===- communicator.cpp - Collectives over NCCL -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "communicator.h"

#include "collective.h"
#include "collectives/ranks.h"
#include "tinh/runtime.h"

#include <cstdlib>
#include <cstring>
#include <thread>

namespace tinh::nccl {

using namespace runtime::cuda;
using namespace std::chrono_literals;
using runtime::Error;

namespace {

Communicator &from(tinh_collectives_t *table) {
  return *static_cast<Communicator *>(table);
}

// Functions of the table by members.
template <auto give>
const char *give_stream(tinh_collectives_t *table,
                        const tinh_collective_t *collective, void *stream,
                        uint64_t *ticket) {
  return (from(table).*give)(*collective, static_cast<CUstream>(stream),
                             *ticket);
}
template <auto place>
const char *place_on_stream(tinh_collectives_t *table, uint64_t ticket,
                            void *stream) {
  return (from(table).*place)(ticket, static_cast<CUstream>(stream));
}
template <auto end>
const char *end_ticket(tinh_collectives_t *table, uint64_t ticket) {
  return (from(table).*end)(ticket);
}

const tinh_gpu_collectives_t kOfGpus = {
    sizeof(tinh_gpu_collectives_t),
    [](tinh_collectives_t *table) { return from(table).gpu_index(); },
    give_stream<&Communicator::begin>,
    place_on_stream<&Communicator::order>,
    end_ticket<&Communicator::finish>,
    [](tinh_collectives_t *table, void *data, uint64_t size, void **memory) {
      return from(table).add_memory(data, size, *memory);
    },
    [](tinh_collectives_t *table, void *memory) {
      return from(table).remove_memory(memory);
    },
    give_stream<&Communicator::capture>,
    place_on_stream<&Communicator::launch>,
    end_ticket<&Communicator::release>};

/// Between questions whether something is done: leaves the CPU to others, if
/// that takes long.
class Rest {
public:
  void operator()() const {
    if (Clock::now() - begun < 200us)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(20us);
  }

private:
  const Clock::time_point begun = Clock::now();
};

} // namespace

struct Communicator::InContext {
  explicit InContext(const Communicator &of) {
    check(driver().cuCtxPushCurrent_v2(of.context), "cannot use the GPU");
  }
  ~InContext() {
    CUcontext popped = nullptr;
    driver().cuCtxPopCurrent_v2(&popped);
  }
};

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

Communicator::Communicator(tinh_collectives_t *host, Clock::duration timeout)
    : tinh_collectives_t{}, host(host), timeout(timeout) {
  struct_size = sizeof(tinh_collectives_t);
  rank = host->rank;
  num_ranks = host->num_ranks;
  local_rank = host->local_rank;
  num_local_ranks = host->num_local_ranks;
  cpus = host->cpus;
  start = [](tinh_collectives_t *table, const tinh_collective_t *collective,
             uint64_t *ticket) {
    return from(table).host->start(from(table).host, collective, ticket);
  };
  wait = [](tinh_collectives_t *table, uint64_t ticket) {
    return from(table).host->wait(from(table).host, ticket);
  };
  if (host->wait_timed)
    wait_timed = [](tinh_collectives_t *table, uint64_t ticket,
                    int64_t *finished) {
      return from(table).host->wait_timed(from(table).host, ticket, finished);
    };
  abort = [](tinh_collectives_t *table, const char *why) {
    from(table).give_up(why);
  };
  destroy = [](tinh_collectives_t *table) { delete &from(table); };
  failure = [](tinh_collectives_t *table) {
    return from(table).known_failure();
  };
  tinh_collectives_t::gpu = &kOfGpus;

  std::string problem;
  try {
    load();
  } catch (const std::exception &error) {
    problem = error.what();
  }
  try {
    agree(problem);
    join();
  } catch (...) {
    leave();
    throw;
  }
}

/// What this rank needs by itself.
void Communicator::load() {
  const char *named = std::getenv("TINH_NCCL");
  try {
    nccl = std::make_unique<Functions>(named ? named : "libnccl.so.2");
  } catch (const Error &error) {
    throw Refusal(std::string("cannot use NCCL: ") + error.what() +
                  "; TINH_NCCL may name it");
  }
  int version = 0, count = 0;
  check_nccl(nccl->ncclGetVersion(&version), "asking for NCCL's version");
  library_name = host->library + std::string(" and NCCL ") +
                 std::to_string(version / 10000) + "." +
                 std::to_string(version / 100 % 100) + "." +
                 std::to_string(version % 100);
  library = library_name.c_str();
  // Before 2.9 versions had another form, of four digits.
  if (version < kOldestVersion)
    throw Refusal("NCCL is too old: its version code is " +
                  std::to_string(version) + ", and 2.19 (21900) is needed");
  check(driver().cuDeviceGetCount(&count), "cannot count the GPUs");
  if (count == 0)
    throw Refusal("the CUDA driver sees no GPU");
  // Where each rank is shown another GPU alone, that is number 0.
  device_index = local_rank % static_cast<uint32_t>(count);
  check(driver().cuDeviceGet(&device, static_cast<int>(device_index)),
        "cannot find the GPU");
  check(driver().cuDevicePrimaryCtxRetain(&context, device),
        "cannot use the GPU");
  InContext current(*this);
  check(driver().cuStreamCreate(&own, kStreamNonBlocking),
        "cannot make a stream for NCCL");
  progress.allocate();
}

void Communicator::exchange(const tinh_collective_t &collective) {
  uint64_t ticket = 0;
  const char *error = host->start(host, &collective, &ticket);
  if (!error)
    error = host->wait(host, ticket);
  if (error)
    throw Refusal(error);
}

/// Throws on all ranks if one has a problem, or another NCCL.
void Communicator::agree(const std::string &problem) {
  int32_t version = 0;
  if (problem.empty())
    nccl->ncclGetVersion(&version);
  std::vector<int32_t> versions(num_ranks);
  exchange({TINH_ALL_GATHER, TINH_REDUCE_SUM, TINH_DTYPE_I32, TINH_DTYPE_I32, 0,
            1, &version, versions.data()});
  if (!problem.empty())
    throw Refusal("rank " + std::to_string(rank) + ": " + problem +
                  "; what is compiled with --collectives=mpi needs no NCCL");
  for (uint32_t other = 0; other < num_ranks; ++other)
    if (versions[other] == 0)
      throw Refusal("rank " + std::to_string(other) + " cannot use NCCL");
  for (uint32_t other = 0; other < num_ranks; ++other)
    if (versions[other] != versions[0])
      throw Refusal("rank " + std::to_string(other) +
                    " has another version of NCCL than rank 0: " +
                    std::to_string(versions[other]) + " instead of " +
                    std::to_string(versions[0]));
}

void Communicator::join() {
  InContext current(*this);
  UniqueId id = {};
  Result result = rank == 0 ? nccl->ncclGetUniqueId(&id) : kSuccess;
  // Zeros, if there is none: all ranks hear of it.
  if (result != kSuccess)
    id = {};
  exchange({TINH_BROADCAST, TINH_REDUCE_SUM, TINH_DTYPE_U8, TINH_DTYPE_U8, 0,
            sizeof id, &id, &id});
  check_nccl(result, "making the communicator's id");
  UniqueId none = {};
  if (std::memcmp(&id, &none, sizeof id) == 0)
    throw Refusal("rank 0 has no id for NCCL's communicator");
  Config config;
  config.blocking = 0; // So that what hangs ends at the timeout.
  aborting = std::thread(&Communicator::abort_dead, this);
  Lock lock(mutex);
  settle(lock,
         nccl->ncclCommInitRankConfig(&comm, static_cast<int>(num_ranks), id,
                                      static_cast<int>(rank), &config),
         "joining the other ranks");
}

Communicator::~Communicator() {
  leave();
  host->destroy(host);
}

void Communicator::end_communicator() noexcept {
  if (comm && failed.empty()) {
    try {
      Lock lock(mutex);
      settle(lock, nccl->ncclCommFinalize(comm), "leaving the other ranks");
      nccl->ncclCommDestroy(comm);
      comm = nullptr;
    } catch (const std::exception &) { // There is nobody to tell.
    }
  }
  if (comm)
    nccl->ncclCommAbort(comm);
  comm = nullptr;
}

/// NCCL comes back from aborting once all graphs are destroyed, which others do
/// when they hear of the failure. By then this may be gone.
void Communicator::abort_dead() {
  auto abort = nccl->ncclCommAbort;
  auto state = abort_state;
  Lock lock(mutex);
  settled.wait(lock, [&] { return dead || is_leaving; });
  Comm to_abort = dead;
  lock.unlock();
  *state = Aborting::Begun;
  if (to_abort)
    abort(to_abort);
  *state = Aborting::Done;
}

/// With the context. False if NCCL does not come back: on a GPU that has failed
/// graphs cannot be destroyed.
bool Communicator::finish_aborting() noexcept {
  if (!aborting.joinable())
    return true;
  {
    std::lock_guard lock(mutex);
    is_leaving = true;
    settled.notify_all();
  }
  auto end = Clock::now() + 10s;
  for (Rest rest; *abort_state != Aborting::Done; rest()) {
    if (*abort_state == Aborting::No)
      continue;
    CUresult result = driver().cuStreamQuery(own);
    if (Clock::now() < end &&
        (result == runtime::cuda::kSuccess || result == kNotReady))
      continue;
    aborting.detach();
    return false;
  }
  aborting.join();
  return true;
}

void Communicator::leave() noexcept {
  if (!context)
    return;
  CUcontext popped = nullptr;
  bool pushed = driver().cuCtxPushCurrent_v2(context) == kSuccess;
  bool releases = finish_aborting();
  if (releases)
    release_gpu();
  if (pushed)
    driver().cuCtxPopCurrent_v2(&popped);
  if (releases)
    driver().cuDevicePrimaryCtxRelease_v2(device);
}

/// With the context.
void Communicator::release_gpu() noexcept {
  end_communicator();
  progress.free();
  if (own)
    driver().cuStreamDestroy_v2(own);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void Communicator::throw_nccl(Result result, const std::string &what) {
  std::string text = "rank " + std::to_string(rank) + ": " + what +
                     ": NCCL: " + nccl->ncclGetErrorString(result);
  const char *last = nccl->ncclGetLastError(comm);
  if (last && *last)
    text += std::string(": ") + last;
  throw std::runtime_error(text);
}

void Communicator::check_nccl(Result result, const std::string &what) {
  if (result != kSuccess)
    throw_nccl(result, what);
}

/// Throws what has gone wrong on other ranks, as far as MPI has heard of it.
void Communicator::check_host() const {
  if (!runtime::has_member(*host, &tinh_collectives_t::failure) ||
      !host->failure)
    return;
  if (const char *why = host->failure(host))
    throw std::runtime_error(why);
}

/// Until NCCL has done what `result` is of. Other threads may fail meanwhile,
/// but make no calls.
void Communicator::settle(Lock &lock, Result result, const std::string &what) {
  struct Settling {
    explicit Settling(Communicator &of) : of(of) { of.is_settling = true; }
    ~Settling() {
      of.is_settling = false;
      of.settled.notify_all();
    }
    Communicator &of;
  } settling(*this);
  Clock::time_point end = Clock::now() + timeout;
  for (Rest rest; result == kInProgress;) {
    lock.unlock();
    rest();
    lock.lock();
    if (!failed.empty())
      throw std::runtime_error(failed);
    check_host();
    if (Clock::now() > end)
      throw std::runtime_error(
          "rank " + std::to_string(rank) + ": " + what +
          " has waited for other ranks until the timeout: one has died, or has "
          "not come so far");
    check_nccl(nccl->ncclCommGetAsyncError(comm, &result), what);
  }
  check_nccl(result, what);
}

/// With `mutex` held.
const char *Communicator::fail(const std::string &why) {
  if (!failed.empty())
    return failed.c_str();
  failed = why;
  dead = std::exchange(comm, nullptr);
  settled.notify_all();
  host->abort(host, failed.c_str());
  return failed.c_str();
}

void Communicator::give_up(const char *why) {
  std::lock_guard lock(mutex);
  fail(why);
}

const char *Communicator::known_failure() {
  std::lock_guard lock(mutex);
  if (!failed.empty())
    return failed.c_str();
  try {
    check_host();
    return nullptr;
  } catch (const std::exception &error) {
    return fail(error.what());
  }
}

template <typename Body> const char *Communicator::guarded(Body &&body) {
  Lock lock(mutex);
  settled.wait(lock, [&] { return !is_settling || !failed.empty(); });
  try {
    if (!failed.empty())
      return failed.c_str();
    InContext current(*this);
    body(lock);
    return nullptr;
  } catch (const Refusal &refusal) {
    return mistakes.emplace_back(refusal.what()).c_str();
  } catch (const std::exception &error) {
    return fail(error.what());
  }
}

//===----------------------------------------------------------------------===//
// Collectives
//===----------------------------------------------------------------------===//

const char *Communicator::begin(const tinh_collective_t &collective,
                                CUstream stream, uint64_t &ticket) {
  return guarded([&](Lock &lock) {
    require_possible(collective, num_ranks);
    auto &begun = progress.add(collective, /*in_graph=*/false, ticket);
    progress.begin(begun, stream);
    check(driver().cuStreamWaitEvent(own, begun.ready, 0), begun.what);
    settle(lock, call(*nccl, comm, collective, own), begun.what);
    progress.end(begun, own);
    progress.run(ticket, own);
  });
}

const char *Communicator::capture(const tinh_collective_t &collective,
                                  CUstream stream, uint64_t &ticket) {
  return guarded([&](Lock &lock) {
    require_possible(collective, num_ranks);
    auto &captured = progress.add(collective, /*in_graph=*/true, ticket);
    progress.begin(captured, stream);
    settle(lock, call(*nccl, comm, collective, stream), captured.what);
    progress.end(captured, stream);
  });
}

const char *Communicator::launch(uint64_t ticket, CUstream stream) {
  return guarded([&](Lock &) { progress.run(ticket, stream); });
}

const char *Communicator::release(uint64_t ticket) {
  return guarded([&](Lock &) { progress.release(ticket); });
}

const char *Communicator::order(uint64_t ticket, CUstream stream) {
  return guarded([&](Lock &) {
    const Progress::Collective &begun = progress.find(ticket);
    check(driver().cuStreamWaitEvent(stream, begun.done, 0), begun.what);
  });
}

const char *Communicator::finish(uint64_t ticket) {
  bool done = false;
  for (Rest rest;; rest()) {
    const char *error = guarded([&](Lock &) {
      const Progress::Collective &waited = progress.find(ticket);
      Result state = kSuccess;
      check_nccl(nccl->ncclCommGetAsyncError(comm, &state), waited.what);
      if (state != kInProgress)
        check_nccl(state, waited.what);
      done = progress.is_done(waited);
      if (done)
        return progress.finish(ticket);
      check_host();
      check_overdue();
    });
    if (error || done)
      return error;
  }
}

void Communicator::check_overdue() {
  if (const Progress::Collective *overdue = progress.find_overdue(timeout))
    throw std::runtime_error(
        "rank " + std::to_string(rank) + ": " + overdue->what +
        " was not done at the timeout: another rank has died, or has not "
        "started it");
}

const char *Communicator::add_memory(void *data, uint64_t size, void *&memory) {
  return guarded([&](Lock &lock) {
    settle(lock, nccl->ncclCommRegister(comm, data, size, &memory),
           "registering memory");
  });
}

const char *Communicator::remove_memory(void *memory) {
  return guarded([&](Lock &lock) {
    settle(lock, nccl->ncclCommDeregister(comm, memory), "releasing memory");
  });
}

} // namespace tinh::nccl
