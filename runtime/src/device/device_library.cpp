//===- device_library.cpp - Finding the library for GPUs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// libtinh_cuda.so lies beside what the runtime is a part of: its library, a
// module of Python's or a program.
//
//===----------------------------------------------------------------------===//
#include "device/device.h"

#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <unistd.h>

namespace tinh::runtime {

static constexpr char kLibrary[] = "libtinh_cuda.so." TINH_VERSION_MAJOR;

/// The file that this code was loaded from. A program has no name in the
/// dynamic linker's list, and what dladdr says is what it was called by.
static std::string own_file() {
  Dl_info info;
  link_map *map = nullptr;
  std::string file;
  if (dladdr1(reinterpret_cast<const void *>(&device_api), &info,
              reinterpret_cast<void **>(&map), RTLD_DL_LINKMAP) &&
      map)
    file = map->l_name;
  if (!file.empty())
    return file;
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : file;
}

struct OpenLibrary {
  std::string name; ///< With its folder, if it is beside the runtime.
  void *handle;
};

static OpenLibrary open_library() {
  std::string own = own_file(),
              beside = own.substr(0, own.rfind('/') + 1) + kLibrary;
  bool is_beside = access(beside.c_str(), F_OK) == 0;
  std::string name = is_beside ? beside : kLibrary;
  if (void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
    return {name, handle};
  std::string why = dlerror();
  if (!is_beside)
    why =
        "it is neither beside '" + own + "' nor where the system looks: " + why;
  throw_error(TINH_NO_DEVICE, {"the runtime's library for GPUs, ", kLibrary,
                               ", cannot be loaded: ", why});
}

static const DeviceApi &load_api() {
  OpenLibrary library = open_library();
  auto *get =
      reinterpret_cast<GetDeviceApi *>(dlsym(library.handle, kGetDeviceApi));
  const DeviceApi *api =
      get ? get(TINH_DEVICE_API, sizeof(DeviceApi), TINH_ARTIFACT_VERSION)
          : nullptr;
  if (!api)
    throw_error(TINH_NO_DEVICE,
                {"'", library.name, "' is not of this runtime's version, ",
                 TINH_VERSION});
  return *api;
}

const DeviceApi &device_api() {
  static std::mutex mutex;
  static const DeviceApi *found = nullptr; // If not, it is looked for again.
  std::lock_guard lock(mutex);
  if (!found)
    found = &load_api();
  return *found;
}

} // namespace tinh::runtime
