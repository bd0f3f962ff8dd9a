//===- api_collectives.cpp - The C API of collectives ---------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library of the launcher that has started the process, and whether ranks
// agree.
//
//===----------------------------------------------------------------------===//
#include "collectives/collective_steps.h"
#include "support/guarded.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <unistd.h>

using namespace tinh::runtime;

namespace {

struct Launcher {
  const char *variable; ///< That it sets for each rank.
  const char *library;
};
// Open MPI's own comes first: it may run below another launcher. Launchers such
// as Slurm's speak PMI or PMIx; MPICH knows the one, Open MPI the other.
constexpr Launcher kLaunchers[] = {
    {"OMPI_COMM_WORLD_SIZE", "libtinh_mpi_openmpi.so"},
    {"PMI_SIZE", "libtinh_mpi_mpich.so"},
    {"PMIX_RANK", "libtinh_mpi_openmpi.so"}};

/// Beside this library, if it is there; with a slash it says where it is.
std::string find_library(const char *name) {
  Dl_info self;
  if (!std::strchr(name, '/') &&
      dladdr(reinterpret_cast<void *>(&tinh_collectives_load), &self) != 0) {
    std::string path = self.dli_fname;
    path.replace(path.rfind('/') + 1, std::string::npos, name);
    if (access(path.c_str(), R_OK) == 0)
      return path;
  }
  return name;
}

tinh_collectives_create_t load(const char *library) {
  bool is_named = library;
  if (!is_named && !(library = tinh_collectives_library()))
    throw_error(
        TINH_INVALID_ARGUMENT,
        {"this process is not one of several ranks: mpirun, of Open MPI "
         "or MPICH, starts it as one"});
  std::string path = find_library(library);
  void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw_error(TINH_NOT_FOUND,
                {"cannot load collectives: ", dlerror(),
                 is_named ? ""
                          : "; the build makes libtinh_mpi_openmpi.so with "
                            "Debian's libopenmpi-dev, libtinh_mpi_mpich.so "
                            "with libmpich-dev"});
  auto create = reinterpret_cast<tinh_collectives_create_t>(
      dlsym(handle, TINH_COLLECTIVES_CREATE));
  if (!create)
    throw_error(TINH_INCOMPATIBLE,
                {"'", path, "' has no ", TINH_COLLECTIVES_CREATE});
  return create;
}

} // namespace

const char *tinh_collectives_library(void) {
  for (const Launcher &launcher : kLaunchers)
    if (std::getenv(launcher.variable))
      return launcher.library;
  return nullptr;
}

tinh_status_t tinh_collectives_load(const char *library,
                                    const tinh_collectives_options_t *options,
                                    tinh_collectives_t **out_collectives) {
  return guarded({{out_collectives, "out_collectives"}}, [&] {
    if (const char *error = load(library)(options, out_collectives))
      throw Error(TINH_COLLECTIVE_FAILED, error);
  });
}

tinh_status_t tinh_collectives_compare(tinh_collectives_t *collectives,
                                       const char *what, const void *data,
                                       size_t size) {
  return guarded({{collectives, "collectives"}, {what, "what"}}, [&] {
    compare_ranks(*collectives, what,
                  tinh_checksum(TINH_CHECKSUM_START, data, size));
  });
}
