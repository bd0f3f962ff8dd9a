//===- Interpreter.h - A naive interpreter of the graph dialect -*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The slow, obvious twin of everything that the compiler makes of a model: it
// shares no code with the lowering. Floats are computed in f64 and rounded to
// the result's type after each op; integers wrap in their own width. It takes
// the phases up to `fused`.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_REFERENCE_INTERPRETER_H
#define TINH_COMPILER_REFERENCE_INTERPRETER_H

#include "compiler/Reference/Tensor.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace tinh::reference {

/// Gives the bytes of a constant in a file; they are used before the next call.
using ReadExternal = llvm::function_ref<llvm::Expected<llvm::ArrayRef<char>>(
    graph::ExternalAttr)>;

/// Told each value that an op of the function's own block gives, but constants.
using Observe = llvm::function_ref<void(mlir::Value, const Tensor &)>;

/// The results of `function` on `inputs`, which have its arguments' types, on
/// one rank. Fails, after a diagnostic, for what is not of the graph dialect.
mlir::FailureOr<std::vector<Tensor>> evaluate(mlir::func::FuncOp function,
                                              std::vector<Tensor> inputs,
                                              ReadExternal readExternal,
                                              Observe observe = {});

/// The same on several ranks, which have inputs of their own: by rank.
mlir::FailureOr<std::vector<std::vector<Tensor>>>
evaluateOnRanks(mlir::func::FuncOp function,
                std::vector<std::vector<Tensor>> inputs,
                ReadExternal readExternal, Observe observe = {});

/// The result of an op that has one result and no region; nothing if the op is
/// not defined on such operands.
std::optional<Tensor> evaluateOp(mlir::Operation *op,
                                 llvm::ArrayRef<const Tensor *> operands);

} // namespace tinh::reference

#endif // TINH_COMPILER_REFERENCE_INTERPRETER_H
