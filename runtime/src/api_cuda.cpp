//===- api_cuda.cpp - The C API of GPUs -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What GPUs there are, and memory and streams of the program's own there.
//
//===----------------------------------------------------------------------===//
#include "guarded.h"
#include "handles.h"

#include <algorithm>
#include <cstring>

using namespace tinh::runtime;

/// Of tinh_cuda_stream_write: each word is a command to the GPU.
static constexpr uint64_t kMostWritten = 64;

tinh_status_t tinh_cuda_device_count(uint32_t *out_count) {
  return guarded([&] {
    require(out_count, "out_count");
    *out_count = cuda::device_count();
  });
}

tinh_status_t tinh_cuda_device_info(uint32_t device,
                                    tinh_cuda_device_info_t *out_info) {
  return guarded([&] {
    require(out_info, "out_info");
    tinh_cuda_device_info_t info;
    cuda::describe_device(device, info);
    *out_info = info;
  });
}

tinh_status_t tinh_context_cuda_time(tinh_context_t *context, double *out_ms) {
  return guarded([&] {
    require(context, "context");
    require(out_ms, "out_ms");
    *out_ms = context->executor->cuda_time();
  });
}

tinh_status_t tinh_cuda_stream_create(uint32_t device,
                                      tinh_cuda_stream_t **out_stream) {
  return guarded([&] {
    require(out_stream, "out_stream");
    auto gpu = std::make_shared<const cuda::Device>(device);
    *out_stream = new tinh_cuda_stream{{gpu, device, cuda::make_stream(gpu)}};
  });
}

void tinh_cuda_stream_release(tinh_cuda_stream_t *stream) { delete stream; }

/// Calls `use` where the stream's GPU is the thread's.
template <typename Use>
static tinh_status_t on_stream(tinh_cuda_stream_t *stream, Use use) {
  return guarded([&] {
    require(stream, "stream");
    cuda::Current current(*stream->stream.device);
    use(stream->stream.handle.get());
  });
}

tinh_status_t tinh_cuda_stream_wait(tinh_cuda_stream_t *stream) {
  return on_stream(stream, [&](cuda::CUstream handle) {
    cuda::check(cuda::driver().cuStreamSynchronize(handle),
                "what a stream was given failed on the GPU");
  });
}

tinh_status_t tinh_cuda_stream_copy(tinh_cuda_stream_t *stream, void *to,
                                    const void *from, size_t size) {
  return on_stream(stream, [&](cuda::CUstream handle) {
    if (size == 0)
      return;
    require(to, "to");
    require(from, "from");
    cuda::check(cuda::driver().cuMemcpyAsync(cuda::address(to),
                                             cuda::address(from), size, handle),
                "cannot copy from or to the GPU");
  });
}

tinh_status_t tinh_cuda_stream_write(tinh_cuda_stream_t *stream, void *to,
                                     const void *data, size_t size) {
  return on_stream(stream, [&](cuda::CUstream handle) {
    if (size == 0)
      return;
    require(to, "to");
    require(data, "data");
    if (size > kMostWritten)
      throw Error(TINH_INVALID_ARGUMENT,
                  std::to_string(size) + " bytes are more than the " +
                      std::to_string(kMostWritten) +
                      " that a stream can be given at once; copy them");
    const cuda::Driver &api = cuda::driver();
    const char *what = "cannot write to the GPU's memory";
    auto *bytes = static_cast<const unsigned char *>(data);
    cuda::CUdeviceptr at = cuda::address(to);
    bool in_words = at % sizeof(uint32_t) == 0;
    for (size_t i = 0, step; i < size; i += step) {
      step = in_words && size - i >= sizeof(uint32_t) ? sizeof(uint32_t) : 1;
      uint32_t word = 0;
      std::memcpy(&word, bytes + i, step);
      cuda::check(step == 1 ? api.cuMemsetD8Async(at + i, bytes[i], 1, handle)
                            : api.cuMemsetD32Async(at + i, word, 1, handle),
                  what);
    }
  });
}

tinh_status_t tinh_cuda_allocate(tinh_cuda_stream_t *stream, size_t size,
                                 void **out_memory) {
  return guarded([&] {
    require(stream, "stream");
    require(out_memory, "out_memory");
    *out_memory = reinterpret_cast<void *>(
        cuda::allocate(stream->stream.device, size, "a tensor").release());
  });
}

tinh_status_t tinh_cuda_free(tinh_cuda_stream_t *stream, void *memory) {
  return on_stream(stream, [&](cuda::CUstream) {
    if (memory)
      cuda::check(cuda::driver().cuMemFree_v2(cuda::address(memory)),
                  "cannot free memory of the GPU");
  });
}

tinh_status_t tinh_cuda_stream_mark(tinh_cuda_stream_t *stream,
                                    tinh_cuda_mark_t **out_mark) {
  return on_stream(stream, [&](cuda::CUstream handle) {
    require(out_mark, "out_mark");
    cuda::Event event = cuda::make_event(stream->stream.device, true);
    cuda::check(cuda::driver().cuEventRecord(event.get(), handle),
                "cannot record an event");
    *out_mark = new tinh_cuda_mark{stream->stream.device, std::move(event)};
  });
}

void tinh_cuda_mark_release(tinh_cuda_mark_t *mark) { delete mark; }

tinh_status_t tinh_cuda_elapsed(tinh_cuda_mark_t *from, tinh_cuda_mark_t *to,
                                double *out_ms) {
  return guarded([&] {
    require(from, "from");
    require(to, "to");
    require(out_ms, "out_ms");
    cuda::Current current(*to->device);
    float ms = 0;
    cuda::check(cuda::driver().cuEventSynchronize(to->event.get()),
                "what a stream was given failed on the GPU");
    cuda::check(cuda::driver().cuEventElapsedTime(&ms, from->event.get(),
                                                  to->event.get()),
                "cannot tell the time between two marks");
    *out_ms = static_cast<double>(ms);
  });
}
