/*===- tinh/artifact.h - The layout of a compiled artifact -------*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * An artifact is an ELF shared object (gABI, System V) with
 *   - one note, name "Tinh", type TINH_NOTE_TYPE, whose content is a
 *     tinh_note_t: all that a loader must know before it maps anything;
 *   - one exported symbol, TINH_ARTIFACT_SYMBOL, a tinh_artifact_t: plain,
 *     constant data that describes functions, kernels and schedules;
 *   - the kernels, reached through the descriptor only;
 *   - unless the weights are external, a section ".tinh.weights" that is not
 *     loaded; the note says where in the file it lies;
 *   - in the last 8 bytes of the file, a tinh_checksum of all others but those
 *     of embedded weights.
 * An object file has the same but for the note's place and the checksum: see
 * tinh_model_t.
 *
 * The compiler writes these structures and the runtime reads them; programs
 * that embed the runtime use tinh/runtime.h instead. All pointers point into
 * the loaded object. Strings are UTF-8 and end in NUL. Sizes and offsets are in
 * bytes unless stated otherwise.
 *
 *===----------------------------------------------------------------------===*/
#ifndef TINH_ARTIFACT_H
#define TINH_ARTIFACT_H

#include "tinh/types.h"

#include <stddef.h>
#include <string.h>

/* Raised whenever a structure here changes; a runtime loads exactly its own. */
#define TINH_ARTIFACT_VERSION 15u

#define TINH_ARTIFACT_SYMBOL "tinh_artifact"
#define TINH_NOTE_NAME "Tinh"
#define TINH_NOTE_TYPE 1u

/* Alignment of the arena, the weights, the scratch memory and of every buffer
 * that the compiler places in them. */
#define TINH_BUFFER_ALIGNMENT 64u
/* Alignment of the weights within their file. */
#define TINH_WEIGHTS_FILE_ALIGNMENT 4096u
/* Workers share a COPY or ZERO in pieces of so many bytes. */
#define TINH_COPY_SHARE 65536u

/* CPU features that generated code may need, a bit each. */
#define TINH_CPU_AVX2 (UINT64_C(1) << 0)
#define TINH_CPU_FMA (UINT64_C(1) << 1)
#define TINH_CPU_F16C (UINT64_C(1) << 2)
#define TINH_CPU_BMI2 (UINT64_C(1) << 3)
#define TINH_CPU_AVX512F (UINT64_C(1) << 4)
#define TINH_CPU_AVX512BW (UINT64_C(1) << 5)
#define TINH_CPU_AVX512CD (UINT64_C(1) << 6)
#define TINH_CPU_AVX512DQ (UINT64_C(1) << 7)
#define TINH_CPU_AVX512VL (UINT64_C(1) << 8)
#define TINH_CPU_AVX512VNNI (UINT64_C(1) << 9)
#define TINH_CPU_AVX512BF16 (UINT64_C(1) << 10)
#define TINH_CPU_AVX512FP16 (UINT64_C(1) << 11)
#define TINH_CPU_AVXVNNI (UINT64_C(1) << 12)
#define TINH_CPU_AMX_TILE (UINT64_C(1) << 13)
#define TINH_CPU_AMX_BF16 (UINT64_C(1) << 14)
#define TINH_CPU_AMX_INT8 (UINT64_C(1) << 15)

/* The content of the ELF note. It has no pointers, so it is read with pread
 * and checked against the file before dlopen. */
typedef struct tinh_note {
  uint32_t version;          /* TINH_ARTIFACT_VERSION of the compiler. */
  uint32_t weights_embedded; /* 1: weights_offset is in this file;
                                0: in the companion file, weights_file. */
  uint64_t cpu_features;     /* TINH_CPU_* that the code needs, or'ed. */
  uint64_t file_size;        /* Length of the whole artifact file. */
  uint64_t weights_offset;   /* A multiple of TINH_WEIGHTS_FILE_ALIGNMENT. */
  uint64_t weights_size;     /* 0 if there are none. */
  /* Identity of the weights: a companion file's metadata must carry the same,
   * in hexadecimal. */
  uint8_t weights_digest[16];
  char cpu[48];           /* The name that the code was compiled for. */
  char weights_file[128]; /* Name of the companion file, in the artifact's own
                             directory; empty if the weights are embedded. */
} tinh_note_t;

