/*===- tinh/profile.h - How long each step of a function takes ----*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A context that was made with `measure_steps` notes when each thread begins
 * and ends its part of each step. From that come, for each step over the runs
 * of its function, the times here, beside what the compiler has left in the
 * artifact: what a step computes, with how much work, how, and for which of the
 * model's nodes. The conventions are those of tinh/runtime.h.
 *
 *   options.measure_steps = true;
 *   ...
 *   tinh_context_run(context, function, ...);      // To warm up,
 *   tinh_context_reset_profile(context);           // which does not count.
 *   for (int i = 0; i < 100; ++i)
 *     tinh_context_run(context, function, ...);
 *   tinh_context_function_profile(context, function, &all);
 *   for (uint32_t i = 0; i < all.num_steps; ++i)
 *     tinh_context_step_profile(context, function, i, &step);
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_PROFILE_H
#define TINH_PROFILE_H

#include "tinh/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tinh_function_profile {
  uint32_t num_steps; /* Of the schedule that the context runs. */
  /* Runs that have completed since the context was made, or its profile was
   * reset. A context keeps 2^20 parts of steps for each thread: runs from the
   * first one on that did not fit are `lost`, and not among `runs`. */
  uint64_t runs, lost;
  /* Of these runs, from submission to completion; 0 if there are none. */
  double median_ms, min_ms;
  /* What one core of the CPU does in a cycle at best, by the compiler's model
   * of it: additions and multiplications of f32, and bytes from memory; 0: that
   * is not known. */
  double core_operations, core_bytes;
  uint32_t num_spans; /* Of one of these runs, that whose time is the median. */
} tinh_function_profile_t;

typedef enum tinh_step_kind {
  TINH_STEP_KERNEL = 0,
  TINH_STEP_COPY = 1,
  TINH_STEP_ZERO = 2,
  TINH_STEP_LOOP = 3,      /* All iterations, with the steps in them. */
  TINH_STEP_CONTROL = 4,   /* A branch, or the end of an iteration; it is never
                              measured. */
  TINH_STEP_COLLECTIVE = 5 /* The start of a collective, or the wait for it. */
} tinh_step_kind_t;

typedef struct tinh_step_profile {
  tinh_step_kind_t kind;
  bool on_cuda;       /* It is the GPU's. */
  const char *kernel; /* Its name; NULL unless it is one. */
  const char *nodes;  /* Names of the model's nodes behind it, a line each. */
  const char *plan;   /* How the kernel is computed, as the compiler's IR says
                         it; empty if that is not known. */
  /* Of one execution: the pieces of work that threads share; additions,
   * multiplications and other arithmetic operations; bytes that have to be read
   * and written at least; cycles of one core for all of it, as the compiler has
   * estimated them, or 0. */
  uint64_t chunks;
  uint64_t operations;
  uint64_t bytes;
  double estimated_cycles;
  /* The runs that have executed it, and how often all of them together. */
  uint64_t runs, executions;
  /* Of these runs, all executions of a run together: from when the first thread
   * begins to when the last one ends; 0 if there are none. Steps that do not
   * wait for each other overlap. */
  double median_ms, min_ms;
  /* How long all threads together were at work meanwhile. */
  double work_ms;
  /* How many steps the times are of. 1: this step alone. More: this step is the
   * first of so many that a GPU runs as one CUDA graph; each iteration of a
   * loop counts. 0: there are no times, since the step is another one of such a
   * graph or was never executed. */
  uint32_t num_steps_timed;
} tinh_step_profile_t;

/* What one thread did of a step in a run without a break. */
typedef struct tinh_step_span {
  uint32_t step;
  /* The thread, from 0; TINH_SPAN_OF_CUDA: the GPU, which did `num_steps_timed`
   * steps of its profile from this one on. */
  uint32_t worker;
  double begin_ms, end_ms; /* Since the run was submitted. */
} tinh_step_span_t;

#define TINH_SPAN_OF_CUDA UINT32_MAX

/* What the runs of `function` so far say of it as a whole. Waits, as all calls
 * here, for the runs that have been submitted, and holds back those that are
 * submitted meanwhile. INVALID_ARGUMENT unless the context has
 * measure_steps. */
TINH_API tinh_status_t
tinh_context_function_profile(tinh_context_t *context, uint32_t function,
                              tinh_function_profile_t *out_profile);

/* What they say of a step, numbered from 0. */
TINH_API tinh_status_t
tinh_context_step_profile(tinh_context_t *context, uint32_t function,
                          uint32_t step, tinh_step_profile_t *out_profile);

/* Who did what when, in the run that takes the median time: one of num_spans,
 * numbered from 0, in the order of workers and then of time. Iterations of
 * loops are told by the steps in them. */
TINH_API tinh_status_t tinh_context_step_span(tinh_context_t *context,
                                              uint32_t function, uint32_t span,
                                              tinh_step_span_t *out_span);

/* The description in the artifact of what `module` is, as tinh/artifact.h has
 * it, for tools that draw or inspect it; it lives as long as the module. */
TINH_API tinh_status_t tinh_module_artifact(
    const tinh_module_t *module, const struct tinh_artifact **out_artifact);

/* Forgets all runs so far. */
TINH_API tinh_status_t tinh_context_reset_profile(tinh_context_t *context);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_PROFILE_H */
