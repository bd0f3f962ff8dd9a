//===- VectorCheck.h - What can be computed in vectors ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Values are pulled (Pull.h) a vector at a time where each lane's index follows
// from the first lane's by a step. Whether that is so of all that a value is
// computed from is asked here, without code for it: an index that is computed
// in another way, or a vector that would lie across the border of dimensions
// that are one, or of pieces of a concatenation, is why not.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_VECTORCHECK_H
#define TINH_CODEGEN_KERNEL_VECTORCHECK_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include "llvm/ADT/DenseSet.h"

#include <optional>

namespace tinh::codegen {

/// One dimension's index: lane l of a vector stands l · stride behind the first
/// one, which is a multiple of `alignment`.
struct LaneStep {
  int64_t stride = 0, alignment = 1;
};
using LaneSteps = llvm::SmallVector<LaneStep>;

class VectorCheck {
public:
  explicit VectorCheck(int64_t lanes) : lanes(lanes) {}

  /// A tensor that is in memory or in registers where values are pulled, as
  /// operands of kernels always are.
  void know(mlir::Value tensor) { known.insert(tensor); }

  /// Whether the elements of `tensor` at these indices are a vector.
  bool canPull(mlir::Value tensor, const LaneSteps &at) {
    return pull(tensor, at).has_value();
  }
  /// Whether a step of the reduction can be computed in vectors with its loops
  /// at these indices.
  bool canReduce(mlir::linalg::GenericOp op, const LaneSteps &dims);
  /// The same of a reduction at these indices of its results, with lanes along
  /// its innermost dimension.
  bool canReduceAlongLanes(mlir::linalg::GenericOp op, const LaneSteps &at);

  /// The indices that `map` computes; nothing if it is not affine.
  static std::optional<LaneSteps> apply(mlir::AffineMap map,
                                        const LaneSteps &dims);
  /// Those of the loops of `op` where it computes its results at `at`; zero
  /// steps for the reduction's.
  static std::optional<LaneSteps> loopSteps(mlir::linalg::GenericOp op,
                                            const LaneSteps &at);

private:
  /// How a value differs between lanes: not at all, or by a step, or else.
  struct Lanes {
    bool uniform = false;
    std::optional<LaneStep> step;
  };
  std::optional<Lanes> pull(mlir::Value tensor, const LaneSteps &at);
  std::optional<Lanes> pullGeneric(mlir::linalg::GenericOp op, unsigned result,
                                   const LaneSteps &at);
  std::optional<Lanes> pullPad(mlir::tensor::PadOp op, const LaneSteps &at);
  std::optional<Lanes> pullConcat(mlir::tensor::ConcatOp op,
                                  const LaneSteps &at);
  std::optional<LaneSteps> collapse(mlir::tensor::CollapseShapeOp op,
                                    const LaneSteps &at);
  std::optional<llvm::SmallVector<Lanes>>
  operands(mlir::linalg::GenericOp op, unsigned count, const LaneSteps &dims);
  std::optional<llvm::SmallVector<Lanes>> body(mlir::linalg::GenericOp op,
                                               const LaneSteps &dims,
                                               llvm::ArrayRef<Lanes> arguments);
  std::optional<Lanes> bodyOp(mlir::Operation *op, const LaneSteps &dims,
                              llvm::DenseMap<mlir::Value, Lanes> &values);
  /// Whether a vector lies within one run of `extent` elements.
  bool fitsRun(const LaneStep &step, int64_t extent) const {
    return step.stride == 0 || (step.stride == 1 && extent % lanes == 0 &&
                                step.alignment % lanes == 0);
  }

  int64_t lanes;
  llvm::DenseSet<mlir::Value> known;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_VECTORCHECK_H
