//===- Scores.h - What predictors make of their scores ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_SCORES_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_SCORES_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// The numbers of a FLOATS attribute, none if it is not there.
llvm::SmallVector<double> floatsAttribute(NodeBuilder &b, llvm::StringRef name);

/// Scores [N, targets] after the transformation that the attribute
/// post_transform names.
mlir::Value transformScores(NodeBuilder &b, mlir::Value scores,
                            llvm::StringRef name);

/// What a classifier calls its classes: integers or strings.
struct ClassLabels {
  Ints integers;
  std::vector<std::string> strings;

  int64_t size() const {
    return static_cast<int64_t>(integers.size() + strings.size());
  }
};

/// The labels that the attribute `integers` or classlabels_strings has.
ClassLabels readLabels(NodeBuilder &b, llvm::StringRef integers);

/// A classifier's results: the label of each row's class, an index, and scores.
Results labelled(NodeBuilder &b, mlir::Value classes, const ClassLabels &labels,
                 mlir::Value scores);
/// The same of two classes, by whether a row is of the second. The first one of
/// a single integer is 0.
Results labelledByTwo(NodeBuilder &b, mlir::Value isSecond, ClassLabels labels,
                      mlir::Value scores);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_PREDICTORS_SCORES_H
