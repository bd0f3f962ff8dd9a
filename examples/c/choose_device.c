/* Says where a model runs, and lets the user choose:
 *   choose_device model.so [cpu|cuda|cuda:1]
 * One that graph-compile has compiled with --target=cpu,cuda runs on a GPU if
 * there is one. Runs the model once, on zeros.
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tinh/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(tinh_status_t status) {
  if (status != TINH_OK) {
    fprintf(stderr, "choose_device: error: %s\n", tinh_last_error());
    exit(1);
  }
}

static int choose(const char *text, tinh_context_options_t *options) {
  char end;
  options->device = strcmp(text, "cpu") == 0 ? TINH_USE_CPU : TINH_USE_CUDA;
  return strcmp(text, "cpu") == 0 || strcmp(text, "cuda") == 0 ||
         sscanf(text, "cuda:%u%c", &options->cuda_device, &end) == 1;
}

/* Memory of zeros for each tensor that `get` tells of. */
static tinh_buffer_t *make_buffers(const tinh_module_t *module, uint32_t count,
                                   tinh_status_t (*get)(const tinh_module_t *,
                                                        uint32_t, uint32_t,
                                                        tinh_tensor_info_t *)) {
  tinh_buffer_t *buffers = calloc(count + 1, sizeof *buffers);
  for (uint32_t i = 0; i < count; ++i) {
    tinh_tensor_info_t tensor;
    check(get(module, 0, i, &tensor));
    buffers[i].size = tensor.size;
    buffers[i].data = calloc(1, tensor.size + 1);
  }
  return buffers;
}

static void free_buffers(tinh_buffer_t *buffers, uint32_t count) {
  for (uint32_t i = 0; i < count; ++i)
    free(buffers[i].data);
  free(buffers);
}

int main(int argc, char **argv) {
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_context_options_t options;
  tinh_context_info_t info;
  tinh_function_info_t function;
  tinh_context_options_init(&options);
  if (argc < 2 || argc > 3 || (argc == 3 && !choose(argv[2], &options)))
    return fprintf(stderr, "usage: choose_device MODEL.so [cpu|cuda|cuda:N]\n"),
           2;
  check(tinh_module_load(argv[1], &module));
  check(tinh_context_create(module, &options, &context));
  check(tinh_context_info(context, &info));
  if (info.uses_cuda) {
    tinh_cuda_device_info_t gpu;
    check(tinh_cuda_device_info(info.cuda_device, &gpu));
    printf("on GPU %u, '%s'\n", info.cuda_device, gpu.name);
  } else {
    printf("on the CPU, with %u threads\n", info.threads);
    if (info.why_not_cuda)
      printf("and not on a GPU: %s\n", info.why_not_cuda);
  }

  check(tinh_module_function_info(module, 0, &function));
  tinh_buffer_t *inputs = make_buffers(module, function.num_inputs,
                                       tinh_module_input_info),
                *outputs = make_buffers(module, function.num_outputs,
                                        tinh_module_output_info);
  check(tinh_context_run(context, 0, inputs, function.num_inputs, outputs,
                         function.num_outputs));
  printf("'%s' has run\n", function.name);
  tinh_context_release(context);
  tinh_module_release(module);
  free_buffers(inputs, function.num_inputs);
  free_buffers(outputs, function.num_outputs);
  return 0;
}
