/*===- ranks_artifact.c - A hand-made artifact of several ranks -----------===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * "main" computes y = 2 x + the sum of 2 x of all ranks, and a product beside
 * the sum. "pair", of two ranks, computes the mean of their x: each one half of
 * it, which both gather.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/artifact.h"
#include "tinh/collectives.h"

#define N 1024
#define SIZE (N * sizeof(float))
#define CHUNK 64

static void twice(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  const float *x = buffers[0];
  float *out = buffers[1];
  for (int64_t i = begin * CHUNK; i < end * CHUNK; ++i)
    out[i] = 2 * x[i];
}

static void add(void *const *buffers, void *scratch, int64_t begin,
                int64_t end) {
  const float *a = buffers[0], *b = buffers[1];
  float *out = buffers[2];
  for (int64_t i = begin * CHUNK; i < end * CHUNK; ++i)
    out[i] = a[i] + b[i];
}

static const int64_t all[] = {N}, dense[] = {1};
#define READ {TINH_DTYPE_F32, 0, 1, all, dense}
#define WRITTEN {TINH_DTYPE_F32, 1, 1, all, dense}
static const tinh_operand_desc_t of_twice[] = {READ, WRITTEN},
                                 of_add[] = {READ, READ, WRITTEN};
static const tinh_kernel_desc_t kernels[] = {{"twice", twice, 0, 2, of_twice},
                                             {"add", add, 0, 3, of_add}};

static const tinh_tensor_desc_t inputs[] = {
    {"x", TINH_DTYPE_F32, 1, {N}, SIZE, TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t outputs[] = {
    {"y", TINH_DTYPE_F32, 1, {N}, SIZE, TINH_NOT_VARIABLE}};

#define ARENA(part) {TINH_SPACE_ARENA, 0, (part) * SIZE}
static const tinh_buffer_ref_t to_sum[] = {{TINH_SPACE_INPUT, 0, 0}, ARENA(0)},
                               sum[] = {ARENA(0), ARENA(1)},
                               beside[] = {{TINH_SPACE_INPUT, 0, 0}, ARENA(2)},
                               add_both[] = {ARENA(1),
                                             ARENA(2),
                                             {TINH_SPACE_OUTPUT, 0, 0}},
                               to_half[] = {{TINH_SPACE_INPUT, 0, 0}, ARENA(0)},
                               from_half[] = {ARENA(0),
                                              {TINH_SPACE_OUTPUT, 0, 0}};

static const tinh_collective_desc_t
    all_reduce = {TINH_ALL_REDUCE,
                  TINH_REDUCE_SUM,
                  TINH_DTYPE_F32,
                  TINH_DTYPE_F32,
                  0,
                  0,
                  N},
    scatter = {TINH_REDUCE_SCATTER,
               TINH_REDUCE_MEAN,
               TINH_DTYPE_F32,
               TINH_DTYPE_F32,
               0,
               2,
               N / 2},
    gather = {TINH_ALL_GATHER, 0, TINH_DTYPE_F32, TINH_DTYPE_F32, 0, 2, N / 2};

static const tinh_step_t main_steps[] = {
    {TINH_OP_DISPATCH, 0, -1, 2, to_sum, N / CHUNK, .label = "Double_0"},
    {TINH_OP_START, .wait_for = 0, .num_buffers = 2, .buffers = sum,
     .label = "Sum_1", .collective = &all_reduce},
    {TINH_OP_DISPATCH, 0, -1, 2, beside, N / CHUNK, .label = "Double_2"},
    {TINH_OP_AWAIT, .wait_for = -1, .num_buffers = 2, .buffers = sum,
     .label = "Sum_1", .target = 1, .collective = &all_reduce},
    {TINH_OP_DISPATCH, 1, 3, 3, add_both, N / CHUNK, .label = "Add_3"}};
static const tinh_step_t pair_steps[] = {
    {TINH_OP_START, .wait_for = -1, .num_buffers = 2, .buffers = to_half,
     .label = "Mean_0", .collective = &scatter},
    {TINH_OP_AWAIT, .wait_for = -1, .num_buffers = 2, .buffers = to_half,
     .label = "Mean_0", .target = 0, .collective = &scatter},
    {TINH_OP_START, .wait_for = 1, .num_buffers = 2, .buffers = from_half,
     .label = "Gather_1", .collective = &gather},
    {TINH_OP_AWAIT, .wait_for = -1, .num_buffers = 2, .buffers = from_half,
     .label = "Gather_1", .target = 2, .collective = &gather}};

static const tinh_function_desc_t functions[] = {
    {"main", 1, 1, inputs, outputs, 5, 0, main_steps, 3 * SIZE, 3 * SIZE,
     3 * SIZE},
    {"pair", 1, 1, inputs, outputs, 4, 0, pair_steps, SIZE, SIZE, SIZE}};

__attribute__((visibility("default")))
const tinh_artifact_t tinh_artifact = {.version = TINH_ARTIFACT_VERSION,
                                       .num_kernels = 2,
                                       .producer = "toy 1.0",
                                       .model = "ranks",
                                       .kernels = kernels,
                                       .num_functions = 2,
                                       .functions = functions,
                                       .weights_size = SIZE};

__attribute__((section(".note.tinh"), used, aligned(4))) static const struct {
  uint32_t name_size, size, type;
  char name[8];
  unsigned char content[sizeof(tinh_note_t)];
} note = {5, sizeof(tinh_note_t), TINH_NOTE_TYPE, "Tinh", "NOTE TO COMPLETE"};
