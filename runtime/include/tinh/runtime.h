/*===- tinh/runtime.h - Load and run compiled models -------------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * The C API of the runtime. A program loads a *module* (an artifact written by
 * graph-compile), makes a *context* (threads and memory to run it in), and
 * submits *runs*, each of which gives a *future*:
 *
 *   tinh_module_t *module;
 *   tinh_context_t *context;
 *   tinh_module_load("model.so", &module);
 *   tinh_context_create(module, NULL, &context);
 *   tinh_buffer_t in = {pixels, sizeof pixels}, out = {scores, sizeof scores};
 *   tinh_context_run(context, 0, &in, 1, &out, 1);
 *   tinh_context_release(context);
 *   tinh_module_release(module);
 *
 * Conventions
 *   - Every call that can fail returns a tinh_status_t. Anything but TINH_OK
 *     comes with a sentence in tinh_last_error(), kept for each thread.
 *   - Results come back through parameters named out_…, which are written on
 *     TINH_OK only.
 *   - Handles are opaque. Who creates a handle releases it, once; a release
 *     function accepts NULL. A context keeps its module loaded and a future
 *     needs neither, so they may be released in any order.
 *   - Buffers belong to the caller, are dense and row-major, and must stay
 *     valid and unchanged until their run has completed. An output must not
 *     overlap another buffer of the same run.
 *   - All functions may be called from any thread at any time, except that a
 *     handle must not be in use while it is released. In a callback, nothing
 *     waits for a run: tinh_future_then says more.
 *   - A child that a program forks has no threads of its parent's. It may use
 *     modules that it has inherited and create contexts of them. What it asks
 *     of an inherited context, or waits for of a run that was not done, gives
 *     TINH_INVALID_ARGUMENT; it may release both, which does nothing to the
 *     parent's.
 *   - Names and other strings belong to the module and live as long as it.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_RUNTIME_H
#define TINH_RUNTIME_H

#include "tinh/collectives.h"
#include "tinh/cuda.h"
#include "tinh/status.h"
#include "tinh/types.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tinh_module tinh_module_t;
typedef struct tinh_context tinh_context_t;
typedef struct tinh_future tinh_future_t;

/* The runtime's own version, "0.1.0". */
TINH_API const char *tinh_runtime_version(void);

/* "f32" and so on, or "?" for a value that is no dtype. */
TINH_API const char *tinh_dtype_name(tinh_dtype_t dtype);

/* Bytes of one element, or 0 for a value that is no dtype. */
TINH_API size_t tinh_dtype_size(tinh_dtype_t dtype);

/*===-- Modules -----------------------------------------------------------===*/

/* Loads the artifact at `path`, checks that it is whole, of this runtime's
 * version and for this machine's CPU, and maps its weights. An artifact is code
 * and must be trusted like any other library. */
TINH_API tinh_status_t tinh_module_load(const char *path,
                                        tinh_module_t **out_module);
TINH_API void tinh_module_release(tinh_module_t *module);

/* Compares the weights with the digest that was taken when they were written,
 * which loading does not: it reads all of them, a second or two a gigabyte.
 * TINH_INVALID_ARTIFACT if they have changed; TINH_INVALID_ARGUMENT for a
 * module from tinh_module_with_weights, of whose weights no digest is known. */
TINH_API tinh_status_t tinh_module_verify_weights(const tinh_module_t *module);

/* A model that graph-compile --emit=obj has put into an object file, which is
 * linked into the program. TINH_MODEL(NAME); declares it as tinh_model_NAME;
 * in the model's name, '_' stands for what is no letter or digit. */
typedef struct tinh_model tinh_model_t;
#ifdef __cplusplus
#define TINH_MODEL(name) extern "C" const tinh_model_t tinh_model_##name
#else
#define TINH_MODEL(name) extern const tinh_model_t tinh_model_##name
#endif

/* Makes a module of a model that is linked into the program. The model has to
 * stay loaded as long as the module, or a context of it, is used.
 * `weights_path` names the file of external weights; it is not looked at, and
 * may be NULL, if they are embedded. Version and CPU are checked as by
 * tinh_module_load. */
TINH_API tinh_status_t tinh_module_load_linked(const tinh_model_t *model,
                                               const char *weights_path,
                                               tinh_module_t **out_module);

/* Makes a module of `module` with other weights, in memory of its own: the
 * model's parameters are those of the .safetensors file at `path`, by their
 * names in the model; tensors of other names are not looked at. The artifact
 * must have been compiled with --loadable-weights. `module` may be released. */