#define TINH_CHECKSUM_START UINT64_C(0xcbf29ce484222325)

/* FNV-1a over words of 8 bytes, the last one filled up with zeros: `checksum`,
 * which begins with TINH_CHECKSUM_START, and `size` bytes more. It tells any
 * change of one word, and finds accidents, not attacks. */
static inline uint64_t tinh_checksum(uint64_t checksum, const void *data,
                                     size_t size) {
  const char *bytes = (const char *)data;
  uint64_t word;
  for (; size >= sizeof word; bytes += sizeof word, size -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    checksum = (checksum ^ word) * UINT64_C(0x100000001b3);
  }
  if (size > 0) {
    word = 0;
    memcpy(&word, bytes, size);
    checksum = (checksum ^ word) * UINT64_C(0x100000001b3);
  }
  return checksum;
}

/* A kernel computes chunks [chunk_begin, chunk_end) of one dispatch. Chunks are
 * independent of each other and fixed when the kernel is compiled, so that any
 * division of them among threads gives the same bits. `buffers` are the
 * operands' addresses, in the order of the dispatch's buffer references;
 * `scratch` is memory of the calling worker's own, of at least the kernel's
 * scratch_size, whose content does not survive the call. A kernel neither
 * allocates, blocks nor fails. */
typedef void (*tinh_kernel_fn)(void *const *buffers, void *scratch,
                               int64_t chunk_begin, int64_t chunk_end);

/* A tensor that a kernel reads or writes, of any rank. */
typedef struct tinh_operand_desc {
  uint32_t dtype;   /* tinh_dtype_t */
  uint32_t written; /* 1: it is written, all of it; 0: it is only read. */
  uint32_t rank;
  const int64_t *dims;    /* Elements; `rank` of them, as of the */
  const int64_t *strides; /* strides, in elements too, none negative. */
} tinh_operand_desc_t;

typedef enum tinh_device {
  TINH_DEVICE_CPU = 0,
  TINH_DEVICE_CUDA = 1 /* A GPU of NVIDIA's. */
} tinh_device_t;

/* What stands before the code of kernels for GPUs, as the driver takes it: a
 * fat binary with kernels of the names in their descriptions, whose parameters
 * are the operands' addresses in GPU memory. Aligned to 16 bytes. */
typedef struct tinh_image {
  uint64_t size; /* Bytes of the code, which begins behind this structure. */
  uint64_t reserved;
} tinh_image_t;

typedef enum tinh_library_kind {
  TINH_LIBRARY_MATMUL = 0,
  TINH_LIBRARY_CONVOLUTION = 1
} tinh_library_kind_t;

typedef enum tinh_activation {
  TINH_ACTIVATION_NONE = 0,
  TINH_ACTIVATION_RELU = 1,
  TINH_ACTIVATION_GELU_TANH = 2 /* With tanh in the place of erf. */
} tinh_activation_t;

#define TINH_VIEW_MAX_RANK 5u
#define TINH_NO_OPERAND UINT32_MAX

/* An operand of a kernel as a tensor of another shape: strides are in elements,
 * from the operand's first one on. */
typedef struct tinh_view {
  uint32_t operand; /* TINH_NO_OPERAND: there is none, and all else is 0. */
  uint32_t rank;
  int64_t dims[TINH_VIEW_MAX_RANK]; /* Unused ones are 0. */
  int64_t strides[TINH_VIEW_MAX_RANK];
} tinh_view_t;

/* What a kernel is to a library of matrix multiplications (GEMM) or
 * convolutions, which may compute it in its place:
 *   result = activation(left * right + bias + residual)
 * in sums of f32. Left and right, the operands A and B of a GEMM, are of one
 * type, f32, f16 or bf16; so are the others, or all f32.
 *   MATMUL: left is b x m x k, right b x k x n, the others b x m x n. Left has
 * a stride of 1 along m or k, right along k or n, the others along n; the bias
 * has no other stride.
 *   CONVOLUTION: left is N x C x two or three spatial dimensions, right output
 * channels x C of a group x the filter's spatial dimensions, the others N x
 * output channels x positions. The bias has a stride along channels alone. */
