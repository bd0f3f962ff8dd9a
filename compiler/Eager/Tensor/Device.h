//===- Device.h - Which device a tensor lies on -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_TENSOR_DEVICE_H
#define TINH_EAGER_TENSOR_DEVICE_H

#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

/// Places of storages.
inline Device deviceAt(uint8_t place) {
  return place == 0 ? Device::cpu() : Device::cuda(place - 1u);
}
inline uint8_t placeOf(Device device) {
  return device.is_cpu() ? 0 : static_cast<uint8_t>(device.index() + 1);
}

/// Where this thread creates tensors: what a DeviceScope says, or the CPU.
Device currentDevice();
/// That of a tensor; of one that is traced, the CPU.
Device deviceOf(const TensorImpl &x);
/// Has what `x` is made from be made where `x` lies.
class LikeScope {
public:
  explicit LikeScope(const TensorImpl &x) : scope(deviceOf(x)) {}

private:
  DeviceScope scope;
};

/// Gives a new tensor, which nothing has written yet, its place.
void placeOn(Device device, TensorImpl &x);

/// `x`, or a copy of it on the CPU.
Tensor onCpu(const TensorImpl &x, const Call &call);
/// Throws unless `x` lies on the CPU; `what` needs it there.
void requireCpu(const TensorImpl &x, const char *what, const Call &call);

} // namespace tinh::eager

#endif // TINH_EAGER_TENSOR_DEVICE_H
