//===- Composites.h - Operations that take several graph ops ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What has no graph op of its own, for whoever builds graphs. A failure is left
// in the builder.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_COMPOSITES_H
#define TINH_COMPILER_IMPORT_COMPOSITES_H

#include "compiler/Import/GraphOps.h"

namespace tinh {

/// How updates combine with what is there; `neutral` changes nothing.
struct Combination {
  graph::ReduceKind kind;
  double neutral;
};
/// For sums, products, maxima or minima of elements of this type.
Combination combinationOf(graph::ReduceKind kind, mlir::Type element);

/// `data` with element i, its entry for `axis` replaced by indices[i], replaced
/// by or combined with updates[i]. Where indices are repeated, the last update
/// stays. As ONNX ScatterElements.
mlir::Value scatterElements(GraphOps &b, mlir::Value data, mlir::Value indices,
                            mlir::Value updates, int64_t axis,
                            std::optional<Combination> combination);

/// The same for slices picked by index tuples, as ONNX ScatterND.
mlir::Value scatterNd(GraphOps &b, mlir::Value data, mlir::Value indices,
                      mlir::Value updates,
                      std::optional<Combination> combination);

/// The indices (i64) of the `count` largest or smallest elements along `axis`,
/// in order; of equal ones the first comes first, and NaN counts as the largest
/// or smallest. As ONNX TopK.
mlir::Value topK(GraphOps &b, mlir::Value x, int64_t axis, int64_t count,
                 bool largest);

} // namespace tinh

#endif // TINH_COMPILER_IMPORT_COMPOSITES_H
