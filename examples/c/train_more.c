/* Goes on training a model that graph-compile --train has compiled, on data of
 * the program's own:  train_more step.so data.safetensors state.safetensors
 * The data's tensors have the names of train_step's inputs, with samples as
 * their first dimension. The state is loaded if it is there, and saved.
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tinh/runtime.h"
#include "tinh/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { epochs = 10, most_inputs = 8 };

static void fail(const char *message) {
  fprintf(stderr, "train_more: error: %s\n", message);
  exit(1);
}

static void check(tinh_status_t status) {
  if (status != TINH_OK)
    fail(tinh_last_error());
}

int main(int argc, char **argv) {
  if (argc != 4)
    return fprintf(stderr, "usage: train_more STEP.so DATA STATE\n"), 2;
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_safetensors_t *file;
  uint32_t step;
  tinh_function_info_t function;
  check(tinh_module_load(argv[1], &module));
  check(tinh_module_find_function(module, "train_step", &step));
  check(tinh_module_function_info(module, step, &function));
  check(tinh_safetensors_open(argv[2], &file));
  if (function.num_inputs > most_inputs || function.num_outputs != 1)
    fail("train_step has more inputs or outputs than expected");

  tinh_safetensors_tensor_t data[most_inputs];
  tinh_buffer_t batch[most_inputs];
  int64_t num_batches = 0;
  for (uint32_t i = 0; i < function.num_inputs; ++i) {
    tinh_tensor_info_t input;
    check(tinh_module_input_info(module, step, i, &input));
    check(tinh_safetensors_find(file, input.name, &data[i]));
    tinh_tensor_info_t type = data[i].type;
    if (type.dtype != input.dtype || type.rank != input.rank ||
        input.rank == 0 ||
        memcmp(type.dims + 1, input.dims + 1,
               (input.rank - 1) * sizeof *input.dims) != 0)
      fail("the data's types are not those of train_step's inputs");
    int64_t batches = type.dims[0] / input.dims[0];
    if (i == 0 || batches < num_batches)
      num_batches = batches;
    batch[i].size = input.size; /* Copied: a file's data is not aligned. */
    batch[i].data = malloc(input.size);
  }

  check(tinh_context_create(module, NULL, &context));
  tinh_status_t status = tinh_context_load_state(context, argv[3]);
  if (status != TINH_NOT_FOUND)
    check(status);
  for (int epoch = 1; epoch <= epochs && num_batches > 0; ++epoch) {
    double sum = 0;
    for (int64_t b = 0; b < num_batches; ++b) {
      float loss;
      tinh_buffer_t output = {&loss, sizeof loss};
      for (uint32_t i = 0; i < function.num_inputs; ++i)
        memcpy(batch[i].data,
               (const char *)data[i].data + (size_t)b * batch[i].size,
               batch[i].size);
      check(tinh_context_run(context, step, batch, function.num_inputs, &output,
                             1));
      sum += loss;
    }
    printf("epoch %d: loss %g\n", epoch, sum / (double)num_batches);
  }
  check(tinh_context_save_state(context, argv[3], NULL, 0));

  for (uint32_t i = 0; i < function.num_inputs; ++i)
    free(batch[i].data);
  tinh_context_release(context);
  tinh_safetensors_release(file);
  tinh_module_release(module);
  return 0;
}
