//===- tinh/device.h - Where tensors lie ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensors lie in the CPU's memory or in that of a GPU of NVIDIA's, and
// operations run where their operands lie:
//
//   tinh::Tensor x = tinh::ones({64, 1000}).to(tinh::Device::cuda());
//   tinh::Tensor y = tinh::relu(x * 2);       // on the GPU
//   std::cout << y.sum().item<float>();       // copies a number, and waits
//
// All operands of an operation must lie on one device, but for tensors of rank
// 0 on the CPU, which count as numbers. docs/eager.md says more.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DEVICE_H
#define TINH_DEVICE_H

#include <cstdint>
#include <iosfwd>
#include <string>

namespace tinh {

class Device {
public:
  /// The CPU.
  constexpr Device() = default;
  static constexpr Device cpu() { return {}; }
  /// GPU `index`, of tinh::cuda_device_count() that the driver sees.
  static constexpr Device cuda(uint32_t index = 0) {
    Device device;
    device.number = index;
    return device;
  }

  constexpr bool is_cpu() const { return number < 0; }
  constexpr bool is_cuda() const { return number >= 0; }
  /// Of a GPU.
  constexpr uint32_t index() const { return static_cast<uint32_t>(number); }
  friend constexpr bool operator==(Device, Device) = default;

private:
  int64_t number = -1;
};

/// "cpu", "cuda:0".
std::string to_string(Device device);
std::ostream &operator<<(std::ostream &stream, Device device);

/// Whether there is a driver that sees a GPU.
bool cuda_is_available();

/// While it lives, what this thread creates lies on `device`: zeros, arange,
/// from_data, random numbers, parameters of modules. Throws NO_DEVICE, with one
/// sentence on what is missing, or INVALID_ARGUMENT if there is no such GPU.
class DeviceScope {
public:
  explicit DeviceScope(Device device);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

private:
  Device previous;
};

} // namespace tinh

#endif // TINH_DEVICE_H
