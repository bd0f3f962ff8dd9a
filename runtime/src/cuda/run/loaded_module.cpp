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
#include "cuda/run/loaded_module.h"

namespace tinh::runtime::cuda {

LoadedModule::LoadedModule(const tinh_artifact_t &artifact, const char *weights,
                           uint32_t index)
    : description(artifact), gpu(std::make_shared<const Device>(index)) {
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
  gpu->upload(weights_memory.get(), weights, size, "the weights");
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
