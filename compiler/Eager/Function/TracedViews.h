//===- TracedViews.h - Views of values --------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_EAGER_FUNCTION_TRACEDVIEWS_H
#define TINH_EAGER_FUNCTION_TRACEDVIEWS_H

#include "compiler/Eager/Backend.h"
#include "compiler/Graph/GraphOps.h"

namespace tinh::eager {

inline llvm::ArrayRef<int64_t> toArrayRef(const Dims &dims) {
  return {dims.begin(), dims.size()};
}

/// What a view, of these sizes, shows of `source`.
mlir::Value applyView(GraphOps &ops, const View &view, const Dims &sizes,
                      mlir::Value source);

/// `source` with what the view shows of it replaced by `value`.
mlir::Value undoView(GraphOps &ops, const View &view, const Dims &sizes,
                     mlir::Value source, mlir::Value value);

} // namespace tinh::eager

#endif // TINH_EAGER_FUNCTION_TRACEDVIEWS_H
