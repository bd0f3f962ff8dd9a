//===- Parameters.h - Weights that may be replaced --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_PIPELINES_PARAMETERS_H
#define TINH_PIPELINES_PARAMETERS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace tinh {

/// Makes parameters (#graph.parameter) of the floating-point constants of
/// `module`, in phase Graph, that are named in `weights`, or, if that is empty,
/// of all that have a name. Scalars stay constants: models have numbers such as
/// 0.5 as such, which patterns need. Fails if there is none.
mlir::LogicalResult makeParameters(mlir::ModuleOp module,
                                   const llvm::StringSet<> &weights);

} // namespace tinh

#endif // TINH_PIPELINES_PARAMETERS_H
