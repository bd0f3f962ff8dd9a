//===- shared_library.cpp - Functions of libraries, by name -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/shared_library.h"

#include "support/error.h"

#include <dlfcn.h>

namespace tinh::runtime::cuda {

SharedLibrary::SharedLibrary(std::string name) : file(std::move(name)) {
  handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error(TINH_NOT_FOUND, dlerror());
}

void *SharedLibrary::symbol(const char *name) const {
  void *found = dlsym(handle, name);
  if (!found)
    throw Error(TINH_INCOMPATIBLE, "'" + file + "' has no " + name);
  return found;
}

} // namespace tinh::runtime::cuda
