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

#include <functional>
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

} // namespace tinh::fake

#endif // TINH_TESTS_CUDA_DRIVER_COMPUTE_H
