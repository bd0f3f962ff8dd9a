//===- CollectiveNames.h - What does collectives on GPUs --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECT_GRAPH_COLLECTIVENAMES_H
#define TINH_DIALECT_GRAPH_COLLECTIVENAMES_H

#include "llvm/ADT/StringRef.h"

namespace tinh::graph::names {

/// Of a module for GPUs: what does its collectives there, kNccl; without it
/// they are the CPU's. The pass place-kernels then gives them a kDevice.
inline constexpr llvm::StringLiteral kCollectives = "graph.collectives";
inline constexpr llvm::StringLiteral kNccl = "nccl";

} // namespace tinh::graph::names

#endif // TINH_DIALECT_GRAPH_COLLECTIVENAMES_H
