//===- library.h - Libraries that compute kernels ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLASLt and cuDNN, found when a module is loaded that has kernels which they
// know. Where one is missing, or refuses a kernel, the kernel's own code runs.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_LIBRARY_H
#define TINH_RUNTIME_CUDA_LIBRARY_H

#include "cuda/driver/device.h"
#include "tinh/artifact.h"

#include <map>
#include <mutex>
#include <vector>

namespace tinh::runtime::cuda {

/// What the address of each operand of a kernel is a multiple of, in bytes.
using Alignments = std::vector<uint32_t>;
constexpr uint32_t kMostAlignment = 256;

/// What a plan may work with at most; what the fastest ones on sm_90 want.
constexpr uint64_t kMostWorkspace = 32 << 20;

/// How a library computes a kernel whose operands are aligned in some way. Any
/// thread may use it.
class LibraryPlan {
public:
  virtual ~LibraryPlan() = default;

  /// Gives a stream the work. `workspace` has the size that it says. Throws
  /// DEVICE_ERROR with the library's status, which then has done nothing.
  virtual void execute(void *const *buffers, CUdeviceptr workspace,
                       CUstream stream) const = 0;

  uint64_t workspace_size = 0;
};

/// A library on one GPU, which is current in all calls. Any thread may use it.
class Library {
public:
  virtual ~Library() = default;
  /// "cuBLASLt 13.1.0"
  virtual std::string name() const = 0;
  /// Throws with the library's status if it cannot compute the kernel.
  virtual std::unique_ptr<LibraryPlan> plan(const tinh_kernel_desc_t &kernel,
                                            const Alignments &alignments) = 0;
};

/// Throw if there is no such library, or if it does not start.
std::shared_ptr<Library> load_cublaslt(const std::string &file);
std::shared_ptr<Library> load_cudnn(const std::string &file);

/// "13.1.0" for 130100.
std::string version_text(size_t version);

/// What libraries do for one module on one GPU.
class Libraries {
public:
  Libraries(const DevicePtr &device, const tinh_artifact_t &artifact);
  ~Libraries();

  /// How a library computes kernel `index` with such operands; null if none
  /// does. The GPU is current.
  const LibraryPlan *plan(uint32_t index, const Alignments &alignments) const;
  /// From now on the kernel's own code is used, for this reason.
  void refuse(uint32_t index, const Alignments &alignments,
              const std::string &why) const;

  /// A line for each library, and for each kernel that none computes though one
  /// could.
  std::string report() const;

private:
  struct Plan {
    std::unique_ptr<LibraryPlan> plan; ///< Or none,
    std::string why;                   ///< for this reason.
  };
  struct Loaded {
    const char *kernels; ///< "matmuls"
    std::shared_ptr<Library> library;
    std::string why_not;
  };
  void load(uint32_t kind);

  const DevicePtr device;
  const tinh_artifact_t &artifact;
  Loaded loaded[2]; ///< By tinh_library_kind_t.
  mutable std::mutex mutex;
  mutable std::map<std::pair<uint32_t, Alignments>, Plan> plans;
};

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_LIBRARY_H
