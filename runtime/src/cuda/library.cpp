//===- library.cpp - Libraries that compute kernels -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The environment variable TINH_CUDA_LIBRARIES lists those that may be used,
// "cublaslt,cudnn", or is "none"; without it all are.
//
//===----------------------------------------------------------------------===//
#include "cuda/library.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <string_view>

namespace tinh::runtime::cuda {

SharedLibrary::SharedLibrary(const char *variable, const char *default_file) {
  const char *other = std::getenv(variable);
  file = other && *other ? other : default_file;
  handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw Error(TINH_NOT_FOUND, dlerror());
}

void *SharedLibrary::find(const char *function) const {
  void *found = dlsym(handle, function);
  if (!found)
    throw Error(TINH_INCOMPATIBLE, "'" + file + "' has no " + function);
  return found;
}

/// Whether the environment lets a library be used.
static bool is_allowed(std::string_view name) {
  const char *variable = std::getenv("TINH_CUDA_LIBRARIES");
  if (!variable)
    return true;
  std::string_view list = variable;
  while (!list.empty()) {
    size_t end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == name)
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

Libraries::Libraries(const DevicePtr &device, const tinh_artifact_t &artifact)
    : device(device), artifact(artifact) {
  bool wanted[2] = {};
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    if (const tinh_library_call_t *call = artifact.kernels[i].library)
      wanted[call->kind] = true;
  loaded[TINH_LIBRARY_PRODUCT].kernels = "products";
  loaded[TINH_LIBRARY_CONVOLUTION].kernels = "convolutions";
  for (uint32_t kind : {TINH_LIBRARY_PRODUCT, TINH_LIBRARY_CONVOLUTION})
    if (wanted[kind])
      load(kind);
}

/// What `load` gives, for all who want it for a context while one of them has
/// it: that a library starts takes long.
static std::shared_ptr<Library>
shared_library(CUcontext context, uint32_t kind,
               std::shared_ptr<Library> (*load)()) {
  static std::mutex mutex;
  static std::map<std::pair<CUcontext, uint32_t>, std::weak_ptr<Library>> known;
  std::lock_guard lock(mutex);
  std::weak_ptr<Library> &place = known[{context, kind}];
  std::shared_ptr<Library> library = place.lock();
  if (!library)
    place = library = load();
  return library;
}

void Libraries::load(uint32_t kind) {
  bool is_product = kind == TINH_LIBRARY_PRODUCT;
  Loaded &result = loaded[kind];
  if (!is_allowed(is_product ? "cublaslt" : "cudnn")) {
    result.why_not = "TINH_CUDA_LIBRARIES leaves it out";
    return;
  }
  Current current(*device);
  try {
    result.library = shared_library(device->context(), kind,
                                    is_product ? load_cublaslt : load_cudnn);
  } catch (const Error &error) {
    result.why_not = error.what();
  }
}

Libraries::~Libraries() {
  Current current(*device);
  plans.clear();
  for (Loaded &one : loaded)
    one.library.reset();
}

const LibraryPlan *Libraries::plan(uint32_t index,
                                   const Alignments &alignments) const {
  const tinh_kernel_desc_t &kernel = artifact.kernels[index];
  if (!kernel.library || !loaded[kernel.library->kind].library)
    return nullptr;
  std::lock_guard lock(mutex);
  auto [place, is_new] = plans.try_emplace({index, alignments});
  Plan &plan = place->second;
  if (is_new) {
    try {
      plan.plan =
          loaded[kernel.library->kind].library->plan(kernel, alignments);
    } catch (const Error &error) {
      plan.why = error.what();
    }
  }
  return plan.why.empty() ? plan.plan.get() : nullptr;
}

void Libraries::refuse(uint32_t index, const Alignments &alignments,
                       const std::string &why) const {
  std::lock_guard lock(mutex);
  plans[{index, alignments}].why = why;
}

std::string Libraries::report() const {
  std::lock_guard lock(mutex);
  std::string text;
  for (const Loaded &one : loaded) {
    if (one.library)
      text += one.library->name() + " computes " + one.kernels + "\n";
    else if (!one.why_not.empty())
      text += std::string("no library computes ") + one.kernels + ": " +
              one.why_not + "\n";
  }
  for (const auto &[key, plan] : plans)
    if (!plan.why.empty())
      text += std::string("kernel '") + artifact.kernels[key.first].name +
              "' is computed by its own code: " + plan.why + "\n";
  return text;
}

} // namespace tinh::runtime::cuda
