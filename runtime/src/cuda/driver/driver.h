//===- driver.h - The CUDA driver, without CUDA -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime uses of the driver's library, declared here so that neither
// building nor linking needs anything of CUDA. Names, values and structures are
// those of the driver's ABI, with the suffixes that cuda.h hides in macros; a
// test compares them with cuda.h where there is one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_DRIVER_H
#define TINH_RUNTIME_CUDA_DRIVER_H

#include "cuda/driver/shared_library.h"
#include "support/error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

namespace tinh::runtime::cuda {

using CUresult = int;
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUcontextHandle *;
using CUmodule = struct CUmoduleHandle *;
using CUfunction = struct CUfunctionHandle *;
using CUstream = struct CUstreamHandle *;
using CUevent = struct CUeventHandle *;
using CUgraph = struct CUgraphHandle *;
using CUgraphNode = struct CUgraphNodeHandle *;
using CUgraphExec = struct CUgraphExecHandle *;

/// Values of CUresult.
constexpr CUresult kSuccess = 0;
constexpr CUresult kInvalidValue = 1;
constexpr CUresult kOutOfMemory = 2;
constexpr CUresult kNoDevice = 100;
constexpr CUresult kInvalidImage = 200;
constexpr CUresult kNoBinaryForGpu = 209;
constexpr CUresult kInvalidPtx = 218;
constexpr CUresult kUnsupportedPtxVersion = 222;
constexpr CUresult kNotFound = 500;
constexpr CUresult kNotReady = 600;
// After these the context is of no more use.
constexpr CUresult kEccUncorrectable = 214;
constexpr CUresult kNvlinkUncorrectable = 220;
constexpr CUresult kIllegalAddress = 700;
constexpr CUresult kLaunchTimeout = 702;
constexpr CUresult kContextIsDestroyed = 709;
constexpr CUresult kAssert = 710;
constexpr CUresult kHardwareStackError = 714;
constexpr CUresult kIllegalInstruction = 715;
constexpr CUresult kMisalignedAddress = 716;
constexpr CUresult kInvalidAddressSpace = 717;
constexpr CUresult kInvalidPc = 718;
constexpr CUresult kLaunchFailed = 719;

/// CUdevice_attribute.
constexpr int kMultiprocessorCount = 16;
constexpr int kComputeCapabilityMajor = 75;
constexpr int kComputeCapabilityMinor = 76;
constexpr int kMaxSharedMemoryPerBlockOptin = 97;
/// CUfunction_attribute.
constexpr int kMaxThreadsPerBlock = 0;
constexpr int kMaxDynamicSharedSize = 8;
/// CUpointer_attribute.
constexpr int kPointerMemoryType = 2;
constexpr int kPointerIsManaged = 8;
/// CUmemorytype.
constexpr unsigned kMemoryHost = 1;
constexpr unsigned kMemoryDevice = 2;
constexpr unsigned kMemoryUnified = 4;
/// Flags of cuStreamCreate, cuEventCreate and cuMemHostAlloc.
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventBlockingSync = 1;
constexpr unsigned kEventDisableTiming = 2;
constexpr unsigned kHostAllocPortable = 1;
/// CUstreamCaptureMode.
constexpr int kCaptureRelaxed = 2;

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's.

/// CUDA_KERNEL_NODE_PARAMS_v2
struct KernelNodeParams {
  CUfunction func;
  unsigned gridDimX, gridDimY, gridDimZ;
  unsigned blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  void **kernelParams;
  void **extra;
  void *kern;
  CUcontext ctx;
};

/// CUDA_MEMCPY3D_v2
struct Memcpy3D {
  size_t srcXInBytes, srcY, srcZ, srcLOD;
  unsigned srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  void *reserved0;
  size_t srcPitch, srcHeight;
  size_t dstXInBytes, dstY, dstZ, dstLOD;
  unsigned dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  void *reserved1;
  size_t dstPitch, dstHeight;
  size_t WidthInBytes, Height, Depth;
};

/// CUDA_MEMSET_NODE_PARAMS_v1
struct MemsetNodeParams {
  CUdeviceptr dst;
  size_t pitch;
  unsigned value;
  unsigned elementSize;
  size_t width;
  size_t height;
};

/// All functions of the driver that the runtime calls, by their symbols.
#define TINH_CUDA_DRIVER_FUNCTIONS(X)                                          \
  X(cuInit, (unsigned))                                                        \
  X(cuDriverGetVersion, (int *))                                               \
  X(cuGetErrorName, (CUresult, const char **))                                 \
  X(cuGetErrorString, (CUresult, const char **))                               \
  X(cuDeviceGetCount, (int *))                                                 \
  X(cuDeviceGet, (CUdevice *, int))                                            \
  X(cuDeviceGetName, (char *, int, CUdevice))                                  \
  X(cuDeviceGetAttribute, (int *, int, CUdevice))                              \
  X(cuDeviceTotalMem_v2, (size_t *, CUdevice))                                 \
  X(cuDevicePrimaryCtxRetain, (CUcontext *, CUdevice))                         \
  X(cuDevicePrimaryCtxRelease_v2, (CUdevice))                                  \
  X(cuCtxPushCurrent_v2, (CUcontext))                                          \
  X(cuCtxPopCurrent_v2, (CUcontext *))                                         \
  X(cuModuleLoadData, (CUmodule *, const void *))                              \
  X(cuModuleUnload, (CUmodule))                                                \
  X(cuModuleGetFunction, (CUfunction *, CUmodule, const char *))               \
  X(cuFuncGetAttribute, (int *, int, CUfunction))                              \
  X(cuFuncSetAttribute, (CUfunction, int, int))                                \
  X(cuMemGetInfo_v2, (size_t *, size_t *))                                     \
  X(cuMemAlloc_v2, (CUdeviceptr *, size_t))                                    \
  X(cuMemFree_v2, (CUdeviceptr))                                               \
  X(cuMemHostAlloc, (void **, size_t, unsigned))                               \
  X(cuMemFreeHost, (void *))                                                   \
  X(cuPointerGetAttributes, (unsigned, int *, void **, CUdeviceptr))           \
  X(cuMemcpyHtoD_v2, (CUdeviceptr, const void *, size_t))                      \
  X(cuMemcpyDtoH_v2, (void *, CUdeviceptr, size_t))                            \
  X(cuMemcpyAsync, (CUdeviceptr, CUdeviceptr, size_t, CUstream))               \
  X(cuMemsetD8_v2, (CUdeviceptr, unsigned char, size_t))                       \
  X(cuMemsetD8Async, (CUdeviceptr, unsigned char, size_t, CUstream))           \
  X(cuMemsetD32Async, (CUdeviceptr, unsigned, size_t, CUstream))               \
  X(cuStreamCreate, (CUstream *, unsigned))                                    \
  X(cuStreamDestroy_v2, (CUstream))                                            \
  X(cuStreamSynchronize, (CUstream))                                           \
  X(cuStreamQuery, (CUstream))                                                 \
  X(cuStreamWaitEvent, (CUstream, CUevent, unsigned))                          \
  X(cuEventCreate, (CUevent *, unsigned))                                      \
  X(cuEventDestroy_v2, (CUevent))                                              \
  X(cuEventRecord, (CUevent, CUstream))                                        \
  X(cuEventQuery, (CUevent))                                                   \
  X(cuEventSynchronize, (CUevent))                                             \
  X(cuEventElapsedTime, (float *, CUevent, CUevent))                           \
  X(cuLaunchKernel,                                                            \
    (CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,   \
     unsigned, CUstream, void **, void **))                                    \
  X(cuGraphCreate, (CUgraph *, unsigned))                                      \
  X(cuGraphDestroy, (CUgraph))                                                 \
  X(cuGraphAddKernelNode_v2, (CUgraphNode *, CUgraph, const CUgraphNode *,     \
                              size_t, const KernelNodeParams *))               \
  X(cuGraphAddMemcpyNode, (CUgraphNode *, CUgraph, const CUgraphNode *,        \
                           size_t, const Memcpy3D *, CUcontext))               \
  X(cuGraphAddMemsetNode, (CUgraphNode *, CUgraph, const CUgraphNode *,        \
                           size_t, const MemsetNodeParams *, CUcontext))       \
  X(cuGraphAddEmptyNode,                                                       \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t))                     \
  X(cuGraphAddChildGraphNode,                                                  \
    (CUgraphNode *, CUgraph, const CUgraphNode *, size_t, CUgraph))            \
  X(cuStreamBeginCapture_v2, (CUstream, int))                                  \
  X(cuStreamEndCapture, (CUstream, CUgraph *))                                 \
  X(cuGraphMemcpyNodeSetParams, (CUgraphNode, const Memcpy3D *))               \
  X(cuGraphInstantiateWithFlags, (CUgraphExec *, CUgraph, unsigned long long)) \
  X(cuGraphExecMemcpyNodeSetParams,                                            \
    (CUgraphExec, CUgraphNode, const Memcpy3D *, CUcontext))                   \
  X(cuGraphUpload, (CUgraphExec, CUstream))                                    \
  X(cuGraphLaunch, (CUgraphExec, CUstream))                                    \
  X(cuGraphExecDestroy, (CUgraphExec))

