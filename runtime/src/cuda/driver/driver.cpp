//===- driver.cpp - The CUDA driver, without CUDA ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Loading the library and telling its errors.
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/driver.h"

#include "cuda/driver/environment.h"

#include <mutex>
#include <optional>

namespace tinh::runtime::cuda {

static Driver load() {
  try {
    Driver driver(read_environment().driver);
    if (CUresult result = driver.cuInit(0))
      throw Error(TINH_NO_DEVICE,
                  "the CUDA driver '" + driver.library.file +
                      "' does not start: " + driver.text(result));
    return driver;
  } catch (const Error &error) {
    if (error.status() == TINH_NOT_FOUND)
      throw Error(TINH_NO_DEVICE,
                  std::string("there is no CUDA driver: ") + error.what());
    if (error.status() == TINH_INCOMPATIBLE)
      throw Error(TINH_NO_DEVICE,
                  std::string("the CUDA driver is too old: ") + error.what());
    throw;
  }
}

const Driver &driver() {
  static std::mutex mutex;
  static std::optional<Driver> loaded;
  std::lock_guard lock(mutex);
  if (!loaded)
    loaded.emplace(load());
  return *loaded;
}

std::string Driver::text(CUresult result) const {
  const char *name = nullptr, *what = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &what);
  if (!name)
    return "CUDA error " + std::to_string(result);
  return std::string(name) + (what ? std::string(": ") + what : "");
}

static tinh_status_t status_of(CUresult result) {
  switch (result) {
  case kOutOfMemory:
    return TINH_OUT_OF_MEMORY;
  case kNoDevice:
    return TINH_NO_DEVICE;
  case kInvalidImage:
  case kNoBinaryForGpu:
  case kInvalidPtx:
  case kUnsupportedPtxVersion:
    return TINH_INCOMPATIBLE;
  default:
    return TINH_DEVICE_ERROR;
  }
}

/// Whether every later call in the process's context will end so, too.
static bool is_lasting(CUresult result) {
  switch (result) {
  case kEccUncorrectable:
  case kNvlinkUncorrectable:
  case kIllegalAddress:
  case kLaunchTimeout:
  case kContextIsDestroyed:
  case kAssert:
  case kHardwareStackError:
  case kIllegalInstruction:
  case kMisalignedAddress:
  case kInvalidAddressSpace:
  case kInvalidPc:
  case kLaunchFailed:
    return true;
  default:
    return false;
  }
}

void fail(CUresult result, const std::string &what) {
  std::string text = what + ": " + driver().text(result);
  if (is_lasting(result))
    text += "; this process has lost its context on the GPU and must be "
            "started anew to use it again";
  throw Error(status_of(result), text);
}

} // namespace tinh::runtime::cuda
