//===- device.cpp - A GPU and what is owned on it ---------------*- C++ -*-===//
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
#include "cuda/driver/device.h"

#include "shared/futex.h"

#include <cstring>

namespace tinh::runtime::cuda {

uint32_t device_count() {
  int count = 0;
  CUresult result = driver().cuDeviceGetCount(&count);
  if (result == kNoDevice)
    return 0;
  check(result, "cannot count the GPUs");
  return static_cast<uint32_t>(count);
}

static CUdevice find_device(uint32_t index) {
  uint32_t count = device_count();
  if (count == 0)
    throw Error(TINH_NO_DEVICE, "the CUDA driver sees no GPU");
  if (index >= count)
    throw Error(TINH_INVALID_ARGUMENT,
                "there is no GPU " + std::to_string(index) +
                    "; the CUDA driver sees " + std::to_string(count));
  CUdevice device = 0;
  check(driver().cuDeviceGet(&device, static_cast<int>(index)),
        "cannot find the GPU");
  return device;
}

static uint32_t attribute(CUdevice device, int which) {
  int value = 0;
  check(driver().cuDeviceGetAttribute(&value, which, device),
        "cannot ask the GPU for its attributes");
  return static_cast<uint32_t>(value);
}

static void describe(CUdevice device, tinh_cuda_device_info_t &info) {
  const Driver &api = driver();
  std::memset(&info, 0, sizeof info);
  size_t memory = 0;
  int version = 0;
  check(api.cuDeviceGetName(info.name, sizeof info.name, device),
        "cannot ask the GPU for its name");
  check(api.cuDeviceTotalMem_v2(&memory, device),
        "cannot ask the GPU for its memory");
  check(api.cuDriverGetVersion(&version),
        "cannot ask the CUDA driver for its version");
  info.memory_size = memory;
  info.driver_version = static_cast<uint32_t>(version);
  info.compute_major = attribute(device, kComputeCapabilityMajor);
  info.compute_minor = attribute(device, kComputeCapabilityMinor);
  info.num_multiprocessors = attribute(device, kMultiprocessorCount);
}

void describe_device(uint32_t index, tinh_cuda_device_info_t &out_info) {
  describe(find_device(index), out_info);
}

Device::Device(uint32_t index) : number(index) {
  device = find_device(index);
  describe(device, description);
  check(driver().cuDevicePrimaryCtxRetain(&handle, device), [&] {
    return std::string("cannot use the GPU '") + description.name + "'";
  });
}

Device::~Device() { driver().cuDevicePrimaryCtxRelease_v2(device); }

void Device::upload(CUdeviceptr to, const void *from, uint64_t size,
                    const char *what) const {
  if (size == 0)
    return;
  auto text = [&] {
    return std::string("cannot copy ") + what + " to the GPU";
  };
  Current current(*this);
  check(driver().cuMemcpyHtoD_v2(to, from, size), text);
  // The last part may still be on its way, and other streams do not wait for
  // this one.
  check(driver().cuStreamSynchronize(nullptr), text);
}

void Device::download(void *to, CUdeviceptr from, uint64_t size,
                      const char *what) const {
  if (size == 0)
    return;
  Current current(*this);
  check(driver().cuMemcpyDtoH_v2(to, from, size),
        [&] { return std::string("cannot copy ") + what + " from the GPU"; });
}

void Device::zero(CUdeviceptr to, uint64_t size, const char *what) const {
  if (size == 0)
    return;
  auto text = [&] {
    return std::string("cannot clear ") + what + " on the GPU";
  };
  Current current(*this);
  check(driver().cuMemsetD8_v2(to, 0, size), text);
  check(driver().cuStreamSynchronize(nullptr), text);
}

MemoryKind kind_of(const void *pointer) {
  unsigned type = 0, managed = 0;
  int attributes[] = {kPointerMemoryType, kPointerIsManaged};
  void *values[] = {&type, &managed};
  if (driver().cuPointerGetAttributes(2, attributes, values,
                                      address(pointer)) != kSuccess ||
      type == 0)
    return MemoryKind::unknown;
  return type == kMemoryDevice && !managed ? MemoryKind::device
                                           : MemoryKind::pinned;
}

DeviceMemory allocate(const DevicePtr &device, uint64_t size,
                      const char *what) {
  if (size == 0)
    return {};
  Current current(*device);
  CUdeviceptr memory = 0;
  check(driver().cuMemAlloc_v2(&memory, size), [&] {
    size_t free = 0, total = 0;
    driver().cuMemGetInfo_v2(&free, &total);
    return "cannot allocate " + std::to_string(size) + " bytes for " + what +
           " on the GPU '" + device->info().name + "', which has " +
           std::to_string(free) + " of " + std::to_string(total) + " left";
  });
  return {device, memory};
}

PinnedMemory allocate_pinned(const DevicePtr &device, uint64_t size,
                             const char *what) {
  if (size == 0)
    return {};
  Current current(*device);
  void *memory = nullptr;
  check(driver().cuMemHostAlloc(&memory, size, kHostAllocPortable), [&] {
    return "cannot allocate " + std::to_string(size) +
           " bytes of pinned memory for " + what;
  });
  PinnedMemory owner(device, memory);
  std::memset(memory, 0, size);
  return owner;
}

Stream make_stream(const DevicePtr &device) {
  Current current(*device);
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, kStreamNonBlocking),
        "cannot make a stream on the GPU");
  return {device, stream};
}

Event make_event(const DevicePtr &device, bool timing) {
  Current current(*device);
  CUevent event = nullptr;
  unsigned flags = kEventBlockingSync | (timing ? 0 : kEventDisableTiming);
  check(driver().cuEventCreate(&event, flags),
        "cannot make an event on the GPU");
  return {device, event};
}

Graph capture(const DevicePtr &device, const Stream &stream, const char *what,
              const std::function<void()> &give) {
  const Driver &api = driver();
  auto text = [&] { return std::string(what) + " cannot be captured"; };
  // Other threads may do what they like meanwhile.
  check(api.cuStreamBeginCapture_v2(stream.get(), kCaptureRelaxed), text);
  std::exception_ptr failure;
  try {
    give();
  } catch (...) {
    failure = std::current_exception();
  }
  CUgraph handle = nullptr;
  CUresult result = api.cuStreamEndCapture(stream.get(), &handle);
  Graph graph(device, handle);
  if (failure)
    std::rethrow_exception(failure);
  check(result, text);
  return graph;
}

CUresult wait_for(const Event &event, std::chrono::microseconds spin) {
  CUresult result = kNotReady;
  bool done = spin_until(spin, [&] {
    result = driver().cuEventQuery(event.get());
    return result != kNotReady;
  });
  return done ? result : driver().cuEventSynchronize(event.get());
}

} // namespace tinh::runtime::cuda
