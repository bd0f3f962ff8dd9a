//===- cublaslt.h - cuBLASLt, without its headers ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime uses of the library, as driver.h has it of the driver. A
// test compares it with cublasLt.h where there is one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_CUBLASLT_H
#define TINH_RUNTIME_CUDA_CUBLASLT_H

#include "cuda/driver/driver.h"

namespace tinh::runtime::cuda::lt {

using Status = int;
using Handle = struct HandleObject *;
using MatmulDesc = struct MatmulDescObject *;
using MatrixLayout = struct MatrixLayoutObject *;
using Preference = struct PreferenceObject *;

/// cublasStatus_t
constexpr Status kSuccess = 0;
constexpr Status kInvalidValue = 7;
constexpr Status kExecutionFailed = 13;
constexpr Status kNotSupported = 15;
/// cudaDataType_t
constexpr int kF32 = 0;
constexpr int kF16 = 2;
constexpr int kBf16 = 14;
/// cublasComputeType_t
constexpr int kCompute32F = 68;
constexpr int kCompute32FFastTf32 = 77;
/// cublasOperation_t
constexpr int32_t kTranspose = 1;
/// cublasLtMatmulDescAttributes_t
constexpr int kTransposeA = 3;
constexpr int kTransposeB = 4;
constexpr int kEpilogue = 7;
constexpr int kBiasPointer = 8;
/// cublasLtEpilogue_t, of which each is a bit.
constexpr uint32_t kEpilogueDefault = 1;
constexpr uint32_t kEpilogueRelu = 2;
constexpr uint32_t kEpilogueBias = 4;
constexpr uint32_t kEpilogueGelu = 32;
/// cublasLtMatrixLayoutAttribute_t
constexpr int kBatchCount = 5;
constexpr int kBatchStride = 6;
/// cublasLtMatmulPreferenceAttributes_t
constexpr int kMaxWorkspace = 1;
constexpr int kReductionSchemes = 3;
constexpr int kMinAlignmentA = 5;
constexpr int kMinAlignmentB = 6;
constexpr int kMinAlignmentC = 7;
constexpr int kMinAlignmentD = 8;
/// cublasLtReductionScheme_t: those that add in the same order each time.
constexpr uint32_t kReductionComputeType = 2;
constexpr uint32_t kReductionOutputType = 4;

/// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8];
};

// NOLINTBEGIN(readability-identifier-naming): the names are CUDA's.

/// cublasLtMatmulHeuristicResult_t
struct HeuristicResult {
  Algorithm algo;
  size_t workspaceSize;
  Status state;
  float wavesCount;
  int reserved[4];
};

// NOLINTEND(readability-identifier-naming)

/// All functions that the runtime calls, by their symbols.
#define TINH_CUBLASLT_FUNCTIONS(X)                                             \
  X(size_t, cublasLtGetVersion, ())                                            \
  X(const char *, cublasLtGetStatusName, (Status))                             \
  X(Status, cublasLtCreate, (Handle *))                                        \
  X(Status, cublasLtDestroy, (Handle))                                         \
  X(Status, cublasLtMatmulDescCreate, (MatmulDesc *, int, int))                \
  X(Status, cublasLtMatmulDescDestroy, (MatmulDesc))                           \
  X(Status, cublasLtMatmulDescSetAttribute,                                    \
    (MatmulDesc, int, const void *, size_t))                                   \
  X(Status, cublasLtMatrixLayoutCreate,                                        \
    (MatrixLayout *, int, uint64_t, uint64_t, int64_t))                        \
  X(Status, cublasLtMatrixLayoutDestroy, (MatrixLayout))                       \
  X(Status, cublasLtMatrixLayoutSetAttribute,                                  \
    (MatrixLayout, int, const void *, size_t))                                 \
  X(Status, cublasLtMatmulPreferenceCreate, (Preference *))                    \
  X(Status, cublasLtMatmulPreferenceDestroy, (Preference))                     \
  X(Status, cublasLtMatmulPreferenceSetAttribute,                              \
    (Preference, int, const void *, size_t))                                   \
  X(Status, cublasLtMatmulAlgoGetHeuristic,                                    \
    (Handle, MatmulDesc, MatrixLayout, MatrixLayout, MatrixLayout,             \
     MatrixLayout, Preference, int, HeuristicResult *, int *))                 \
  X(Status, cublasLtMatmul,                                                    \
    (Handle, MatmulDesc, const void *, const void *, MatrixLayout,             \
     const void *, MatrixLayout, const void *, const void *, MatrixLayout,     \
     void *, MatrixLayout, const Algorithm *, void *, size_t, CUstream))

} // namespace tinh::runtime::cuda::lt

#endif // TINH_RUNTIME_CUDA_CUBLASLT_H