typedef struct tinh_library_call {
  uint32_t kind;       /* tinh_library_kind_t */
  uint32_t activation; /* tinh_activation_t */
  uint32_t allow_tf32; /* 1: left and right of f32 may be rounded to tf32. */
  uint32_t reserved;
  tinh_view_t left, right, result;
  tinh_view_t bias, residual; /* Maybe none. */
  /* CONVOLUTION, for each spatial dimension; all others are 0: zeros before
   * and behind the image, the filter's strides and its dilations. */
  int64_t low[3], high[3], strides[3], dilations[3];
} tinh_library_call_t;

typedef struct tinh_kernel_desc {
  const char *name;        /* As its symbol, for traces and profilers. */
  tinh_kernel_fn function; /* CPU; NULL otherwise. */
  uint64_t scratch_size;   /* CUDA: the dynamic shared memory of a block. */
  uint32_t num_operands;
  const tinh_operand_desc_t *operands; /* By buffer. */
  uint32_t device;                     /* tinh_device_t: where it runs. */
  uint32_t threads;          /* CUDA: of a block, which computes one chunk; a
                                multiple of 32, at most 1024. CPU: 0. */
  const tinh_image_t *image; /* CUDA, maybe with others; NULL otherwise. */
  const tinh_library_call_t *library; /* CUDA; or NULL. */
  /* For profiles, of all chunks together: additions, multiplications and other
   * arithmetic operations; the bytes that have to be read and written at least;
   * and the cycles of one core that the compiler has estimated, 0 if none. */
  uint64_t operations;
  uint64_t bytes;
  double estimated_cycles;
  const char *plan; /* How it is computed, as the compiler's IR says it; or
                       NULL. */
} tinh_kernel_desc_t;

/* The memory in which a buffer lies. */
typedef enum tinh_space {
  TINH_SPACE_ARENA = 0,   /* `offset` into the run's arena. */
  TINH_SPACE_WEIGHTS = 1, /* `offset` into the artifact's weights, which only
                             its `init` writes. */
  TINH_SPACE_INPUT = 2,   /* `offset` into the function's input `index`. */
  TINH_SPACE_OUTPUT = 3,  /* `offset` into the function's output `index`. */
  TINH_SPACE_LOOP = 4,    /* The index, an int64_t from 0, of the iteration of
                             the loop at depth `index`; only read. */
  TINH_SPACE_DEVICE = 5,  /* `offset` into the run's arena on the GPU. */
  TINH_SPACE_DEVICE_WEIGHTS = 6 /* `offset` into the weights, in GPU memory,
                                   where device_weights_size bytes are. */
} tinh_space_t;

typedef struct tinh_buffer_ref {
  uint32_t space; /* tinh_space_t */
  uint32_t index; /* Of the input, output or loop; 0 otherwise. */
  uint64_t offset;
} tinh_buffer_ref_t;

/* Buffer `buffer` of a step lies `bytes` further on in each iteration of the
 * loop at depth `loop`: slices of a tensor along its first dimension. */
typedef struct tinh_stride {
  uint32_t buffer;
  uint32_t loop;
  int64_t bytes;
} tinh_stride_t;

typedef enum tinh_opcode {
  TINH_OP_DISPATCH = 0, /* Run kernel `kernel` on `num_chunks` chunks. */
  TINH_OP_COPY = 1,     /* Copy `size` bytes from buffers[0] to buffers[1]. */
  TINH_OP_ZERO = 2,     /* Set `size` bytes of buffers[0] to 0. */
  TINH_OP_START = 3,    /* Start `collective`, from buffers[0] to buffers[1]. */
  TINH_OP_AWAIT = 4,    /* Wait until the collective that the step `target` has
                           started, from and to the same buffers, is finished. */
  TINH_OP_BRANCH = 5,   /* Go to `target` unless the byte buffers[0] is set. */
  TINH_OP_JUMP = 6,     /* Go to `target`. */
  TINH_OP_LOOP = 7,     /* Begin a loop of `num_chunks` iterations, or of fewer
                           if the int64_t buffers[0] is less; with none, go to
                           `target`, the step behind the loop's NEXT. */
  TINH_OP_NEXT = 8      /* Begin the next iteration, if there is one, at
                           `target`, the step behind the loop's LOOP. */
} tinh_opcode_t;

