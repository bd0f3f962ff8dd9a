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
#include "tinh/gpu_collectives.h"

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace tinh::nccl {

using Clock = std::chrono::steady_clock;

class Communicator : public tinh_collectives_t {
public:
  /// Owns `host` once it is made. All ranks do so at the same time. Throws a
  /// sentence on what is wrong with this rank, or with which other one.
  Communicator(tinh_collectives_t *host, Clock::duration timeout);
  ~Communicator();

  uint32_t gpu() const { return device_index; }
  const char *begin(const tinh_collective_t &collective, CUstream stream,
                    uint64_t &ticket);
  const char *order(uint64_t ticket, CUstream stream);
  const char *finish(uint64_t ticket);
  const char *add_memory(void *data, uint64_t size, void *&memory);
  const char *remove_memory(void *memory);

private:
  struct Started {
    runtime::cuda::CUevent done;
    std::string what; ///< "all-reduce 3 (sum of 1000 f32)"
  };
  struct InContext; ///< The GPU's context is current.

  void load();
  void agree(const std::string &problem);
  void exchange(const tinh_collective_t &collective);
  void join();
  void enqueue(const tinh_collective_t &collective);
  /// Until NCCL has done what `result` is of.
  void settle(Result result, const std::string &what);
  void check_nccl(Result result, const std::string &what);
  [[noreturn]] void throw_nccl(Result result, const std::string &what);
  bool is_done(const Started &started);
  const Started &find(uint64_t ticket);
  void leave() noexcept;

  template <typename Body> const char *guarded(Body &&body);
  const char *refuse(const std::string &why);
  const char *fail(const std::string &why);
  void give_up(const char *why);

  tinh_collectives_t *const host;
  const Clock::duration timeout;
  std::string library_name;
  std::unique_ptr<Functions> nccl;
  uint32_t device_index = 0;
  runtime::cuda::CUdevice device = 0;
  runtime::cuda::CUcontext context = nullptr;
  CUstream own = nullptr; ///< That NCCL's work is on.
  Comm comm = nullptr;

  std::mutex calls; ///< Of NCCL, and of what follows up to `messages`.
  std::map<uint64_t, Started> tickets;
  std::vector<runtime::cuda::CUevent> events; ///< That nothing uses.
  uint64_t num_started = 0;

  std::mutex messages; ///< Is taken behind `calls`.
  std::string failure; ///< Set once, and for ever.
  std::string abort_reason;
  std::deque<std::string> mistakes; ///< What calls were refused for.
};

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_COMMUNICATOR_H
