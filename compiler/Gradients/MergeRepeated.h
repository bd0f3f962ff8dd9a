//===- MergeRepeated.h - Branches and loops that run once -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of branches and loops leave these as they are, and run them again
// with further results, since values of theirs may be in use. Of such a pair
// one is enough.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_GRADIENTS_MERGEREPEATED_H
#define TINH_COMPILER_GRADIENTS_MERGEREPEATED_H

#include "mlir/IR/Block.h"
#include "mlir/IR/ValueRange.h"

namespace tinh::gradients {

/// Told that `op` is to be erased, and which values, of an op before it, take
/// the place of its results.
using Replaced =
    llvm::function_ref<void(mlir::Operation *op, mlir::ValueRange values)>;

/// Of a graph.if or graph.scan in `block`, and a later one that does all that
/// the first does, makes one in the first one's place.
void mergeRepeated(mlir::Block &block, Replaced replaced = nullptr);

} // namespace tinh::gradients

#endif // TINH_COMPILER_GRADIENTS_MERGEREPEATED_H
