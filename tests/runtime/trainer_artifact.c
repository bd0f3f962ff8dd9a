/*===- trainer_artifact.c - A hand-made artifact that trains --------------===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * A linear model, prediction = x · w + b, and its training by gradient descent
 * with momentum on the mean squared error: the functions "train_step",
 * "evaluate" and "predict" of a training artifact. "w" begins as 0, 1, 2, 3,
 * from the weights, all else as zeros. "stamp" is large, and each step sets all
 * its elements to the number of the step: a state that is not whole shows.
 *
 * With RANKS, several ranks train together, on half as large a batch each:
 * "train_step" takes the means of their gradients.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/artifact.h"
#include "tinh/collectives.h"

#ifdef RANKS
#define BATCH 4
#else
#define BATCH 8
#endif
#define FEATURES 4
#define STAMPS 65536
#define CHUNK 4096

enum { W, B, W_MOMENT, B_MOMENT, STAMP };

static float predict_row(const float *x, const float *w, const float *b,
                         int64_t row) {
  float sum = *b;
  for (int i = 0; i < FEATURES; ++i)
    sum += x[row * FEATURES + i] * w[i];
  return sum;
}

/* x, y, w, b; loss */
static void evaluate(void *const *buffers, void *scratch, int64_t begin,
                     int64_t end) {
  const float *y = buffers[1];
  float sum = 0;
  for (int row = 0; row < BATCH; ++row) {
    float error = predict_row(buffers[0], buffers[2], buffers[3], row) - y[row];
    sum += error * error;
  }
  *(float *)buffers[4] = sum / BATCH;
}

/* x, w, b; prediction */
static void predict(void *const *buffers, void *scratch, int64_t begin,
                    int64_t end) {
  float *out = buffers[3];
  for (int64_t row = begin; row < end; ++row)
    out[row] = predict_row(buffers[0], buffers[1], buffers[2], row);
}

/* x, y, prediction; gradients of w and b */
static void gradients(void *const *buffers, void *scratch, int64_t begin,
                      int64_t end) {
  const float *x = buffers[0], *y = buffers[1], *prediction = buffers[2];
  float *to_w = buffers[3], *to_b = buffers[4];
  *to_b = 0;
  for (int i = 0; i < FEATURES; ++i)
    to_w[i] = 0;
  for (int row = 0; row < BATCH; ++row) {
    float error = 2 * (prediction[row] - y[row]) / BATCH;
    *to_b += error;
    for (int i = 0; i < FEATURES; ++i)
      to_w[i] += error * x[row * FEATURES + i];
  }
}

static void descend(const float *gradient, const float *before,
                    const float *moment_before, float *after, float *moment,
                    int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    moment[i] = 0.9f * moment_before[i] + gradient[i];
    after[i] = before[i] - 0.05f * moment[i];
  }
}

/* gradient, w, moment; next w, next moment */
static void update_w(void *const *buffers, void *scratch, int64_t begin,
                     int64_t end) {
  descend(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], FEATURES);
}

static void update_b(void *const *buffers, void *scratch, int64_t begin,
                     int64_t end) {
  descend(buffers[0], buffers[1], buffers[2], buffers[3], buffers[4], 1);
}

/* stamp; next stamp */
static void stamp(void *const *buffers, void *scratch, int64_t begin,
                  int64_t end) {
  const int64_t *before = buffers[0];
  int64_t *after = buffers[1];
  for (int64_t i = begin * CHUNK; i < end * CHUNK; ++i)
    after[i] = before[i] + 1;
}

enum { EVALUATE, PREDICT, GRADIENTS, UPDATE_W, UPDATE_B, NEXT_STAMP, KERNELS };
static const int64_t matrix[] = {BATCH, FEATURES}, rows[] = {FEATURES, 1},
                     batch[] = {BATCH}, features[] = {FEATURES},
                     stamps[] = {STAMPS}, dense[] = {1};
#define MATRIX(WRITTEN) {TINH_DTYPE_F32, WRITTEN, 2, matrix, rows}
#define VECTOR(WRITTEN, DIMS) {TINH_DTYPE_F32, WRITTEN, 1, DIMS, dense}
#define SCALAR(WRITTEN) {TINH_DTYPE_F32, WRITTEN, 0, 0, 0}
#define STAMP_OPERAND(WRITTEN) {TINH_DTYPE_I64, WRITTEN, 1, stamps, dense}
static const tinh_operand_desc_t
    evaluate_operands[] = {MATRIX(0), VECTOR(0, batch), VECTOR(0, features),
                           SCALAR(0), SCALAR(1)},
    predict_operands[] = {MATRIX(0), VECTOR(0, features), SCALAR(0),
                          VECTOR(1, batch)},
    gradients_operands[] = {MATRIX(0), VECTOR(0, batch), VECTOR(0, batch),
                            VECTOR(1, features), SCALAR(1)},
    update_w_operands[] = {VECTOR(0, features), VECTOR(0, features),
                           VECTOR(0, features), VECTOR(1, features),
                           VECTOR(1, features)},
    update_b_operands[] = {SCALAR(0), SCALAR(0), SCALAR(0), SCALAR(1),
                           SCALAR(1)},
    stamp_operands[] = {STAMP_OPERAND(0), STAMP_OPERAND(1)};
