/*===- run_ranks.c - An artifact of several ranks, by MPI -----------------===//
 *
 * Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
 * See LICENSE for license information.
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 *===----------------------------------------------------------------------===//
 *
 * mpirun -n N run_ranks ARTIFACT: the artifact of the runtime's tests of ranks
 * (ranks_artifact.c), whose "main" adds what all have doubled. The runtime
 * finds the library by what mpirun has left in the environment.
 *
 *===----------------------------------------------------------------------===*/
#include "tinh/collectives.h"
#include "tinh/runtime.h"

#include <stdio.h>

enum { N = 1024 };

static int fail(const char *what) {
  fprintf(stderr, "%s\n", what ? what : "no message");
  return 1;
}

/* One run of "main" with other numbers each time, checked. */
static int check_run(tinh_context_t *context, const tinh_collectives_t *ranks,
                     int run) {
  float x[N], y[N];
  for (int i = 0; i < N; ++i)
    x[i] = (float)((int)ranks->rank * 1000 + i + run);
  tinh_buffer_t in = {x, sizeof x}, out = {y, sizeof y};
  if (tinh_context_run(context, 0, &in, 1, &out, 1) != TINH_OK)
    return fail(tinh_last_error());
  for (int i = 0; i < N; ++i) {
    float expected = 2 * x[i];
    for (int rank = 0; rank < (int)ranks->num_ranks; ++rank)
      expected += (float)(2 * (rank * 1000 + i + run));
    if (y[i] != expected)
      return fail("a sum is wrong");
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return fail("usage: run_ranks ARTIFACT");
  tinh_collectives_t *ranks = NULL;
  if (tinh_collectives_load(NULL, NULL, &ranks) != TINH_OK)
    return fail(tinh_last_error());

  tinh_module_t *module = NULL;
  tinh_context_t *context = NULL;
  tinh_context_options_t options;
  tinh_context_options_init(&options);
  options.threads = 2;
  options.collectives = ranks;
  if (tinh_module_load(argv[1], &module) != TINH_OK ||
      tinh_context_create(module, &options, &context) != TINH_OK)
    return fail(tinh_last_error());
  for (int run = 0; run < 100; ++run)
    if (check_run(context, ranks, run) != 0)
      return 1;
  tinh_context_release(context);
  tinh_module_release(module);
  ranks->destroy(ranks);
  return 0;
}
