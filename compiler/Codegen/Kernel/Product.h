//===- Product.h - What follows a product in a kernel -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel of a product is a sum of products, maybe a reshape of it, and what
// is element-wise.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_KERNEL_PRODUCT_H
#define TINH_CODEGEN_KERNEL_PRODUCT_H

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Strategy.h"

#include "llvm/ADT/DenseSet.h"

namespace tinh::codegen {

/// What the kernel reads of the result of `op`: a reshape in which the groups
/// of a convolution are merged with their channels, either of the two in panels
/// of its last dimension, or the result itself.
mlir::Value mergedResult(mlir::linalg::GenericOp op);
/// The indices in `result`, a `mergedResult`, of what stands at `at` of the
/// product.
Indices indicesInResult(Pull &pull, mlir::Value product, mlir::Value result,
                        Indices at);
/// The product and what brings its results to `result`, a `mergedResult`.
llvm::DenseSet<mlir::Operation *> opsOfProduct(mlir::Value product,
                                               mlir::Value result);
/// The columns of all panels of `result`, a `mergedResult`; nothing if it has
/// none.
std::optional<int64_t> columnsOfPanels(mlir::Value result);
/// Whether no vector of so many columns lies across panels of `result`.
bool hasWholeVectors(mlir::Value result, int64_t lanes);

/// What a kernel is whose one reduction is a sum of products, followed by what
/// is element-wise: `assignRoles(op, input)` says what each loop is to it if
/// that input has the first role, or why that cannot be; `first` is tried
/// first.
template <typename T>
Match<T> matchProducts(mlir::func::FuncOp kernel, unsigned first,
                       Match<T> (*assignRoles)(mlir::linalg::GenericOp,
                                               unsigned)) {
  mlir::linalg::GenericOp found = onlyReduction(kernel);
  if (!found)
    return NoMatch{"has no reduction, or more than one"};
  if (!isSumOfProducts(found))
    return NoMatch{"is no sum of products of floats"};
  mlir::Value result = mergedResult(found);
  if (!resultsFollowElementwise(kernel, result))
    return NoMatch{"has results that do not follow from the product element by "
                   "element"};
  Match<T> match = assignRoles(found, first);
  if (!match)
    match = assignRoles(found, 1 - first);
  if (match)
    match->result = result;
  return match;
}

} // namespace tinh::codegen

#endif // TINH_CODEGEN_KERNEL_PRODUCT_H
