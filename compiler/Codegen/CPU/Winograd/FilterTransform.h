//===- FilterTransform.h - Filters for Winograd's algorithms ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `filter_transform`: kernels that make of filters in panels,
// [panels, 3, 3, channels, columns], their (m + 2)² numbers, [panels, numbers,
// channels, columns].
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WINOGRAD_FILTERTRANSFORM_H
#define TINH_CODEGEN_CPU_WINOGRAD_FILTERTRANSFORM_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/CPU/Winograd/Transforms.h"

namespace tinh::cpu {

/// What linalg says of such a kernel: G g Gᵀ of all filters, in f64.
mlir::Value transformPanels(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value panels, const WinogradTransform &t);

struct FilterTransform {
  mlir::func::FuncOp kernel;
  const WinogradTransform *transform;
  int64_t panels, channels, width; // A panel has so many columns.

  /// Of each, the filters of a panel that read one channel.
  int64_t units() const { return panels * channels; }
};

struct FilterTransformStrategy
    : Functions<FilterTransform, FilterTransformPlanAttr,
                Divided<FilterTransformPlanAttr>> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WINOGRAD_FILTERTRANSFORM_H
