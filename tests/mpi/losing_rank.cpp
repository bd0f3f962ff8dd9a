//===- losing_rank.cpp - Ranks of which one fails -------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// losing_rank LIBRARY RANK HOW: all ranks reduce without end, but RANK never
// joins them or, after a while, is killed, stops, starts nothing more or
// something else, gives up or leaves. The others print what they are told of
// it.
//
//===----------------------------------------------------------------------===//
#include "tinh/collectives.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

[[noreturn]] void fail(tinh_collectives_t *collectives,
                       const std::string &how) {
  if (how == "killed")
    kill(getpid(), SIGKILL);
  if (how == "stopped")
    kill(getpid(), SIGSTOP);
  if (how == "gives-up")
    collectives->abort(collectives, "x.npy: no such file");
  if (how == "leaves")
    collectives->destroy(collectives);
  for (;;)
    pause();
}

/// This one's, by its launcher: before it has joined the others.
unsigned long own_rank() {
  for (const char *name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
    if (const char *value = std::getenv(name))
      return std::strtoul(value, nullptr, 10);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4)
    return 2;
  void *library = dlopen(argv[1], RTLD_NOW);
  auto create = reinterpret_cast<tinh_collectives_create_t>(
      library ? dlsym(library, TINH_COLLECTIVES_CREATE) : nullptr);
  const std::string how = argv[3];
  const unsigned long lost = std::strtoul(argv[2], nullptr, 10);
  if (how == "absent" && own_rank() == lost)
    fail(nullptr, how);
  tinh_collectives_options_t options = {sizeof options, 1};
  tinh_collectives_t *collectives = nullptr;
  const char *error = create ? create(&options, &collectives) : dlerror();
  std::vector<float> x(100000, 1);
  for (int i = 0; !error; ++i) {
    tinh_collective_t collective = {};
    collective.reduction = TINH_REDUCE_MAX;
    collective.dtype = collective.communication_dtype = TINH_DTYPE_F32;
    collective.count = x.size();
    if (i == 100 && collectives->rank == lost) {
      if (how == "fewer")
        collective.count = 1000;
      else if (how == "sum-as-bf16") {
        collective.reduction = TINH_REDUCE_SUM;
        collective.communication_dtype = TINH_DTYPE_BF16;
      } else
        fail(collectives, how);
    }
    collective.input = collective.output = x.data();
    uint64_t ticket = 0;
    error = collectives->start(collectives, &collective, &ticket);
    if (!error)
      error = collectives->wait(collectives, ticket);
  }
  std::printf("rank %lu: %s\n", own_rank(), error);
  std::fflush(stdout);
  _exit(1); // Without MPI_Finalize, which would wait for the one that is lost.
}
