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
#include "compiler/Import/onnx/Schemas.h"

namespace tinh::onnx {

using BuildFunction = Results (*)(NodeBuilder &);

/// What an op's inputs may be beside tensors of numbers.
enum class Takes {
  Numbers,
  Sequence, ///< The first one is a sequence or an optional.
  Strings,  ///< Any may be strings.
};

struct OpEntry {
  /// Behind its domain and a dot if that is not ONNX's own.
  llvm::StringRef name;
  BuildFunction build;
  /// ONNX's own where an entry says none.
  Signature signature = {};
  Takes takes = Takes::Numbers;
};
using OpFamily = std::vector<OpEntry>;

OpFamily activationOps();
OpFamily attentionOps();
OpFamily constantOps();
OpFamily contractionOps();
OpFamily einsumOps();
OpFamily elementwiseOps();
OpFamily fusedOps();
OpFamily groupQueryAttentionOps();
OpFamily labelOps();
OpFamily linearAlgebraOps();
OpFamily lossOps();
OpFamily movementOps();
OpFamily normalizationOps();
OpFamily optimizerOps();
OpFamily poolingOps();
OpFamily predictorOps();
OpFamily quantizationOps();
OpFamily quantizedLayerOps();
OpFamily quantizedWeightsOps();
OpFamily randomOps();
OpFamily recurrentOps();
OpFamily reductionOps();
OpFamily regionOps();
OpFamily resizeOps();
OpFamily runtimeAttentionOps();
OpFamily samplingOps();
OpFamily scatterOps();
OpFamily selectionOps();
OpFamily sequenceOps();
OpFamily shapeOps();
OpFamily signalOps();
OpFamily stateOps();
OpFamily stringOps();
OpFamily supportVectorOps();
OpFamily suppressionOps();
OpFamily treeOps();
OpFamily vectorizerOps();

/// How to build an op of an operator set, with a signature; null if it is not
/// supported.
const OpEntry *findOp(llvm::StringRef domain, llvm::StringRef name,
                      int64_t opset);

} // namespace tinh::onnx

#endif // TINH_COMPILER_IMPORT_ONNX_OPTABLE_H
