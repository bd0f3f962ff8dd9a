/*===- cuda_artifact.c - A hand-made artifact for a GPU -------------------===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Functions of 1024 floats x, where w[i] = i are the weights:
 *
 *   main     y[i] = 2 x[j] + w[j], where j = 1023 - i, on the GPU alone
 *   mixed    y = x - (2 x + w): the CPU negates while the GPU computes
 *   train    adds x to the variable "sum" on the GPU, and what that is then to
 *            "total" on the CPU; y = sum
 *   loop     y = x + 0 + 1 + 2 + 3 + 4
 *   while    doubles x until x[0] is not less than 100
 *   branch   y = 2 x if x[0] < 100, on the GPU; else -x, on the CPU
 *   shared   y = -8 x: three times the GPU doubles and the CPU negates
 *   cpu      y = -x
 *
 * With ALSO_CPU, the first three of them, for the CPU alone, too.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/artifact.h"

#define N 1024
#define BYTES 4096
#define CHUNKS 4

static void negate(void *const *buffers, void *scratch, int64_t begin,
                   int64_t end) {
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int64_t i = begin * (N / CHUNKS); i < end * (N / CHUNKS); ++i)
    y[i] = -x[i];
}

/* sum, total; next total */
static void accumulate(void *const *buffers, void *scratch, int64_t begin,
                       int64_t end) {
  const float *sum = buffers[0], *total = buffers[1];
  float *next = buffers[2];
  for (int64_t i = begin * (N / CHUNKS); i < end * (N / CHUNKS); ++i)
    next[i] = total[i] + sum[i];
}

#ifdef ALSO_CPU
/* x, w; y: what main computes */
static void main_on_cpu(void *const *buffers, void *scratch, int64_t begin,
                        int64_t end) {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin * (N / CHUNKS); i < end * (N / CHUNKS); ++i)
    y[i] = 2 * x[N - 1 - i] + w[N - 1 - i];
}

/* The same for mixed. */
static void mixed_on_cpu(void *const *buffers, void *scratch, int64_t begin,
                         int64_t end) {
  const float *x = buffers[0], *w = buffers[1];
  float *y = buffers[2];
  for (int64_t i = begin * (N / CHUNKS); i < end * (N / CHUNKS); ++i)
    y[i] = x[i] - (2 * x[i] + w[i]);
}
#endif

#define IMAGE(NAME)                                                            \
  __asm__(".pushsection .rodata\n.balign 16\n.hidden image_" #NAME             \
          "\n.globl image_" #NAME "\nimage_" #NAME                             \
          ":\n.quad 2f - 1f, 0\n1: .incbin \"" IMAGES "/" #NAME                \
          "_image.so\"\n2:\n.popsection\n");                                   \
  extern __attribute__((visibility("hidden"))) const tinh_image_t image_##NAME
IMAGE(scale_add);
IMAGE(flip);
IMAGE(add);
IMAGE(add_number);
IMAGE(is_small);

enum {
  NEGATE,
  ACCUMULATE,
  SCALE_ADD,
  FLIP,
  ADD,
  ADD_NUMBER,
  IS_SMALL,
  MAIN_ON_CPU,
  MIXED_ON_CPU
};
static const int64_t dims[] = {N}, dense[] = {1};
#define FLOATS(WRITTEN) {TINH_DTYPE_F32, WRITTEN, 1, dims, dense}
static const tinh_operand_desc_t unary[] = {FLOATS(0), FLOATS(1)},
                                 binary[] = {FLOATS(0), FLOATS(0), FLOATS(1)},
                                 with_number[] = {FLOATS(0),
                                                  {TINH_DTYPE_I64, 0, 0, 0, 0},
                                                  FLOATS(1)},
                                 test[] = {FLOATS(0),
                                           {TINH_DTYPE_BOOL, 1, 0, 0, 0}};
#define CPU(NAME, OPERANDS)                                                    \
  {#NAME,           NAME, 0, sizeof OPERANDS / sizeof *OPERANDS, OPERANDS,     \
   TINH_DEVICE_CPU, 0,    0}
