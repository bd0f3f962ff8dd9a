//===- Split.h - A kernel as several, one after the other -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel function becomes two where each alone is divided better, or where
// one finds its operands as it wants them if the other one moves them before:
// what one dispatch then computes, the other one reads.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_SPLIT_H
#define TINH_CODEGEN_KERNEL_SPLIT_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/DenseSet.h"

namespace tinh::codegen {

/// The ops of the kernel's block that `stage` depends on, and itself.
llvm::DenseSet<mlir::Operation *> dependencies(mlir::Operation *stage);

/// The values, all of one op, that a kernel would have to hand over if `stage`
/// were one of its own: its results, or what alone follows from them element by
/// element. None if nothing else is computed of them.
llvm::SmallVector<mlir::Value> handedOver(mlir::linalg::GenericOp stage);

/// Elements of the largest tensor that `kernel` computes or reduces, apart from
/// what `without` depends on.
int64_t largestValue(mlir::func::FuncOp kernel,
                     mlir::Operation *without = nullptr);

/// Makes a kernel, outside of any module, of what computes `results`, which are
/// of one op, from those arguments of `kernel` whose numbers `inputs` receives.
mlir::func::FuncOp outlineStage(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                                mlir::StringRef suffix,
                                mlir::ValueRange results,
                                llvm::SmallVectorImpl<unsigned> &inputs);

/// Lets a kernel of its own compute `values`, which are of one op. Its name
/// ends in `suffix`.
graph::DispatchOp dispatchStage(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                                mlir::func::FuncOp kernel,
                                graph::DispatchOp dispatch,
                                mlir::StringRef suffix,
                                mlir::ValueRange values);

/// Whether `op` combines elements, which it is given, one by one, so that it
/// can do so in parts.
bool combinesElements(mlir::linalg::GenericOp op);

/// Whether `loop` can be two: it alone indexes a dimension of each operand that
/// it indexes at all.
bool isDivisible(mlir::linalg::GenericOp op, unsigned loop);

/// The least number that divides `extent` and gives `wanted` parts; else the
/// largest one up to `most`.
int64_t countParts(int64_t extent, int64_t wanted, int64_t most);

/// Lets a dispatch of its own compute the parts of `loop` of `op`.
graph::DispatchOp dispatchParts(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                                mlir::func::FuncOp kernel,
                                graph::DispatchOp dispatch,
                                mlir::linalg::GenericOp op, unsigned loop,
                                int64_t parts);

//===----------------------------------------------------------------------===//
// Operands in another form
//===----------------------------------------------------------------------===//

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
/// `dispatch`. Returns what that reads then.
mlir::Value convertOperand(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                           graph::DispatchOp dispatch, unsigned operand,
                           mlir::Value source, mlir::Type from,
                           Convert convert);

/// Lets a dispatch copy `value`, which one op reads of an argument that is
/// packable, to memory in which its dimensions have this order.
void packOperand(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                 graph::DispatchOp dispatch, mlir::Value value,
                 llvm::ArrayRef<int64_t> order);
/// The same with dimension `last` behind the others.
void packOperandLast(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                     graph::DispatchOp dispatch, mlir::Value value,
                     int64_t last);

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
/// Groups of a reshape that splits dimension `split` of `rank` in two.
llvm::SmallVector<mlir::ReassociationIndices> splitGroups(int64_t rank,
                                                          int64_t split);
/// `source` with its dimension `dim` as two, `parts` and the rest.
mlir::Value divideDimension(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Value source, int64_t dim, int64_t parts);
/// `source` with its dimensions in another order.
mlir::Value permute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value source,
                    llvm::ArrayRef<int64_t> permutation);

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_SPLIT_H
