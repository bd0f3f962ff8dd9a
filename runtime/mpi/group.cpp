//===- group.cpp - The ranks of an MPI program ----------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "group.h"

#include "../src/shared/cpu_count.h"
#include "shared_memory.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

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

/// What a rank tells those on its machine of the CPUs that it may use.
struct Cpus {
  uint64_t mask[256]; ///< A bit each, of its affinity.
};

/// A rank's share of the CPUs of its machine: those that ranks are bound to
/// count for these alone, and what the cgroups grant is for all of them.
double share_of_cpus(MPI_Comm local, size_t rank, size_t num_ranks) {
  std::vector<Cpus> all(num_ranks);
  Cpus own = {};
  auto has = [](const Cpus &cpus, size_t cpu) {
    return (cpus.mask[cpu / 64] >> (cpu % 64) & 1) != 0;
  };
  for (int cpu : runtime::affinity_cpus())
    if (auto at = static_cast<size_t>(cpu); at < 64 * std::size(own.mask))
      own.mask[at / 64] |= uint64_t(1) << (at % 64);
  check(MPI_Allgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own,
                      MPI_BYTE, local),
        "MPI_Allgather");
  double share = 0;
  for (size_t cpu = 0; cpu < 64 * std::size(own.mask); ++cpu)
    if (has(all[rank], cpu))
      share += 1.0 / static_cast<double>(std::ranges::count_if(
                         all, [&](const Cpus &one) { return has(one, cpu); }));
  uint32_t granted = runtime::cgroup_cpu_limit();
  return granted == 0 ? share
                      : std::min(share, static_cast<double>(granted) /
                                            static_cast<double>(num_ranks));
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

  check(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0,
                            MPI_INFO_NULL, &machine),
        "MPI_Comm_split_type");
  check(MPI_Comm_rank(machine, &local_rank), "MPI_Comm_rank");
  check(MPI_Comm_size(machine, &num_local_ranks), "MPI_Comm_size");
  cpus = share_of_cpus(machine, static_cast<size_t>(local_rank),
                       static_cast<size_t>(num_local_ranks));
}

std::unique_ptr<SharedMemory> Group::share_memory() const {
  const char *wanted = std::getenv("TINH_MPI_SHARED_MEMORY");
  int is_wanted = num_local_ranks == num_ranks &&
                  (!wanted || std::string_view(wanted) != "off");
  // One that is told otherwise would wait for messages.
  check(MPI_Allreduce(MPI_IN_PLACE, &is_wanted, 1, MPI_INT, MPI_MIN, control),
        "MPI_Allreduce");
  return is_wanted ? SharedMemory::allocate(machine) : nullptr;
}

void Group::finalize() {
  for (MPI_Comm *comm : {&scatter, &gather, &control, &machine})
    check(MPI_Comm_free(comm), "MPI_Comm_free");
  if (is_ours)
    check(MPI_Finalize(), "MPI_Finalize");
}

} // namespace tinh::mpi
