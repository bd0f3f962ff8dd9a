//===- Attention.h - Attention that never stores scores ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Attention is what its ops were lowered from, and say so (dialects/origin):
//
//   scores = Σ queries · keys             a product
//   masked = scores, scaled, masked, …    element by element
//   largest = max masked                  over the keys
//   exponentials = exp(masked - largest)
//   sum = Σ exponentials                  over the keys
//   weights = exponentials / sum
//   y = Σ weights · values                a product
//   result = y, transposed, cast, …       element by element
//
// Queries are the rows of the first product, keys its columns and the depth of
// the second one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_ATTENTION_ATTENTION_H
#define TINH_CODEGEN_CUDA_ATTENTION_ATTENTION_H

#include "compiler/Codegen/CUDA/Contraction/Contraction.h"

namespace tinh::cuda {

/// An index of a tensor: for each dimension the loops whose digits it has.
using Place = llvm::SmallVector<Loops>;

struct Attention {
  Product scores, values;
  mlir::Value masked;
  /// Loops here are those of the scores; then, from `columns` on, those of the
  /// columns of the values.
  llvm::SmallVector<int64_t> extents;
  Loops columns;
  Place maskedAt, resultAt;
  /// A query, numbered by the last loop of rows, sees no keys but those up to
  /// so many after its number. Without this it may see all.
  std::optional<int64_t> ahead;

  int64_t queries() const { return scores.extentOf(scores.left.loops); }
  int64_t keys() const { return scores.extentOf(scores.right.loops); }
  /// The size of a head of queries and keys, and of values.
  int64_t depth() const { return scores.extentOf(scores.depth); }
  int64_t width() const { return values.extentOf(values.right.loops); }
  /// Whether tensor cores multiply all factors without rounding them, or may
  /// round them.
  bool takesTensorCores(const Target &target) const;

  /// The indices at `place` where loops have these.
  Indices indicesAt(Pull &pull, const Place &place, const Indices &loops) const;
};

/// The strategy `attention`: products, a softmax and products in one. A block
/// has a tile of queries and goes through all keys.
struct AttentionStrategy : Functions<Attention, AttentionPlanAttr> {
  /// None if `kernel` computes something else, or more than that.
  static MatchFunction match;
  static PlansFunction plans;
  static CostFunction cost;
  static ExpandFunction expand;
  static EmitFunction emit;
};

/// Whether blocks of queries compute the attention in `kernel` better than
/// teams, or kernels one after the other, if there is one.
bool isWorthAttention(mlir::func::FuncOp kernel, const Target &target);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_ATTENTION_ATTENTION_H
