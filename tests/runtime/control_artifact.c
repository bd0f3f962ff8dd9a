/*===- control_artifact.c - A hand-made artifact with branches and loops --===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * "collatz" counts how often n is halved or, if it is odd, tripled and
 * increased until it is 1; each of the 8 chunks of its kernels has a copy of n,
 * and the conditions look at all of them. "prefix" makes running sums of the
 * rows of a tensor, as many as its second input says. "nested" computes y[i, 4
 * - j, k] = x[i, j, k] + 100 i + j for as many j as counts[i] says. "tiny" is a
 * loop of 1,000 empty kernels.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/artifact.h"

#define LINE 8 /* int64_t in a cache line. */
#define COPIES 8
#define ROW 16

static void is_not_one(void *const *buffers, void *scratch, int64_t begin,
                       int64_t end) {
  const int64_t *n = buffers[0];
  uint8_t all = 1;
  for (int i = 0; i < COPIES; ++i)
    all &= n[i * LINE] == n[0] && n[i * LINE] != 1;
  *(uint8_t *)buffers[1] = all;
}

static void is_even(void *const *buffers, void *scratch, int64_t begin,
                    int64_t end) {
  const int64_t *n = buffers[0];
  uint8_t all = 1;
  for (int i = 0; i < COPIES; ++i)
    all &= n[i * LINE] % 2 == 0;
  *(uint8_t *)buffers[1] = all;
}

static void spread(void *const *buffers, void *scratch, int64_t begin,
                   int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ((int64_t *)buffers[1])[i * LINE] = *(const int64_t *)buffers[0];
}

static void halve(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ((int64_t *)buffers[0])[i * LINE] /= 2;
}

static void triple(void *const *buffers, void *scratch, int64_t begin,
                   int64_t end) {
  for (int64_t i = begin; i < end; ++i) {
    int64_t *n = (int64_t *)buffers[0] + i * LINE;
    *n = 3 * *n + 1;
  }
}

static void count(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  ++*(int64_t *)buffers[0];
}

static void add(void *const *buffers, void *scratch, int64_t begin,
                int64_t end) {
  const float *a = buffers[0], *b = buffers[1];
  float *sum = buffers[2];
  for (int64_t i = begin; i < end; ++i)
    sum[i] = a[i] + b[i];
}

static void store_index(void *const *buffers, void *scratch, int64_t begin,
                        int64_t end) {
  *(int64_t *)buffers[1] = *(const int64_t *)buffers[0];
}

static void add_indices(void *const *buffers, void *scratch, int64_t begin,
                        int64_t end) {
  const float *x = buffers[0];
  int64_t i = *(const int64_t *)buffers[1], j = *(const int64_t *)buffers[2];
  float *y = buffers[3];
  for (int64_t k = begin; k < end; ++k)
    y[k] = x[k] + (float)(100 * i + j);
}

static void nothing(void *const *buffers, void *scratch, int64_t begin,
                    int64_t end) {}

enum {
  IS_NOT_ONE,
  IS_EVEN,
  SPREAD,
  HALVE,
  TRIPLE,
  COUNT,
  ADD,
  STORE_INDEX,
  ADD_INDICES,
  NOTHING,
  NUM_KERNELS
};
static const int64_t copies[] = {COPIES}, lines[] = {LINE}, row[] = {ROW},
                     dense[] = {1};
#define NUMBER(WRITTEN) {TINH_DTYPE_I64, WRITTEN, 0, 0, 0}
#define NUMBERS(WRITTEN) {TINH_DTYPE_I64, WRITTEN, 1, copies, lines}
#define CONDITION {TINH_DTYPE_BOOL, 1, 0, 0, 0}
#define OF_ROW(WRITTEN) {TINH_DTYPE_F32, WRITTEN, 1, row, dense}
static const tinh_operand_desc_t
    is_not_one_operands[] = {NUMBERS(0), CONDITION},
    is_even_operands[] = {NUMBERS(0), CONDITION},
    spread_operands[] = {NUMBER(0), NUMBERS(1)},
    halve_operands[] = {NUMBERS(1)}, triple_operands[] = {NUMBERS(1)},
    count_operands[] = {NUMBER(1), NUMBER(0)},
    add_operands[] = {OF_ROW(0), OF_ROW(0), OF_ROW(1)},
    store_index_operands[] = {NUMBER(0), NUMBER(1)},
    add_indices_operands[] = {OF_ROW(0), NUMBER(0), NUMBER(0), OF_ROW(1)};
