//===- Passes.h - Passes from kernels to their code -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_PASSES_H
#define TINH_CODEGEN_PASSES_H

#include "compiler/Codegen/CPU/Winograd/Transforms.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace tinh::codegen {

#define GEN_PASS_DECL
#include "compiler/Codegen/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "compiler/Codegen/Passes.h.inc"

/// Turns functions of a row in `module` into linalg on rows of any length.
mlir::LogicalResult lowerSizedRows(mlir::ModuleOp module);

/// The bytes of a constant that lies in a file, or none if it cannot be read.
using ReadConstant =
    std::function<llvm::ArrayRef<char>(graph::ExternalAttr constant)>;
/// The pass `order-byte-groups`; without `read` constants in files have no
/// order.
std::unique_ptr<mlir::Pass> createOrderByteGroups(ReadConstant read);

/// Tells the kernels for GPUs in a plan how their operands are aligned.
void setAlignments(mlir::ModuleOp module);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_PASSES_H
