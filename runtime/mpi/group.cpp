//===- group.cpp - The ranks of an MPI program ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "group.h"

namespace tinh::mpi {

namespace {

MPI_Comm duplicate() {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &copy), "MPI_Comm_dup");
  check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler");
  return copy;
}

/// The first line, without the details of how it was built.
std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING];
  int size = 0;
  check(MPI_Get_library_version(text, &size), "MPI_Get_library_version");
  std::string version(text, static_cast<size_t>(size));
  return version.substr(0, version.find_first_of("\n,"));
}

} // namespace

void check(int code, const char *call) {
  if (code == MPI_SUCCESS)
    return;
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  if (MPI_Error_string(code, text, &size) != MPI_SUCCESS)
    size = 0;
  throw Failure(std::string(call) + ": " +
                std::string(text, static_cast<size_t>(size)));
}

Group::Group() {
  int is_initialized = 0, is_finalized = 0, level = 0;
  check(MPI_Initialized(&is_initialized), "MPI_Initialized");
  check(MPI_Finalized(&is_finalized), "MPI_Finalized");
  if (is_finalized)
    throw Failure("MPI has been finalized in this process, and cannot be "
                  "initialised again");
  if (!is_initialized) {
    is_ours = true;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level),
          "MPI_Init_thread");
  } else {
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level < MPI_THREAD_MULTIPLE)
      throw Failure("the program has initialised MPI for less than "
                    "MPI_THREAD_MULTIPLE, which collectives on a thread of "
                    "their own need; ask for it in MPI_Init_thread");
  }
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN),
        "MPI_Comm_set_errhandler");
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &num_ranks), "MPI_Comm_size");
  library = library_version();
  scatter = duplicate();
  gather = duplicate();
  control = duplicate();

  MPI_Comm local = MPI_COMM_NULL;
  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                            MPI_INFO_NULL, &local),
        "MPI_Comm_split_type");
  check(MPI_Comm_rank(local, &local_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(local, &num_local_ranks), "MPI_Comm_size");
  check(MPI_Comm_free(&local), "MPI_Comm_free");
}

void Group::finalize() {
  for (MPI_Comm *comm : {&scatter, &gather, &control})
    check(MPI_Comm_free(comm), "MPI_Comm_free");
  if (is_ours)
    check(MPI_Finalize(), "MPI_Finalize");
}

} // namespace tinh::mpi