/// The driver's functions, as members of their names.
struct Driver {
  explicit Driver(const std::string &file) : library(file) {}

  SharedLibrary library;
#define TINH_CUDA_MEMBER(name, parameters)                                     \
  TINH_FOUND_FUNCTION(CUresult, name, parameters)
  TINH_CUDA_DRIVER_FUNCTIONS(TINH_CUDA_MEMBER)
#undef TINH_CUDA_MEMBER

  /// "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string text(CUresult result) const;
};

// NOLINTEND(readability-identifier-naming)

/// The driver, loaded and initialised when it is first asked for, and never
/// unloaded; throws NO_DEVICE with a sentence on why there is none. The
/// environment variable TINH_CUDA_DRIVER names another library.
const Driver &driver();

/// Throws an Error: "WHAT: NAME: TEXT".
[[noreturn]] void fail(CUresult result, const std::string &what);

/// Throws unless `result` is success. `what` says what was tried, and is only
/// called if it failed, or is a text.
template <typename What> void check(CUresult result, What &&what) {
  if (result == kSuccess)
    return;
  if constexpr (std::is_invocable_v<What>)
    fail(result, what());
  else
    fail(result, what);
}

} // namespace tinh::runtime::cuda

#endif // TINH_RUNTIME_CUDA_DRIVER_H
