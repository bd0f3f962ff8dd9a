//===- abi_test.cpp - What is declared of NCCL, beside nccl.h ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Compiling it is the test.
//
//===----------------------------------------------------------------------===//
#include "runtime/nccl/nccl.h"

#include <nccl.h>

namespace tinh::nccl {

static_assert(sizeof(UniqueId) == sizeof(ncclUniqueId));
static_assert(sizeof(Config) <= sizeof(ncclConfig_t));
#define TINH_SAME_FIELD(name)                                                  \
  static_assert(offsetof(Config, name) == offsetof(ncclConfig_t, name));
TINH_SAME_FIELD(size)
TINH_SAME_FIELD(magic)
TINH_SAME_FIELD(version)
TINH_SAME_FIELD(blocking)
TINH_SAME_FIELD(cgaClusterSize)
TINH_SAME_FIELD(minCTAs)
TINH_SAME_FIELD(maxCTAs)
TINH_SAME_FIELD(netName)
TINH_SAME_FIELD(splitShare)

static_assert(kSuccess == ncclSuccess &&
              kInvalidArgument == ncclInvalidArgument);
static_assert(kInvalidUsage == ncclInvalidUsage &&
              kRemoteError == ncclRemoteError && kInProgress == ncclInProgress);
static_assert(kSum == ncclSum && kMax == ncclMax && kAvg == ncclAvg);
static_assert(kUint8 == ncclUint8 && kInt32 == ncclInt32 &&
              kInt64 == ncclInt64 && kFloat16 == ncclFloat16);
static_assert(kFloat32 == ncclFloat32 && kFloat64 == ncclFloat64 &&
              kBfloat16 == ncclBfloat16);
static_assert(kOldestVersion == NCCL_VERSION(2, 19, 0));

} // namespace tinh::nccl
