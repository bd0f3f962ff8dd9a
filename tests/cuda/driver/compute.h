//===- compute.h - What the fake libraries give the fake GPU ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_DRIVER_COMPUTE_H
#define TINH_TESTS_CUDA_DRIVER_COMPUTE_H

#include "runtime/src/cuda/driver/driver.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tinh::fake {

struct Range {
  void *address;
  size_t size;
};

/// Queues work that is no kernel's, or captures it. It touches this memory,
/// which must be the GPU's.
__attribute__((visibility("default"))) runtime::cuda::CUresult
compute(runtime::cuda::CUstream stream, const std::string &name,
        const std::vector<Range> &memory, const std::function<void()> &work);

/// What several streams do together.
struct Meeting {
  struct Together {
    size_t count;               ///< Of streams.
    std::function<void()> work; ///< Once all have come to it.
  };
  std::shared_ptr<const Together> together;
  /// Whether this one waits for the others no longer.
  std::shared_ptr<const std::atomic<bool>> abandoned;
  /// Lives as long as a graph has it.
  std::shared_ptr<const void> in_graphs;
};

/// The same of work that other streams meet for.
__attribute__((visibility("default"))) runtime::cuda::CUresult
meet(runtime::cuda::CUstream stream, const std::string &name,
     const std::vector<Range> &memory, const Meeting &meeting);

__attribute__((visibility("default"))) bool
isCaptured(runtime::cuda::CUstream stream);

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_COMPUTE_H
