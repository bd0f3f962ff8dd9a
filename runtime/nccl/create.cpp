//===- create.cpp - Collectives over NCCL -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "communicator.h"

#include "tinh/runtime.h"

#include <cstdlib>

using namespace tinh::nccl;

namespace {

/// The launcher's MPI, which has checked the timeout, too.
tinh_collectives_t *join_by_mpi(const tinh_collectives_options_t *options) {
  tinh_collectives_t *host = nullptr;
  if (tinh_collectives_load(nullptr, options, &host) != TINH_OK)
    throw std::runtime_error(tinh_last_error());
  return host;
}

} // namespace

extern "C" TINH_API const char *
tinh_collectives_create(const tinh_collectives_options_t *options,
                        tinh_collectives_t **out_collectives) {
  thread_local std::string message;
  // NCCL would register what graphs have for itself, and keep that for longer
  // than the memory lives. Before MPI has threads, which may read it.
  setenv("NCCL_GRAPH_REGISTER", "0", /*overwrite=*/0);
  tinh_collectives_t *host = nullptr;
  try {
    host = join_by_mpi(options);
    double timeout = options && options->timeout != 0 ? options->timeout : 60;
    *out_collectives =
        new Communicator(host, std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(timeout)));
    return nullptr;
  } catch (const std::exception &error) {
    message = error.what();
  }
  if (host) {
    host->abort(host, message.c_str());
    host->destroy(host);
  }
  return message.c_str();
}
