/* Reads handwritten digits by a compiled network, one after the other:
 *   classify_digits digits.so images.safetensors [weights.safetensors]
 * The images are tensor "input0", their classes tensor "target". Weights, such
 * as a training has saved, take the place of the network's own.
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tinh/runtime.h"
#include "tinh/safetensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { pixels = 64, classes = 10 };

static void check(tinh_status_t status) {
  if (status == TINH_OK)
    return;
  fprintf(stderr, "classify_digits: error: %s\n", tinh_last_error());
  exit(1);
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4)
    return fprintf(stderr, "usage: classify_digits MODEL IMAGES [WEIGHTS]\n"),
           2;
  tinh_module_t *module;
  check(tinh_module_load(argv[1], &module));
  if (argc == 4) {
    tinh_module_t *trained;
    check(tinh_module_with_weights(module, argv[3], &trained));
    tinh_module_release(module);
    module = trained;
  }
  tinh_context_t *context;
  check(tinh_context_create(module, NULL, &context));

  tinh_safetensors_t *file;
  tinh_safetensors_tensor_t images, targets;
  check(tinh_safetensors_open(argv[2], &file));
  check(tinh_safetensors_find(file, "input0", &images));
  check(tinh_safetensors_find(file, "target", &targets));
  int64_t count = images.type.size / (pixels * sizeof(float));
  if (images.type.dtype != TINH_DTYPE_F32 ||
      targets.type.dtype != TINH_DTYPE_I64 ||
      targets.type.size != (uint64_t)count * sizeof(int64_t))
    return fprintf(stderr, "classify_digits: error: not images of digits\n"), 1;

  int64_t hits = 0;
  for (int64_t i = 0; i < count; ++i) {
    float image[pixels], scores[classes];
    int64_t target;
    tinh_buffer_t input = {image, sizeof image};
    tinh_buffer_t output = {scores, sizeof scores};
    memcpy(image, (const float *)images.data + i * pixels, sizeof image);
    memcpy(&target, (const char *)targets.data + (size_t)i * sizeof target,
           sizeof target);
    check(tinh_context_run(context, 0, &input, 1, &output, 1));
    int best = 0;
    for (int c = 1; c < classes; ++c)
      if (scores[c] > scores[best])
        best = c;
    hits += best == target;
  }
  printf("%lld of %lld right\n", (long long)hits, (long long)count);

  tinh_context_release(context);
  tinh_safetensors_release(file);
  tinh_module_release(module);
  return 0;
}
