//===- InputSizes.cpp - Inputs whose size the run decides -----------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/InputSizes.h"

#include "compiler/Import/onnx/OpTable.h"

#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

llvm::StringSet<> split(StringRef names) {
  llvm::StringSet<> set;
  set.insert_range(llvm::split(names, ' '));
  return set;
}

/// An input that is a tensor; else null.
Value tensorInput(NodeBuilder &b, int i) {
  auto operand = b.has(i) ? b.operand(i) : std::nullopt;
  return operand ? operand->tensor : Value();
}

/// Whether an op is built for such inputs, whatever dimension it is. Others are
/// built of extents, which are the largest that there may be.
bool takesSizes(StringRef domain, StringRef name) {
  // With rules of graph ops for all that they become.
  static constexpr StringLiteral kOps =
      "ArgMax ArgMin AveragePool BatchNormalization Compress Concat "
      "ConcatFromSequence ConstantOfShape Conv ConvTranspose "
      "DequantizeLinear Expand Flatten Gather GatherElements GatherND Gemm "
      "GlobalAveragePool GlobalMaxPool Identity LayerNormalization MatMul "
      "NonMaxSuppression NonZero OneHot Optional OptionalGetElement "
      "OptionalHasElement Pad QuantizeLinear Range ReduceL1 ReduceL2 "
      "ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
      "ReduceProd ReduceSum ReduceSumSquare RegexFullMatch Reshape Scatter "
      "ScatterElements ScatterND SequenceAt SequenceConstruct SequenceErase "
      "SequenceInsert SequenceLength Shape Size Slice Squeeze StringConcat "
      "StringNormalizer StringSplit TopK Transpose Unsqueeze";
  static const llvm::StringSet<> ops = [] {
    llvm::StringSet<> set = split(kOps);
    for (const OpFamily &family : {activationOps(), elementwiseOps()})
      for (const OpEntry &entry : family)
        set.insert(entry.name);
#define CUMULATIVE_ONNX(NAME, STRING, OPSET) set.insert(STRING);
#include "dialects/graph/ReductionOps.inc"
    set.erase("Dropout"); // Its mask is of extents, see below.
    return set;
  }();
  return domain.empty() && ops.contains(name);
}

/// Whether an op repeats the elements of dimensions of one.
bool broadcasts(StringRef domain, StringRef name) {
  static const llvm::StringSet<> ops = [] {
    llvm::StringSet<> set = split(
        "BitShift BitwiseAnd BitwiseOr BitwiseXor Equal Greater GreaterOrEqual "
        "Less LessOrEqual Max Mean Min Mod PRelu Pow StringConcat Sum SwiGLU "
        "Where");
#define BINARY_ONNX(NAME, STRING) set.insert(STRING);
#include "dialects/graph/ElementwiseOps.inc"
    return set;
  }();
  return domain.empty() && ops.contains(name);
}

/// The same, with what depends on the node.
bool takesSizes(NodeBuilder &b) {
  StringRef op = b.op();
  if (takesSizes(b.node.domain(), op))
    return true;
  if (op == "MaxPool" || op == "Dropout") // Indices are those of extents.
    return b.numOutputs() == 1;
  if (op == "TfIdfVectorizer") { // Counts of what there is of a row.
    Value tokens = tensorInput(b, 0);
    int64_t rank = tokens ? b.rank(tokens) - (b.isString(0) ? 1 : 0) : 0;
    return rank == 1 || !b.graph.isBounded(tokens, 0);
  }
  if (op == "RoiAlign") // Regions are apart from each other, pixels are not.
    return !b.graph.isBounded(b.input(0));
  if (op != "Split" && op != "Softmax" && op != "LogSoftmax")
    return false;
  bool isSplit = op == "Split";
  if (!isSplit && b.opset() >= 13)
    return true;
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", isSplit ? 0 : 1), b.rank(x));
  // Softmax was along all dimensions from its axis on.
  if (!axis || !isSplit)
    return axis && *axis == b.rank(x) - 1;
  bool isWritten = b.opset() < 13 ? b.hasAttribute("split") : b.has(1);
  return isWritten || !b.graph.isBounded(x, *axis);
}

std::string describe(NodeBuilder &b, int i, int64_t d) {
  return ("the run decides the size of dimension " + Twine(d) + " of input \"" +
          b.node.proto->input(i) + "\", ")
      .str();
}

/// Whether a dimension whose size the run decides meets one of more elements
/// than one: only the run knows whether its single element is to be repeated.
std::string findUnknownBroadcast(NodeBuilder &b) {
  for (int i = 0; i < b.numInputs(); ++i)
    for (int j = 0; j < b.numInputs(); ++j) {
      Value x = tensorInput(b, i), y = tensorInput(b, j);
      if (!x || !y || !b.graph.isBounded(x))
        continue;
      int64_t shift = b.rank(y) - b.rank(x);
      for (int64_t d = std::max<int64_t>(0, -shift); d < b.rank(x); ++d)
        if (b.graph.isBounded(x, d) && !b.graph.isBounded(y, d + shift) &&
            b.shape(y)[d + shift] > 1)
          return describe(b, i, d) + "beside " +
                 std::to_string(b.shape(y)[d + shift]) + " elements of \"" +
                 b.node.proto->input(j) +
                 "\": whether it is to be repeated is not known";
    }
  return "";
}

} // namespace

std::string findUnknownSize(NodeBuilder &b) {
  if (!b.graph.hasBounded())
    return "";
  bool takes = takesSizes(b);
  for (int i = 0; i < b.numInputs() && !takes && !b.failed(); ++i) {
    Value x = tensorInput(b, i);
    for (int64_t d = 0; x && d < b.rank(x); ++d)
      if (b.graph.isBounded(x, d))
        return describe(b, i, d) + "which is not supported for this op";
  }
  return broadcasts(b.node.domain(), b.op()) ? findUnknownBroadcast(b) : "";
}

} // namespace tinh::onnx
