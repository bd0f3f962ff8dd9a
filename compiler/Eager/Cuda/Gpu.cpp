//===- Gpu.cpp - A GPU that tensors lie on --------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cuda/Gpu.h"

#include "compiler/Eager/Primitives/Dispatch.h"

#include <cstdlib>
#include <map>
#include <mutex>

namespace tinh::eager {

void *Gpu::Memory::allocate(uint64_t size) {
  try {
    return stream.allocate(size);
  } catch (const Error &error) {
    if (error.status() != TINH_OUT_OF_MEMORY)
      throw;
    return nullptr;
  }
}

void Gpu::Memory::free(void *block) { stream.free(block); }

/// What TINH_CUDA_CHIP says, or the GPU's own. What has instructions that later
/// chips do not have goes by a name of its own.
static std::string chipOf(const tinh_cuda_device_info_t &info) {
  if (const char *chosen = std::getenv("TINH_CUDA_CHIP"); chosen && *chosen)
    return chosen;
  std::string number =
      std::to_string(info.compute_major * 10 + info.compute_minor);
  return number == "90" ? "sm_90a" : "sm_" + number;
}

Gpu::Gpu(uint32_t index)
    : index(index), work(index), source(work), memory(source),
      chipName(chipOf(cuda_device_info(index))) {}

Gpu &Gpu::get(uint32_t index) {
  static std::mutex mutex;
  static auto &known = *new std::map<uint32_t, Gpu *>;
  std::lock_guard lock(mutex);
  Gpu *&gpu = known[index];
  if (!gpu) {
    if (index >= UINT8_MAX)
      throw Error(TINH_INVALID_ARGUMENT,
                  "there is no GPU " + std::to_string(index));
    gpu = new Gpu(index);
    dispatchByDevice();
  }
  return *gpu;
}

} // namespace tinh::eager
