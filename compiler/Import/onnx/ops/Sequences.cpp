//===- Sequences.cpp - Known sequences, and optionals -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch writes torch.split and torch.chunk as sequences from which tensors
// are taken by constant positions.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Beyond any sequence whose tensors a model names one by one.
constexpr int64_t kMostTensors = 1 << 16;

/// The sizes that SplitToSequence cuts `extent` into: those that are given, or
/// as many of one size as there are, and the rest.
std::optional<Ints> pieceSizes(NodeBuilder &b, int64_t extent) {
  Ints sizes{1};
  if (b.has(1)) {
    auto given = b.ints(1, "split");
    if (!given)
      return std::nullopt;
    sizes = *given;
  }
  if (!b.has(1) || b.rank(b.input(1)) == 0) {
    int64_t each = sizes[0];
    if (each < 1 || (extent - 1) / each >= kMostTensors) {
      b.fail("cannot split " + Twine(extent) + " elements into pieces of " +
             Twine(each));
      return std::nullopt;
    }
    sizes.assign(llvm::divideCeil(extent, each), each);
    if (extent % each)
      sizes.back() = extent % each;
  }
  int64_t left = extent;
  for (int64_t size : sizes)
    left = size < 0 || size > left ? -1 : left - size;
  if (left == 0)
    return sizes;
  b.fail("cannot split " + Twine(extent) + " elements into " +
         formatShape(sizes));
  return std::nullopt;
}

Results splitToSequence(NodeBuilder &b) {
  Value x = b.input(0);
  if (!x)
    return {Value()};
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {Value()};
  auto sizes = pieceSizes(b, b.shape(x)[*axis]);
  if (!sizes)
    return {Value()};
  bool drops = !b.has(1) && b.intAttribute("keepdims", 1) == 0;
  Ints dropped(b.shape(x));
  dropped.erase(dropped.begin() + *axis);
  Sequence pieces;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    Value piece = b.sliceAxis(x, *axis, start, size);
    pieces.push_back(drops ? b.reshape(piece, dropped) : piece);
    start += size;
  }
  b.sequenceResult = std::move(pieces);
  return {};
}

Results sequenceConstruct(NodeBuilder &b) {
  SmallVector<Value> tensors = b.inputs();
  if (b.failed())
    return {Value()};
  b.sequenceResult = Sequence(tensors.begin(), tensors.end());
  return {};
}

Results sequenceAt(NodeBuilder &b) {
  const Sequence *sequence = b.sequence(0);
  auto position = b.integer(1, "the position");
  if (!sequence || !position)
    return {Value()};
  auto count = static_cast<int64_t>(sequence->size());
  int64_t i = *position;
  if (i < -count || i >= count)
    return {b.fail("there is no tensor " + Twine(i) + " in a sequence of " +
                   Twine(count))};
  return {(*sequence)[i < 0 ? i + count : i]};
}

/// An optional is what it holds: tensors alone, all of which are there.
Results optionalElement(NodeBuilder &b) { return {b.input(0)}; }

Results optionalHasElement(NodeBuilder &b) {
  Value has = b.scalar(b.graph.raw().getI1Type(), b.has(0) ? 1 : 0);
  return {has};
}

} // namespace

ArrayRef<OpEntry> sequenceOps() {
  static const OpEntry entries[] = {
      {"Optional", 15, 1, 1, optionalElement},
      {"OptionalGetElement", 15, 1, 1, optionalElement},
      {"OptionalHasElement", 15, 0, 1, optionalHasElement},
      {"SequenceAt", 11, 2, 2, sequenceAt, /*takesSequence=*/true},
      {"SequenceConstruct", 11, 1, -1, sequenceConstruct},
      {"SplitToSequence", 11, 1, 2, splitToSequence},
  };
  return entries;
}

} // namespace tinh::onnx