TINH_API tinh_status_t tinh_module_with_weights(const tinh_module_t *module,
                                                const char *path,
                                                tinh_module_t **out_module);

typedef struct tinh_module_info {
  const char *model;    /* The model's name, from the file it came from. */
  const char *producer; /* The compiler's name and version. */
  const char *cpu;      /* The CPU that the code was compiled for. */
  uint32_t num_functions;
  uint32_t num_kernels;
  uint32_t num_variables;
  uint64_t weights_size; /* Bytes, of the module. */
  uint64_t state_size;   /* Bytes, of each context. */
  bool needs_cuda;       /* To be run; it is loaded and looked at without. */
  uint64_t device_state_size; /* Bytes in GPU memory, of each context. */
  bool has_cuda; /* There is code for a GPU: unless it needs one, contexts can
                    do without. */
  uint64_t state_size_without_gpu; /* Bytes, of each such context. */
} tinh_module_info_t;

typedef struct tinh_function_info {
  const char *name; /* "main" for a model's inference. */
  uint32_t num_inputs;
  uint32_t num_outputs;
  uint32_t num_steps;         /* Kernel calls, copies, branches and loops. */
  bool mutates_state;         /* Its runs are serialised within a context. */
  uint64_t arena_size;        /* Bytes of intermediate buffers, as planned, */
  uint64_t unplanned_size;    /* the sum of them all, if none shared memory, */
  uint64_t lower_bound_size;  /* and what no plan can go below. */
  uint64_t device_arena_size; /* The same in GPU memory. */
  uint64_t device_unplanned_size;
  uint64_t device_lower_bound_size;
  /* The same in a context that does without the GPU, if the module has code for
   * both: 0 otherwise. */
  uint32_t num_steps_without_gpu;
  uint64_t arena_size_without_gpu;
  uint64_t unplanned_size_without_gpu;
  uint64_t lower_bound_size_without_gpu;
  /* It computes together with other ranks (tinh/collectives.h), which its
   * context needs: so many, or any number if that is 0. */
  bool has_collectives;
  uint32_t num_ranks;
  /* They are of the GPU's memory: the context's table needs a `gpu`, as that of
   * "libtinh_nccl.so" has, and runs on its GPU. */
  bool has_gpu_collectives;
} tinh_function_info_t;

typedef struct tinh_tensor_info {
  const char *name;
  tinh_dtype_t dtype;
  uint32_t rank;
  const int64_t *dims; /* `rank` of them, in elements; the module's own. */
  uint64_t size;       /* Bytes. */
  /* Of an output of data-dependent shape, whose largest extents are `dims`: for
   * each dimension the index of the output that has its extent in a run, a
   * TINH_DTYPE_I64 of rank 0; -1 if `dims` has it. What lies beyond is padding
   * of any value. NULL: the shape is `dims`. */
  const int32_t *size_outputs;
} tinh_tensor_info_t;

TINH_API tinh_status_t tinh_module_info(const tinh_module_t *module,
                                        tinh_module_info_t *out_info);

/* Functions, inputs and outputs are numbered from 0. Variables are not among a
 * function's inputs and outputs here: no run needs buffers for them. */
TINH_API tinh_status_t tinh_module_find_function(const tinh_module_t *module,
                                                 const char *name,
                                                 uint32_t *out_function);
TINH_API tinh_status_t
tinh_module_function_info(const tinh_module_t *module, uint32_t function,
                          tinh_function_info_t *out_info);
TINH_API tinh_status_t tinh_module_input_info(const tinh_module_t *module,
                                              uint32_t function, uint32_t input,
                                              tinh_tensor_info_t *out_info);
TINH_API tinh_status_t tinh_module_output_info(const tinh_module_t *module,
                                               uint32_t function,
                                               uint32_t output,
                                               tinh_tensor_info_t *out_info);

/* A tensor that lives from run to run, in the state of each context. */
typedef struct tinh_variable_info {
  tinh_tensor_info_t type;
  bool trainable; /* A parameter; not what goes with one, as moments do. */
} tinh_variable_info_t;

/* Variables are numbered from 0, too. */
TINH_API tinh_status_t tinh_module_find_variable(const tinh_module_t *module,
                                                 const char *name,
                                                 uint32_t *out_variable);
TINH_API tinh_status_t
tinh_module_variable_info(const tinh_module_t *module, uint32_t variable,
                          tinh_variable_info_t *out_info);

