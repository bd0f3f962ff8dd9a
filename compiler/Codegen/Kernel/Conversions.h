//===- Conversions.h - Operands in another form -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel finds an operand as it wants it where another one, dispatched
// before, moves or converts its elements.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_CONVERSIONS_H
#define TINH_CODEGEN_KERNEL_CONVERSIONS_H

#include "compiler/Codegen/Kernel/Strategy.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

namespace tinh::codegen {

/// What a kernel makes of a value of its own.
using Convert = llvm::function_ref<mlir::Value(mlir::Value)>;

/// The argument of a kernel that `value` is, or is a reshape of, if nothing
/// else reads either and it is dense; else null.
mlir::BlockArgument packableArgument(mlir::Value value);

/// Makes the argument that `value`, of a kernel, is, or is a reshape of, one of
/// `type`, of which `convert` makes what the kernel reads.
void changeArgument(mlir::OpBuilder &b, mlir::Value value, mlir::Type type,
                    Convert convert);

/// The kernel that has `argument`.
mlir::func::FuncOp kernelOf(mlir::BlockArgument argument);

/// Lets the op that alone reads `value` find dimension `order[i]` of it as
/// dimension i of the argument, which becomes one of `type`.
void readInOrder(mlir::OpBuilder &b, mlir::Value value, mlir::Type type,
                 llvm::ArrayRef<int64_t> order);

/// A kernel before `reader`, and named after it, that converts something of
/// type `from`.
mlir::func::FuncOp createConversion(mlir::OpBuilder &b,
                                    mlir::SymbolTable &symbols,
                                    mlir::func::FuncOp reader,
                                    llvm::StringRef suffix, mlir::Type from,
                                    Convert convert);
/// Dispatches a kernel of one operand and one result.
mlir::Value dispatchTo(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::func::FuncOp kernel, mlir::Value value);

/// Lets a kernel of its own, of the same device unless it works on constants
/// alone, `convert` what is `source`, of type `from`, for operand `operand` of
/// the kernel. Returns what that reads then.
mlir::Value convertOperand(mlir::OpBuilder &b, DispatchedKernel dispatched,
                           unsigned operand, mlir::Value source,
                           mlir::Type from, Convert convert);

/// Lets a dispatch copy `value`, which one op reads of an argument that is
/// packable, to memory in which its dimensions have this order.
void packOperand(DispatchedKernel dispatched, mlir::Value value,
                 llvm::ArrayRef<int64_t> order);
/// The same of an operand of an op, if the dimension that `loop` indexes is not
/// the last one, and becomes that. With `ofConstants`, only where the copy is
/// made once.
void packAlong(DispatchedKernel dispatched, mlir::OpOperand &operand,
               unsigned loop, bool ofConstants);

//===----------------------------------------------------------------------===//
// Tensors in another form
//===----------------------------------------------------------------------===//

/// An element of a result from one of the source's.
using ElementBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)>;
/// A generic over `source`, whose dimension i is `exprs[i]`, with a body that
/// makes an element of type `element` of one of the source's; without a body,
/// elements stay as they are.
mlir::Value mapElements(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value source, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<mlir::AffineExpr> exprs,
                        mlir::Type element, ElementBody body = {});
/// `source` with elements of another floating-point type.
mlir::Value convertElements(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value source, mlir::Type element);
/// Groups of a reshape that splits dimension `split` of `rank` in two.
llvm::SmallVector<mlir::ReassociationIndices> splitGroups(int64_t rank,
                                                          int64_t split);
/// `source` with its dimension `dim` as two, `parts` and the rest.
mlir::Value divideDimension(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value source, int64_t dim, int64_t parts);
/// `source` with its dimensions in another order.
mlir::Value permute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value source,
                    llvm::ArrayRef<int64_t> permutation);
/// The same of what the reduction `op`, of one result, makes from `fill` on:
/// computed so.
mlir::Value reducePermuted(mlir::OpBuilder &b, mlir::linalg::GenericOp op,
                           mlir::linalg::FillOp fill,
                           llvm::ArrayRef<int64_t> permutation);
/// The order of `rank` dimensions with `last` behind the others.
llvm::SmallVector<int64_t> orderWithLast(int64_t rank, int64_t last);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_CONVERSIONS_H
