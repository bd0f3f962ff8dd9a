//===- choose_device.cpp - Where a context runs its module ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "device/choose_device.h"

#include "artifact/steps.h"
#include "support/error.h"

namespace tinh::runtime {

static std::string name_of(const Module &module) {
  return std::string("the model '") + module.artifact().model + "'";
}

/// Whether the CPU may take the place of a GPU that failed with `status`: there
/// is none that could run the module. What else fails would hide in a context
/// that is merely slow.
static bool is_missing(tinh_status_t status) {
  return status == TINH_NO_DEVICE || status == TINH_INCOMPATIBLE;
}

static ChosenDevice choose_gpu(const std::shared_ptr<const Module> &module,
                               uint32_t index, bool or_cpu) {
  try {
    return {module, DeviceModule::get(*module, index), ""};
  } catch (const Error &error) {
    if (or_cpu && is_missing(error.status()))
      return {Module::without_gpu(module), nullptr, error.what()};
    throw_error(error.status(), {name_of(*module),
                                 (error.status() == TINH_NO_DEVICE
                                      ? " needs an NVIDIA GPU: "
                                      : " cannot be loaded on the GPU: "),
                                 error.what()});
  }
}

ChosenDevice choose_device(const std::shared_ptr<const Module> &module,
                           const tinh_context_options_t &options) {
  bool has_gpu_code = needs_device(module->artifact());
  bool has_others = module->artifact().without_gpu != nullptr;
  switch (options.device) {
  case TINH_USE_ANY:
    break;
  case TINH_USE_CPU:
    if (options.cuda_stream)
      throw_error(
          TINH_INVALID_ARGUMENT,
          {"a context on a stream of a GPU's cannot be one on the CPU"});
    if (has_gpu_code && !has_others)
      throw_error(TINH_INVALID_ARGUMENT,
                  {name_of(*module), " has been compiled for GPUs alone; to "
                                     "run it on the CPU, compile it with "
                                     "--target=cpu,cuda"});
    if (has_gpu_code)
      return {Module::without_gpu(module), nullptr, "the CPU was asked for"};
    break;
  case TINH_USE_CUDA:
    if (!has_gpu_code)
      throw_error(TINH_INVALID_ARGUMENT,
                  {name_of(*module),
                   " has no code for GPUs; compile it with --target=cuda or "
                   "--target=cpu,cuda"});
    break;
  default:
    throw_error(TINH_INVALID_ARGUMENT,
                {"the device of a context is none of the values of "
                 "tinh_use_device_t"});
  }
  if (!has_gpu_code)
    return {module, nullptr, ""};
  bool asked_for = options.device == TINH_USE_CUDA || options.cuda_stream;
  return choose_gpu(module, options.cuda_device, has_others && !asked_for);
}

} // namespace tinh::runtime