/*===-- Contexts ----------------------------------------------------------===*/

/* Calls task(argument, i) once for each i in [0, count), on any threads, and
 * returns when all calls have returned. */
typedef void (*tinh_parallel_for_fn)(void *pool, uint32_t count,
                                     void (*task)(void *argument, uint32_t i),
                                     void *argument);

/* What floating-point results are searched for. */
typedef enum tinh_check_numerics {
  TINH_CHECK_NOTHING = 0,
  TINH_CHECK_NANS = 1,
  TINH_CHECK_NANS_AND_INFINITIES = 2
} tinh_check_numerics_t;

/* What a context runs on. */
typedef enum tinh_use_device {
  TINH_USE_ANY = 0, /* The GPU if the module has code for it; the CPU if it has
                       none, or has code for the CPU as well and there is no
                       GPU that could run it. */
  TINH_USE_CPU = 1,
  TINH_USE_CUDA = 2
} tinh_use_device_t;

/* Fill it with tinh_context_options_init, then change what is to differ. */
typedef struct tinh_context_options {
  /* Threads that compute a run together; 0: as many as the process may use,
   * by its affinity mask and its cgroup's quota. Never changes the results. */
  uint32_t threads;
  /* Runs that may be submitted and not yet completed; at least 1. */
  uint32_t max_in_flight;
  /* When that many are in flight, tinh_context_submit returns TINH_BUSY
   * instead of blocking. */
  bool refuse_when_full;
  /* Bind the context's own threads to one CPU each. */
  bool pin_threads;
  /* How long a thread spins for work before it sleeps, in microseconds;
   * -1: a short time, or none if there are more threads than CPUs. */
  int64_t spin_us;
  /* A pool of the program's own to compute on, in `threads` parts, instead of
   * threads of the context; costs a call of it for every step. */
  tinh_parallel_for_fn parallel_for;
  void *parallel_for_pool;
  /* A file for a trace of all runs in Chrome's JSON format (for Perfetto),
   * written, as a whole or not at all, when the context is released; NULL:
   * none. That it cannot be written then is told by tinh_last_error alone. */
  const char *trace_path;
  /* Look through what each step of a run has written. The run ends behind the
   * first step with a NaN or infinity, with TINH_NOT_FINITE and a message that
   * says which elements of which result, what the step computes, and whether
   * what it reads was in order; variables that it has changed so far stay
   * changed. Steps and runs are then computed one after the other. */
  tinh_check_numerics_t check_numerics;
  /* The GPU to use, if one is used. */
  uint32_t cuda_device;
  /* A stream of the program's, whose GPU is then used. Runs enqueue their steps
   * on it one by one, behind what it has already, and are done when all are
   * enqueued: they wait for the GPU only if the CPU has a step of its own. The
   * context has no state: each run is given memory for all variables, in GPU
   * memory for those on the GPU, aligned to TINH_BUFFER_ALIGNMENT. NULL: the
   * context has streams of its own. */
  tinh_cuda_stream_t *cuda_stream;
  /* Measure how long the GPU takes for each run (tinh_context_cuda_time). */
  bool measure_cuda;
  /* Note how long each step takes, for a profile (tinh/profile.h). */
  bool measure_steps;
  /* What cannot be had is an error, whose message says what is missing. */
  tinh_use_device_t device;
  /* The other ranks (tinh/collectives.h), for functions that compute together
   * with them, or NULL; the program's, for as long as the context is there. All
   * ranks run the same such functions, of the same artifact, in the same order.
   * If one fails or runs anything else, so do the others' runs, all of this
   * context, with TINH_COLLECTIVE_FAILED and a message that names it. Variables
   * then hold anything, and can neither be read nor saved; the buffers of the
   * run that has failed are not to be freed, as messages may still come to
   * them. INCOMPATIBLE if a function that is run was compiled for another
   * number of ranks. With ranks on the same machine, `threads` 0 is this one's
   * share. */
  tinh_collectives_t *collectives;
} tinh_context_options_t;

TINH_API void tinh_context_options_init(tinh_context_options_t *out_options);

/* Creates threads, arenas and the state for `module`: all its variables, with
 * their initial values. `options` may be NULL. A module that needs a GPU gets
 * all that its runs will use there, kernels and weights among it:
 * TINH_NO_DEVICE if there is no driver or no GPU, TINH_INCOMPATIBLE if the
 * artifact has no code for this one, TINH_OUT_OF_MEMORY. */
