/*===- toy_artifact.c - A hand-made artifact for the runtime's tests ------===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * "main" computes y[i] = 2 * x[(i + 64) % 1024] + w[i] in two kernels and a
 * copy; every chunk reads what another chunk of the kernel before has written.
 * "count" counts its runs in a variable. "chain" has many empty dispatches.
 * "late" computes what "main" does, but for the last chunk of the first kernel,
 * which comes late; a step of one chunk waits for it, and the next for nothing.
 * The weights may be others: "init" copies a parameter to them. What profiles
 * tell of its work is known of the kernels of "main" alone, and an estimate of
 * the first of them.
 * The test completes the note, as the compiler does after linking.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/artifact.h"

#include <time.h>

#define N 1024
#define CHUNK 64

static void twice(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  const float *x = buffers[0];
  float *out = buffers[1], *copy = scratch;
  for (int64_t i = begin * CHUNK; i < end * CHUNK; ++i) {
    copy[i % CHUNK] = x[i];
    out[i] = 2 * copy[i % CHUNK];
  }
}

static void twice_late(void *const *buffers, void *scratch, int64_t begin,
                       int64_t end) {
  struct timespec pause = {0, 5000000};
  if (end == N / CHUNK)
    nanosleep(&pause, 0);
  twice(buffers, scratch, begin, end);
}

static void shift_add(void *const *buffers, void *scratch, int64_t begin,
                      int64_t end) {
  const float *x = buffers[0], *w = buffers[1];
  float *out = buffers[2];
  for (int64_t i = begin * CHUNK; i < end * CHUNK; ++i)
    out[i] = x[(i + CHUNK) % N] + w[i];
}

static void count(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  int64_t next = *(const int64_t *)buffers[0] + 1;
  *(int64_t *)buffers[1] = next;
  *(int64_t *)buffers[2] = next;
}

static void nothing(void *const *buffers, void *scratch, int64_t begin,
                    int64_t end) {}

static const int64_t all[] = {N}, dense[] = {1};
#define READ_ALL {TINH_DTYPE_F32, 0, 1, all, dense}
#define WRITTEN_ALL {TINH_DTYPE_F32, 1, 1, all, dense}
#define SCALAR(WRITTEN) {TINH_DTYPE_I64, WRITTEN, 0, 0, 0}
static const tinh_operand_desc_t of_twice[] = {READ_ALL, WRITTEN_ALL},
                                 of_shift[] = {READ_ALL, READ_ALL, WRITTEN_ALL},
                                 of_count[] = {SCALAR(0), SCALAR(1), SCALAR(1)};
static const tinh_kernel_desc_t kernels[] = {
    {"twice", twice, CHUNK * sizeof(float), 2, of_twice, .operations = N,
     .bytes = 2 * N * sizeof(float), .estimated_cycles = 4096,
     .plan = "#toy.rows<chunk = 64>"},
    {"shift_add", shift_add, 0, 3, of_shift, .operations = N,
     .bytes = 3 * N * sizeof(float), .plan = "rows"},
    {"count", count, 0, 3, of_count},
    {"nothing", nothing, 0, 0, 0, .estimated_cycles = 5000},
    {"twice_late", twice_late, CHUNK * sizeof(float), 2, of_twice}};

static const tinh_tensor_desc_t main_inputs[] = {
    {"x", TINH_DTYPE_F32, 1, {N}, N * sizeof(float), TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t main_outputs[] = {
    {"y", TINH_DTYPE_F32, 1, {N}, N * sizeof(float), TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t count_inputs[] = {
    {"count", TINH_DTYPE_I64, 0, {0}, 8, 0}};
static const tinh_tensor_desc_t count_outputs[] = {
    {"count", TINH_DTYPE_I64, 0, {0}, 8, 0},
    {"runs", TINH_DTYPE_I64, 0, {0}, 8, TINH_NOT_VARIABLE}};
static const tinh_variable_desc_t variables[] = {{
    .name = "count",
    .dtype = TINH_DTYPE_I64,
    .size = 8,
    .initial_offset = TINH_INITIALLY_ZERO,
    .stored_size = 8,
    .pack = {TINH_NO_KERNEL, 0},
    .unpack = {TINH_NO_KERNEL, 0},
}};

static const tinh_buffer_ref_t twice_buffers[] = {{TINH_SPACE_INPUT, 0, 0},
                                                  {TINH_SPACE_ARENA, 0, 0}};
static const tinh_buffer_ref_t shift_buffers[] = {
    {TINH_SPACE_ARENA, 0, 0},
    {TINH_SPACE_WEIGHTS, 0, 0},
    {TINH_SPACE_ARENA, 0, N * sizeof(float)}};
static const tinh_buffer_ref_t shift_to_output[] = {{TINH_SPACE_ARENA, 0, 0},
                                                    {TINH_SPACE_WEIGHTS, 0, 0},
                                                    {TINH_SPACE_OUTPUT, 0, 0}};
static const tinh_buffer_ref_t copy_buffers[] = {
    {TINH_SPACE_ARENA, 0, N * sizeof(float)}, {TINH_SPACE_OUTPUT, 0, 0}};
static const tinh_buffer_ref_t count_buffers[] = {{TINH_SPACE_INPUT, 0, 0},
                                                  {TINH_SPACE_OUTPUT, 0, 0},
                                                  {TINH_SPACE_OUTPUT, 1, 0}};

static const tinh_step_t main_steps[] = {
    {TINH_OP_DISPATCH, 0, -1, 2, twice_buffers, N / CHUNK, 0, "Double_0", 0, 0,
     0},
    {TINH_OP_DISPATCH, 1, 0, 3, shift_buffers, N / CHUNK, 0, "Add_1", 0, 0, 0},
    {TINH_OP_COPY, 0, 1, 2, copy_buffers, 0, N * sizeof(float), "Copy_2", 0, 0,
     0}};
static const tinh_step_t late_steps[] = {
    {TINH_OP_DISPATCH, 4, -1, 2, twice_buffers, N / CHUNK, 0, "Double_0", 0, 0,
     0},
    {TINH_OP_DISPATCH, 3, 0, 0, 0, 1, 0, "Nothing_1", 0, 0, 0},
    {TINH_OP_DISPATCH, 1, -1, 3, shift_to_output, N / CHUNK, 0, "Add_2", 0, 0,
     0}};
static const tinh_step_t count_steps[] = {
    {TINH_OP_DISPATCH, 2, -1, 3, count_buffers, 1, 0, "Count_0", 0, 0, 0}};

#define EMPTY(i) {TINH_OP_DISPATCH, 3, (i) - 1, 0, 0, 64, 0, "Nothing", 0, 0, 0}
#define EMPTY4(i) EMPTY(i), EMPTY(i + 1), EMPTY(i + 2), EMPTY(i + 3)
#define EMPTY16(i) EMPTY4(i), EMPTY4(i + 4), EMPTY4(i + 8), EMPTY4(i + 12)
#define EMPTY64(i) EMPTY16(i), EMPTY16(i + 16), EMPTY16(i + 32), EMPTY16(i + 48)
static const tinh_step_t chain_steps[] = {EMPTY64(0), EMPTY64(64), EMPTY64(128),
                                          EMPTY64(192)};

static const tinh_function_desc_t functions[] = {
    {"main", 1, 1, main_inputs, main_outputs, 3, 0, main_steps,
     2 * N * sizeof(float), 2 * N * sizeof(float), 2 * N * sizeof(float)},
    {"count", 1, 2, count_inputs, count_outputs, 1, 1, count_steps, 0, 0, 0},
    {"chain", 0, 0, 0, 0, 256, 0, chain_steps, 0, 0, 0},
    {"late", 1, 1, main_inputs, main_outputs, 3, 0, late_steps,
     N * sizeof(float), N * sizeof(float), N * sizeof(float)}};

static const tinh_tensor_desc_t init_inputs[] = {
    {"w", TINH_DTYPE_F32, 1, {N}, N * sizeof(float), TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t init_buffers[] = {{TINH_SPACE_INPUT, 0, 0},
                                                 {TINH_SPACE_WEIGHTS, 0, 0}};
static const tinh_step_t init_steps[] = {{TINH_OP_COPY, 0, -1, 2, init_buffers,
                                          0, N * sizeof(float), "copy", 0, 0,
                                          0}};
static const tinh_function_desc_t init = {
    "init", 1, 0, init_inputs, 0, 1, 0, init_steps, 0, 0, 0};

__attribute__((visibility("default")))
const tinh_artifact_t tinh_artifact = {TINH_ARTIFACT_VERSION,
                                       5,
                                       "toy 1.0",
                                       "toy",
                                       kernels,
                                       4,
                                       1,
                                       functions,
                                       variables,
                                       N * sizeof(float),
                                       64,
                                       &init,
                                       .core = {16, 8}};

__attribute__((section(".note.tinh"), used, aligned(4))) static const struct {
  uint32_t name_size, size, type;
  char name[8];
  unsigned char content[sizeof(tinh_note_t)];
} note = {5, sizeof(tinh_note_t), TINH_NOTE_TYPE, "Tinh", "NOTE TO COMPLETE"};
