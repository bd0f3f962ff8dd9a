//===- Scan.h - Running sums and products -----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_SCAN_SCAN_H
#define TINH_CODEGEN_CUDA_SCAN_SCAN_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Forms/Scan.h"

namespace tinh::cuda {

struct ScanKernel {
  mlir::func::FuncOp kernel;
  Scan scan;
  mlir::Value result;
  llvm::SmallVector<int64_t> shape;

  bool isAlongLast() const {
    return scan.axis + 1 == static_cast<int64_t>(shape.size());
  }
  /// Rows along the axis.
  int64_t rows() const {
    return mlir::ShapedType::getNumElements(shape) / scan.extent;
  }
};

/// The strategy `scan`: running sums and products. A block has a row, or a
/// thread has a column.
struct ScanStrategy : Functions<ScanKernel, ScanPlanAttr> {
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_SCAN_SCAN_H
