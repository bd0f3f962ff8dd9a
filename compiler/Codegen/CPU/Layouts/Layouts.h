//===- Layouts.h - How weights lie for products -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_LAYOUTS_LAYOUTS_H
#define TINH_CODEGEN_CPU_LAYOUTS_LAYOUTS_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/BuiltinOps.h"

namespace tinh::cpu {

/// Lets variables lie as the products that read them want them; returns how
/// many do. Each kernel function is named by one dispatch.
int64_t layOutVariables(mlir::ModuleOp module, const Target &target);

/// Splits kernels, and lets other weights than variables lie as the kernels
/// that read them want them; filters of convolutions are transformed by what is
/// allowed, where that pays. With `remarks`, says what is shared, and why
/// filters are transformed.
mlir::LogicalResult packWeights(mlir::ModuleOp module, const Target &target,
                                AllowedTransforms transforms, bool remarks);

/// Where the CPU multiplies bytes as pairs of 16 bits, says which groups of
/// constant panels fit into these. Returns of how many products. `read` gives
/// the bytes of a constant that lies in a file, or none if it cannot be read.
int64_t orderByteGroups(
    mlir::ModuleOp module, const Target &target,
    llvm::function_ref<llvm::ArrayRef<char>(graph::ExternalAttr)> read);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LAYOUTS_LAYOUTS_H
