//===- LaneArithmetic.h - Indices of all lanes ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_LANEARITHMETIC_H
#define TINH_CODEGEN_KERNEL_LANEARITHMETIC_H

#include "compiler/Codegen/Kernel/Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace tinh::codegen {

/// Zero is a multiple of anything.
inline constexpr int64_t kOfZero = 1 << 20;

/// One dimension's index for all lanes: base + lane · stride.
struct LaneIndex {
  mlir::Value base;
  int64_t stride = 0;
  /// `base` is a multiple of this.
  int64_t alignment = 1;
};
using Indices = llvm::SmallVector<LaneIndex>;

/// Says where ops that move elements find them. Without a builder strides and
/// alignments are known, and bases are null.
class LaneArithmetic : public IndexBuilder {
public:
  LaneArithmetic(mlir::OpBuilder *builder, mlir::Location loc, int64_t lanes)
      : IndexBuilder(builder, loc), lanes(lanes) {}

  int64_t laneCount() const { return lanes; }

  /// The same number in all lanes.
  LaneIndex constant(int64_t value);
  LaneIndex sum(const LaneIndex &x, const LaneIndex &y);
  LaneIndex scale(const LaneIndex &x, int64_t factor);
  LaneIndex shift(const LaneIndex &x, int64_t offset);

  /// The index in a tensor of `shape` of vector `number` of so many elements
  /// along the last dimension.
  Indices unravelIndex(mlir::Value number, llvm::ArrayRef<int64_t> shape,
                       int64_t vectorLanes = 1);
  /// The indices that `map` computes from `dims`.
  mlir::FailureOr<Indices> apply(mlir::AffineMap map, const Indices &dims);
  /// Those of the loops of `op` where it computes its results at `output`; none
  /// for the reduction's.
  mlir::FailureOr<Indices> loopIndices(mlir::linalg::GenericOp op,
                                       const Indices &output);
  /// Indices in a tensor of `shape` as those where each group of its dimensions
  /// is one.
  Indices merge(const Indices &indices, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<mlir::ReassociationIndices> groups);

protected:
  /// Where an op's elements lie in what it makes them of.
  mlir::FailureOr<Indices> sourceOf(mlir::tensor::ExtractSliceOp op,
                                    const Indices &indices);
  mlir::FailureOr<Indices> sourceOf(mlir::tensor::ExpandShapeOp op,
                                    const Indices &indices);
  mlir::FailureOr<Indices> sourceOf(mlir::tensor::CollapseShapeOp op,
                                    const Indices &indices);
  /// Whether no vector at `lane` lies across a multiple of `extent`.
  bool staysWithin(const LaneIndex &lane, int64_t extent) const;

  int64_t lanes;

private:
  mlir::FailureOr<LaneIndex> evaluate(mlir::AffineExpr expr,
                                      const Indices &dims);
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_LANEARITHMETIC_H
