//===- ReplaceWeights.h - A model with other weights ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_REPLACEWEIGHTS_H
#define TINH_COMPILER_IMPORT_REPLACEWEIGHTS_H

#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringSet.h"

namespace tinh {

/// Gives constants the elements that the .safetensors file `path` has for their
/// names. `weights` are the names that the model's file has for them; none: any
/// constant with a name may be one. What a training step's state has beside
/// weights is not looked at. Fails, after a diagnostic, if anything else in the
/// file is no weight of the model, or of another type.
mlir::LogicalResult replaceWeights(mlir::ModuleOp module,
                                   const llvm::StringSet<> &weights,
                                   llvm::StringRef path);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_REPLACEWEIGHTS_H
