//===- Forest.h - Rows that walk down trees ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_FOREST_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_FOREST_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// How a node compares a feature with its number, as TreeEnsemble counts.
enum Mode {
  kLessEqual,
  kLess,
  kGreaterEqual,
  kGreater,
  kEqual,
  kNotEqual,
  kMember,
  kLeaf
};
struct TreeNode {
  int64_t mode = kLeaf, feature = 0;
  double number = 0;
  bool missingGoesOn = false; ///< NaN takes the branch of what holds.
  int64_t whenTrue = 0, whenFalse = 0;
};

/// What a leaf adds to a target.
struct LeafWeight {
  int64_t node, target;
  double weight;
};

struct Forest {
  llvm::SmallVector<TreeNode, 0> nodes;
  Ints roots;
  llvm::SmallVector<LeafWeight, 0> weights;
};

enum class Aggregate { Average, Sum, Min, Max };

/// The scores of all targets, [N, targets], of the node's input [N, features].
mlir::Value scoreForest(NodeBuilder &b, const Forest &forest, int64_t targets,
                        Aggregate how);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_FOREST_H
