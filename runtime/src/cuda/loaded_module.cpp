//===- loaded_module.cpp - A module on a GPU --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "cuda/loaded_module.h"

namespace tinh::runtime::cuda {

std::shared_ptr<const LoadedModule> LoadedModule::get(const Module &module,
                                                      uint32_t index) {
  DeviceCopies &copies = module.device_copies();
  std::lock_guard lock(copies.mutex);
  std::weak_ptr<const LoadedModule> &known = copies.by_device[index];
  if (auto loaded = known.lock())
    return loaded;
  auto loaded = std::make_shared<const LoadedModule>(module, index);
  known = loaded;
  return loaded;
}

LoadedModule::LoadedModule(const Module &module, uint32_t index)
    : gpu(std::make_shared<const Device>(index)) {
  const tinh_artifact_t &artifact = module.artifact();
  {
    Current current(*gpu);
    for (uint32_t i = 0; i < artifact.num_kernels; ++i) {
      functions.push_back(nullptr);
      if (artifact.kernels[i].device == TINH_DEVICE_CUDA)
        load_kernel(artifact.kernels[i]);
    }
  }
  uint64_t size = artifact.device_weights_size;
  weights_memory = allocate(gpu, size, "the weights");
  gpu->upload(weights_memory.get(), module.weights(), size, "the weights");
  all_libraries = std::make_unique<const Libraries>(gpu, artifact);
}

static std::string chip(const tinh_cuda_device_info_t &info) {
  return std::string("the GPU '") + info.name + "' (sm_" +
         std::to_string(info.compute_major) +
         std::to_string(info.compute_minor) + ")";
}

static std::string about(const tinh_kernel_desc_t &kernel,
                         const std::string &text) {
  return "kernel '" + std::string(kernel.name) + "' " + text;
}

/// The image of the kernel, which others may be in.
CUmodule LoadedModule::image_of(const tinh_kernel_desc_t &kernel) {
  LoadedImage &image = images[kernel.image];
  if (image)
    return image.get();
  CUmodule loaded = nullptr;
  CUresult result = driver().cuModuleLoadData(&loaded, kernel.image + 1);
  if (result == kNoBinaryForGpu || result == kUnsupportedPtxVersion ||
      result == kInvalidPtx)
    fail(result, about(kernel, "has no code for " + chip(gpu->info()) +
                                   " and its driver; compile the model with "
                                   "--cuda-chips that include it"));
  check(result, [&] { return about(kernel, "cannot be loaded"); });
  image = LoadedImage(gpu, loaded);
  return loaded;
}

/// Makes the last one of `functions`.
void LoadedModule::load_kernel(const tinh_kernel_desc_t &kernel) {
  const Driver &api = driver();
  auto what = [&](const std::string &text) { return about(kernel, text); };
  CUmodule image = image_of(kernel);
  CUfunction &function = functions.back();
  check(api.cuModuleGetFunction(&function, image, kernel.name),
        [&] { return what("is not in its image"); });
  // This also has the driver load what it otherwise loads at the first launch.
  int threads = 0;
  check(api.cuFuncGetAttribute(&threads, kMaxThreadsPerBlock, function),
        [&] { return what("cannot be loaded"); });
  if (static_cast<uint32_t>(threads) < kernel.threads)
    throw Error(TINH_INCOMPATIBLE,
                what("needs " + std::to_string(kernel.threads) +
                     " threads, and " + chip(gpu->info()) + " gives it " +
                     std::to_string(threads)));
  if (kernel.scratch_size != 0)
    check(api.cuFuncSetAttribute(function, kMaxDynamicSharedSize,
                                 static_cast<int>(kernel.scratch_size)),
          [&] {
            return what("needs " + std::to_string(kernel.scratch_size) +
                        " bytes of shared memory, which " + chip(gpu->info()) +
                        " does not have");
          });
}

} // namespace tinh::runtime::cuda