#define DESCRIBE(KERNEL)                                                       \
  {#KERNEL, KERNEL, 0, sizeof KERNEL##_operands / sizeof *KERNEL##_operands,   \
   KERNEL##_operands}
static const tinh_kernel_desc_t kernels[] = {
    DESCRIBE(is_not_one),  DESCRIBE(is_even),
    DESCRIBE(spread),      DESCRIBE(halve),
    DESCRIBE(triple),      DESCRIBE(count),
    DESCRIBE(add),         DESCRIBE(store_index),
    DESCRIBE(add_indices), {"nothing", nothing, 0, 0, 0}};

#define KERNEL(KERNEL, WAIT, BUFFERS, CHUNKS)                                  \
  {TINH_OP_DISPATCH,                                                           \
   KERNEL,                                                                     \
   WAIT,                                                                       \
   sizeof BUFFERS / sizeof *BUFFERS,                                           \
   BUFFERS,                                                                    \
   CHUNKS,                                                                     \
   0,                                                                          \
   #KERNEL,                                                                    \
   0,                                                                          \
   0,                                                                          \
   0}
#define MOVING(KERNEL, WAIT, BUFFERS, CHUNKS, STRIDES)                         \
  {TINH_OP_DISPATCH,                                                           \
   KERNEL,                                                                     \
   WAIT,                                                                       \
   sizeof BUFFERS / sizeof *BUFFERS,                                           \
   BUFFERS,                                                                    \
   CHUNKS,                                                                     \
   0,                                                                          \
   #KERNEL,                                                                    \
   0,                                                                          \
   sizeof STRIDES / sizeof *STRIDES,                                           \
   STRIDES}
#define ZERO(BUFFER, SIZE)                                                     \
  {TINH_OP_ZERO, 0, -1, 1, BUFFER, 0, SIZE, "zero", 0, 0, 0}
#define COPY(WAIT, BUFFERS, SIZE)                                              \
  {TINH_OP_COPY, 0, WAIT, 2, BUFFERS, 0, SIZE, "copy", 0, 0, 0}
#define BRANCH(WAIT, BUFFER, TARGET)                                           \
  {TINH_OP_BRANCH, 0, WAIT, 1, BUFFER, 0, 0, "if", TARGET, 0, 0}
#define JUMP(TARGET) {TINH_OP_JUMP, 0, -1, 0, 0, 0, 0, "else", TARGET, 0, 0}
#define LOOP(LENGTH, TARGET)                                                   \
  {TINH_OP_LOOP, 0, -1, 0, 0, LENGTH, 0, "loop", TARGET, 0, 0}
#define NEXT(TARGET) {TINH_OP_NEXT, 0, -1, 0, 0, 0, 0, "next", TARGET, 0, 0}

/* collatz: copies of n, the count, and the two conditions. */
static const tinh_tensor_desc_t collatz_inputs[] = {
    {"n", TINH_DTYPE_I64, 0, {0}, 8, TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t collatz_outputs[] = {
    {"steps", TINH_DTYPE_I64, 0, {0}, 8, TINH_NOT_VARIABLE}};
#define AT_COUNT (COPIES * LINE * 8)
#define AT_GO (AT_COUNT + 64)
#define AT_EVEN (AT_GO + 64)
static const tinh_buffer_ref_t n_in[] = {{TINH_SPACE_INPUT, 0, 0},
                                         {TINH_SPACE_ARENA, 0, 0}};
static const tinh_buffer_ref_t n[] = {{TINH_SPACE_ARENA, 0, 0}};
static const tinh_buffer_ref_t n_go[] = {{TINH_SPACE_ARENA, 0, 0},
                                         {TINH_SPACE_ARENA, 0, AT_GO}};
static const tinh_buffer_ref_t n_even[] = {{TINH_SPACE_ARENA, 0, 0},
                                           {TINH_SPACE_ARENA, 0, AT_EVEN}};
static const tinh_buffer_ref_t counter[] = {{TINH_SPACE_ARENA, 0, AT_COUNT},
                                            {TINH_SPACE_OUTPUT, 0, 0}};
static const tinh_step_t collatz_steps[] = {
    /* 0 */ KERNEL(SPREAD, -1, n_in, COPIES),
    /* 1 */ ZERO(counter, 8),
    /* 2 */ LOOP(INT64_MAX, 12),
    /* 3 */ KERNEL(IS_NOT_ONE, 0, n_go, 1),
    /* 4 */ BRANCH(3, n_go + 1, 12),
    /* 5 */ KERNEL(IS_EVEN, -1, n_even, 1),
    /* 6 */ BRANCH(5, n_even + 1, 9),
    /* 7 */ KERNEL(HALVE, -1, n, COPIES),
    /* 8 */ JUMP(10),
    /* 9 */ KERNEL(TRIPLE, -1, n, COPIES),
    /* 10 */ KERNEL(COUNT, -1, counter, 1),
    /* 11 */ NEXT(3),
    /* 12 */ COPY(10, counter, 8)};

/* prefix: the sum so far. */
#define LENGTH 1000
static const tinh_tensor_desc_t prefix_inputs[] = {
    {"xs",
     TINH_DTYPE_F32,
     2,
     {LENGTH, ROW},
     LENGTH * ROW * 4,
     TINH_NOT_VARIABLE},
    {"count", TINH_DTYPE_I64, 0, {0}, 8, TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t prefix_outputs[] = {
    {"sum", TINH_DTYPE_F32, 1, {ROW}, ROW * 4, TINH_NOT_VARIABLE},
    {"sums",
     TINH_DTYPE_F32,
     2,
     {LENGTH, ROW},
     LENGTH * ROW * 4,
     TINH_NOT_VARIABLE},
    {"indices", TINH_DTYPE_I64, 1, {LENGTH}, LENGTH * 8, TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t sum[] = {{TINH_SPACE_ARENA, 0, 0},
                                        {TINH_SPACE_OUTPUT, 0, 0}};
static const tinh_buffer_ref_t sums[] = {{TINH_SPACE_OUTPUT, 1, 0},
                                         {TINH_SPACE_ARENA, 0, 0}};
static const tinh_buffer_ref_t indices[] = {{TINH_SPACE_LOOP, 0, 0},
                                            {TINH_SPACE_OUTPUT, 2, 0}};
static const tinh_buffer_ref_t add_row[] = {{TINH_SPACE_ARENA, 0, 0},
                                            {TINH_SPACE_INPUT, 0, 0},
                                            {TINH_SPACE_OUTPUT, 1, 0}};
static const tinh_buffer_ref_t prefix_count[] = {{TINH_SPACE_INPUT, 1, 0}};
static const tinh_stride_t row_strides[] = {{1, 0, ROW * 4}, {2, 0, ROW * 4}};
static const tinh_stride_t sums_strides[] = {{0, 0, ROW * 4}};
static const tinh_stride_t index_strides[] = {{1, 0, 8}};
static const tinh_step_t prefix_steps[] = {
    /* 0 */ ZERO(sum, ROW * 4),
    /* 1 */ ZERO(sums, LENGTH * ROW * 4),
    /* 2 */ ZERO(indices + 1, LENGTH * 8),
    /* 3 */
    {TINH_OP_LOOP, 0, -1, 1, prefix_count, LENGTH, 0, "scan", 8, 0, 0},
    /* 4 */ MOVING(ADD, -1, add_row, ROW, row_strides),
    /* 5 */
    {TINH_OP_COPY, 0, 4, 2, sums, 0, ROW * 4, "copy", 0, 1, sums_strides},
    /* 6 */ MOVING(STORE_INDEX, -1, indices, 1, index_strides),
    /* 7 */ NEXT(4),
    /* 8 */ COPY(5, sum, ROW * 4)};

/* nested */
#define OUTER 20
#define INNER 5
static const tinh_tensor_desc_t nested_inputs[] = {
    {"x",
     TINH_DTYPE_F32,
     3,
     {OUTER, INNER, ROW},
     OUTER * INNER * ROW * 4,
     TINH_NOT_VARIABLE},
    {"counts", TINH_DTYPE_I64, 1, {OUTER}, OUTER * 8, TINH_NOT_VARIABLE}};
static const tinh_tensor_desc_t nested_outputs[] = {{"y",
                                                     TINH_DTYPE_F32,
                                                     3,
                                                     {OUTER, INNER, ROW},
                                                     OUTER * INNER * ROW * 4,
                                                     TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t y[] = {{TINH_SPACE_OUTPUT, 0, 0}};
static const tinh_buffer_ref_t inner_count[] = {{TINH_SPACE_INPUT, 1, 0}};
static const tinh_buffer_ref_t inner_row[] = {
    {TINH_SPACE_INPUT, 0, 0},
    {TINH_SPACE_LOOP, 0, 0},
    {TINH_SPACE_LOOP, 1, 0},
    {TINH_SPACE_OUTPUT, 0, (INNER - 1) * ROW * 4}};
static const tinh_stride_t count_strides[] = {{0, 0, 8}};
static const tinh_stride_t inner_strides[] = {{0, 0, INNER * ROW * 4},
                                              {0, 1, ROW * 4},
                                              {3, 0, INNER * ROW * 4},
                                              {3, 1, -ROW * 4}};
static const tinh_step_t nested_steps[] = {
    /* 0 */ ZERO(y, OUTER * INNER * ROW * 4),
    /* 1 */ LOOP(OUTER, 6),
    /* 2 */
    {TINH_OP_LOOP, 0, -1, 1, inner_count, INNER, 0, "inner", 5, 1,
     count_strides},
    /* 3 */ MOVING(ADD_INDICES, -1, inner_row, ROW, inner_strides),
    /* 4 */ NEXT(3),
    /* 5 */ NEXT(2)};

static const tinh_step_t tiny_steps[] = {
    {TINH_OP_LOOP, 0, -1, 0, 0, 1000, 0, "alone", 3, 0, 0, 1},
    {TINH_OP_DISPATCH, NOTHING, -1, 0, 0, 1, 0, "nothing", 0, 0, 0},
    NEXT(1)};

#define FUNCTION(NAME, INPUTS, OUTPUTS, ARENA)                                 \
  {#NAME,                                                                      \
   INPUTS,                                                                     \
   OUTPUTS,                                                                    \
   NAME##_inputs,                                                              \
   NAME##_outputs,                                                             \
   sizeof NAME##_steps / sizeof *NAME##_steps,                                 \
   0,                                                                          \
   NAME##_steps,                                                               \
   ARENA,                                                                      \
   ARENA,                                                                      \
   ARENA}
static const tinh_function_desc_t functions[] = {
    FUNCTION(collatz, 1, 1, AT_EVEN + 64),
    FUNCTION(prefix, 2, 3, 64),
    FUNCTION(nested, 2, 1, 0),
    {"tiny", 0, 0, 0, 0, 3, 0, tiny_steps, 0, 0, 0}};

__attribute__((visibility("default")))
const tinh_artifact_t tinh_artifact = {TINH_ARTIFACT_VERSION,
                                       NUM_KERNELS,
                                       "toy 1.0",
                                       "control",
                                       kernels,
                                       4,
                                       0,
                                       functions,
                                       0,
                                       1024 * 4,
                                       0,
                                       0};

__attribute__((section(".note.tinh"), used, aligned(4))) static const struct {
  uint32_t name_size, size, type;
  char name[8];
  unsigned char content[sizeof(tinh_note_t)];
} note = {5, sizeof(tinh_note_t), TINH_NOTE_TYPE, "Tinh", "NOTE TO COMPLETE"};
