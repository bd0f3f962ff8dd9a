//===- Device.cpp - Which device a tensor lies on ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"

#include "compiler/Eager/Autograd/GradMode.h"
#include "compiler/Eager/Autograd/Record.h"
#include "compiler/Eager/Cuda/Gpu.h"

#include <ostream>

using namespace tinh;
using namespace tinh::eager;

std::string tinh::to_string(Device device) {
  return device.is_cpu() ? "cpu" : "cuda:" + std::to_string(device.index());
}

std::ostream &tinh::operator<<(std::ostream &stream, Device device) {
  return stream << to_string(device);
}

bool tinh::cuda_is_available() {
  uint32_t count = 0;
  return tinh_cuda_device_count(&count) == TINH_OK && count > 0;
}

//===----------------------------------------------------------------------===//
// What is created
//===----------------------------------------------------------------------===//

static thread_local Device chosenDevice;

Device eager::currentDevice() { return chosenDevice; }

DeviceScope::DeviceScope(Device device) : previous(chosenDevice) {
  if (device.is_cuda())
    Gpu::get(device.index());
  chosenDevice = device;
}

DeviceScope::~DeviceScope() { chosenDevice = previous; }

void eager::placeOn(Device device, TensorImpl &x) {
  if (x.storage && x.storage->isOpen())
    x.storage->choosePlace(placeOf(device),
                           device.is_cpu() ? nullptr
                                           : &Gpu::get(device.index()).pool());
}

//===----------------------------------------------------------------------===//
// What there is
//===----------------------------------------------------------------------===//

Device eager::deviceOf(const TensorImpl &x) {
  return x.storage ? deviceAt(x.storage->place()) : Device::cpu();
}

Device Tensor::device(At at) const {
  return deviceOf(metadataOf(*this, {"device", at}));
}

/// The same elements on another device, as a constant.
static Tensor moved(const TensorImpl &x, Device device, const Call &call) {
  GradModeScope constant(false);
  Tensor copy = makeTensor(x.dtype, x.sizes);
  placeOn(device, use(copy, call));
  copyInto(use(copy, call), x, call);
  return copy;
}

Tensor Tensor::to(Device device, At at) const {
  Call call{"to", at};
  const TensorImpl &x = use(*this, call);
  if (Backend::current().isTracing())
    fail(call, "a function that is traced runs on the device of its arguments; "
               "move them before the call, and results after it");
  Device from = deviceOf(x);
  if (from == device)
    return *this;
  if (device.is_cuda())
    try {
      Gpu::get(device.index());
    } catch (const Error &error) {
      throw Error(error.status(), describe(call, error.what()));
    }
  Tensor copy = moved(x, device, call);
  recordFunction(call, {this, 1}, {&copy, 1}, {},
                 [from, at](auto, std::span<const Tensor> gradients) {
                   return std::vector{gradients[0].defined()
                                          ? gradients[0].to(from, at)
                                          : Tensor()};
                 });
  return copy;
}

Tensor eager::onCpu(const TensorImpl &x, const Call &call) {
  return deviceOf(x).is_cpu() ? TensorAccess::share(x)
                              : moved(x, Device::cpu(), call);
}

void eager::requireCpu(const TensorImpl &x, const char *what,
                       const Call &call) {
  if (!deviceOf(x).is_cpu())
    fail(call, "a tensor of shape ", x.sizes, " lies on ", deviceOf(x),
         ", and ", what,
         " needs it on the CPU; give it .to(tinh::Device::"
         "cpu())");
}
