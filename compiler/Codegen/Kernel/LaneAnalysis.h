//===- LaneAnalysis.h - What can be pulled in vectors -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Whether a value can be pulled (Pull.h) in vectors depends on how its indices
// step from lane to lane, and on what these are known to be multiples of, but
// on no value. So plans can say how many lanes code has before there is any.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_LANEANALYSIS_H
#define TINH_CODEGEN_KERNEL_LANEANALYSIS_H

#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace tinh::codegen {

/// Pulls without building code; its values and the bases of its indices are
/// null.
class LaneAnalysis : public Pull {
public:
  /// The kernel's inputs are in memory.
  LaneAnalysis(mlir::func::FuncOp kernel, int64_t lanes);

  /// Whether the element of `tensor` at `indices` can be pulled.
  bool computes(mlir::Value tensor, const Indices &indices) {
    return succeeded(at(tensor, indices));
  }
  /// The same where `map` computes its indices from those of loops.
  bool computes(mlir::Value tensor, mlir::AffineMap map, const Indices &dims);
  /// Whether all results of the kernel can be, at these indices.
  bool computesResults(const Indices &indices);
  /// Whether one step of a reduction can be.
  bool reducesStep(mlir::linalg::GenericOp op, const Indices &dims);

  /// An index that is the same in all lanes, and one that goes along them.
  static LaneIndex same(int64_t alignment = 1) { return {{}, 0, alignment}; }
  LaneIndex along() const { return {{}, lanes > 1 ? 1 : 0, lanes}; }
  /// `rank` indices with lanes along dimension `lane`.
  Indices indicesAlong(int64_t rank, int64_t lane) const;

private:
  mlir::func::FuncOp kernel;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_LANEANALYSIS_H
