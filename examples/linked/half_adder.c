/*===- half_adder.c - Two models that are part of the program -----*- C -*-===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * Adds bits with two models, one for the sum and one for the carry, that are
 * linked into the program, code and weights:
 *
 *   graph-compile xor.json --emit=obj -o xor.o
 *   graph-compile and.json --emit=obj -o and.o
 *   cc half_adder.c xor.o and.o -ltinh_runtime -o half_adder
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/runtime.h"

#include <stdio.h>
#include <stdlib.h>

TINH_MODEL(xor);
TINH_MODEL(and);

#define ROWS 4

static void check(tinh_status_t status) {
  if (status == TINH_OK)
    return;
  fprintf(stderr, "half_adder: error: %s\n", tinh_last_error());
  exit(1);
}

static void run(const tinh_model_t *model, float *bits, float *result) {
  tinh_module_t *module;
  tinh_context_t *context;
  tinh_buffer_t in = {bits, ROWS * 2 * sizeof(float)};
  tinh_buffer_t out = {result, ROWS * sizeof(float)};
  check(tinh_module_load_linked(model, NULL, &module));
  check(tinh_context_create(module, NULL, &context));
  check(tinh_context_run(context, 0, &in, 1, &out, 1));
  tinh_context_release(context);
  tinh_module_release(module);
}

int main(void) {
  float bits[ROWS][2] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}};
  float sum[ROWS], carry[ROWS];
  run(&tinh_model_xor, bits[0], sum);
  run(&tinh_model_and, bits[0], carry);
  for (int i = 0; i < ROWS; ++i)
    printf("%g + %g = %g%g\n", bits[i][0], bits[i][1], carry[i], sum[i]);
  return 0;
}