#define CUDA(NAME, OPERANDS)                                                   \
  {#NAME,      0,                                                              \
   0,          sizeof OPERANDS / sizeof *OPERANDS,                             \
   OPERANDS,   TINH_DEVICE_CUDA,                                               \
   N / CHUNKS, &image_##NAME}
static const tinh_kernel_desc_t kernels[] = {CPU(negate, unary),
                                             CPU(accumulate, binary),
                                             CUDA(scale_add, binary),
                                             CUDA(flip, unary),
                                             CUDA(add, binary),
                                             CUDA(add_number, with_number),
                                             CUDA(is_small, test),
#ifdef ALSO_CPU
                                             CPU(main_on_cpu, binary),
                                             CPU(mixed_on_cpu, binary)
#endif
};

#define IN(I) {TINH_SPACE_INPUT, I, 0}
#define OUT(I) {TINH_SPACE_OUTPUT, I, 0}
#define HOST(I) {TINH_SPACE_ARENA, 0, (I) * BYTES}
#define GPU(I) {TINH_SPACE_DEVICE, 0, (I) * BYTES}
#define WEIGHTS {TINH_SPACE_DEVICE_WEIGHTS, 0, 0}
#define COUNTER(I) {TINH_SPACE_LOOP, I, 0}
#define BUFFERS(...)                                                           \
  .num_buffers =                                                               \
      sizeof(tinh_buffer_ref_t[]){__VA_ARGS__} / sizeof(tinh_buffer_ref_t),    \
  .buffers = (const tinh_buffer_ref_t[]) {                                     \
    __VA_ARGS__                                                                \
  }
#define RUN(KERNEL, AFTER, ...)                                                \
  {.opcode = TINH_OP_DISPATCH,                                                 \
   .kernel = KERNEL,                                                           \
   .wait_for = AFTER,                                                          \
   .num_chunks = CHUNKS,                                                       \
   .label = #KERNEL,                                                           \
   BUFFERS(__VA_ARGS__)}
#define TEST(AFTER, ...)                                                       \
  {.opcode = TINH_OP_DISPATCH,                                                 \
   .kernel = IS_SMALL,                                                         \
   .wait_for = AFTER,                                                          \
   .num_chunks = 1,                                                            \
   .label = "test",                                                            \
   BUFFERS(__VA_ARGS__)}
#define COPY(AFTER, SIZE, ...)                                                 \
  {.opcode = TINH_OP_COPY,                                                     \
   .wait_for = AFTER,                                                          \
   .size = SIZE,                                                               \
   BUFFERS(__VA_ARGS__)}
#define BRANCH(AFTER, TARGET, ...)                                             \
  {.opcode = TINH_OP_BRANCH,                                                   \
   .wait_for = AFTER,                                                          \
   .target = TARGET,                                                           \
   BUFFERS(__VA_ARGS__)}
#define JUMP(TARGET) {.opcode = TINH_OP_JUMP, .wait_for = -1, .target = TARGET}
#define LOOP(AFTER, LENGTH, TARGET)                                            \
  {.opcode = TINH_OP_LOOP,                                                     \
   .wait_for = AFTER,                                                          \
   .num_chunks = LENGTH,                                                       \
   .target = TARGET}
#define NEXT(AFTER, TARGET)                                                    \
  {.opcode = TINH_OP_NEXT, .wait_for = AFTER, .target = TARGET}

static const tinh_step_t main_steps[] = {
    COPY(-1, BYTES, IN(0), GPU(0)), RUN(SCALE_ADD, 0, GPU(0), WEIGHTS, GPU(1)),
    RUN(FLIP, 1, GPU(1), GPU(2)), COPY(2, BYTES, GPU(2), OUT(0))};
static const tinh_step_t mixed_steps[] = {
    RUN(NEGATE, -1, IN(0), HOST(0)),
    COPY(-1, BYTES, IN(0), GPU(0)),
    RUN(SCALE_ADD, 1, GPU(0), WEIGHTS, GPU(1)),
    COPY(2, BYTES, HOST(0), GPU(2)),
    RUN(ADD, 3, GPU(1), GPU(2), GPU(3)),
    COPY(4, BYTES, GPU(3), HOST(1)),
    RUN(NEGATE, 5, HOST(1), OUT(0))};
static const tinh_step_t train_steps[] = {
    COPY(-1, BYTES, IN(0), GPU(0)), RUN(ADD, 0, IN(1), GPU(0), OUT(1)),
    COPY(1, BYTES, OUT(1), HOST(0)), COPY(1, BYTES, OUT(1), OUT(0)),
    RUN(ACCUMULATE, 2, HOST(0), IN(2), OUT(2))};
static const tinh_step_t loop_steps[] = {
    COPY(-1, BYTES, IN(0), GPU(0)),
    LOOP(0, 5, 5),
    COPY(-1, 8, COUNTER(0), GPU(1)),
    RUN(ADD_NUMBER, 2, GPU(0), GPU(1), GPU(0)),
    NEXT(3, 2),
    COPY(3, BYTES, GPU(0), OUT(0))};
static const tinh_step_t while_steps[] = {COPY(-1, BYTES, IN(0), GPU(0)),
                                          LOOP(0, 64, 7),
                                          TEST(-1, GPU(0), GPU(1)),
                                          COPY(2, 1, GPU(1), HOST(0)),
                                          BRANCH(3, 7, HOST(0)),
                                          RUN(ADD, 3, GPU(0), GPU(0), GPU(0)),
                                          NEXT(5, 2),
                                          COPY(5, BYTES, GPU(0), OUT(0))};
static const tinh_step_t branch_steps[] = {COPY(-1, BYTES, IN(0), GPU(0)),
                                           TEST(0, GPU(0), GPU(1)),
                                           COPY(1, 1, GPU(1), HOST(0)),
                                           BRANCH(2, 7, HOST(0)),
                                           RUN(ADD, 3, GPU(0), GPU(0), GPU(2)),
                                           COPY(4, BYTES, GPU(2), OUT(0)),
                                           JUMP(8),
                                           RUN(NEGATE, 3, IN(0), OUT(0))};
static const tinh_step_t shared_steps[] = {COPY(-1, BYTES, IN(0), GPU(0)),
                                           LOOP(0, 3, 7),
                                           RUN(ADD, -1, GPU(0), GPU(0), GPU(1)),
                                           COPY(2, BYTES, GPU(1), HOST(0)),
                                           RUN(NEGATE, 3, HOST(0), HOST(1)),
                                           COPY(4, BYTES, HOST(1), GPU(0)),
                                           NEXT(5, 2),
                                           COPY(5, BYTES, GPU(0), OUT(0))};
static const tinh_step_t init_steps[] = {
    COPY(-1, BYTES, IN(0), {TINH_SPACE_WEIGHTS, 0, 0})};
static const tinh_step_t cpu_steps[] = {RUN(NEGATE, -1, IN(0), OUT(0))};

/* How they go to the GPU, as the compiler plans it. */
enum {
  NONE = TINH_LAUNCH_NONE,
  SEGMENT = TINH_LAUNCH_SEGMENT,
  LOOSE = TINH_LAUNCH_LOOSE
};
#define BYTES_OF(...)                                                          \
  (const uint8_t[]) { __VA_ARGS__ }
#define SEGMENTS(...)                                                          \
  .segments = (const tinh_device_segment_t[]){__VA_ARGS__},                    \
  .num_segments = sizeof((tinh_device_segment_t[]){__VA_ARGS__}) /             \
                  sizeof(tinh_device_segment_t)
#define NODES(...)                                                             \
  .nodes = (const tinh_device_node_t[]){__VA_ARGS__},                          \
  .num_nodes =                                                                 \
      sizeof((tinh_device_node_t[]){__VA_ARGS__}) / sizeof(tinh_device_node_t)
#define EDGES(...)                                                             \
  .edges = (const uint32_t[]){__VA_ARGS__},                                    \
  .num_edges = sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define DUE_AT_END TINH_AT_END, 0, TINH_NO_SEGMENT, 0
#define DUE(STEP) STEP, 0, TINH_NO_SEGMENT, 1
static const tinh_device_plan_t main_plan = {
    BYTES_OF(SEGMENT, SEGMENT, SEGMENT, SEGMENT), BYTES_OF(0, 0, 0, 0),
    SEGMENTS({0, 4, 0, 0, DUE_AT_END}),
    NODES({0, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 1, 1}, {3, 0, 2, 1}),
    EDGES(0, 1, 2)};
static const tinh_device_plan_t mixed_plan = {
    BYTES_OF(NONE, SEGMENT, SEGMENT, SEGMENT, SEGMENT, SEGMENT, NONE),
    BYTES_OF(0, 0, 0, 0, 0, 0, 1),
    SEGMENTS({0, 2, 0, 0, DUE(6)}, {2, 3, 1, 1, DUE(6)}),
    NODES({1, 0, 0, 0}, {2, 0, 0, 1}, {3, 0, 1, 0}, {4, 0, 1, 1}, {5, 0, 2, 1}),
    EDGES(0, 0, 1)};
static const tinh_device_plan_t train_plan = {
    BYTES_OF(SEGMENT, SEGMENT, SEGMENT, SEGMENT, NONE), BYTES_OF(0, 0, 0, 0, 1),
    SEGMENTS({0, 3, 0, 0, DUE(4)}, {3, 1, 0, 0, DUE_AT_END}),
    NODES({0, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 1, 1}, {3, 0, 2, 0}), EDGES(0, 1)};
static const tinh_device_plan_t loop_plan = {
    BYTES_OF(SEGMENT, SEGMENT, SEGMENT, SEGMENT, SEGMENT, SEGMENT),
    BYTES_OF(0, 0, 0, 0, 0, 0), SEGMENTS({0, 12, 0, 0, DUE_AT_END}),
    NODES({0, 0, 0, 0}, {2, 0, 0, 0}, {3, 0, 0, 2}, {2, 1, 2, 1}, {3, 1, 3, 1},
          {2, 2, 4, 1}, {3, 2, 5, 1}, {2, 3, 6, 1}, {3, 3, 7, 1}, {2, 4, 8, 1},
          {3, 4, 9, 1}, {5, 0, 10, 1}),
    EDGES(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)};
static const tinh_device_plan_t while_plan = {
    BYTES_OF(SEGMENT, NONE, LOOSE, LOOSE, NONE, LOOSE, NONE, SEGMENT),
    BYTES_OF(0, 0, 0, 0, 1, 0, 0, 0),
    SEGMENTS({0, 1, 0, 0, DUE(4)}, {1, 1, 7, 5, DUE_AT_END}),
    NODES({0, 0, 0, 0}, {7, 0, 0, 0})};
static const tinh_device_plan_t branch_plan = {
    BYTES_OF(SEGMENT, SEGMENT, SEGMENT, NONE, LOOSE, LOOSE, NONE, NONE),
    BYTES_OF(0, 0, 0, 1, 0, 0, 0, 1), SEGMENTS({0, 3, 0, 0, DUE(3)}),
    NODES({0, 0, 0, 0}, {1, 0, 0, 1}, {2, 0, 1, 1}), EDGES(0, 1)};
static const tinh_device_plan_t shared_plan = {
    BYTES_OF(SEGMENT, NONE, LOOSE, LOOSE, NONE, LOOSE, NONE, SEGMENT),
    BYTES_OF(0, 0, 0, 0, 1, 0, 0, 0),
    SEGMENTS({0, 1, 0, 0, DUE(4)}, {1, 1, 7, 5, DUE_AT_END}),
    NODES({0, 0, 0, 0}, {7, 0, 0, 0})};

#define TENSOR(NAME, VARIABLE) {NAME, TINH_DTYPE_F32, 1, {N}, BYTES, VARIABLE}
static const tinh_tensor_desc_t x[] = {TENSOR("x", TINH_NOT_VARIABLE),
                                       TENSOR("sum", 0), TENSOR("total", 1)},
                                y[] = {TENSOR("y", TINH_NOT_VARIABLE),
                                       TENSOR("sum", 0), TENSOR("total", 1)};
#define FUNCTION(NAME, STEPS, VARIABLES, PLAN)                                 \
  {NAME,                                                                       \
   1 + VARIABLES,                                                              \
   1 + VARIABLES,                                                              \
   x,                                                                          \
   y,                                                                          \
   sizeof STEPS / sizeof *STEPS,                                               \
   VARIABLES != 0,                                                             \
   STEPS,                                                                      \
   2 * BYTES,                                                                  \
   2 * BYTES,                                                                  \
   2 * BYTES,                                                                  \
   4 * BYTES,                                                                  \
   4 * BYTES,                                                                  \
   4 * BYTES,                                                                  \
   PLAN}
static const tinh_function_desc_t functions[] = {
    FUNCTION("main", main_steps, 0, &main_plan),
    FUNCTION("mixed", mixed_steps, 0, &mixed_plan),
    FUNCTION("train", train_steps, 2, &train_plan),
    FUNCTION("loop", loop_steps, 0, &loop_plan),
    FUNCTION("while", while_steps, 0, &while_plan),
    FUNCTION("branch", branch_steps, 0, &branch_plan),
    FUNCTION("shared", shared_steps, 0, &shared_plan),
    FUNCTION("cpu", cpu_steps, 0, NULL)};

/* The weights are the parameter "w". */
static const tinh_tensor_desc_t parameter[] = {TENSOR("w", TINH_NOT_VARIABLE)};
static const tinh_function_desc_t init = {.name = "init",
                                          .num_inputs = 1,
                                          .inputs = parameter,
                                          .num_steps = 1,
                                          .steps = init_steps};

#define VARIABLE(NAME, INITIAL, DEVICE)                                        \
  {NAME,                                                                       \
   TINH_DTYPE_F32,                                                             \
   1,                                                                          \
   {N},                                                                        \
   BYTES,                                                                      \
   0,                                                                          \
   INITIAL,                                                                    \
   1,                                                                          \
   BYTES,                                                                      \
   {TINH_NO_KERNEL, 0},                                                        \
   {TINH_NO_KERNEL, 0},                                                        \
   DEVICE}
static const tinh_variable_desc_t variables[] = {
    VARIABLE("sum", 0, TINH_DEVICE_CUDA),
    VARIABLE("total", TINH_INITIALLY_ZERO, TINH_DEVICE_CPU)};

#ifdef ALSO_CPU
#define HOST_WEIGHTS {TINH_SPACE_WEIGHTS, 0, 0}
static const tinh_step_t main_on_cpu_steps[] = {RUN(MAIN_ON_CPU, -1, IN(0),
                                                    HOST_WEIGHTS, OUT(0))},
                         mixed_on_cpu_steps[] = {RUN(MIXED_ON_CPU, -1, IN(0),
                                                     HOST_WEIGHTS, OUT(0))},
                         train_on_cpu_steps[] = {
                             RUN(ACCUMULATE, -1, IN(0), IN(1), OUT(1)),
                             RUN(ACCUMULATE, 0, OUT(1), IN(2), OUT(2)),
                             COPY(0, BYTES, OUT(1), OUT(0))};
#define ON_CPU(NAME, STEPS, VARIABLES)                                         \
  {.name = NAME,                                                               \
   .num_inputs = 1 + VARIABLES,                                                \
   .num_outputs = 1 + VARIABLES,                                               \
   .inputs = x,                                                                \
   .outputs = y,                                                               \
   .num_steps = sizeof STEPS / sizeof *STEPS,                                  \
   .mutates_state = VARIABLES != 0,                                            \
   .steps = STEPS}
static const tinh_function_desc_t functions_on_cpu[] = {
    ON_CPU("main", main_on_cpu_steps, 0),
    ON_CPU("mixed", mixed_on_cpu_steps, 0),
    ON_CPU("train", train_on_cpu_steps, 2)};
#define ON_HOST(NAME, OFFSET, INITIAL)                                         \
  {.name = NAME,                                                               \
   .dtype = TINH_DTYPE_F32,                                                    \
   .rank = 1,                                                                  \
   .dims = {N},                                                                \
   .size = BYTES,                                                              \
   .offset = OFFSET,                                                           \
   .initial_offset = INITIAL,                                                  \
   .trainable = 1,                                                             \
   .stored_size = BYTES,                                                       \
   .pack = {TINH_NO_KERNEL, 0},                                                \
   .unpack = {TINH_NO_KERNEL, 0}}
static const tinh_variable_desc_t variables_on_cpu[] = {
    ON_HOST("sum", 0, 0), ON_HOST("total", BYTES, TINH_INITIALLY_ZERO)};
static const tinh_artifact_t without_gpu = {.version = TINH_ARTIFACT_VERSION,
                                            .num_kernels = sizeof kernels /
                                                           sizeof *kernels,
                                            .producer = "toy 1.0",
                                            .model = "gpu toy",
                                            .kernels = kernels,
                                            .num_functions = 3,
                                            .num_variables = 2,
                                            .functions = functions_on_cpu,
                                            .variables = variables_on_cpu,
                                            .weights_size = BYTES,
                                            .state_size = 2 * BYTES};
#define NUM_FUNCTIONS 3
#define WITHOUT_GPU &without_gpu
#else
#define NUM_FUNCTIONS sizeof functions / sizeof *functions
#define WITHOUT_GPU 0
#endif

__attribute__((visibility("default")))
const tinh_artifact_t tinh_artifact = {TINH_ARTIFACT_VERSION,
                                       sizeof kernels / sizeof *kernels,
                                       "toy 1.0",
                                       "gpu toy",
                                       kernels,
                                       NUM_FUNCTIONS,
                                       2,
                                       functions,
                                       variables,
                                       BYTES,
                                       BYTES,
                                       &init,
                                       BYTES,
                                       BYTES,
                                       WITHOUT_GPU};

__attribute__((section(".note.tinh"), used, aligned(4))) static const struct {
  uint32_t name_size, size, type;
  char name[8];
  unsigned char content[sizeof(tinh_note_t)];
} note = {5, sizeof(tinh_note_t), TINH_NOTE_TYPE, "Tinh", "NOTE TO COMPLETE"};
