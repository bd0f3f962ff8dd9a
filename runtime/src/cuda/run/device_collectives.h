//===- device_collectives.h - What ranks compute on GPUs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps START and AWAIT of one run at a time: nodes of graphs, or one by
// one in the order of a stream. They keep nobody waiting but when a graph is
// made, which all ranks do together. Who waits for the GPU asks the collectives
// first, since a rank that is gone would keep it waiting for ever.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H
#define TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H

#include "cuda/driver/device.h"
#include "tinh/artifact.h"
#include "tinh/gpu_collectives.h"

#include <optional>
#include <span>
#include <vector>

namespace tinh::runtime::cuda {

class DeviceCollectives {
public:
  /// Null: no function has any. Throws INVALID_ARGUMENT if they are of another
  /// GPU than `device`.
  DeviceCollectives(tinh_collectives_t *table, DevicePtr device);
  DeviceCollectives(const DeviceCollectives &) = delete;
  ~DeviceCollectives();

  /// What they are of, mostly; it must outlive this.
  void add_memory(CUdeviceptr memory, uint64_t size);

  /// The collective of a START, for a graph. All ranks capture the same ones in
  /// the same order.
  struct Captured {
    Graph graph;
    uint64_t ticket;
  };
  Captured capture(const tinh_step_t &step, void *const *buffers);

  void begin(const tinh_function_desc_t &function);
  /// `stream` gets a graph next that has these.
  void launch(std::span<const uint64_t> captured, CUstream stream);
  /// Does the step, of these buffers, in the order of `stream`.
  void execute(uint32_t step, void *const *buffers, CUstream stream);
  /// Until those are done that streams have or wait for. Throws
  /// COLLECTIVE_FAILED.
  void wait();
  /// For ever.
  bool have_failed() const;
  /// What has been started ends with the communicator.
  void forget() noexcept;

private:
  uint64_t start(const tinh_collective_desc_t &what, void *const *buffers,
                 CUstream stream) const;

  tinh_collectives_t *const table;
  const DevicePtr device;
  void *memory = nullptr;
  /// For capturing. It lives as long as this: NCCL may not be done with it when
  /// that has failed.
  Stream captured_stream;
  std::vector<uint64_t> all_captured;
  const tinh_function_desc_t *function = nullptr;
  /// Of the steps START that no AWAIT has followed.
  std::vector<std::optional<uint64_t>> started;
  std::vector<uint64_t> awaited; ///< Not by the CPU yet.
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_DEVICE_COLLECTIVES_H
