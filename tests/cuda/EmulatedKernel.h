//===- EmulatedKernel.h - Kernels on the fake driver ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_TESTS_CUDA_EMULATEDKERNEL_H
#define TINH_TESTS_CUDA_EMULATEDKERNEL_H

#include "runtime/src/cuda/driver/driver.h"

#include <string>
#include <vector>

namespace tinh::tests {

/// Values in memory of the GPU, for the life of the object.
class DeviceBuffer {
public:
  explicit DeviceBuffer(size_t bytes);
  template <typename Value>
  explicit DeviceBuffer(const std::vector<Value> &values)
      : DeviceBuffer(values.size() * sizeof(Value)) {
    write(values.data());
  }
  ~DeviceBuffer();
  DeviceBuffer(const DeviceBuffer &) = delete;

  void write(const void *from);
  void read(void *to) const;
  template <typename Value> std::vector<Value> values() const {
    std::vector<Value> result(bytes / sizeof(Value));
    read(result.data());
    return result;
  }
  runtime::cuda::CUdeviceptr address = 0;

private:
  size_t bytes;
};

/// A kernel of LLVM IR for NVPTX, loaded into the fake driver.
class EmulatedKernel {
public:
  /// Of this body; `name` is the kernel's in it.
  EmulatedKernel(const std::string &ir, const std::string &name);
  ~EmulatedKernel();

  /// Runs it on these parameters, all addresses; gives the code of the driver.
  int run(unsigned blocks, unsigned threads, unsigned shared,
          std::vector<const DeviceBuffer *> parameters);

private:
  runtime::cuda::CUmodule module = nullptr;
  runtime::cuda::CUfunction function = nullptr;
  runtime::cuda::CUstream stream = nullptr;
};

/// The message with which emulateDevice refuses `ir`; empty if it does not.
std::string refusalOf(const std::string &ir);

/// Makes the fake driver's context current while it exists.
class DriverContext {
public:
  DriverContext();
  ~DriverContext();
};

/// New settings for the fake driver.
void configure(const std::string &settings);
bool logHas(const std::string &text);

/// Orders of threads, what is in fresh memory, and when copies are done: what
/// is missing in a kernel shows in at least one of these.
const std::vector<std::string> &allSchedules();

} // namespace tinh::tests

#endif // TINH_TESTS_CUDA_EMULATEDKERNEL_H
