//===- Scan.h - Running sums and products among reductions ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// linalg has no running sum: what is lowered to it adds x[j] for all j ≤ i, for
// each i. This form, and that of products, is recognised here, so that
// strategies compute it with one addition, or multiplication, an element.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_FORMS_SCAN_H
#define TINH_CODEGEN_KERNEL_FORMS_SCAN_H

#include "compiler/Codegen/Kernel/Pull.h"

namespace tinh::codegen {

/// Sums, or products, along `axis` of the elements up to each; in reverse, from
/// each on.
struct Scan {
  mlir::Value input, init;
  int64_t axis, extent;
  bool multiplies;
  bool reverse;
  bool exclusive; // Without the element itself.

  /// x + y or x · y, of numbers or vectors.
  mlir::Value combine(mlir::OpBuilder &b, mlir::Location loc, mlir::Value x,
                      mlir::Value y) const;
  /// 0 or 1, of a type of numbers or vectors.
  mlir::Value neutral(mlir::OpBuilder &b, mlir::Location loc,
                      mlir::Type type) const;
};

/// The running sum or product that `op` is, if it is one.
std::optional<Scan> matchScan(mlir::linalg::GenericOp op);

/// Combines elements along the axis at `at`, one after the other, from `start`
/// on and gives `store` what each leads to.
mlir::LogicalResult emitScan(
    Pull &pull, const Scan &scan, Indices at, mlir::Value start,
    llvm::function_ref<mlir::LogicalResult(mlir::Value sum, const Indices &at)>
        store);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_FORMS_SCAN_H
