//===- Prefix.h - Functions that end at values of a model -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_BISECTION_PREFIX_H
#define TINH_COMPILER_BISECTION_PREFIX_H

#include "compiler/Graph/ExternalData.h"
#include "compiler/Reference/Interpreter.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace tinh::bisection {

/// A tensor as the runtime's buffers have it.
struct Stored {
  mlir::RankedTensorType type;
  std::vector<char> bytes;

  reference::Tensor tensor() const { return reference::fromBytes(type, bytes); }
};
/// Tensors by name.
using Data = llvm::StringMap<Stored>;

/// The ops of a function but its constants and its end, in their order.
llvm::SmallVector<mlir::Operation *> nodesOf(mlir::func::FuncOp function);

/// What an argument is called as an input: as it is, or as the variable that
/// it reads, unless an input is called so, too.
std::string inputName(mlir::func::FuncOp function, unsigned argument);

/// What the functions of a module begin with: the initial values of the
/// variables that `function` reads, by the names that these have as inputs.
/// Fails after a diagnostic.
llvm::LogicalResult addVariables(mlir::func::FuncOp function,
                                 MappedFiles &files, Data &data);

/// What a node is called in messages: its name in the model, or its op.
std::string nodeText(mlir::Value result);

/// The nodes that `values` depend on, in their order.
llvm::SmallVector<mlir::Operation *>
nodesBehind(mlir::func::FuncOp function, llvm::ArrayRef<mlir::Value> values);

/// A copy of the module of `function` with this function alone, whose results
/// are `values`, called after their nodes: the nodes behind them are left.
/// Arguments and variables that nothing reads are gone.
mlir::OwningOpRef<mlir::ModuleOp> endAt(mlir::func::FuncOp function,
                                        llvm::ArrayRef<mlir::Value> values);

/// Makes the one function of a module @main, and its variables inputs.
void flatten(mlir::func::FuncOp function);

/// The arguments of `function` in `data`, by name. A smaller one has the first
/// elements of each dimension.
std::vector<Stored> argumentsOf(mlir::func::FuncOp function, const Data &data);

/// What the reference interpreter makes of a function, on its arguments in
/// `data`; `observe` is told the value of each node.
mlir::FailureOr<std::vector<reference::Tensor>>
evaluate(mlir::func::FuncOp function, const Data &data, MappedFiles &files,
         reference::Observe observe = {});

} // namespace tinh::bisection

#endif // TINH_COMPILER_BISECTION_PREFIX_H
