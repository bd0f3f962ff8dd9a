/* Runs an image classifier compiled by graph-compile and prints the five best
 * classes:  classify resnet50.so [image.f32]
 * The image is raw float data of the model's input; without one, a pattern.
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "tinh/runtime.h"

#include <stdio.h>
#include <stdlib.h>

static void check(tinh_status_t status) {
  if (status != TINH_OK) {
    fprintf(stderr, "classify: error: %s\n", tinh_last_error());
    exit(1);
  }
}

int main(int argc, char **argv) {
  if (argc < 2 || argc > 3)
    return fprintf(stderr, "usage: classify MODEL.so [IMAGE.f32]\n"), 2;
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_tensor_info_t in, out;
  check(tinh_module_load(argv[1], &module));
  check(tinh_module_input_info(module, 0, 0, &in));
  check(tinh_module_output_info(module, 0, 0, &out));
  if (in.dtype != TINH_DTYPE_F32 || out.dtype != TINH_DTYPE_F32)
    return fprintf(stderr, "classify: error: expected f32 in and out\n"), 1;

  float *image = malloc(in.size), *scores = malloc(out.size);
  size_t pixels = in.size / sizeof(float), classes = out.size / sizeof(float);
  for (size_t i = 0; i < pixels; ++i)
    image[i] = (float)(i % 255) / 255;
  if (argc == 3) {
    FILE *file = fopen(argv[2], "rb");
    if (!file || fread(image, 1, in.size, file) != in.size)
      return fprintf(stderr, "classify: error: cannot read %llu bytes of %s\n",
                     (unsigned long long)in.size, argv[2]),
             1;
    fclose(file);
  }
  tinh_buffer_t input = {image, in.size}, output = {scores, out.size};
  check(tinh_context_create(module, NULL, &context));
  check(tinh_context_run(context, 0, &input, 1, &output, 1));

  for (int place = 1; place <= 5 && (size_t)place <= classes; ++place) {
    size_t best = 0;
    for (size_t i = 1; i < classes; ++i)
      if (scores[i] > scores[best])
        best = i;
    printf("%d. class %zu, score %g\n", place, best, scores[best]);
    scores[best] = -1e30f;
  }
  tinh_context_release(context);
  tinh_module_release(module);
  free(image);
  free(scores);
  return 0;
}
