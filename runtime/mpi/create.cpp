//===- create.cpp - Collectives over MPI ----------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "communicator.h"

#include <atomic>
#include <cmath>

using namespace tinh::mpi;

extern "C" TINH_API const char *
tinh_collectives_create(const tinh_collectives_options_t *options,
                        tinh_collectives_t **out_collectives) {
  thread_local std::string message;
  static std::atomic<bool> exists = false;
  double timeout = options && options->timeout != 0 ? options->timeout : 60;
  try {
    if (!(timeout > 0 && timeout <= 1e6))
      throw Failure("the timeout of collectives is more than 0 and at most "
                    "1000000 seconds");
    if (exists.exchange(true))
      throw Failure("this process has joined its ranks already");
    try {
      *out_collectives =
          Communicator::join(std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(timeout)))
              .release();
    } catch (const Communicator::NotJoined &) {
      throw;
    } catch (...) {
      exists = false;
      throw;
    }
    return nullptr;
  } catch (const std::exception &error) {
    message = error.what();
    return message.c_str();
  }
}
