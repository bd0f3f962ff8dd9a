//===- EvaluateConstants.h - Computes small constants during import -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Shapes in models are computed: Shape, Gather, Concat, Reshape. As all
// shapes are static such computations have known results, which the reference
// interpreter finds.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRAPH_EVALUATECONSTANTS_H
#define TINH_COMPILER_GRAPH_EVALUATECONSTANTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"

#include <optional>

namespace tinh {

/// The result of `op`, which has one, on these operands; nothing if it cannot
/// be computed.
std::optional<mlir::DenseElementsAttr>
evaluateConstant(mlir::Operation *op,
                 llvm::ArrayRef<mlir::DenseElementsAttr> operands);

} // namespace tinh

#endif // TINH_COMPILER_GRAPH_EVALUATECONSTANTS_H
