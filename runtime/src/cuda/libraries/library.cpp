//===- library.cpp - Libraries that compute kernels -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "cuda/libraries/library.h"

#include "cuda/driver/environment.h"

namespace tinh::runtime::cuda {

std::string version_text(size_t version) {
  return std::to_string(version / 10000) + "." +
         std::to_string(version / 100 % 100) + "." +
         std::to_string(version % 100);
}

Libraries::Libraries(const DevicePtr &device, const tinh_artifact_t &artifact)
    : device(device), artifact(artifact) {
  bool wanted[2] = {};
  for (uint32_t i = 0; i < artifact.num_kernels; ++i)
    if (const tinh_library_call_t *call = artifact.kernels[i].library)
      wanted[call->kind] = true;
  loaded[TINH_LIBRARY_MATMUL].kernels = "matmuls";
  loaded[TINH_LIBRARY_CONVOLUTION].kernels = "convolutions";
  for (uint32_t kind : {TINH_LIBRARY_MATMUL, TINH_LIBRARY_CONVOLUTION})
    if (wanted[kind])
      load(kind);
}

/// The library of a kind in a context, for all modules there while one of them
/// has it: that a library starts takes long.
static std::shared_ptr<Library> library_in(CUcontext context, uint32_t kind,
                                           const Environment &environment) {
  static std::mutex mutex;
  static std::map<std::pair<CUcontext, uint32_t>, std::weak_ptr<Library>> known;
  std::lock_guard lock(mutex);
  std::weak_ptr<Library> &place = known[{context, kind}];
  std::shared_ptr<Library> library = place.lock();
  if (!library)
    place = library = kind == TINH_LIBRARY_MATMUL
                          ? load_cublaslt(environment.cublaslt)
                          : load_cudnn(environment.cudnn);
  return library;
}

void Libraries::load(uint32_t kind) {
  Environment environment = read_environment();
  Loaded &result = loaded[kind];
  if (kind == TINH_LIBRARY_MATMUL ? !environment.allows_cublaslt
                                  : !environment.allows_cudnn) {
    result.why_not =
        "TINH_CUDA_LIBRARIES=" + environment.libraries + " leaves it out";
    return;
  }
  Current current(*device);
  try {
    result.library = library_in(device->context(), kind, environment);
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
