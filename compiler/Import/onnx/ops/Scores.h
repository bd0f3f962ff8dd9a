//===- Scores.h - What predictors make of their scores ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPS_SCORES_H
#define TINH_COMPILER_IMPORT_ONNX_OPS_SCORES_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

/// The numbers of a FLOATS attribute, none if it is not there.
llvm::SmallVector<double> floatsAttribute(NodeBuilder &b, llvm::StringRef name);

/// Scores [N, targets] after the transformation that the attribute
/// post_transform names.
mlir::Value transformScores(NodeBuilder &b, mlir::Value scores,
                            llvm::StringRef name);

/// The label, i64, of each row's class, an index.
mlir::Value labelsOf(NodeBuilder &b, mlir::Value classes,
                     llvm::ArrayRef<int64_t> labels);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPS_SCORES_H
