//===- Apply.h - A model without what is cut --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_PRUNING_APPLY_H
#define TINH_COMPILER_PRUNING_APPLY_H

#include "compiler/Graph/ExternalData.h"
#include "compiler/Pruning/Groups.h"

namespace tinh::pruning {

/// A copy of `module` without what is cut. Null after a diagnostic.
mlir::OwningOpRef<mlir::ModuleOp> withCut(mlir::ModuleOp module, const Cut &cut,
                                          MappedFiles &files);

} // namespace tinh::pruning

#endif // TINH_COMPILER_PRUNING_APPLY_H
