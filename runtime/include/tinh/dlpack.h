/*===- tinh/dlpack.h - Exchange of tensors without copies --------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * DLPack (https://dmlc.github.io/dlpack) is how NumPy, PyTorch, JAX and others
 * hand each other tensors in memory. With these functions a run reads and
 * writes such tensors in place:
 *
 *   tinh_tensor_info_t x, y;
 *   tinh_module_input_info(module, 0, 0, &x);
 *   tinh_module_output_info(module, 0, 0, &y);
 *   tinh_buffer_t in, out;
 *   DLManagedTensor *result;
 *   tinh_buffer_from_dlpack(&x, given, &in);
 *   tinh_dlpack_create(&y, &result);
 *   tinh_buffer_from_dlpack(&y, result, &out);
 *   tinh_context_run(context, 0, &in, 1, &out, 1);
 *   // `result` goes to its consumer, who calls result->deleter(result).
 *
 * DLManagedTensor is declared in <dlpack/dlpack.h>, which a program that makes
 * or takes one apart includes itself. The conventions are those of
 * tinh/runtime.h.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_DLPACK_H
#define TINH_DLPACK_H

#include "tinh/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;

/* The memory of `dlpack` as the buffer of the input or output `tensor`. Fails
 * with INVALID_ARGUMENT unless it is CPU memory of the tensor's element type
 * and shape, dense, row-major and aligned to the element's size. `dlpack`
 * stays the caller's and must live until the run has completed. */
TINH_API tinh_status_t tinh_buffer_from_dlpack(
    const tinh_tensor_info_t *tensor, const struct DLManagedTensor *dlpack,
    tinh_buffer_t *out_buffer);

/* Makes a tensor of the type and shape of `tensor`, whose content is undefined:
 * an output for a run to write. Whoever holds it last calls its deleter, on any
 * thread; it needs neither module nor context. */
TINH_API tinh_status_t tinh_dlpack_create(const tinh_tensor_info_t *tensor,
                                          struct DLManagedTensor **out_dlpack);

/* As tinh_dlpack_create, on the program's own memory: the deleter calls
 * `release(user)`, which may be NULL if there is nothing to do. The buffer must
 * be valid until then. */
TINH_API tinh_status_t tinh_dlpack_from_buffer(
    const tinh_tensor_info_t *tensor, const tinh_buffer_t *buffer,
    void (*release)(void *user), void *user,
    struct DLManagedTensor **out_dlpack);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_DLPACK_H */
