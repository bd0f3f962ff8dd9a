//===- loaded_module.h - A module on a GPU ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What all contexts of a module have in common on one GPU: its kernels, which
// are all loaded before anything runs, and its weights.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_LOADED_MODULE_H
#define TINH_RUNTIME_CUDA_LOADED_MODULE_H

#include "cuda/driver/device.h"
#include "cuda/libraries/library.h"
#include "tinh/artifact.h"

#include <map>
#include <vector>

namespace tinh::runtime::cuda {

class LoadedModule {
public:
  /// Loads a module, which must outlive this, on GPU `index`. Throws what says
  /// in one sentence why it cannot.
  LoadedModule(const tinh_artifact_t &artifact, const char *weights,
               uint32_t index);

  const tinh_artifact_t &artifact() const { return description; }
  const DevicePtr &device() const { return gpu; }
  CUdeviceptr weights() const { return weights_memory.get(); }
  const Libraries &libraries() const { return *all_libraries; }
  /// Of kernel `index` of the artifact, which is one for GPUs.
  CUfunction kernel(uint32_t index) const { return functions[index]; }

private:
  void load_kernel(const tinh_kernel_desc_t &kernel);
  CUmodule image_of(const tinh_kernel_desc_t &kernel);

  const tinh_artifact_t &description;
  DevicePtr gpu;
  std::map<const tinh_image_t *, LoadedImage> images;
  std::vector<CUfunction> functions; ///< By kernel; null for the CPU's.
  DeviceMemory weights_memory;
  std::unique_ptr<const Libraries> all_libraries;
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_LOADED_MODULE_H
