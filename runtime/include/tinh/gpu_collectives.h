/*===- tinh/gpu_collectives.h - Collectives of GPUs ---------------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * What ranks compute together in the memory of their GPUs, of which each has
 * one. libtinh_nccl.so has a table of tinh/collectives.h, whose collectives are
 * of the CPU's memory and MPI's, with these functions for the GPU's memory.
 * Plain C11.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_GPU_COLLECTIVES_H
#define TINH_GPU_COLLECTIVES_H

#include "tinh/collectives.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a table of tinh/collectives.h has as its `gpu`; `collectives` is that
 * table, whose `failure` is there. Functions that may fail return NULL or a
 * sentence, as those of that table do; a failure of NCCL is that of all ranks,
 * and final. From any thread. */
typedef struct tinh_gpu_collectives {
  uint32_t struct_size; /* sizeof(tinh_gpu_collectives_t). */

  /* The device ordinal of this rank's GPU, as the CUDA driver counts. */
  uint32_t (*gpu)(tinh_collectives_t *collectives);

  /* Queues a collective of the GPU's memory behind what `stream`, a CUstream of
   * the GPU's primary context, has been given so far; what it is given later
   * runs beside it. All ranks start the same ones in the same order. Sums of
   * f16 and bf16 may be rounded after each addition, and the order of additions
   * is NCCL's. Not done by NCCL, and refused: the maximum of floats, which
   * would lose NaN, and another `communication_dtype` than `dtype`. */
  const char *(*start)(tinh_collectives_t *collectives,
                       const tinh_collective_t *collective, void *stream,
                       uint64_t *out_ticket);

  /* What `stream` is given from now on runs once the collective is done. */
  const char *(*order)(tinh_collectives_t *collectives, uint64_t ticket,
                       void *stream);

  /* Waits for the collective, and says whether it, or the communicator, has
   * failed; the ticket ends, but for one of capture(). Once for each, and only
   * from then on its output may be taken for what it should be. A collective
   * has failed which is not done at the timeout, counted from when this rank's
   * GPU has come to it. */
  const char *(*wait)(tinh_collectives_t *collectives, uint64_t ticket);

  /* Registers memory with NCCL, which may then send it without copies; all
   * ranks do so alike. It is released before it is freed. */
  const char *(*add_memory)(tinh_collectives_t *collectives, void *data,
                            uint64_t size, void **out_memory);
  const char *(*remove_memory)(tinh_collectives_t *collectives, void *memory);

  /* For a CUDA graph: gives the collective to `stream`, which is being
   * captured, as start() would; each launch of the graph then computes it. All
   * ranks capture the same ones in the same order, and launch their graphs, and
   * start others, in one order, too, which a program sees to that has several
   * contexts; NCCL_GRAPH_MIXING_SUPPORT is not turned off, and
   * NCCL_GRAPH_REGISTER is, by libtinh_nccl.so unless the program says so. The
   * graph is destroyed before the table is, and at once when the collectives
   * have failed. */
  const char *(*capture)(tinh_collectives_t *collectives,
                         const tinh_collective_t *collective, void *stream,
                         uint64_t *out_ticket);
  /* Before a launch on `stream` of the graph that has it. Then wait(). */
  const char *(*launch)(tinh_collectives_t *collectives, uint64_t ticket,
                        void *stream);
  /* The ticket ends: the graph is not launched any more. */
  const char *(*release)(tinh_collectives_t *collectives, uint64_t ticket);
} tinh_gpu_collectives_t;

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_GPU_COLLECTIVES_H */
