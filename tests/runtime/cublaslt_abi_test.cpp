//===- cublaslt_abi_test.cpp - Our cuBLASLt is cublasLt.h's ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Built where there is a cublasLt.h; there is nothing to run.
//
//===----------------------------------------------------------------------===//
#include "cuda/libraries/cublaslt.h"
#include "same_abi.h"

#include <cublasLt.h>

namespace ours = tinh::runtime::cuda::lt;

namespace tinh::runtime::cuda::lt {
#define TINH_COMPARE(result, name, parameters)                                 \
  static_assert(same<result(*) parameters, decltype(&::name)>, #name);
TINH_CUBLASLT_FUNCTIONS(TINH_COMPARE)
} // namespace tinh::runtime::cuda::lt

#define SAME_VALUE(ours_is, theirs) static_assert(int(ours::ours_is) == theirs)
SAME_VALUE(kSuccess, CUBLAS_STATUS_SUCCESS);
SAME_VALUE(kInvalidValue, CUBLAS_STATUS_INVALID_VALUE);
SAME_VALUE(kExecutionFailed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME_VALUE(kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME_VALUE(kF32, CUDA_R_32F);
SAME_VALUE(kF16, CUDA_R_16F);
SAME_VALUE(kBf16, CUDA_R_16BF);
SAME_VALUE(kCompute32F, CUBLAS_COMPUTE_32F);
SAME_VALUE(kCompute32FFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME_VALUE(kTranspose, CUBLAS_OP_T);
SAME_VALUE(kTransposeA, CUBLASLT_MATMUL_DESC_TRANSA);
SAME_VALUE(kTransposeB, CUBLASLT_MATMUL_DESC_TRANSB);
SAME_VALUE(kEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME_VALUE(kBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME_VALUE(kEpilogueDefault, CUBLASLT_EPILOGUE_DEFAULT);
SAME_VALUE(kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
SAME_VALUE(kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
SAME_VALUE(kEpilogueGelu, CUBLASLT_EPILOGUE_GELU);
SAME_VALUE(kEpilogueGelu | int(ours::kEpilogueBias),
           CUBLASLT_EPILOGUE_GELU_BIAS);
SAME_VALUE(kBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME_VALUE(kBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME_VALUE(kMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME_VALUE(kReductionSchemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME_VALUE(kMinAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME_VALUE(kMinAlignmentB, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME_VALUE(kMinAlignmentC, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME_VALUE(kMinAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME_VALUE(kReductionComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME_VALUE(kReductionOutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);

#define SAME_PLACE(member)                                                     \
  static_assert(offsetof(ours::HeuristicResult, member) ==                     \
                offsetof(cublasLtMatmulHeuristicResult_t, member))
static_assert(sizeof(ours::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(ours::HeuristicResult) ==
              sizeof(cublasLtMatmulHeuristicResult_t));
SAME_PLACE(algo);
SAME_PLACE(workspaceSize);
SAME_PLACE(state);
SAME_PLACE(wavesCount);
