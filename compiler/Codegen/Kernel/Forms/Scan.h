//===- Scan.h - Running sums among reductions -------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linalg has no running sum: what is lowered to it adds x[j] for all j ≤ i, for
// each i. This form is recognised here, so that strategies compute it with one
// addition an element.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_FORMS_SCAN_H
#define TINH_CODEGEN_KERNEL_FORMS_SCAN_H

#include "compiler/Codegen/Kernel/Pull.h"

namespace tinh::codegen {

/// Sums along `axis` of the elements up to each; in reverse, from each on.
struct Scan {
  mlir::Value input, init;
  int64_t axis, extent;
  bool reverse;
  bool exclusive; // Without the element itself.
};

/// The running sum that `op` is, if it is one.
std::optional<Scan> matchScan(mlir::linalg::GenericOp op);

/// x + y, of numbers or vectors.
mlir::Value addElements(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                        mlir::Value y);

/// Sums up along the axis at `at`, one element after the other, from `start` on
/// and gives `store` each sum.
mlir::LogicalResult emitScan(
    Pull &pull, const Scan &scan, Indices at, mlir::Value start,
    llvm::function_ref<mlir::LogicalResult(mlir::Value sum, const Indices &at)>
        store);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_FORMS_SCAN_H
