//===- Weights.h - What reads weights, and how they get there ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What layouts of variables, of constants and of what a function computes have
// in common: products that read weights, and kernels that make these what
// products want.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WEIGHTS_H
#define TINH_CODEGEN_CPU_WEIGHTS_H

#include "compiler/Codegen/CPU/Layouts/Packing.h"

#include "dialects/graph/Layout.h"

#include "mlir/IR/SymbolTable.h"

namespace tinh::cpu {

/// What a kernel makes of a value of its own.
using Convert = llvm::function_ref<mlir::Value(mlir::Value)>;

/// A product that reads an operand as weights, and nothing else of it.
struct WeightsReader {
  graph::DispatchOp dispatch;
  mlir::func::FuncOp kernel;
  Contraction contraction;
  unsigned operand;
  PanelsAttr layout; // That it wants.

  mlir::Value weights() { return dispatch.getInputs()[operand]; }
  /// Whether it can as well read panels of `other`, of another width maybe.
  bool canRead(PanelsAttr other) const {
    return layout.withWidth(other.getWidth()) == other;
  }
};
/// The argument of a kernel that `weights`, which have one reader, are or are a
/// reshape of, if nothing else reads it; else null.
mlir::BlockArgument onlyReadBy(mlir::Value weights);
/// The product that the kernel of `dispatch` is, if it can read panels.
std::optional<WeightsReader> findReader(graph::DispatchOp dispatch,
                                        mlir::func::FuncOp kernel,
                                        const Target &target);

/// Makes the argument that `value`, of a kernel, is, or is a reshape of, one of
/// `type`, of which `convert` makes what the kernel reads.
void changeArgument(mlir::OpBuilder &b, mlir::Value value, mlir::Type type,
                    Convert convert);

/// Lets the product in `kernel` read its weights in panels.
void readPanels(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                const Contraction &contraction, PanelsAttr panels);

/// A kernel before `reader`, named after it, that converts something of type
/// `from` for it.
mlir::func::FuncOp createConversion(mlir::OpBuilder &b,
                                    mlir::SymbolTable &symbols,
                                    mlir::func::FuncOp reader,
                                    llvm::StringRef suffix, mlir::Type from,
                                    Convert convert);
/// Dispatches a kernel of one operand and one result.
mlir::Value dispatchTo(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::func::FuncOp kernel, mlir::Value value);

/// Lets a kernel of its own `convert` what is `source`, of `type`, for operand
/// `operand` of `dispatch`, before that or the loop that it is in.
void convertOperand(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                    graph::DispatchOp dispatch, unsigned operand,
                    mlir::Value source, mlir::Type type, Convert convert);

/// Whether `kernel` makes each element of its one result of one of its one
/// operand.
bool isMovement(mlir::func::FuncOp kernel);

/// Erases a dispatch whose results nobody reads, and its kernel if that was the
/// last one.
void eraseDispatch(mlir::SymbolTable &symbols, graph::DispatchOp dispatch);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WEIGHTS_H