/* A collective operation of all ranks, as tinh/collectives.h has them. */
typedef struct tinh_collective_desc {
  uint32_t kind;      /* tinh_collective_kind_t */
  uint32_t reduction; /* tinh_reduction_t */
  uint32_t dtype;     /* tinh_dtype_t, and as what it is sent: */
  uint32_t communication_dtype;
  uint32_t root;
  uint32_t num_ranks; /* How many there must be; 0: any number. An ALL_GATHER
                         and a REDUCE_SCATTER are for a number. */
  uint64_t count;
} tinh_collective_desc_t;

/* One step of a function's schedule. Every worker walks the steps in order,
 * takes its static share of each one's chunks, and takes all branches itself.
 * Before a worker starts on step i, those of the steps 0 … w that are executed
 * before it must have been finished by *all* workers, where w is the largest
 * wait_for of the steps 0 … i, executed or not; steps after w may still be
 * running on other workers. An iteration of a loop, the first one included,
 * starts when all that is executed before it is finished by all workers; but a
 * loop that is `alone` is done by one worker as if it was a single step, and
 * the steps in it follow each other. The memory plan is safe under exactly this
 * order, and so under any that keeps it for steps with bytes in common that one
 * of them writes.
 *
 * A GPU does a DISPATCH of one of its kernels, whose buffers all lie in its
 * memory, a START or AWAIT whose buffers do, and every COPY or ZERO that has to
 * do with its memory: to the steps that wait for them it makes no difference.
 * What the CPU does has all buffers in the CPU's memory, the byte of a BRANCH
 * and the count of a LOOP as well; the index of an iteration gets to the GPU by
 * a COPY of 8 bytes. WEIGHTS are not copied to the GPU's memory: they are
 * there, as DEVICE_WEIGHTS. `init` has no steps of the GPU.
 *
 * What a START reads may not be written, and what it writes not be touched,
 * before its AWAIT is finished. Each has one, behind it; both are run in each
 * run, once: in no loop, and with no way around them. The buffers of all of a
 * function are in the CPU's memory, or of all in the GPU's.
 *
 * Loops nest; the depth of one is the number of loops around it, and the steps
 * behind its LOOP, up to its NEXT, are in it. BRANCH and JUMP go forward, into
 * no loop, and out of one at most. */
typedef struct tinh_step {
  uint32_t opcode;  /* tinh_opcode_t */
  uint32_t kernel;  /* DISPATCH: index into the artifact's kernels. */
  int32_t wait_for; /* Index of a step before it, or -1 to wait for none. */
  uint32_t num_buffers;
  const tinh_buffer_ref_t *buffers; /* In the order of the kernel's operands. */
  uint64_t num_chunks;              /* DISPATCH: at least 1. */
  uint64_t size;                    /* COPY, ZERO: bytes. */
  const char *label; /* For traces: the names of the model's nodes behind this
                        step, a line each. */
  uint32_t target;   /* BRANCH, JUMP, LOOP, NEXT: index of a step; num_steps is
                        the end. AWAIT: of its START. */
  uint32_t num_strides;
  const tinh_stride_t *strides; /* By buffer. */
  uint32_t alone; /* LOOP: one worker does all of it. No step in it is a GPU's,
                     has more than one chunk or waits for any. */
  const tinh_collective_desc_t *collective; /* START, AWAIT; NULL otherwise. */
} tinh_step_t;

/* A tensor of a function's signature: dense, row-major. */
typedef struct tinh_tensor_desc {
  const char *name;
  uint32_t dtype;              /* tinh_dtype_t */
  uint32_t rank;               /* 0 … TINH_MAX_RANK */
  int64_t dims[TINH_MAX_RANK]; /* Elements; unused ones are 0. */
  uint64_t size;               /* Bytes of all elements. */
  int32_t variable;            /* Index into the artifact's variables, of the
                                  same type; or TINH_NOT_VARIABLE: the caller
                                  gives its memory. */
  const int32_t *size_outputs; /* As in tinh_tensor_info_t: of an output of
                                  data-dependent shape; NULL otherwise. */
} tinh_tensor_desc_t;

