//===- memory_api.cpp - Memory of the fake driver ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "driver.h"

using namespace tinh::fake;

TINH_DRIVER CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  return call("cuMemGetInfo_v2", Needs::Context, [&](State &d, Words &) {
    *total = d.gpu.settings.memory;
    *free = *total - d.gpu.memory.used(MemoryKind::Device);
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
  return call("cuMemAlloc_v2", Needs::Context, [&](State &d, Words &words) {
    words << " " << size;
    if (size == 0)
      return kInvalidValue;
    if (d.gpu.memory.used(MemoryKind::Device) + size > d.gpu.settings.memory)
      return kOutOfMemory;
    char *start =
        d.gpu.memory.allocate(size, MemoryKind::Device, d.gpu.settings.poison);
    *address = reinterpret_cast<CUdeviceptr>(start);
    return start ? kSuccess : kOutOfMemory;
  });
}

static CUresult release(State &driver, const void *address, MemoryKind kind) {
  if (!address)
    return kSuccess;
  if (!driver.gpu.isIdle()) {
    driver.gpu.log.synchronises("memory is freed");
    driver.gpu.finishAll();
  }
  std::string problem = driver.gpu.memory.release(address, kind);
  if (problem.empty())
    return kSuccess;
  driver.gpu.log.misuse(problem);
  return kInvalidValue;
}

TINH_DRIVER CUresult cuMemFree_v2(CUdeviceptr address) {
  return call("cuMemFree_v2", Needs::Context, [&](State &driver, Words &) {
    return release(driver, reinterpret_cast<void *>(address),
                   MemoryKind::Device);
  });
}

TINH_DRIVER CUresult cuMemHostAlloc(void **address, size_t size, unsigned) {
  return call("cuMemHostAlloc", Needs::Context, [&](State &d, Words &words) {
    words << " " << size;
    if (size == 0)
      return kInvalidValue;
    *address =
        d.gpu.memory.allocate(size, MemoryKind::Host, d.gpu.settings.poison);
    return *address ? kSuccess : kOutOfMemory;
  });
}

TINH_DRIVER CUresult cuMemFreeHost(void *address) {
  return call("cuMemFreeHost", Needs::Context, [&](State &driver, Words &) {
    return release(driver, address, MemoryKind::Host);
  });
}

TINH_DRIVER CUresult cuPointerGetAttributes(unsigned count, int *attributes,
                                            void **data, CUdeviceptr address) {
  return call(
      "cuPointerGetAttributes", Needs::Nothing, [&](State &driver, Words &) {
        MemoryKind kind;
        bool found =
            driver.gpu.memory.find(reinterpret_cast<void *>(address), kind);
        for (unsigned i = 0; i < count; ++i) {
          auto &value = *static_cast<unsigned *>(data[i]);
          if (attributes[i] == kPointerMemoryType)
            value = !found                     ? 0
                    : kind == MemoryKind::Host ? kMemoryHost
                                               : kMemoryDevice;
          else if (attributes[i] == kPointerIsManaged)
            value = 0;
          else
            return kInvalidValue;
        }
        return kSuccess;
      });
}

static Operation makeCopy(const Place &to, const Place &from, size_t size) {
  Operation operation;
  operation.kind = Operation::Kind::Copy;
  operation.to = to;
  operation.from = from;
  operation.size = size;
  return operation;
}

static Operation makeFill(CUdeviceptr to, uint32_t value, uint32_t elementSize,
                          size_t count) {
  Operation operation;
  operation.kind = Operation::Kind::Fill;
  operation.to = {reinterpret_cast<char *>(to), MemoryKind::Device};
  operation.value = value;
  operation.elementSize = elementSize;
  operation.size = count * elementSize;
  return operation;
}

/// Returns when the host's memory has been read, not when it has arrived.
TINH_DRIVER CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from,
                                     size_t size) {
  return call("cuMemcpyHtoD_v2", Needs::Context, [&](State &d, Words &w) {
    w << " " << size;
    const char *bytes = static_cast<const char *>(from);
    Place target{reinterpret_cast<char *>(to), MemoryKind::Device};
    Operation copy = makeCopy(target, {}, size);
    copy.staged =
        std::make_shared<const std::vector<char>>(bytes, bytes + size);
    copy.from = {const_cast<char *>(copy.staged->data()), MemoryKind::Host};
    d.gpu.log.synchronises("a copy to the GPU");
    return enqueue(d, nullptr, std::move(copy));
  });
}

TINH_DRIVER CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
  return call("cuMemcpyDtoH_v2", Needs::Context, [&](State &d, Words &w) {
    w << " " << size;
    Place target{static_cast<char *>(to), MemoryKind::Host};
    Place source{reinterpret_cast<char *>(from), MemoryKind::Device};
    CUresult result = enqueue(d, nullptr, makeCopy(target, source, size));
    if (result)
      return result;
    d.gpu.log.synchronises("a copy from the GPU");
    return d.gpu.finish(d.defaultStream.last, d.mutex) ? kSuccess
                                                       : kInvalidValue;
  });
}

TINH_DRIVER CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from,
                                   size_t size, CUstream stream) {
  return call("cuMemcpyAsync", Needs::Context, [&](State &d, Words &w) {
    Operation copy = makeCopy(placeOf(d, to), placeOf(d, from), size);
    w << " " << copy.describe() << " stream " << stream;
    auto isPageable = [&](const Place &place) {
      return place.kind == MemoryKind::Host &&
             !d.gpu.memory.contains(place.address, size, MemoryKind::Host);
    };
    bool pageable = isPageable(copy.to) || isPageable(copy.from);
    CUresult result = enqueue(d, stream, std::move(copy));
    if (result || !pageable)
      return result;
    d.gpu.log.synchronises("a copy of memory that is not pinned");
    d.gpu.finish(findStream(d, stream)->last, d.mutex);
    return kSuccess;
  });
}

TINH_DRIVER CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value,
                                   size_t count) {
  return call("cuMemsetD8_v2", Needs::Context, [&](State &d, Words &) {
    return enqueue(d, nullptr, makeFill(to, value, 1, count));
  });
}

TINH_DRIVER CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value,
                                     size_t count, CUstream stream) {
  return call("cuMemsetD8Async", Needs::Context, [&](State &d, Words &w) {
    w << " " << count << " stream " << stream;
    return enqueue(d, stream, makeFill(to, value, 1, count));
  });
}

TINH_DRIVER CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value,
                                      size_t count, CUstream stream) {
  return call("cuMemsetD32Async", Needs::Context, [&](State &d, Words &w) {
    w << " " << count << " stream " << stream;
    return enqueue(d, stream, makeFill(to, value, 4, count));
  });
}
