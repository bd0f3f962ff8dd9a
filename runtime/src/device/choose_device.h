//===- choose_device.h - Where a context runs its module --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CHOOSE_DEVICE_H
#define TINH_RUNTIME_CHOOSE_DEVICE_H

#include "artifact/module.h"
#include "device/device.h"
#include "tinh/runtime.h"

namespace tinh::runtime {

struct ChosenDevice {
  /// The module, or what it has for contexts without a GPU.
  std::shared_ptr<const Module> module;
  /// The module on the GPU, or null for the CPU.
  DeviceModulePtr gpu;
  /// Why it is the CPU, of a module that has code for GPUs.
  std::string why_not_cuda;
};

/// Chooses what the options ask for or, if they leave it open, the GPU if it
/// can run the module. Throws what says in one sentence why there is no choice.
ChosenDevice choose_device(const std::shared_ptr<const Module> &module,
                           const tinh_context_options_t &options);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_CHOOSE_DEVICE_H
