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

/// What is known of a value: LaneValue without a value.
struct LaneForm {
  bool uniform = false;
  std::optional<LaneIndex> affine;
};

/// Says what Pull would; its indices have no bases.
class LaneAnalysis {
public:
  /// The kernel's inputs are in memory.
  LaneAnalysis(mlir::func::FuncOp kernel, int64_t lanes);

  /// The element of `tensor` at `indices`; nothing if it cannot be pulled.
  std::optional<LaneForm> at(mlir::Value tensor, const Indices &indices);
  /// Whether all results of the kernel can be, at these indices.
  bool computesResults(const Indices &indices);
  /// Whether one step of a reduction can be.
  bool reducesStep(mlir::linalg::GenericOp op, const Indices &dims);
  /// Whether a reduction can be, at these indices of its results, with lanes
  /// along its innermost dimension.
  bool reducesAlongLanes(mlir::linalg::GenericOp op, const Indices &output);

  std::optional<Indices> apply(mlir::AffineMap map, const Indices &dims) const;
  std::optional<Indices> loopIndices(mlir::linalg::GenericOp op,
                                     const Indices &output) const;
  Indices merge(const Indices &indices, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<mlir::ReassociationIndices> groups) const;

  /// An index that is the same in all lanes, and one that goes along them.
  static LaneIndex same(int64_t alignment = 1) { return {{}, 0, alignment}; }
  LaneIndex along() const { return {{}, lanes > 1 ? 1 : 0, lanes}; }
  /// What is in registers, one number or one for each lane.
  LaneForm inRegisters() const { return {lanes == 1, {}}; }

  /// Strides of tensors that are in memory.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<int64_t>> buffers;
  /// Tensors whose value at the current indices is known.
  llvm::DenseMap<mlir::Value, LaneForm> registers;

private:
  std::optional<LaneForm> compute(mlir::Value tensor, const Indices &indices);
  std::optional<LaneForm> scalar(mlir::Value value);
  std::optional<LaneForm> pad(mlir::tensor::PadOp op, const Indices &indices);
  std::optional<LaneForm> concat(mlir::tensor::ConcatOp op,
                                 const Indices &indices);
  std::optional<Indices> collapse(mlir::tensor::CollapseShapeOp op,
                                  const Indices &indices) const;
  std::optional<LaneForm> generic(mlir::linalg::GenericOp op, unsigned result,
                                  const Indices &indices);
  std::optional<llvm::SmallVector<LaneForm>>
  body(mlir::linalg::GenericOp op, unsigned operands, const Indices &dims);
  std::optional<LaneForm> bodyOp(mlir::Operation *op, const Indices &dims,
                                 llvm::DenseMap<mlir::Value, LaneForm> &values);

  mlir::func::FuncOp kernel;
  int64_t lanes;
  /// Results by tensor and indices, for tensors with several uses.
  struct Known {
    Indices indices;
    std::optional<LaneForm> form;
  };
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Known>> known;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_LANEANALYSIS_H
