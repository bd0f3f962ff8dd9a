//===- Cpu.h - The cpu dialect: how kernels are computed --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plans of kernels for CPUs, an attribute for each strategy, and the layout
// of weights; their definitions are in CpuPlans.td.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_DIALECTS_CPU_CPU_H
#define TINH_DIALECTS_CPU_CPU_H

#include "dialects/graph/Graph.h"

#include "dialects/cpu/CpuDialect.h.inc"
#include "dialects/cpu/CpuEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/cpu/CpuAttrs.h.inc"

namespace tinh::cpu::names {
/// Of an argument of a kernel, or of a variable: how it lies (PanelsAttr).
inline constexpr llvm::StringLiteral kLayout = "cpu.layout";
/// Of an argument of a kernel, without a value: for each of the panels of bytes
/// that the kernel reads, in which order it goes through its groups, and in how
/// many of them pairs may be multiplied in 16 bits
/// (compiler/Codegen/CPU/Layouts/GroupOrder.cpp).
inline constexpr llvm::StringLiteral kGroupOrder = "cpu.group_order";
/// Of a kernel that may be computed by Winograd's algorithms: which of them, by
/// the outputs of a tile in each dimension.
inline constexpr llvm::StringLiteral kTransforms = "cpu.transforms";
} // namespace tinh::cpu::names

#endif // TINH_DIALECTS_CPU_CPU_H
