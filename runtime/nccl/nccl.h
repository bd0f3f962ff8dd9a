//===- nccl.h - NCCL, without CUDA ------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the library uses of NCCL 2.19 and later, declared here so that nothing
// of CUDA is needed to build it; a test compares it with nccl.h where there is
// one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_NCCL_NCCL_H
#define TINH_RUNTIME_NCCL_NCCL_H

#include "cuda/driver/driver.h"

#include <climits>

namespace tinh::nccl {

using Comm = struct CommObject *;
using Result = int;
using runtime::cuda::CUstream;

/// ncclResult_t
constexpr Result kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5,
                 kRemoteError = 6, kInProgress = 7;
/// ncclRedOp_t
constexpr int kSum = 0, kMax = 2, kAvg = 4;
/// ncclDataType_t
constexpr int kUint8 = 1, kInt32 = 2, kInt64 = 4, kFloat16 = 6, kFloat32 = 7,
              kFloat64 = 8, kBfloat16 = 9;

constexpr int kOldestVersion = 21900; ///< 2.19 has ncclCommRegister.

struct UniqueId {
  char internal[128];
};

// NOLINTBEGIN(readability-identifier-naming): the names are NCCL's.

/// ncclConfig_t of NCCL 2.19; later ones read that many bytes.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = kOldestVersion;
  int blocking = INT_MIN; ///< Here and below: as NCCL likes it.
  int cgaClusterSize = INT_MIN;
  int minCTAs = INT_MIN, maxCTAs = INT_MIN;
  const char *netName = nullptr;
  int splitShare = INT_MIN;
};

#define TINH_NCCL_FUNCTIONS(X)                                                 \
  X(Result, ncclGetVersion, (int *))                                           \
  X(Result, ncclGetUniqueId, (UniqueId *))                                     \
  X(const char *, ncclGetErrorString, (Result))                                \
  X(const char *, ncclGetLastError, (Comm))                                    \
  X(Result, ncclCommInitRankConfig, (Comm *, int, UniqueId, int, Config *))    \
  X(Result, ncclCommGetAsyncError, (Comm, Result *))                           \
  X(Result, ncclCommFinalize, (Comm))                                          \
  X(Result, ncclCommDestroy, (Comm))                                           \
  X(Result, ncclCommAbort, (Comm))                                             \
  X(Result, ncclCommRegister, (Comm, void *, size_t, void **))                 \
  X(Result, ncclCommDeregister, (Comm, void *))                                \
  X(Result, ncclAllReduce,                                                     \
    (const void *, void *, size_t, int, int, Comm, CUstream))                  \
  X(Result, ncclReduceScatter,                                                 \
    (const void *, void *, size_t, int, int, Comm, CUstream))                  \
  X(Result, ncclAllGather,                                                     \
    (const void *, void *, size_t, int, Comm, CUstream))                       \
  X(Result, ncclBroadcast,                                                     \
    (const void *, void *, size_t, int, int, Comm, CUstream))

/// NCCL's functions, as members of their names.
struct Functions {
  explicit Functions(const std::string &file) : library(file) {}
  runtime::cuda::SharedLibrary library;
#define TINH_NCCL_MEMBER(result, name, parameters)                             \
  TINH_FOUND_FUNCTION(result, name, parameters)
  TINH_NCCL_FUNCTIONS(TINH_NCCL_MEMBER)
#undef TINH_NCCL_MEMBER
};

// NOLINTEND(readability-identifier-naming)

} // namespace tinh::nccl

#endif // TINH_RUNTIME_NCCL_NCCL_H