TINH_API tinh_status_t tinh_context_create(
    const tinh_module_t *module, const tinh_context_options_t *options,
    tinh_context_t **out_context);

/* Cancels the runs that have not started, waits for the others and for all
 * callbacks, and frees all. What a callback submits meanwhile is refused with
 * TINH_CANCELLED. Not to be called from a callback of a run. */
TINH_API void tinh_context_release(tinh_context_t *context);

typedef struct tinh_context_info {
  uint32_t threads;
  uint32_t max_in_flight;
  uint64_t arena_size;   /* Bytes of one arena. */
  uint32_t num_arenas;   /* At most two runs execute at a time. */
  uint64_t scratch_size; /* Bytes for all threads together. */
  bool uses_cuda;
  uint32_t cuda_device;       /* The GPU that it uses. */
  uint64_t device_arena_size; /* Bytes of one arena in GPU memory. */
  /* Why a module with code for GPUs runs on the CPU: that was asked for, or
   * what is missing. NULL if it does not; as long-lived as the context. */
  const char *why_not_cuda;
  /* Which libraries of CUDA's compute kernels, and why others do not, as far as
   * was known before the first run of functions with collectives of GPUs:
   * sentences, a line each. NULL if no kernel is one that they know. */
  const char *cuda_libraries;
} tinh_context_info_t;

TINH_API tinh_status_t tinh_context_info(const tinh_context_t *context,
                                         tinh_context_info_t *out_info);

/*===-- Runs --------------------------------------------------------------===*/

/* Memory of the caller; `size` must be the tensor's, and `data` aligned to the
 * element's size. Inputs are not written to. */
typedef struct tinh_buffer {
  void *data;
  size_t size; /* Bytes. */
} tinh_buffer_t;

/* Queues a run of `function` that starts after all of `wait_for` have
 * completed, and returns at once, or when the context has room for it. The
 * arrays are copied. If a future in `wait_for` fails, so does this run, with
 * TINH_DEPENDENCY_FAILED. `out_future` may be NULL: tinh_context_wait_all
 * waits for such a run. Runs start in the order of their submission, but for
 * those that still wait; runs of functions that mutate state never overlap
 * with another of the context, so that each sees the state as whole runs have
 * left it. Where the context is full, it refuses in a callback of a run, of
 * whatever context, with TINH_BUSY instead of blocking. */
TINH_API tinh_status_t tinh_context_submit(
    tinh_context_t *context, uint32_t function, const tinh_buffer_t *inputs,
    uint32_t num_inputs, const tinh_buffer_t *outputs, uint32_t num_outputs,
    tinh_future_t *const *wait_for, uint32_t num_wait_for,
    tinh_future_t **out_future);

/* Runs `function` and waits for it. The fastest way to one result: the calling
 * thread takes part in the work if the context is idle. TINH_BUSY in a callback
 * of one of the context's own runs, and in that of another context's if this
 * one is full. Else it waits there: two callbacks that each run the other's
 * context may do so for ever. */
TINH_API tinh_status_t tinh_context_run(
    tinh_context_t *context, uint32_t function, const tinh_buffer_t *inputs,
    uint32_t num_inputs, const tinh_buffer_t *outputs, uint32_t num_outputs);

/* What else a run may be told; all zero is what the calls without it do. */
typedef struct tinh_run_options {
  /* Memory of the caller for the module's variables, by their indices, in place
   * of the context's state, which the run then neither reads nor changes: it is
   * the caller who keeps others from that memory meanwhile. NULL: the state.
   * Otherwise one buffer for each variable; for one that the function does not
   * have it may be empty, with data NULL. INVALID_ARGUMENT if the artifact
   * stores one that it has in a layout of its own: graph-compile's
   * --plain-variables makes those that do not; or if one is in GPU memory and
   * the context not on a stream of the program's. */
  const tinh_buffer_t *variables;
  uint32_t num_variables;
} tinh_run_options_t;

TINH_API tinh_status_t tinh_context_submit_with(
    tinh_context_t *context, uint32_t function, const tinh_buffer_t *inputs,
    uint32_t num_inputs, const tinh_buffer_t *outputs, uint32_t num_outputs,
    tinh_future_t *const *wait_for, uint32_t num_wait_for,
    const tinh_run_options_t *options, tinh_future_t **out_future);

