//===- Analysis.h - What strategies ask about a kernel ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Questions about a kernel function over linalg whose answers do not depend on
// the device that its code is for.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_ANALYSIS_H
#define TINH_CODEGEN_KERNEL_ANALYSIS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace tinh::codegen {

/// The memory that a tensor with `strides` reaches over.
mlir::MemRefType flatType(mlir::RankedTensorType tensor,
                          llvm::ArrayRef<int64_t> strides);

/// The strides of operand `i` of `kernel`: its arguments, then its results.
llvm::SmallVector<int64_t> operandStrides(mlir::func::FuncOp kernel,
                                          unsigned i);

/// What `kernel` returns.
inline mlir::ValueRange returnedValues(mlir::func::FuncOp kernel) {
  return kernel.getBody().front().getTerminator()->getOperands();
}

/// Where `op` writes its result `i`.
inline mlir::AffineMap outputMap(mlir::linalg::GenericOp op, unsigned i = 0) {
  return op.getMatchingIndexingMap(op.getDpsInitOperand(i));
}

/// For each dimension of its input that of its result, if all that `op` does is
/// to reorder them.
std::optional<llvm::SmallVector<unsigned>>
permutationOf(mlir::linalg::GenericOp op);

/// The one reduction in `kernel`; null if there is none or more than one.
mlir::linalg::GenericOp onlyReduction(mlir::func::FuncOp kernel);

/// The kernel's argument that `value` is a reshape of, or itself; null if it is
/// neither.
mlir::BlockArgument reshapedArgument(mlir::Value value);

/// The reshapes by which `value` follows from an argument, of `source`.
mlir::Value reshapeLike(mlir::OpBuilder &b, mlir::Value value,
                        mlir::Value source);

/// Whether `value`, between dispatches, depends on constants alone.
bool isOfConstants(mlir::Value value);

/// Whether all that is computed from `value` follows element by element, at the
/// same index.
bool isReadAtItsIndex(mlir::Value value);

/// Whether all results of `kernel` have the shape of `value` and follow from it
/// element by element, at the same index.
bool resultsFollowElementwise(mlir::func::FuncOp kernel, mlir::Value value);

/// Strides, in the memory of an argument of the kernel, of a value that is that
/// argument or a reshape of it; nothing if it is neither, or no strides say
/// where its elements lie.
std::optional<llvm::SmallVector<int64_t>> stridesInArgument(mlir::Value value);
/// The same for a value that result `result` of the kernel is a reshape of.
std::optional<llvm::SmallVector<int64_t>>
stridesInResult(mlir::func::FuncOp kernel, unsigned result, mlir::Value value);

/// Whether `op` sums up products of its two inputs, in f32 or f64, from zero
/// on.
bool isSumOfProducts(mlir::linalg::GenericOp op);
/// The same in i32, of bytes of either sign.
bool isSumOfByteProducts(mlir::linalg::GenericOp op);
/// Whether the body of `op` takes the bytes of its input `input` for unsigned.
bool isUnsignedInput(mlir::linalg::GenericOp op, unsigned input);

/// How far the value of `expr` moves with one step of loop `dim`.
int64_t loopCoefficient(mlir::AffineExpr expr, unsigned dim, size_t numLoops);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_ANALYSIS_H
