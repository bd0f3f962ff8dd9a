/*===- tinh/collectives.h - What ranks compute together -----------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Collective operations of several processes, the ranks 0 to num_ranks - 1,
 * as MPI and NCCL define them, by a table of functions: a communicator, as
 * MPI_Comm and ncclComm_t are. libtinh_mpi_openmpi.so and libtinh_mpi_mpich.so
 * have one over MPI; a program may bring its own.
 *
 *   tinh_collectives_t *ranks;                 // mpirun -n 4 program
 *   tinh_collectives_load(NULL, NULL, &ranks);
 *   options.collectives = ranks;               // Of a context.
 *   ...
 *   ranks->destroy(ranks);                     // Behind all contexts.
 *
 * All ranks start the same collectives, in the same order. Plain C11.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_COLLECTIVES_H
#define TINH_COLLECTIVES_H

#include "tinh/status.h"
#include "tinh/types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tinh_collective_kind {
  /* Each rank's output is the reduction of all inputs, `count` elements. */
  TINH_ALL_REDUCE = 0,
  /* Each rank's output are all inputs of `count` elements, in their order. */
  TINH_ALL_GATHER = 1,
  /* The inputs have `count` elements for each rank, whose output is the
   * reduction of its ones. */
  TINH_REDUCE_SCATTER = 2,
  /* Each rank's output is the input of `root`, `count` elements. */
  TINH_BROADCAST = 3
} tinh_collective_kind_t;

typedef enum tinh_reduction {
  TINH_REDUCE_SUM = 0,
  TINH_REDUCE_MEAN = 1, /* The sum, divided by the number of ranks. */
  TINH_REDUCE_MAX = 2   /* NaN if one is. */
} tinh_reduction_t;

typedef struct tinh_collective {
  tinh_collective_kind_t kind;
  tinh_reduction_t reduction; /* Of those that reduce. */
  /* Reductions take f16, bf16, f32, f64, i32 and i64; the first two are added
   * in f32. A mean is one of floats. */
  tinh_dtype_t dtype;
  /* The communication dtype, as which elements are sent: `dtype`, or
   * TINH_DTYPE_BF16 for one of f32, whose sums are in f32 and sent as bf16
   * again. */
  tinh_dtype_t communication_dtype;
  uint32_t root;
  uint64_t count;
  /* Dense, aligned to the element's size, and left alone by the program until
   * the collective is finished. They may be the same where all ranks' inputs
   * have the size of the output; else they do not overlap. */
  const void *input;
  void *output;
} tinh_collective_t;

/* A program that brings its own has this as the first member of its structure.
 *
 * Functions that may fail return NULL, or what went wrong, a sentence that
 * names the rank if there is one to name, valid as long as the table is. A
 * failure is that of all ranks, and final: whatever is unfinished then fails,
 * and so does what is started later. Messages of what is unfinished may still
 * be on their way: its inputs and outputs stay where they are until the process
 * ends, and nothing else is kept there. */
typedef struct tinh_collectives tinh_collectives_t;
struct tinh_collectives {
  uint32_t struct_size; /* sizeof(tinh_collectives_t). */
  uint32_t rank, num_ranks;
  /* Of the ranks on this rank's machine: to share its CPUs. */
  uint32_t local_rank, num_local_ranks;
  /* Its name and version, and how ranks exchange tensors if not by messages. */
  const char *library;

  /* Starts a collective, and returns at once. From any thread, one at a time.
   * `*out_ticket` is what to wait for it with, as an MPI_Request. */
  const char *(*start)(tinh_collectives_t *collectives,
                       const tinh_collective_t *collective,
                       uint64_t *out_ticket);

  /* Waits until this rank's part in it is finished: its output is there, and
   * its input may change. From any thread, once for each ticket. */
  const char *(*wait)(tinh_collectives_t *collectives, uint64_t ticket);

  /* Fails on all ranks, for the reason that `why` says. From any thread. */
  void (*abort)(tinh_collectives_t *collectives, const char *why);

  /* Leaves the other ranks, which must do so, too, once all is finished; frees
   * the table. */
  void (*destroy)(tinh_collectives_t *collectives);

  /* From here on a table has what its struct_size covers. */

  /* This rank's share of its machine's CPUs, by what all ranks there are bound
   * to; less than 1 where ranks outnumber CPUs. 0: not known. */
  double cpus;

  /* The same as `wait`; also says when the collective was finished, in
   * nanoseconds of CLOCK_MONOTONIC, for traces. NULL: that is not known. */
  const char *(*wait_timed)(tinh_collectives_t *collectives, uint64_t ticket,
                            int64_t *out_finished);

  /* What has failed so far, or NULL; waits for nothing. From any thread. NULL:
   * only calls that fail tell. */
  const char *(*failure)(tinh_collectives_t *collectives);

  /* Collectives of the GPUs' memory (tinh/gpu_collectives.h), which artifacts
   * need that were compiled with --collectives=nccl. NULL: there are none. */
  const struct tinh_gpu_collectives *gpu;
};

typedef struct tinh_collectives_options {
  uint32_t struct_size; /* sizeof(tinh_collectives_options_t). */
  /* After how many seconds without a sign of life a rank counts as dead, and
   * one that has not started what others wait for as hanging. 0: 60. To join
   * the others, ranks have as long, or 10 s if that is more. */
  double timeout;
} tinh_collectives_options_t;

/* What each library has under this name: the table of a process that was
 * started as one of several ranks. Once in a process. NULL, or what went wrong,
 * valid until the next call on this thread. */
typedef const char *(*tinh_collectives_create_t)(
    const tinh_collectives_options_t *options,
    tinh_collectives_t **out_collectives);
#define TINH_COLLECTIVES_CREATE "tinh_collectives_create"

/* The library for the launcher that has started this process, by what is in its
 * environment: "libtinh_mpi_openmpi.so" for Open MPI's mpirun and what speaks
 * PMIx, "libtinh_mpi_mpich.so" for MPICH's and what speaks PMI. NULL if none
 * has: the process is alone. */
TINH_API const char *tinh_collectives_library(void);

/* Joins the ranks by the library at the path `library`, or, if that is NULL, by
 * the one above. A name without a slash, such as "libtinh_nccl.so", is looked
 * for in the folder of the runtime's own library, and then where the system
 * looks for libraries. Waits until all ranks do so. Once in a process;
 * the library stays loaded. `options` may be NULL. INVALID_ARGUMENT if no
 * launcher has started the process, NOT_FOUND if the library cannot be loaded,
 * COLLECTIVE_FAILED if the ranks cannot be joined. */
TINH_API tinh_status_t tinh_collectives_load(
    const char *library, const tinh_collectives_options_t *options,
    tinh_collectives_t **out_collectives);

/* Compares `size` bytes of all ranks, which all make this call. INCOMPATIBLE on
 * all of them if they differ, with a message that names one whose `what` is
 * another: ranks that were told other things would compute wrong sums. A
 * context compares runtime, artifact and function so before the first
 * collective of each function. */
TINH_API tinh_status_t tinh_collectives_compare(tinh_collectives_t *collectives,
                                                const char *what,
                                                const void *data, size_t size);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_COLLECTIVES_H */
