//===- OpTable.h - What builds each op of ONNX ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each file of ops/ has the entries of a family of ops.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_COMPILER_IMPORT_ONNX_OPTABLE_H
#define TINH_COMPILER_IMPORT_ONNX_OPTABLE_H

#include "compiler/Import/onnx/NodeBuilder.h"

namespace tinh::onnx {

using BuildFunction = Results (*)(NodeBuilder &);

struct OpEntry {
  /// Behind its domain and a dot if that is not ONNX's own.
  llvm::StringRef name;
  /// The first operator set in which the builder is right.
  int since;
  int minInputs;
  /// Negative: any number.
  int maxInputs;
  BuildFunction build;
  /// Whether its first input is a sequence or an optional; all others are
  /// tensors.
  bool takesSequence = false;
  /// Whether any of its inputs may be strings; else all are numbers.
  bool takesStrings = false;
};

llvm::ArrayRef<OpEntry> activationOps();
llvm::ArrayRef<OpEntry> attentionOps();
llvm::ArrayRef<OpEntry> constantOps();
llvm::ArrayRef<OpEntry> contractionOps();
llvm::ArrayRef<OpEntry> einsumOps();
llvm::ArrayRef<OpEntry> elementwiseOps();
llvm::ArrayRef<OpEntry> fusedOps();
llvm::ArrayRef<OpEntry> groupQueryAttentionOps();
llvm::ArrayRef<OpEntry> labelOps();
llvm::ArrayRef<OpEntry> linearAlgebraOps();
llvm::ArrayRef<OpEntry> lossOps();
llvm::ArrayRef<OpEntry> movementOps();
llvm::ArrayRef<OpEntry> normalizationOps();
llvm::ArrayRef<OpEntry> optimizerOps();
llvm::ArrayRef<OpEntry> poolingOps();
llvm::ArrayRef<OpEntry> predictorOps();
llvm::ArrayRef<OpEntry> quantizationOps();
llvm::ArrayRef<OpEntry> quantizedLayerOps();
llvm::ArrayRef<OpEntry> quantizedWeightsOps();
llvm::ArrayRef<OpEntry> randomOps();
llvm::ArrayRef<OpEntry> recurrentOps();
llvm::ArrayRef<OpEntry> reductionOps();
llvm::ArrayRef<OpEntry> regionOps();
llvm::ArrayRef<OpEntry> resizeOps();
llvm::ArrayRef<OpEntry> runtimeAttentionOps();
llvm::ArrayRef<OpEntry> samplingOps();
llvm::ArrayRef<OpEntry> scatterOps();
llvm::ArrayRef<OpEntry> selectionOps();
llvm::ArrayRef<OpEntry> sequenceOps();
llvm::ArrayRef<OpEntry> shapeOps();
llvm::ArrayRef<OpEntry> signalOps();
llvm::ArrayRef<OpEntry> stateOps();
llvm::ArrayRef<OpEntry> stringOps();
llvm::ArrayRef<OpEntry> supportVectorOps();
llvm::ArrayRef<OpEntry> suppressionOps();
llvm::ArrayRef<OpEntry> treeOps();
llvm::ArrayRef<OpEntry> vectorizerOps();

/// How to build an op of an operator set; null if it is not supported.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name,
                      int64_t opset);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPTABLE_H
