//===- device.h - A GPU and what is owned on it -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Discovery, the driver's context of a GPU, which the whole process shares, and
// owners of what lives in it.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_DEVICE_H
#define TINH_RUNTIME_CUDA_DEVICE_H

#include "cuda/driver/driver.h"
#include "device/device_api.h"

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace tinh::runtime::cuda {

/// An address on the host or the GPU, as the driver takes it.
inline CUdeviceptr address(const void *pointer) {
  return reinterpret_cast<CUdeviceptr>(pointer);
}

/// How many GPUs the driver sees; throws NO_DEVICE without a driver.
uint32_t device_count();

/// Fills in all that is known of GPU `index`; throws INVALID_ARGUMENT if there
/// is no such.
void describe_device(uint32_t index, tinh_cuda_device_info_t &out_info);

class Device {
public:
  /// GPU `index`; throws NO_DEVICE or INVALID_ARGUMENT.
  explicit Device(uint32_t index);
  Device(const Device &) = delete;
  ~Device();

  const tinh_cuda_device_info_t &info() const { return description; }
  uint32_t index() const { return number; }
  CUcontext context() const { return handle; }

  /// Makes its context the calling thread's, until `leave`.
  void enter() const {
    check(driver().cuCtxPushCurrent_v2(handle),
          "cannot use the GPU on this thread");
  }
  static void leave() {
    CUcontext popped;
    driver().cuCtxPopCurrent_v2(&popped);
  }

  /// Blocking copies, in no order with streams. `what` is for errors.
  void upload(CUdeviceptr to, const void *from, uint64_t size,
              const char *what) const;
  void download(void *to, CUdeviceptr from, uint64_t size,
                const char *what) const;
  void zero(CUdeviceptr to, uint64_t size, const char *what) const;

private:
  const uint32_t number;
  tinh_cuda_device_info_t description;
  CUdevice device = 0;
  CUcontext handle = nullptr;
};

/// Makes a device's context the calling thread's own for a while.
class Current {
public:
  explicit Current(const Device &device) { device.enter(); }
  Current(const Current &) = delete;
  ~Current() { Device::leave(); }
};

/// Owns a handle of the driver's; without a device, it is somebody else's.
template <typename Handle, CUresult (*Driver::*destroy)(Handle)> class Owned {
public:
  Owned() = default;
  Owned(std::shared_ptr<const Device> device, Handle handle)
      : device(std::move(device)), handle(handle) {}
  Owned(Owned &&other) noexcept
      : device(std::move(other.device)),
        handle(std::exchange(other.handle, Handle{})) {}
  Owned &operator=(Owned &&other) noexcept {
    std::swap(device, other.device);
    std::swap(handle, other.handle);
    return *this;
  }
  ~Owned() {
    CUcontext popped;
    if (!handle || !device ||
        driver().cuCtxPushCurrent_v2(device->context()) != kSuccess)
      return;
    (driver().*destroy)(handle);
    driver().cuCtxPopCurrent_v2(&popped);
  }

  Handle get() const { return handle; }
  Handle release() { return std::exchange(handle, Handle{}); }
  explicit operator bool() const { return handle != Handle{}; }

private:
  std::shared_ptr<const Device> device;
  Handle handle{};
};

MemoryKind kind_of(const void *pointer);

using DeviceMemory = Owned<CUdeviceptr, &Driver::cuMemFree_v2>;
using PinnedMemory = Owned<void *, &Driver::cuMemFreeHost>;
using Stream = Owned<CUstream, &Driver::cuStreamDestroy_v2>;
using Event = Owned<CUevent, &Driver::cuEventDestroy_v2>;
using LoadedImage = Owned<CUmodule, &Driver::cuModuleUnload>;
using Graph = Owned<CUgraph, &Driver::cuGraphDestroy>;
using GraphExec = Owned<CUgraphExec, &Driver::cuGraphExecDestroy>;

using DevicePtr = std::shared_ptr<const Device>;

/// Memory on the GPU, and memory of the host that it copies from and to at full
/// speed; nothing of size 0. Throw OUT_OF_MEMORY, naming `what`.
DeviceMemory allocate(const DevicePtr &device, uint64_t size, const char *what);
PinnedMemory allocate_pinned(const DevicePtr &device, uint64_t size,
                             const char *what);
Stream make_stream(const DevicePtr &device);
Event make_event(const DevicePtr &device, bool timing);

/// What `give` gives the stream, as a graph: nothing of it is done now. Throws
/// what that throws, or that `what` cannot be captured.
Graph capture(const DevicePtr &device, const Stream &stream, const char *what,
              const std::function<void()> &give);

/// Waits, spinning for `spin` and then asleep, until what comes before the
/// event is done.
CUresult wait_for(const Event &event, std::chrono::microseconds spin);

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_DEVICE_H
