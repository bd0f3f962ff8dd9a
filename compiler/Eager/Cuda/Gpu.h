//===- Gpu.h - A GPU that tensors lie on ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What eager operations need of a GPU: one stream, in whose order all of them
// are, and memory. What has been given to the stream counts as done for the
// engine: what comes later on the GPU comes after it, and who wants elements on
// the CPU waits for the stream. For the same reason memory can be given out
// again as soon as the last operation with it is in the stream. Any thread may
// use a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_CUDA_GPU_H
#define TINH_EAGER_CUDA_GPU_H

#include "compiler/Eager/Engine/Pool.h"
#include "tinh/device.h"
#include "tinh/runtime.hpp"

#include <string>
#include <utility>

namespace tinh::eager {

class Gpu {
public:
  /// GPU `index`; never destroyed. Throws NO_DEVICE or INVALID_ARGUMENT.
  static Gpu &get(uint32_t index);
  /// That of a storage's place, which is not 0.
  static Gpu &atPlace(uint8_t place) { return get(place - 1u); }

  uint8_t place() const { return static_cast<uint8_t>(index + 1); }
  Device device() const { return Device::cuda(index); }
  const CudaStream &stream() const { return work; }
  Pool &pool() { return memory; }
  /// What code is compiled for, as graph-compile's --cuda-chips has it.
  const std::string &chip() const { return chipName; }

private:
  explicit Gpu(uint32_t index);

  class Memory final : public Pool::Source {
  public:
    explicit Memory(const CudaStream &stream) : stream(stream) {}
    void *allocate(uint64_t size) override;
    void free(void *block) override;
    const char *owner() const override { return "the GPU"; }

  private:
    const CudaStream &stream;
  };

  uint32_t index;
  CudaStream work;
  Memory source;
  Pool memory;
  std::string chipName;
};

/// Memory of a GPU that is used again when what uses it is in the stream.
class GpuBlock {
public:
  GpuBlock(Gpu &gpu, uint64_t size)
      : gpu(&gpu), size(size), data(gpu.pool().allocate(size)) {}
  GpuBlock(GpuBlock &&other) noexcept
      : gpu(other.gpu), size(other.size),
        data(std::exchange(other.data, nullptr)) {}
  ~GpuBlock() {
    if (data)
      gpu->pool().deallocate(data, size);
  }
  void *get() const { return data; }

private:
  Gpu *gpu;
  uint64_t size;
  void *data;
};

} // namespace tinh::eager

#endif // TINH_EAGER_CUDA_GPU_H
