/*===- tinh/cuda.h - GPUs, and memory and streams on them ---------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * For programs that choose a GPU, or whose data stay on one; contexts run on a
 * GPU without any of this. The conventions are those of tinh/runtime.h, which
 * includes this header.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_CUDA_H
#define TINH_CUDA_H

#include "tinh/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tinh_cuda_device_info {
  char name[256];
  uint32_t compute_major, compute_minor; /* 9 and 0 of sm_90. */
  uint32_t num_multiprocessors;
  uint32_t driver_version; /* 13000 for a driver of CUDA 13.0. */
  uint64_t memory_size;    /* Bytes. */
} tinh_cuda_device_info_t;

/* The GPUs of NVIDIA's that the CUDA driver sees, numbered from 0. The driver,
 * and libtinh_cuda.so, which is installed beside the runtime, are loaded when
 * they are first asked for, here or by a context of an artifact that needs
 * them; without one of them these return TINH_NO_DEVICE, and tinh_last_error
 * says what is missing. */
TINH_API tinh_status_t tinh_cuda_device_count(uint32_t *out_count);
TINH_API tinh_status_t tinh_cuda_device_info(uint32_t device,
                                             tinh_cuda_device_info_t *out_info);

/* A stream of the program's own on a GPU: what it is given is done in order,
 * and nobody waits for it but tinh_cuda_stream_synchronize, which also tells
 * what went wrong. Any thread may use it. Contexts can run on it (cuda_stream).
 */
typedef struct tinh_cuda_stream tinh_cuda_stream_t;
TINH_API tinh_status_t tinh_cuda_stream_create(uint32_t device,
                                               tinh_cuda_stream_t **out_stream);
/* After all contexts on it, and what was allocated with it. */
TINH_API void tinh_cuda_stream_release(tinh_cuda_stream_t *stream);
TINH_API tinh_status_t tinh_cuda_stream_synchronize(tinh_cuda_stream_t *stream);

/* Memory on the stream's GPU, aligned to at least 256 bytes; NULL for no bytes.
 * Freeing waits for the GPU. */
TINH_API tinh_status_t tinh_cuda_allocate(tinh_cuda_stream_t *stream,
                                          size_t size, void **out_memory);
TINH_API tinh_status_t tinh_cuda_free(tinh_cuda_stream_t *stream, void *memory);

/* Copies from and to memory of the GPU or the host, in the stream's order. From
 * memory of the host that is not pinned, the bytes are taken within the call;
 * to such memory, they are there when it returns. */
TINH_API tinh_status_t tinh_cuda_stream_copy(tinh_cuda_stream_t *stream,
                                             void *to, const void *from,
                                             size_t size);
/* Writes at most 64 bytes to the GPU's memory, which are taken within the call;
 * waits for nothing. */
TINH_API tinh_status_t tinh_cuda_stream_write(tinh_cuda_stream_t *stream,
                                              void *to, const void *data,
                                              size_t size);

/* A point in a stream's work, for times by the GPU's own clock. It is recorded
 * when it is made; the caller releases it. */
typedef struct tinh_cuda_event tinh_cuda_event_t;
TINH_API tinh_status_t tinh_cuda_event_record(tinh_cuda_stream_t *stream,
                                              tinh_cuda_event_t **out_event);
TINH_API void tinh_cuda_event_release(tinh_cuda_event_t *event);
/* Waits until the GPU has come to `to`, and gives the milliseconds between the
 * two. */
TINH_API tinh_status_t tinh_cuda_event_elapsed(tinh_cuda_event_t *from,
                                               tinh_cuda_event_t *to,
                                               double *out_ms);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_CUDA_H */
