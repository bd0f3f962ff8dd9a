//===- device_collectives.h - What ranks compute on GPUs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps START and AWAIT of one run at a time. They keep streams in order
// and nobody waiting; who waits for the GPU asks the collectives first, since a
// rank that is gone would keep it waiting for ever.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H
#define TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H

#include "cuda/driver/device.h"
#include "tinh/artifact.h"
#include "tinh/gpu_collectives.h"

#include <optional>
#include <vector>

namespace tinh::runtime::cuda {

class DeviceCollectives {
public:
  /// Null: no function has any. Throws INVALID_ARGUMENT if they are of another
  /// GPU than `device`.
  DeviceCollectives(tinh_collectives_t *table, const Device &device);
  DeviceCollectives(const DeviceCollectives &) = delete;
  ~DeviceCollectives();

  /// What they are of, mostly; it must outlive this.
  void add_memory(CUdeviceptr memory, uint64_t size);

  void begin(const tinh_function_desc_t &function);
  /// Does the step, of these buffers, in the order of `stream`.
  void execute(uint32_t step, void *const *buffers, CUstream stream);
  /// Until those are done that streams wait for. Throws COLLECTIVE_FAILED.
  void wait();
  /// What has been started ends with the communicator.
  void forget() noexcept;

private:
  uint64_t start(const tinh_collective_desc_t &what, void *const *buffers,
                 CUstream stream) const;

  tinh_collectives_t *const table;
  void *memory = nullptr;
  const tinh_function_desc_t *function = nullptr;
  /// Of the steps START that no AWAIT has followed.
  std::vector<std::optional<uint64_t>> started;
  std::vector<uint64_t> awaited; ///< By streams, and not by the CPU yet.
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H
