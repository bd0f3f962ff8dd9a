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
#ifndef TINH_COMPILER_GRAPH_COMPOSITES_H
#define TINH_COMPILER_GRAPH_COMPOSITES_H

#include "compiler/Graph/GraphOps.h"

namespace tinh {

/// The indices (i64) of the `count` largest or smallest elements along `axis`,
/// in order; of equal ones the first comes first, and NaN counts as the largest
/// or smallest. As ONNX TopK.
mlir::Value topK(GraphOps &b, mlir::Value x, int64_t axis, int64_t count,
                 bool largest);

/// The indices (i64) where a vector of booleans is true, ascending: as many as
/// the run finds, by graph.set_dimension_size.
mlir::Value indicesOfTrue(GraphOps &b, mlir::Value mask);

/// `x` with a scalar in the place of the padding of dimensions whose size the
/// run decides, all of which is used then.
mlir::Value fillPadding(GraphOps &b, mlir::Value x, mlir::Value fill);

//===--- Random numbers -------------------------------------------------===//

/// The blocks of Philox4x32-10 with this key from a counter on, both u64: of
/// each its four words of 32 bits, in vectors of u64.
llvm::SmallVector<mlir::Value>
philoxBlocks(GraphOps &b, mlir::Value key, mlir::Value counter, int64_t blocks);

/// The words 2 · half and 2 · half + 1 of blocks as numbers of 64 bits.
mlir::Value joinWords(GraphOps &b, llvm::ArrayRef<mlir::Value> words, int half);

/// The first `bits` of words of 32 or, if `wide`, 64 bits as f64, 0 ≤ x < 1.
mlir::Value unitInterval(GraphOps &b, mlir::Value words, bool wide, int bits);

/// Two vectors of uniform numbers, 0 ≤ x < 1, to two of normal ones (Box and
/// Muller).
std::pair<mlir::Value, mlir::Value> normalPair(GraphOps &b, mlir::Value u,
                                               mlir::Value v);

/// The first `count` numbers of blocks, one block after the other.
mlir::Value interleaveBlocks(GraphOps &b, llvm::ArrayRef<mlir::Value> numbers,
                             int64_t count);

} // namespace tinh

#endif // TINH_COMPILER_GRAPH_COMPOSITES_H
