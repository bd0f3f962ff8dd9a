//===- stream.cpp - Streams of the program's own ----------------*- C++ -*-===//
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
#include "cuda/driver/stream.h"

#include <cstring>

namespace tinh::runtime::cuda {

/// Of `write`: each word is a command to the GPU.
static constexpr size_t kMostWritten = 64;

void synchronize(const tinh_cuda_stream &stream) {
  Current current(*stream.device);
  check(driver().cuStreamSynchronize(stream.handle.get()),
        "what a stream was given failed on the GPU");
}

void copy(const tinh_cuda_stream &stream, void *to, const void *from,
          size_t size) {
  Current current(*stream.device);
  check(driver().cuMemcpyAsync(address(to), address(from), size,
                               stream.handle.get()),
        "cannot copy from or to the GPU");
}

void write(const tinh_cuda_stream &stream, void *to, const void *data,
           size_t size) {
  Current current(*stream.device);
  if (size > kMostWritten)
    throw Error(TINH_INVALID_ARGUMENT,
                std::to_string(size) + " bytes are more than the " +
                    std::to_string(kMostWritten) +
                    " that a stream can be given at once; copy them");
  const Driver &api = driver();
  CUstream handle = stream.handle.get();
  auto *bytes = static_cast<const unsigned char *>(data);
  CUdeviceptr at = address(to);
  bool in_words = at % sizeof(uint32_t) == 0;
  for (size_t i = 0, step; i < size; i += step) {
    step = in_words && size - i >= sizeof(uint32_t) ? sizeof(uint32_t) : 1;
    uint32_t word = 0;
    std::memcpy(&word, bytes + i, step);
    check(step == 1 ? api.cuMemsetD8Async(at + i, bytes[i], 1, handle)
                    : api.cuMemsetD32Async(at + i, word, 1, handle),
          "cannot write to the GPU's memory");
  }
}

void free_memory(const tinh_cuda_stream &stream, void *memory) {
  Current current(*stream.device);
  if (memory)
    check(driver().cuMemFree_v2(address(memory)),
          "cannot free memory of the GPU");
}

tinh_cuda_event record(const tinh_cuda_stream &stream) {
  Current current(*stream.device);
  Event event = make_event(stream.device, true);
  check(driver().cuEventRecord(event.get(), stream.handle.get()),
        "cannot record an event");
  return {stream.device, std::move(event)};
}

double elapsed(const tinh_cuda_event &from, const tinh_cuda_event &to) {
  Current current(*to.device);
  float ms = 0;
  check(driver().cuEventSynchronize(to.event.get()),
        "what a stream was given failed on the GPU");
  check(driver().cuEventElapsedTime(&ms, from.event.get(), to.event.get()),
        "cannot tell the time between two events");
  return static_cast<double>(ms);
}

} // namespace tinh::runtime::cuda
