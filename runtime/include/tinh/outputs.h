/*===- tinh/outputs.h - Outputs of data-dependent shapes ---------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Shapes are fixed when a model is compiled, but how many boxes a detector
 * finds is not: such an output has the shape of the most that there may be, and
 * other outputs, scalars, say how much of it a run has used
 * (tinh_tensor_info_t.size_outputs):
 *
 *   int64_t dims[TINH_MAX_RANK];
 *   tinh_context_run(context, 0, inputs, 2, outputs, 3);
 *   tinh_output_trim(&info, &outputs[0], outputs, 3, dims);
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_OUTPUTS_H
#define TINH_OUTPUTS_H

#include "tinh/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Moves the elements of an output that a run has used together, to the
 * beginning of its buffer, dense and row-major, and gives their extents,
 * info->rank of them. What is behind them in the buffer has no meaning any
 * more. `outputs` are the buffers of all outputs of the run, on the CPU. All of
 * an output without size_outputs is used. */
TINH_API tinh_status_t tinh_output_trim(const tinh_tensor_info_t *info,
                                        const tinh_buffer_t *output,
                                        const tinh_buffer_t *outputs,
                                        uint32_t num_outputs,
                                        int64_t *out_dims);

#ifdef __cplusplus
}
#endif

#endif /* TINH_OUTPUTS_H */