TINH_API tinh_status_t tinh_context_run_with(
    tinh_context_t *context, uint32_t function, const tinh_buffer_t *inputs,
    uint32_t num_inputs, const tinh_buffer_t *outputs, uint32_t num_outputs,
    const tinh_run_options_t *options);

/* The milliseconds that the GPU took for the run that has completed last, from
 * its first step to its last, by its own clock. INVALID_ARGUMENT unless the
 * context has measure_cuda, uses a GPU by streams of its own, and has run. */
TINH_API tinh_status_t tinh_context_cuda_time(tinh_context_t *context,
                                              double *out_ms);

/* Waits until all runs submitted to the context have completed, and their
 * futures with them, which tell how each ended; callbacks may be yet to come.
 * TINH_BUSY in a callback of a run. */
TINH_API tinh_status_t tinh_context_wait_all(tinh_context_t *context);

/*===-- State -------------------------------------------------------------===*/

/* Each of these waits for all runs that have been submitted, and holds back
 * those that are submitted meanwhile, or refuses them if the context does so
 * when it is full. TINH_BUSY in a callback of a run. */

/* Copies a variable, dense and row-major, to or from memory of the caller. */
TINH_API tinh_status_t tinh_context_read_variable(tinh_context_t *context,
                                                  uint32_t variable, void *data,
                                                  size_t size);
TINH_API tinh_status_t tinh_context_write_variable(tinh_context_t *context,
                                                   uint32_t variable,
                                                   const void *data,
                                                   size_t size);

/* Gives all variables their initial values. */
TINH_API tinh_status_t tinh_context_reset_state(tinh_context_t *context);

typedef struct tinh_metadata {
  const char *key;
  const char *value;
} tinh_metadata_t;

/* Writes all variables, under their names, and metadata of the program's own to
 * a .safetensors file, which appears at `path` whole or not at all. */
TINH_API tinh_status_t tinh_context_save_state(tinh_context_t *context,
                                               const char *path,
                                               const tinh_metadata_t *metadata,
                                               uint32_t num_metadata);

/* Reads all variables from such a file. It must have just these, with equal
 * types: else nothing is changed, and the message of TINH_INVALID_FILE names
 * the first that is missing, that is unexpected and that has another type. */
TINH_API tinh_status_t tinh_context_load_state(tinh_context_t *context,
                                               const char *path);

/*===-- Futures -----------------------------------------------------------===*/

/* Waits until the future has completed and returns how: TINH_OK, or what went
 * wrong, with its message. TINH_BUSY in a callback of a run, if the future is
 * that of a run that has not completed. */
TINH_API tinh_status_t tinh_future_wait(tinh_future_t *future);

/* Says without waiting whether the future has completed. In a callback it first
 * calls what has been left for later there, if the future has not. */
TINH_API tinh_status_t tinh_future_poll(tinh_future_t *future, bool *out_done);

/* `message` is empty on TINH_OK and lives as long as the call. */
typedef void (*tinh_callback_fn)(void *user, tinh_status_t status,
                                 const char *message);

/* Calls `callback` once the future has completed: on the thread that completes
 * it, or right here if it has completed already. It should be brief.
 *
 * In a callback of a run, the thread may be one that runs wait for, so that two
 * callbacks that waited for each other's contexts would do so for ever.
 * What would wait for a run there, of any context, gives TINH_BUSY, but for
 * tinh_context_run of another context; that is
 * so in all that the callback brings about, such as the callbacks of a future
 * that it settles. These are called when it has returned, or waits or polls,
 * and only then do runs start that waited for that future: so a chain of
 * futures may have any length. A callback must not throw. */
TINH_API tinh_status_t tinh_future_then(tinh_future_t *future,
                                        tinh_callback_fn callback, void *user);

/* Cancels a run that has not started; it completes with TINH_CANCELLED. One
 * that has started or completed gives TINH_ALREADY_STARTED and goes on. */
TINH_API tinh_status_t tinh_future_cancel(tinh_future_t *future);

/* Makes a future that the program completes itself, for runs to wait for. */
TINH_API tinh_status_t tinh_future_create(tinh_future_t **out_future);

/* Completes a future from tinh_future_create, with TINH_OK or with an error
 * that travels to the runs that wait for it. `message` may be NULL. */
TINH_API tinh_status_t tinh_future_settle(tinh_future_t *future,
                                          tinh_status_t status,
                                          const char *message);

/* Gives up the handle; the run itself goes on. */
TINH_API void tinh_future_release(tinh_future_t *future);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* TINH_RUNTIME_H */