#define TINH_NOT_VARIABLE (-1)

/* A kernel that turns one tensor, buffers[0], into another one, buffers[1]. It
 * needs no scratch memory. */
typedef struct tinh_conversion {
  uint32_t kernel; /* Index into the artifact's kernels, or TINH_NO_KERNEL. */
  uint64_t num_chunks;
} tinh_conversion_t;

#define TINH_NO_KERNEL UINT32_MAX

/* A tensor that lives from run to run, in the state that each context has. As
 * an input of a function it is read; as an output it is what the function
 * leaves in it. Both are the same memory: the memory plan writes nothing there
 * that a step still wants to read.
 *
 * In the state, and as an initial value, it may lie in another way than its
 * type says, which is all that programs and files get to see: `pack` then turns
 * what they have into what is stored, and `unpack` does the opposite. */
typedef struct tinh_variable_desc {
  const char *name; /* Unique. */
  uint32_t dtype;
  uint32_t rank;
  int64_t dims[TINH_MAX_RANK];
  uint64_t size;
  uint64_t offset;         /* Into the state; a multiple of
                              TINH_BUFFER_ALIGNMENT. */
  uint64_t initial_offset; /* Into the weights: its first value; or
                              TINH_INITIALLY_ZERO. */
  uint32_t trainable;      /* 1: a parameter that gradients change; 0: what
                              goes with them, such as moments. */
  uint64_t stored_size;    /* Its bytes in the state. */
  tinh_conversion_t pack, unpack; /* Both or neither. */
  uint32_t device; /* tinh_device_t: whose memory it lies in; `offset` is
                      into the state that is there. */
} tinh_variable_desc_t;

#define TINH_INITIALLY_ZERO UINT64_MAX

/* How a step goes to the GPU. */
typedef enum tinh_launch {
  TINH_LAUNCH_NONE = 0,    /* Not at all. */
  TINH_LAUNCH_SEGMENT = 1, /* In a segment; or it begins or ends a loop that is
                              unrolled there. */
  TINH_LAUNCH_LOOSE = 2    /* By itself, when worker 0 comes to it. */
} tinh_launch_t;

#define TINH_NO_SEGMENT UINT32_MAX
#define TINH_AT_END UINT32_MAX

/* A step of a segment in one iteration of the loops around it, all of which are
 * unrolled: a node of a CUDA graph. It comes after nodes before it, which the
 * plan's `edges` name by their places in the segment, in ascending order. */
typedef struct tinh_device_node {
  uint32_t step;      /* Of the GPU's, launched in a SEGMENT; no COPY or ZERO of
                         0 bytes. */
  uint32_t iteration; /* Of all iterations of the loops around it, counted as
                         they are done one after the other; 0 in no loop. */
  uint32_t first_edge;
  uint32_t num_edges;
} tinh_device_node_t;

/* What goes to the GPU at once, as one CUDA graph. Its nodes need the same
 * steps of the CPU, and the same step of the CPU needs them first. The node of
 * a START is the collective, and that of its AWAIT, which comes after it,
 * nothing; each START comes after the one before. */
typedef struct tinh_device_segment {
  uint32_t first_node; /* Behind those of the segment before it. */
  uint32_t num_nodes;  /* At least 1. */
  uint32_t launch; /* The step before which it is launched: none behind one of
                      its own, and in no branch or loop, but for loops that are
                      unrolled. */
  uint32_t wait;   /* How many of the first steps all workers must be done with
                      before that. */
  uint32_t due; /* The first step of the CPU that needs it, behind its own and
                   a gate; or TINH_AT_END. */
  uint32_t stream; /* 0 or 1: on one stream segments follow each other. Only 0
                      if there are LOOSE steps, which are on it, too. */
  uint32_t after; /* The last segment before it that it comes after on the other
                     stream; or TINH_NO_SEGMENT. */
  uint32_t is_awaited; /* 1: something waits for its end before that of the run,
                          so that it is an event. */
} tinh_device_segment_t;

