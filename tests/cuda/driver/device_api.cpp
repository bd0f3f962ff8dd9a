//===- device_api.cpp - Devices, contexts and code --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

#include <cstring>

using namespace tinh::fake;

// An A100's limits, as sm_80 is what is emulated.
static constexpr int kDevice = 0, kMultiprocessors = 108;
static constexpr int kSharedMemoryPerBlock = 163 << 10;

static thread_local std::vector<CUcontext> contexts;
static char primary;

static CUcontext primaryContext() {
  return reinterpret_cast<CUcontext>(&primary);
}

bool State::hasContext() { return !contexts.empty(); }

TINH_DRIVER CUresult cuInit(unsigned flags) {
  return call("cuInit", Needs::Nothing, [&](State &, Words &) {
    return flags == 0 ? kSuccess : kInvalidValue;
  });
}

TINH_DRIVER CUresult cuDriverGetVersion(int *version) {
  *version = 13000;
  return kSuccess;
}

static constexpr struct {
  CUresult code;
  const char *name, *text;
} kErrors[] = {
    {0, "CUDA_SUCCESS", "no error"},
    {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {200, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {218, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {500, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {600, "CUDA_ERROR_NOT_READY", "device not ready"},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS",
     "an illegal memory access was encountered"},
    {719, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

TINH_DRIVER CUresult cuGetErrorName(CUresult code, const char **name) {
  *name = nullptr;
  for (const auto &error : kErrors)
    if (error.code == code)
      *name = error.name;
  return *name ? kSuccess : kInvalidValue;
}

TINH_DRIVER CUresult cuGetErrorString(CUresult code, const char **text) {
  *text = nullptr;
  for (const auto &error : kErrors)
    if (error.code == code)
      *text = error.text;
  return *text ? kSuccess : kInvalidValue;
}

TINH_DRIVER CUresult cuDeviceGetCount(int *count) {
  return call("cuDeviceGetCount", Needs::Nothing, [&](State &, Words &) {
    *count = 1;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  return call("cuDeviceGet", Needs::Nothing, [&](State &, Words &) {
    *device = kDevice;
    return ordinal == 0 ? kSuccess : 101; // CUDA_ERROR_INVALID_DEVICE
  });
}

TINH_DRIVER CUresult cuDeviceGetName(char *name, int size, CUdevice) {
  return call("cuDeviceGetName", Needs::Nothing, [&](State &, Words &) {
    if (size < 1)
      return kInvalidValue;
    std::strncpy(name, "Emulated GPU", size - 1);
    name[size - 1] = 0;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice) {
  return call("cuDeviceGetAttribute", Needs::Nothing, [&](State &, Words &) {
    switch (attribute) {
    case kMultiprocessorCount:
      *value = kMultiprocessors;
      return kSuccess;
    case kComputeCapabilityMajor:
      *value = 8;
      return kSuccess;
    case kComputeCapabilityMinor:
      *value = 0;
      return kSuccess;
    case kMaxSharedMemoryPerBlockOptin:
      *value = kSharedMemoryPerBlock;
      return kSuccess;
    }
    return kInvalidValue;
  });
}

TINH_DRIVER CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice) {
  return call("cuDeviceTotalMem_v2", Needs::Nothing, [&](State &d, Words &) {
    *bytes = d.gpu.settings.memory;
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice) {
  return call("cuDevicePrimaryCtxRetain", Needs::Nothing,
              [&](State &driver, Words &) {
                ++driver.retained;
                *context = primaryContext();
                return kSuccess;
              });
}

TINH_DRIVER CUresult cuDevicePrimaryCtxRelease_v2(CUdevice) {
  return call("cuDevicePrimaryCtxRelease_v2", Needs::Nothing,
              [&](State &driver, Words &) {
                if (driver.retained == 0)
                  return kInvalidContext;
                --driver.retained;
                return kSuccess;
              });
}

TINH_DRIVER CUresult cuCtxPushCurrent_v2(CUcontext context) {
  return call("cuCtxPushCurrent_v2", Needs::Nothing,
              [&](State &driver, Words &) {
                if (context != primaryContext() || driver.retained == 0)
                  return kInvalidContext;
                contexts.push_back(context);
                return kSuccess;
              });
}

TINH_DRIVER CUresult cuCtxPopCurrent_v2(CUcontext *context) {
  return call("cuCtxPopCurrent_v2", Needs::Nothing, [&](State &, Words &) {
    if (contexts.empty())
      return kInvalidContext;
    if (context)
      *context = contexts.back();
    contexts.pop_back();
    return kSuccess;
  });
}

static CUresult loadModule(State &driver, const void *bytes, CUmodule *result) {
  auto image = std::make_unique<LoadedImage>(bytes);
  if (!image->image() && !driver.gpu.settings.record) {
    driver.gpu.log.add("image refused: " + image->problem());
    return kNoBinaryForGpu;
  }
  const tinh::emulator::Image *found = image->image();
  for (uint32_t i = 0; found && i < found->numKernels; ++i) {
    const tinh::emulator::Kernel &kernel = found->kernels[i];
    driver.gpu.log.add("image " + std::string(kernel.name) + " barriers " +
                       std::to_string(kernel.numBarriers) + " waits " +
                       std::to_string(kernel.numWaits));
  }
  Module *module = driver.add(driver.modules);
  module->image = std::move(image);
  *result = reinterpret_cast<CUmodule>(module);
  return kSuccess;
}

TINH_DRIVER CUresult cuModuleLoadData(CUmodule *module, const void *bytes) {
  return call("cuModuleLoadData", Needs::Context,
              [&](State &d, Words &) { return loadModule(d, bytes, module); });
}

TINH_DRIVER CUresult cuModuleUnload(CUmodule module) {
  return call("cuModuleUnload", Needs::Context, [&](State &driver, Words &) {
    if (!driver.find(driver.modules, module, "module"))
      return kInvalidHandle;
    if (!driver.gpu.isIdle())
      driver.gpu.log.misuse("a module is unloaded while work is queued");
    driver.gpu.finishAll();
    driver.modules.erase(module);
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuModuleGetFunction(CUfunction *function, CUmodule handle,
                                         const char *name) {
  return call("cuModuleGetFunction", Needs::Context, [&](State &d, Words &w) {
    w << " " << name;
    Module *module = d.find(d.modules, handle, "module");
    if (!module)
      return kInvalidHandle;
    const tinh::emulator::Kernel *code = module->image->kernel(name);
    if (module->image->image() && !code)
      return kNotFound;
    auto &entry = module->functions[name];
    if (!entry)
      entry = std::make_unique<Function>(Function{name, code});
    *function = reinterpret_cast<CUfunction>(entry.get());
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction) {
  return call("cuFuncGetAttribute", Needs::Context, [&](State &, Words &) {
    *value = 1024;
    return attribute == kMaxThreadsPerBlock ? kSuccess : kInvalidValue;
  });
}

TINH_DRIVER CUresult cuFuncSetAttribute(CUfunction handle, int attribute,
                                        int value) {
  return call("cuFuncSetAttribute", Needs::Context, [&](State &, Words &w) {
    w << " " << attribute << " " << value;
    auto *function = reinterpret_cast<Function *>(handle);
    int used = function->code ? int(function->code->staticShared) : 0;
    if (attribute != kMaxDynamicSharedSize || value < 0 ||
        value + used > kSharedMemoryPerBlock)
      return kInvalidValue;
    function->maxDynamicShared = uint64_t(value);
    return kSuccess;
  });
}
