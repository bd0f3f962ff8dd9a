//===- communicator.h - Collectives over NCCL -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NCCL's communicator of this rank's GPU, beside a table of collectives of the
// CPU's memory, by which ranks find one another and agree on what to do.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NCCL_COMMUNICATOR_H
#define TINH_RUNTIME_NCCL_COMMUNICATOR_H

#include "nccl.h"
#include "progress.h"
#include "tinh/gpu_collectives.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tinh::nccl {

class Communicator : public tinh_collectives_t {
public:
  /// Owns `host` once it is made. All ranks do so at the same time. Throws a
  /// sentence on what is wrong with this rank, or with which other one.
  Communicator(tinh_collectives_t *host, Clock::duration timeout);
  ~Communicator();

  uint32_t gpu_index() const { return device_index; }
  const char *begin(const tinh_collective_t &collective, CUstream stream,
                    uint64_t &ticket);
  const char *order(uint64_t ticket, CUstream stream);
  const char *finish(uint64_t ticket);
  const char *capture(const tinh_collective_t &collective, CUstream stream,
                      uint64_t &ticket);
  const char *launch(uint64_t ticket, CUstream stream);
  const char *release(uint64_t ticket);
  const char *add_memory(void *data, uint64_t size, void *&memory);
  const char *remove_memory(void *memory);

private:
  using Lock = std::unique_lock<std::mutex>;
  struct InContext; ///< The GPU's context is current.

  void load();
  void agree(const std::string &problem);
  void exchange(const tinh_collective_t &collective);
  void join();
  void settle(Lock &lock, Result result, const std::string &what);
  void check_nccl(Result result, const std::string &what);
  [[noreturn]] void throw_nccl(Result result, const std::string &what);
  void check_host() const;
  void check_overdue();
  void end_communicator() noexcept;
  void abort_dead();
  bool finish_aborting() noexcept;
  void release_gpu() noexcept;
  void leave() noexcept;

  template <typename Body> const char *guarded(Body &&body);
  const char *fail(const std::string &why);
  void give_up(const char *why);
  const char *known_failure();

  tinh_collectives_t *const host;
  const Clock::duration timeout;
  std::string library_name;
  std::unique_ptr<Functions> nccl;
  uint32_t device_index = 0;
  runtime::cuda::CUdevice device = 0;
  runtime::cuda::CUcontext context = nullptr;
  CUstream own = nullptr; ///< That NCCL's work is on.

  /// Of NCCL's communicator, and of what follows. Nobody waits for other ranks
  /// with it.
  std::mutex mutex;
  std::condition_variable settled;
  bool is_settling = false; ///< A call is in progress, and there is no other.
  Comm comm = nullptr;
  Progress progress;
  Comm dead = nullptr;     ///< It is to be aborted.
  bool is_leaving = false; ///< Nothing will be, if it is not yet.
  std::thread aborting;
  enum class Aborting { No, Begun, Done };
  std::shared_ptr<std::atomic<Aborting>> abort_state =
      std::make_shared<std::atomic<Aborting>>(Aborting::No);
  std::string failed;               ///< Why; set once, and for ever.
  std::deque<std::string> mistakes; ///< What calls were refused for.
};

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_COMMUNICATOR_H
