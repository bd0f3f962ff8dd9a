//===- LibraryCall.h - Libraries in an artifact's tables --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_KERNELS_LIBRARYCALL_H
#define TINH_PIPELINES_KERNELS_LIBRARYCALL_H

#include "dialects/graph/Graph.h"
#include "tinh/artifact.h"

namespace tinh {

/// What the runtime is told of a kernel that a library can compute.
tinh_library_call_t describeLibraryCall(graph::LibraryAttr library);

} // namespace tinh

#endif // TINH_PIPELINES_KERNELS_LIBRARYCALL_H