#define DESCRIBE(KERNEL)                                                       \
  {#KERNEL, KERNEL, 0, sizeof KERNEL##_operands / sizeof *KERNEL##_operands,   \
   KERNEL##_operands}
static const tinh_kernel_desc_t kernels[] = {
    DESCRIBE(evaluate), DESCRIBE(predict),  DESCRIBE(gradients),
    DESCRIBE(update_w), DESCRIBE(update_b), DESCRIBE(stamp)};

#define F32(NAME, RANK, DIMS, SIZE) NAME, TINH_DTYPE_F32, RANK, DIMS, SIZE
#define DIMS(...) {__VA_ARGS__}
#define TYPE_X F32("x", 2, DIMS(BATCH, FEATURES), BATCH * FEATURES * 4)
#define TYPE_Y F32("y", 1, DIMS(BATCH), BATCH * 4)
#define TYPE_W F32("w", 1, DIMS(FEATURES), FEATURES * 4)
#define TYPE_B F32("b", 0, DIMS(0), 4)
#define TYPE_STAMP "stamp", TINH_DTYPE_I64, 1, DIMS(STAMPS), STAMPS * 8

/* Stored as its type says. */
#define PLAIN(SIZE) SIZE, {TINH_NO_KERNEL, 0}, {TINH_NO_KERNEL, 0}
static const tinh_variable_desc_t variables[] = {
    {TYPE_W, 0, 0, 1, PLAIN(FEATURES * 4)},
    {TYPE_B, 64, TINH_INITIALLY_ZERO, 1, PLAIN(4)},
    {F32("w.moment", 1, DIMS(FEATURES), FEATURES * 4), 128, TINH_INITIALLY_ZERO,
     0, PLAIN(FEATURES * 4)},
    {F32("b.moment", 0, DIMS(0), 4), 192, TINH_INITIALLY_ZERO, 0, PLAIN(4)},
    {TYPE_STAMP, 256, TINH_INITIALLY_ZERO, 0, PLAIN(STAMPS * 8)}};
#define STATE_SIZE (256 + STAMPS * 8)

/* train_step: variables stand before, between and behind the others. */
static const tinh_tensor_desc_t train_inputs[] = {
    {TYPE_W, W},
    {TYPE_X, TINH_NOT_VARIABLE},
    {TYPE_B, B},
    {TYPE_Y, TINH_NOT_VARIABLE},
    {F32("w.moment", 1, DIMS(FEATURES), FEATURES * 4), W_MOMENT},
    {F32("b.moment", 0, DIMS(0), 4), B_MOMENT},
    {TYPE_STAMP, STAMP}};
static const tinh_tensor_desc_t train_outputs[] = {
    {TYPE_STAMP, STAMP},
    {F32("loss", 0, DIMS(0), 4), TINH_NOT_VARIABLE},
    {TYPE_W, W},
    {TYPE_B, B},
    {F32("w.moment", 1, DIMS(FEATURES), FEATURES * 4), W_MOMENT},
    {F32("b.moment", 0, DIMS(0), 4), B_MOMENT}};
#define IN(I) {TINH_SPACE_INPUT, I, 0}
#define OUT(I) {TINH_SPACE_OUTPUT, I, 0}
#define ARENA(OFFSET) {TINH_SPACE_ARENA, 0, OFFSET}
static const tinh_buffer_ref_t of_loss[] = {IN(1), IN(3), IN(0), IN(2), OUT(1)};
static const tinh_buffer_ref_t of_prediction[] = {IN(1), IN(0), IN(2),
                                                  ARENA(0)};
static const tinh_buffer_ref_t of_gradients[] = {IN(1), IN(3), ARENA(0),
                                                 ARENA(64), ARENA(128)};
static const tinh_buffer_ref_t of_w[] = {ARENA(64), IN(0), IN(4), OUT(2),
                                         OUT(4)};
static const tinh_buffer_ref_t of_b[] = {ARENA(128), IN(2), IN(5), OUT(3),
                                         OUT(5)};
static const tinh_buffer_ref_t of_stamp[] = {IN(6), OUT(0)};
#define STEP(KERNEL, AFTER, BUFFERS, CHUNKS)                                   \
  {TINH_OP_DISPATCH,                                                           \
   KERNEL,                                                                     \
   AFTER,                                                                      \
   sizeof BUFFERS / sizeof *BUFFERS,                                           \
   BUFFERS,                                                                    \
   CHUNKS,                                                                     \
   0,                                                                          \
   #KERNEL,                                                                    \
   0,                                                                          \
   0,                                                                          \
   0}
#ifdef RANKS
static const tinh_buffer_ref_t mean_of_w[] = {ARENA(64), ARENA(64)},
                               mean_of_b[] = {ARENA(128), ARENA(128)};
#define MEAN(COUNT)                                                            \
  {TINH_ALL_REDUCE,                                                            \
   TINH_REDUCE_MEAN,                                                           \
   TINH_DTYPE_F32,                                                             \
   TINH_DTYPE_F32,                                                             \
   0,                                                                          \
   0,                                                                          \
   COUNT}
static const tinh_collective_desc_t reduce_w = MEAN(FEATURES),
                                    reduce_b = MEAN(1);
#define COLLECTIVE(OPCODE, AFTER, OF, START)                                   \
  {OPCODE,                                                                     \
   .wait_for = AFTER,                                                          \
   .num_buffers = 2,                                                           \
   .buffers = mean_of_##OF,                                                    \
   .label = #OF,                                                               \
   .target = START,                                                            \
   .collective = &reduce_##OF}
static const tinh_step_t train_steps[] = {
    STEP(PREDICT, -1, of_prediction, BATCH),
    STEP(EVALUATE, -1, of_loss, 1),
    STEP(GRADIENTS, 0, of_gradients, 1),
    COLLECTIVE(TINH_OP_START, 2, w, 0),
    COLLECTIVE(TINH_OP_START, -1, b, 0),
    STEP(NEXT_STAMP, -1, of_stamp, STAMPS / CHUNK),
    COLLECTIVE(TINH_OP_AWAIT, -1, w, 3),
    STEP(UPDATE_W, 6, of_w, 1),
    COLLECTIVE(TINH_OP_AWAIT, -1, b, 4),
    STEP(UPDATE_B, 8, of_b, 1)};
#else
static const tinh_step_t train_steps[] = {
    STEP(PREDICT, -1, of_prediction, BATCH),
    STEP(EVALUATE, -1, of_loss, 1),
    STEP(GRADIENTS, 0, of_gradients, 1),
    STEP(UPDATE_W, 2, of_w, 1),
    STEP(UPDATE_B, 2, of_b, 1),
    STEP(NEXT_STAMP, -1, of_stamp, STAMPS / CHUNK)};
#endif

static const tinh_tensor_desc_t evaluate_inputs[] = {
    {TYPE_X, TINH_NOT_VARIABLE},
    {TYPE_Y, TINH_NOT_VARIABLE},
    {TYPE_W, W},
    {TYPE_B, B}};
static const tinh_tensor_desc_t evaluate_outputs[] = {
    {F32("prediction", 1, DIMS(BATCH), BATCH * 4), TINH_NOT_VARIABLE},
    {F32("loss", 0, DIMS(0), 4), TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t of_evaluate[] = {IN(0), IN(1), IN(2), IN(3),
                                                OUT(1)};
static const tinh_buffer_ref_t of_outputs[] = {IN(0), IN(2), IN(3), OUT(0)};
static const tinh_step_t evaluate_steps[] = {
    STEP(EVALUATE, -1, of_evaluate, 1), STEP(PREDICT, -1, of_outputs, BATCH)};

static const tinh_tensor_desc_t predict_inputs[] = {
    {TYPE_X, TINH_NOT_VARIABLE}, {TYPE_W, W}, {TYPE_B, B}};
static const tinh_tensor_desc_t predict_outputs[] = {
    {F32("prediction", 1, DIMS(BATCH), BATCH * 4), TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t of_predict[] = {IN(0), IN(1), IN(2), OUT(0)};
static const tinh_step_t predict_steps[] = {
    STEP(PREDICT, -1, of_predict, BATCH)};

/* The stamp alone, to see by it whether the state is whole. */
static const tinh_tensor_desc_t peek_inputs[] = {{TYPE_STAMP, STAMP}};
static const tinh_tensor_desc_t peek_outputs[] = {
    {"copy", TINH_DTYPE_I64, 1, {STAMPS}, STAMPS * 8, TINH_NOT_VARIABLE}};
static const tinh_buffer_ref_t of_peek[] = {IN(0), OUT(0)};
static const tinh_step_t peek_steps[] = {
    {TINH_OP_COPY, 0, -1, 2, of_peek, 0, STAMPS * 8, "copy", 0, 0, 0}};

static const tinh_function_desc_t functions[] = {
    {"train_step", 7, 6, train_inputs, train_outputs,
     sizeof train_steps / sizeof *train_steps, 1, train_steps, 192, 192, 192},
    {"evaluate", 4, 2, evaluate_inputs, evaluate_outputs, 2, 0, evaluate_steps,
     0, 0, 0},
    {"predict", 3, 1, predict_inputs, predict_outputs, 1, 0, predict_steps, 0,
     0, 0},
    {"peek", 1, 1, peek_inputs, peek_outputs, 1, 0, peek_steps, 0, 0, 0}};

__attribute__((visibility("default")))
const tinh_artifact_t tinh_artifact = {TINH_ARTIFACT_VERSION,
                                       KERNELS,
                                       "toy 1.0",
                                       "trainer",
                                       kernels,
                                       4,
                                       5,
                                       functions,
                                       variables,
                                       1024 * 4,
                                       STATE_SIZE,
                                       0};

__attribute__((section(".note.tinh"), used, aligned(4))) static const struct {
  uint32_t name_size, size, type;
  char name[8];
  unsigned char content[sizeof(tinh_note_t)];
} note = {5, sizeof(tinh_note_t), TINH_NOTE_TYPE, "Tinh", "NOTE TO COMPLETE"};
