//===- cudnn.h - cuDNN's graphs, without its headers ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the runtime uses of the library, as driver.h has it of the driver. A
// test compares it with cudnn.h where there is one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_CUDA_CUDNN_H
#define TINH_RUNTIME_CUDA_CUDNN_H

#include "cuda/driver/driver.h"

namespace tinh::runtime::cuda::dnn {

using Status = int;
using Handle = struct DnnHandleObject *;
using Descriptor = void *;

/// cudnnStatus_t
constexpr Status kSuccess = 0;
constexpr Status kBadParam = 2000;
constexpr Status kNotSupported = 3000;
constexpr Status kExecutionFailed = 5000;

/// cudnnBackendDescriptorType_t
enum Kind : int {
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kHeuristic = 4,
  kExecutionPlan = 5,
  kConvolutionForward = 10,
  kOperationPointwise = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17
};

/// cudnnBackendAttributeType_t
enum Type : int {
  kHandleType = 0,
  kDataType = 1,
  kBooleanType = 2,
  kInt64Type = 3,
  kFloatType = 4,
  kPointerType = 6,
  kConvolutionModeType = 7,
  kHeuristicModeType = 8,
  kNumericalNoteType = 11,
  kPointwiseModeType = 14,
  kDescriptorType = 15
};

/// cudnnBackendAttributeName_t
enum Attribute : int {
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kConvolutionCompType = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPaddings = 104,
  kConvolutionPrePaddings = 105,
  kConvolutionSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspaceSize = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorUniqueId = 906,
  kTensorIsVirtual = 907,
  kPackUniqueIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineNumericalNotes = 1303
};

/// cudnnDataType_t
constexpr int kFloat = 0;
constexpr int kHalf = 2;
constexpr int kBfloat16 = 9;
/// cudnnConvolutionMode_t
constexpr int kCrossCorrelation = 1;
/// cudnnPointwiseMode_t
constexpr int kAdd = 0;
constexpr int kReluForward = 100;
/// cudnnBackendHeurMode_t
constexpr int kFallbackMode = 2;
constexpr int kModeA = 3;
/// cudnnBackendNumericalNote_t
constexpr int kNoteTensorCore = 0;
constexpr int kNoteDownConverts = 1;
constexpr int kNoteReducedPrecision = 2;
constexpr int kNoteFft = 3;
constexpr int kNoteNondeterministic = 4;
constexpr int kNumNotes = 10;

/// All functions that the runtime calls, by their symbols.
#define TINH_CUDNN_FUNCTIONS(X)                                                \
  X(size_t, cudnnGetVersion, ())                                               \
  X(const char *, cudnnGetErrorString, (Status))                               \
  X(Status, cudnnCreate, (Handle *))                                           \
  X(Status, cudnnDestroy, (Handle))                                            \
  X(Status, cudnnSetStream, (Handle, CUstream))                                \
  X(Status, cudnnBackendCreateDescriptor, (int, Descriptor *))                 \
  X(Status, cudnnBackendDestroyDescriptor, (Descriptor))                       \
  X(Status, cudnnBackendFinalize, (Descriptor))                                \
  X(Status, cudnnBackendSetAttribute,                                          \
    (Descriptor, int, int, int64_t, const void *))                             \
  X(Status, cudnnBackendGetAttribute,                                          \
    (Descriptor, int, int, int64_t, int64_t *, void *))                        \
  X(Status, cudnnBackendExecute, (Handle, Descriptor, Descriptor))

} // namespace tinh::runtime::cuda::dnn

#endif // TINH_RUNTIME_CUDA_CUDNN_H