/* How the steps of a function go to the GPU. A worker that launches does not
 * wait for the GPU but at gates: there for all segments that are due at that
 * step or before, and for all LOOSE steps that it was given. A context may give
 * the GPU all of its steps one by one instead. */
typedef struct tinh_device_plan {
  /* By step: tinh_launch_t. NONE for what the CPU does and, but for LOOP and
   * NEXT of loops that are unrolled, what decides on the way. SEGMENT only for
   * what each run does, and once, but for such loops. */
  const uint8_t *launches;
  /* By step: 1: the CPU waits before it. Only of steps of NONE, but of no JUMP
   * or NEXT, nor of step 0. */
  const uint8_t *gates;
  uint32_t num_segments;
  uint32_t num_nodes; /* Each SEGMENT step once for each of its iterations. */
  uint32_t num_edges;
  const tinh_device_segment_t *segments; /* By where they are launched. */
  const tinh_device_node_t *nodes;
  const uint32_t *edges;
} tinh_device_plan_t;

typedef struct tinh_function_desc {
  const char *name; /* "main" for a model's inference. */
  uint32_t num_inputs;
  uint32_t num_outputs;
  const tinh_tensor_desc_t *inputs;
  const tinh_tensor_desc_t *outputs;
  uint32_t num_steps;
  uint32_t mutates_state; /* 1: variables are among its outputs. */
  const tinh_step_t *steps;
  uint64_t arena_size;
  uint64_t unplanned_size;    /* The sum of its intermediate buffers, and */
  uint64_t lower_bound_size;  /* its live-set lower bound: for reports. */
  uint64_t device_arena_size; /* The same of its arena on the GPU. */
  uint64_t device_unplanned_size;
  uint64_t device_lower_bound_size;
  const tinh_device_plan_t *device_plan; /* NULL: no step is a GPU's. */
} tinh_function_desc_t;

/* What one core of the CPU does in a cycle at best, by the compiler's model of
 * it; 0: that is not known. */
typedef struct tinh_core_peaks {
  double operations; /* Additions and multiplications of f32. */
  double bytes;      /* From memory. */
} tinh_core_peaks_t;

typedef struct tinh_artifact {
  uint32_t version; /* TINH_ARTIFACT_VERSION, first in every version. */
  uint32_t num_kernels;
  const char *producer; /* "tinh 0.1.0" */
  const char *model;    /* The model's name, from its file. */
  const tinh_kernel_desc_t *kernels;
  uint32_t num_functions;
  uint32_t num_variables;
  const tinh_function_desc_t *functions;
  const tinh_variable_desc_t *variables;
  uint64_t weights_size;
  uint64_t state_size; /* Of all variables of the CPU, each aligned. */
  /* Computes the weights anew from the model's parameters, its inputs, for a
   * program that has others; or NULL. It has no outputs: its steps write to the
   * weights, of which it reads what is no parameter. */
  const tinh_function_desc_t *init;
  uint64_t device_state_size; /* Of all variables of the GPU. */
  /* Bytes at the beginning of the weights that are copied to GPU memory. */
  uint64_t device_weights_size;
  /* What a context without a GPU runs in place of this; or NULL. It has the
   * same kernels and weights, functions of the same names, inputs and outputs,
   * and variables of the same names and types, all in the same order; nothing
   * in it is a GPU's, and it has neither `init` nor `without_gpu`. */
  const struct tinh_artifact *without_gpu;
  tinh_core_peaks_t core;
} tinh_artifact_t;

/* An artifact in an object file, to be linked into a program: what the symbol
 * TINH_MODEL_SYMBOL_PREFIX and the model's name stand for, the only one that
 * the file exports. In the note, file_size and the place of embedded weights
 * are 0. */
#define TINH_MODEL_SYMBOL_PREFIX "tinh_model_"
typedef struct tinh_model {
  const tinh_note_t *note; /* First in every version. */
  const tinh_artifact_t *artifact;
  const void *weights; /* Embedded ones; NULL if there are none. */
} tinh_model_t;

#endif /* TINH_ARTIFACT_H */
