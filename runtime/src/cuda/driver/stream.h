//===- stream.h - Streams of the program's own ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is behind tinh/cuda.h. The functions throw.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_STREAM_H
#define TINH_RUNTIME_CUDA_STREAM_H

#include "cuda/driver/device.h"

struct tinh_cuda_stream {
  tinh::runtime::cuda::DevicePtr device;
  uint32_t index; ///< The GPU's.
  tinh::runtime::cuda::Stream handle;
};

struct tinh_cuda_event {
  tinh::runtime::cuda::DevicePtr device;
  tinh::runtime::cuda::Event event;
};

namespace tinh::runtime::cuda {

void synchronize(const tinh_cuda_stream &stream);
void copy(const tinh_cuda_stream &stream, void *to, const void *from,
          size_t size);
/// INVALID_ARGUMENT beyond 64 bytes.
void write(const tinh_cuda_stream &stream, void *to, const void *data,
           size_t size);
void free_memory(const tinh_cuda_stream &stream, void *memory);
tinh_cuda_event record(const tinh_cuda_stream &stream);
/// In milliseconds.
double elapsed(const tinh_cuda_event &from, const tinh_cuda_event &to);

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_STREAM_H
