//===- Pull.h - Values of tensors where they are needed ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel is a function over linalg on tensors. Code for it is made by
// *pulling*: the value of a tensor at an index is computed at the place where
// it is needed, from the values that it depends on, down to loads of the
// kernel's operands. A reduction that is pulled becomes a loop nest; what would
// be pulled too often is computed into scratch memory first: its strategy then
// names that in `buffers`.
//
// Indices are lane-affine: lane l of a vector stands at base + l · stride.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_PULL_H
#define TINH_CODEGEN_KERNEL_PULL_H

#include "compiler/Codegen/Kernel/Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <functional>

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

/// A value for all lanes: a scalar if it is the same in each, else a vector.
struct LaneValue {
  mlir::Value value;
  bool uniform = false;
  /// Set for index-typed values that are affine in the lane.
  std::optional<LaneIndex> affine;
};

/// Memory, a one-dimensional memref, that holds a tensor with these strides in
/// elements. `origin` is the index of its first element: a piece of a tensor
/// may be held.
struct Buffer {
  mlir::Value memref;
  llvm::SmallVector<int64_t> strides;
  llvm::SmallVector<mlir::Value> origin; // Empty for zeros.
  /// What the address of its first element is a multiple of, in bytes; 0 if
  /// that is not known.
  int64_t alignment = 0;
};

class Pull : public IndexBuilder {
public:
  Pull(mlir::OpBuilder &builder, mlir::Location loc, int64_t lanes)
      : IndexBuilder(builder, loc), lanes(lanes) {}

  /// The element of `tensor` at `indices` in each lane. Fails if that cannot be
  /// expressed with this number of lanes; with one lane it always can, for the
  /// forms that lowering to linalg makes.
  mlir::FailureOr<LaneValue> at(mlir::Value tensor, const Indices &indices);

  /// Stores `value` to `buffer` at `indices`.
  mlir::LogicalResult store(LaneValue value, const Buffer &buffer,
                            const Indices &indices);

  /// The results of a reduction at the output indices, all in registers.
  mlir::FailureOr<llvm::SmallVector<LaneValue>>
  reduce(mlir::linalg::GenericOp op, const Indices &output);
  /// The same with lanes along its innermost reduction dimension.
  mlir::FailureOr<LaneValue> reduceAlongLanes(mlir::linalg::GenericOp op,
                                              const Indices &output);

  /// One step of a reduction: `state` combined with the inputs at these loop
  /// indices.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  reduceStep(mlir::linalg::GenericOp op, const Indices &dims,
             mlir::ValueRange state);

  /// Runs a region's scalar ops on lanes; gives what it yields.
  mlir::FailureOr<llvm::SmallVector<LaneValue>>
  body(mlir::linalg::GenericOp op, const Indices &dims,
       llvm::ArrayRef<LaneValue> arguments);

  /// The element of `buffer` at `indices` in each lane.
  mlir::FailureOr<LaneValue> load(const Buffer &buffer, mlir::Type element,
                                  const Indices &indices);

  /// Where tensors lie that are in memory: operands and materialised ones.
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  /// Tensors whose value at the current indices is known.
  llvm::DenseMap<mlir::Value, LaneValue> registers;
  /// Lanes that take part; none: all.
  mlir::Value mask;

  mlir::Value asVector(LaneValue value);
  int64_t laneCount() const { return lanes; }
  /// The index in a tensor of `shape` of vector `number` of so many elements
  /// along the last dimension.
  Indices unravelIndex(mlir::Value number, llvm::ArrayRef<int64_t> shape,
                       int64_t vectorLanes = 1);
  /// Indices in a tensor of `shape` as those where each group of its dimensions
  /// is one.
  Indices merge(const Indices &indices, llvm::ArrayRef<int64_t> shape,
                llvm::ArrayRef<mlir::ReassociationIndices> groups);
  /// The indices that `map` computes from `dims`.
  mlir::FailureOr<Indices> apply(mlir::AffineMap map, const Indices &dims);
  /// Those of the loops of `op` where it computes its results at `output`; none
  /// for the reduction's.
  mlir::FailureOr<Indices> loopIndices(mlir::linalg::GenericOp op,
                                       const Indices &output);

private:
  /// What a generic's body is given of its first `count` operands, at these
  /// loop indices.
  mlir::FailureOr<llvm::SmallVector<LaneValue>>
  operands(mlir::linalg::GenericOp op, unsigned count, const Indices &dims);
  /// What was computed of a tensor before, for the other uses of it.
  struct Computed {
    Indices indices;
    mlir::Value mask;
    mlir::Block *block;
    LaneValue value;
  };
  const LaneValue *findComputed(mlir::Value tensor, const Indices &indices);

  mlir::FailureOr<LaneValue> pad(mlir::tensor::PadOp op,
                                 const Indices &indices);
  mlir::FailureOr<LaneValue> concat(mlir::tensor::ConcatOp op,
                                    const Indices &indices);
  mlir::FailureOr<LaneValue> generic(mlir::linalg::GenericOp op,
                                     unsigned result, const Indices &indices);
  /// The same, unless it has been computed for another use.
  mlir::FailureOr<LaneValue> genericOnce(mlir::OpResult result,
                                         const Indices &indices);
  /// Where the elements of a slice lie in what it is one of.
  Indices beforeSlice(mlir::tensor::ExtractSliceOp op, const Indices &indices);
  mlir::FailureOr<Indices> collapse(mlir::tensor::CollapseShapeOp op,
                                    const Indices &indices);
  mlir::FailureOr<LaneValue>
  choose(mlir::Value condition, mlir::Type element,
         llvm::function_ref<mlir::FailureOr<LaneValue>()> then,
         llvm::function_ref<mlir::FailureOr<LaneValue>()> otherwise);
  mlir::FailureOr<LaneValue>
  bodyOp(mlir::Operation *op, const Indices &dims,
         llvm::DenseMap<mlir::Value, LaneValue> &values);
  LaneValue affineValue(LaneIndex lane);
  mlir::Value laneOffsets(int64_t stride);
  /// The mask, or one that takes all lanes.
  mlir::Value activeLanes();
  /// A constant of the kernel's source, again where code is being emitted.
  mlir::FailureOr<LaneValue> scalar(mlir::Value value);

  int64_t lanes;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Computed>> computed;
};

/// The element that the body of an op is given of its operand at these loop
/// indices.
mlir::FailureOr<LaneValue> pullOperand(Pull &pull, mlir::OpOperand &operand,
                                       const Indices &dims);

/// How a reduction combines lanes: the kind of vector reduction that it is, and
/// the value that changes nothing.
struct Combiner {
  mlir::vector::CombiningKind kind;
  mlir::TypedAttr neutral;
};
/// Nothing if the body of `op` does not combine the accumulator with each new
/// element by one op.
std::optional<Combiner> matchCombiner(mlir::linalg::GenericOp op);

/// The element type in memory: booleans are bytes.
mlir::Type memoryType(mlir::Type element);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_PULL_H
