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
// Without a builder nothing is computed, and only found what could be: how many
// lanes there can be depends on strides and alignments, and on no value
// (LaneAnalysis.h).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_PULL_H
#define TINH_CODEGEN_KERNEL_PULL_H

#include "compiler/Codegen/Kernel/LaneArithmetic.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"

#include <functional>

namespace tinh::codegen {

/// A value for all lanes: a scalar if it is the same in each, else a vector;
/// null where there is no builder.
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

class Pull : public LaneArithmetic {
public:
  Pull(mlir::OpBuilder &builder, mlir::Location loc, int64_t lanes)
      : LaneArithmetic(&builder, loc, lanes) {}

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
  LaneValue load(const Buffer &buffer, mlir::Type element,
                 const Indices &indices);

  /// Where tensors lie that are in memory: operands and materialised ones.
  llvm::DenseMap<mlir::Value, Buffer> buffers;
  /// Tensors whose value at the current indices is known.
  llvm::DenseMap<mlir::Value, LaneValue> registers;
  /// Lanes that take part; none: all.
  mlir::Value mask;

  mlir::Value asVector(LaneValue value);
  /// What is in registers, one number or one for each lane.
  LaneValue inRegisters(mlir::Value value = {}) const {
    return {value, lanes == 1, {}};
  }

protected:
  /// One that builds nothing.
  Pull(mlir::Location loc, int64_t lanes)
      : LaneArithmetic(nullptr, loc, lanes) {}

private:
  friend class LaneReduction;

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
  mlir::Block *insertionBlock() const;

  mlir::FailureOr<LaneValue> pad(mlir::tensor::PadOp op,
                                 const Indices &indices);
  mlir::FailureOr<LaneValue> concat(mlir::tensor::ConcatOp op,
                                    const Indices &indices);
  mlir::FailureOr<LaneValue> generic(mlir::linalg::GenericOp op,
                                     unsigned result, const Indices &indices);
  /// The same, unless it has been computed for another use.
  mlir::FailureOr<LaneValue> genericOnce(mlir::OpResult result,
                                         const Indices &indices);
  /// The same of an op that only moves elements.
  template <typename Op>
  mlir::FailureOr<LaneValue> moved(Op op, const Indices &indices);
  mlir::FailureOr<LaneValue>
  choose(mlir::Value condition, mlir::Type element,
         llvm::function_ref<mlir::FailureOr<LaneValue>()> then,
         llvm::function_ref<mlir::FailureOr<LaneValue>()> otherwise);
  mlir::FailureOr<LaneValue>
  bodyOp(mlir::Operation *op, const Indices &dims,
         llvm::DenseMap<mlir::Value, LaneValue> &values);
  mlir::FailureOr<llvm::SmallVector<mlir::Value>>
  loop(int64_t extent, int64_t step, mlir::ValueRange initial,
       llvm::function_ref<mlir::FailureOr<llvm::SmallVector<mlir::Value>>(
           mlir::Value iv, mlir::ValueRange values)>
           body);
  LaneIndex linearIndex(const Buffer &buffer, const Indices &indices);
  mlir::Value loadVector(const Buffer &buffer, mlir::Type element,
                         const LaneIndex &at);
  LaneValue splat(mlir::TypedAttr value);
  /// `op` on these operands.
  LaneValue clone(mlir::Operation *op, llvm::ArrayRef<LaneValue> operands);
  LaneValue affineValue(LaneIndex lane);
  /// In which lanes `lane` is below `extent`.
  mlir::Value lanesBelow(const LaneIndex &lane, int64_t extent);
  mlir::Value laneOffsets(int64_t stride);
  /// The mask, or one that takes all lanes.
  mlir::Value activeLanes();
  /// A constant of the kernel's source, again where code is being emitted.
  mlir::FailureOr<LaneValue> scalar(mlir::Value value);

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
