//===- cuda_abi_test.cpp - Our driver API is cuda.h's -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built where there is a cuda.h; there is nothing to run.
//
//===----------------------------------------------------------------------===//
#include "cuda/driver/driver.h"
#include "same_abi.h"

#include <cuda.h>

namespace ours = tinh::runtime::cuda;

namespace tinh::runtime::cuda {
#define TINH_COMPARE(name, parameters)                                         \
  static_assert(same<CUresult(*) parameters, decltype(&::name)>, #name);
TINH_CUDA_DRIVER_FUNCTIONS(TINH_COMPARE)
} // namespace tinh::runtime::cuda

#define SAME_VALUE(ours_is, theirs) static_assert(int(ours::ours_is) == theirs)
SAME_VALUE(kSuccess, CUDA_SUCCESS);
SAME_VALUE(kInvalidValue, CUDA_ERROR_INVALID_VALUE);
SAME_VALUE(kOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY);
SAME_VALUE(kNoDevice, CUDA_ERROR_NO_DEVICE);
SAME_VALUE(kInvalidImage, CUDA_ERROR_INVALID_IMAGE);
SAME_VALUE(kNoBinaryForGpu, CUDA_ERROR_NO_BINARY_FOR_GPU);
SAME_VALUE(kInvalidPtx, CUDA_ERROR_INVALID_PTX);
SAME_VALUE(kUnsupportedPtxVersion, CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
SAME_VALUE(kNotReady, CUDA_ERROR_NOT_READY);
SAME_VALUE(kEccUncorrectable, CUDA_ERROR_ECC_UNCORRECTABLE);
SAME_VALUE(kNvlinkUncorrectable, CUDA_ERROR_NVLINK_UNCORRECTABLE);
SAME_VALUE(kIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS);
SAME_VALUE(kLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT);
SAME_VALUE(kContextIsDestroyed, CUDA_ERROR_CONTEXT_IS_DESTROYED);
SAME_VALUE(kAssert, CUDA_ERROR_ASSERT);
SAME_VALUE(kHardwareStackError, CUDA_ERROR_HARDWARE_STACK_ERROR);
SAME_VALUE(kIllegalInstruction, CUDA_ERROR_ILLEGAL_INSTRUCTION);
SAME_VALUE(kMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS);
SAME_VALUE(kInvalidAddressSpace, CUDA_ERROR_INVALID_ADDRESS_SPACE);
SAME_VALUE(kInvalidPc, CUDA_ERROR_INVALID_PC);
SAME_VALUE(kLaunchFailed, CUDA_ERROR_LAUNCH_FAILED);
SAME_VALUE(kMultiprocessorCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_VALUE(kComputeCapabilityMajor,
           CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_VALUE(kComputeCapabilityMinor,
           CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_VALUE(kMaxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_VALUE(kMaxDynamicSharedSize,
           CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_VALUE(kPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE);
SAME_VALUE(kPointerIsManaged, CU_POINTER_ATTRIBUTE_IS_MANAGED);
SAME_VALUE(kMemoryUnified, CU_MEMORYTYPE_UNIFIED);
SAME_VALUE(kStreamNonBlocking, CU_STREAM_NON_BLOCKING);
SAME_VALUE(kEventBlockingSync, CU_EVENT_BLOCKING_SYNC);
SAME_VALUE(kEventDisableTiming, CU_EVENT_DISABLE_TIMING);
SAME_VALUE(kHostAllocPortable, CU_MEMHOSTALLOC_PORTABLE);
SAME_VALUE(kCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED);

#define SAME_PLACE(ours_is, theirs, member)                                    \
  static_assert(offsetof(ours::ours_is, member) == offsetof(theirs, member))
#define SAME_SIZE(ours_is, theirs)                                             \
  static_assert(sizeof(ours::ours_is) == sizeof(theirs))
SAME_SIZE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2);
SAME_PLACE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, gridDimX);
SAME_PLACE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, blockDimX);
SAME_PLACE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, sharedMemBytes);
SAME_PLACE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, kernelParams);
SAME_PLACE(KernelNodeParams, CUDA_KERNEL_NODE_PARAMS_v2, ctx);
SAME_SIZE(Memcpy3D, CUDA_MEMCPY3D_v2);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, srcMemoryType);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, srcDevice);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, dstMemoryType);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, dstDevice);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, WidthInBytes);
SAME_PLACE(Memcpy3D, CUDA_MEMCPY3D_v2, Depth);
SAME_SIZE(MemsetNodeParams, CUDA_MEMSET_NODE_PARAMS_v1);
SAME_PLACE(MemsetNodeParams, CUDA_MEMSET_NODE_PARAMS_v1, value);
SAME_PLACE(MemsetNodeParams, CUDA_MEMSET_NODE_PARAMS_v1, height);
