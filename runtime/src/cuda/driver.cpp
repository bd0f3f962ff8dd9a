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
#include "cuda/driver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <mutex>
#include <optional>

namespace tinh::runtime::cuda {

static void *find(void *library, const char *library_name,
                  const char *function) {
  void *found = dlsym(library, function);
  if (!found)
    throw Error(TINH_NO_DEVICE, std::string("the CUDA driver '") +
                                    library_name + "' is too old: it has no " +
                                    function);
  return found;
}

static Driver load() {
  const char *name = std::getenv("TINH_CUDA_DRIVER");
  if (!name || !*name)
    name = "libcuda.so.1";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    throw Error(TINH_NO_DEVICE,
                std::string("there is no CUDA driver: ") + dlerror());
  Driver driver;
#define TINH_CUDA_FIND(function, parameters)                                   \
  driver.function = reinterpret_cast<CUresult(*) parameters>(                  \
      find(library, name, #function));
  TINH_CUDA_DRIVER_FUNCTIONS(TINH_CUDA_FIND)
#undef TINH_CUDA_FIND
  if (CUresult result = driver.cuInit(0))
    throw Error(TINH_NO_DEVICE, std::string("the CUDA driver '") + name +
                                    "' does not start: " + driver.text(result));
  return driver;
}

const Driver &driver() {
  static std::mutex mutex;
  static std::optional<Driver> loaded;
  std::lock_guard lock(mutex);
  if (!loaded)
    loaded = load();
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
