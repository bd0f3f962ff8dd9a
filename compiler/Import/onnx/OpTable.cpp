//===- OpTable.cpp - What builds each op of ONNX ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh::onnx {

bool takesSizes(StringRef domain, StringRef name) {
  // Element-wise, or with rules of graph ops for all that they become.
  static constexpr StringLiteral kOps =
      "Abs Acos Acosh Add And ArgMax ArgMin Asin Asinh Atan Atanh "
      "AveragePool BatchNormalization BitCast BitShift BitwiseAnd "
      "BitwiseNot BitwiseOr BitwiseXor Cast CastLike Ceil Celu Clip "
      "Compress Concat ConcatFromSequence ConstantOfShape Conv Cos Cosh "
      "CumSum DequantizeLinear Div Elu Equal Erf Exp Expand Flatten Floor "
      "Gather GatherElements GatherND Gelu Gemm GlobalAveragePool "
      "GlobalMaxPool Greater GreaterOrEqual HardSigmoid HardSwish Identity "
      "IsInf IsNaN LayerNormalization LeakyRelu Less LessOrEqual Log MatMul "
      "Max Mean Min Mish Mod Mul Neg NonMaxSuppression NonZero Not OneHot "
      "Optional OptionalGetElement OptionalHasElement Or PRelu Pad Pow "
      "QuantizeLinear Range Reciprocal ReduceL1 ReduceL2 ReduceLogSum "
      "ReduceLogSumExp ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum "
      "ReduceSumSquare Relu Reshape Round Scatter ScatterElements ScatterND "
      "Selu SequenceAt SequenceConstruct SequenceErase SequenceInsert "
      "SequenceLength Shape Shrink Sigmoid Sign Sin Sinh Size Slice "
      "Softplus Softsign Sqrt Squeeze Sub Sum Swish Tan Tanh "
      "ThresholdedRelu TopK Transpose Unsqueeze Where Xor";
  static const llvm::StringSet<> ops = [] {
    llvm::StringSet<> names;
    names.insert_range(llvm::split(kOps, ' '));
    return names;
  }();
  return domain.empty() && ops.contains(name);
}

const OpEntry *findOp(StringRef domain, StringRef name, int64_t opset) {
  using Table = llvm::StringMap<SmallVector<const OpEntry *, 1>>;
  static const Table table = [] {
    Table result;
    for (ArrayRef<OpEntry> family :
         {activationOps(),     attentionOps(),
          constantOps(),       contractionOps(),
          einsumOps(),         elementwiseOps(),
          fusedOps(),          groupQueryAttentionOps(),
          linearAlgebraOps(),  lossOps(),
          movementOps(),       normalizationOps(),
          optimizerOps(),      poolingOps(),
          predictorOps(),      quantizationOps(),
          quantizedLayerOps(), quantizedWeightsOps(),
          randomOps(),         recurrentOps(),
          reductionOps(),      regionOps(),
          resizeOps(),         runtimeAttentionOps(),
          samplingOps(),       scatterOps(),
          selectionOps(),      sequenceOps(),
          shapeOps(),          signalOps(),
          stateOps(),          supportVectorOps(),
          suppressionOps(),    treeOps(),
          vectorizerOps()})
      for (const OpEntry &entry : family)
        result[entry.name].push_back(&entry);
    return result;
  }();
  const OpEntry *best = nullptr;
  auto it =
      table.find(domain.empty() ? name.str() : (domain + "." + name).str());
  if (it == table.end())
    return nullptr;
  for (const OpEntry *entry : it->second)
    if (entry->since <= opset && (!best || entry->since > best->since))
      best = entry;
  return best;
}

} // namespace tinh::onnx
