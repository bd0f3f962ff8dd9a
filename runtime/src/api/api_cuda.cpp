//===- api_cuda.cpp - The C API of GPUs -------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What GPUs there are, and memory and streams of the program's own there: the
// device's library has all of it.
//
//===----------------------------------------------------------------------===//
#include "api/handles.h"
#include "support/guarded.h"

using namespace tinh::runtime;

/// Calls a function of the device's table.
template <typename... Parameters, typename... Arguments>
static tinh_status_t call(tinh_status_t (*DeviceApi::*function)(Parameters...),
                          Arguments &&...arguments) {
  return guarded([&] { check_device((device_api().*function)(arguments...)); });
}

tinh_status_t tinh_cuda_device_count(uint32_t *out_count) {
  return guarded({{out_count, "out_count"}},
                 [&] { check_device(device_api().count(out_count)); });
}

tinh_status_t tinh_cuda_device_info(uint32_t device,
                                    tinh_cuda_device_info_t *out_info) {
  return guarded({{out_info, "out_info"}}, [&] {
    tinh_cuda_device_info_t info;
    check_device(device_api().describe(device, &info));
    *out_info = info;
  });
}

tinh_status_t tinh_context_cuda_time(tinh_context_t *context, double *out_ms) {
  return guarded({{context, "context"}, {out_ms, "out_ms"}},
                 [&] { *out_ms = context->context->cuda_time(); });
}

tinh_status_t tinh_cuda_stream_create(uint32_t device,
                                      tinh_cuda_stream_t **out_stream) {
  return call(&DeviceApi::stream_create, device, out_stream);
}

void tinh_cuda_stream_release(tinh_cuda_stream_t *stream) {
  if (stream)
    device_api().stream_release(stream);
}

tinh_status_t tinh_cuda_stream_synchronize(tinh_cuda_stream_t *stream) {
  return call(&DeviceApi::stream_synchronize, stream);
}

tinh_status_t tinh_cuda_stream_copy(tinh_cuda_stream_t *stream, void *to,
                                    const void *from, size_t size) {
  return call(&DeviceApi::stream_copy, stream, to, from, size);
}

tinh_status_t tinh_cuda_stream_write(tinh_cuda_stream_t *stream, void *to,
                                     const void *data, size_t size) {
  return call(&DeviceApi::stream_write, stream, to, data, size);
}

tinh_status_t tinh_cuda_allocate(tinh_cuda_stream_t *stream, size_t size,
                                 void **out_memory) {
  return call(&DeviceApi::stream_allocate, stream, size, out_memory);
}

tinh_status_t tinh_cuda_free(tinh_cuda_stream_t *stream, void *memory) {
  return call(&DeviceApi::stream_free, stream, memory);
}

tinh_status_t tinh_cuda_event_record(tinh_cuda_stream_t *stream,
                                     tinh_cuda_event_t **out_event) {
  return call(&DeviceApi::event_record, stream, out_event);
}

void tinh_cuda_event_release(tinh_cuda_event_t *event) {
  if (event)
    device_api().event_release(event);
}

tinh_status_t tinh_cuda_event_elapsed(tinh_cuda_event_t *from,
                                      tinh_cuda_event_t *to, double *out_ms) {
  return call(&DeviceApi::event_elapsed, from, to, out_ms);
}
