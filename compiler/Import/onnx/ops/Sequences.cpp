//===- Sequences.cpp - Known sequences, and optionals -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PyTorch writes torch.split and torch.chunk as sequences from which tensors
// are taken by constant positions. What makes a sequence says which tensors are
// in it, so that all that is done with one is done when the model is imported.
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

/// A result that is no tensor, or may be none.
Results give(NodeBuilder &b, Operand result) {
  b.operandResults = {std::move(result)};
  return {};
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
  return give(b, {{}, std::move(pieces)});
}

/// Whether a tensor has elements like those of another in a sequence.
bool checkElement(NodeBuilder &b, Value tensor, Value other) {
  if (b.element(tensor) == b.element(other))
    return true;
  b.fail("the tensors of a sequence have one element type, found " +
         graph::shapeToString(tensor.getType()) + " and " +
         graph::shapeToString(other.getType()));
  return false;
}

Results sequenceConstruct(NodeBuilder &b) {
  SmallVector<Value> tensors = b.inputs();
  if (b.failed())
    return {Value()};
  for (Value tensor : tensors)
    if (!checkElement(b, tensor, tensors.front()))
      return {Value()};
  return give(b, {{}, Sequence(tensors.begin(), tensors.end())});
}

Results sequenceEmpty(NodeBuilder &b) { return give(b, {{}, Sequence()}); }

/// The position in a sequence that input `i` says, from its end if it is
/// negative, or right behind it if `orEnd`; the last one if there is no input.
std::optional<size_t> positionIn(NodeBuilder &b, int i,
                                 const Sequence &sequence, bool orEnd = false) {
  auto count = static_cast<int64_t>(sequence.size()), limit = count + orEnd;
  std::optional<int64_t> position = limit - 1;
  if (b.has(i))
    position = b.integer(i, "the position");
  if (!position)
    return std::nullopt;
  if (*position >= -count && *position < limit)
    return *position < 0 ? *position + count : *position;
  b.fail("there is no position " + Twine(*position) + " in a sequence of " +
         Twine(count));
  return std::nullopt;
}

Results sequenceInsert(NodeBuilder &b) {
  std::optional<Sequence> sequence = b.sequence(0);
  Value tensor = b.input(1);
  if (!sequence || !tensor)
    return {Value()};
  size_t count = sequence->size();
  auto position = positionIn(b, 2, *sequence, /*orEnd=*/true);
  if (!position || (count > 0 && !checkElement(b, tensor, sequence->front())))
    return {Value()};
  if (count >= kMostTensors)
    return {b.fail("a sequence would have more than " + Twine(kMostTensors) +
                   " tensors")};
  sequence->insert(sequence->begin() + *position, tensor);
  return give(b, {{}, std::move(sequence)});
}

Results sequenceErase(NodeBuilder &b) {
  std::optional<Sequence> sequence = b.sequence(0);
  if (!sequence)
    return {Value()};
  auto position = positionIn(b, 1, *sequence);
  if (!position)
    return {Value()};
  sequence->erase(sequence->begin() + *position);
  return give(b, {{}, std::move(sequence)});
}

Results sequenceLength(NodeBuilder &b) {
  std::optional<Sequence> sequence = b.sequence(0);
  if (!sequence)
    return {Value()};
  return {b.constantInts({}, static_cast<int64_t>(sequence->size()))};
}

/// Along an axis of the tensors, or along a new one.
Results concatFromSequence(NodeBuilder &b) {
  std::optional<Sequence> sequence = b.sequence(0);
  if (!sequence)
    return {Value()};
  if (sequence->empty())
    return {b.fail("a sequence of 0 tensors has nothing to concatenate")};
  if (!b.hasAttribute("axis"))
    return {b.fail("attribute axis is missing")};
  bool isNew = b.intAttribute("new_axis", 0) != 0;
  auto axis = b.axis(b.intAttribute("axis", 0),
                     b.rank(sequence->front()) + (isNew ? 1 : 0));
  if (!axis)
    return {Value()};
  SmallVector<Value> parts(sequence->begin(), sequence->end());
  if (isNew)
    for (Value &part : parts) {
      Ints shape(b.shape(part));
      if (shape.size() < static_cast<size_t>(*axis))
        return {b.fail("the tensors have other ranks: " +
                       graph::shapeToString(sequence->front().getType()) +
                       " and " + graph::shapeToString(part.getType()))};
      shape.insert(shape.begin() + *axis, 1);
      part = b.reshape(part, shape);
    }
  return {b.concat(parts, *axis)};
}

Results sequenceAt(NodeBuilder &b) {
  std::optional<Sequence> sequence = b.sequence(0);
  if (!sequence)
    return {Value()};
  auto position = positionIn(b, 1, *sequence);
  return {position ? (*sequence)[*position] : Value()};
}

/// A tensor, a sequence or an optional as it is.
Results identity(NodeBuilder &b) {
  std::optional<Operand> operand = b.operand(0);
  if (!operand)
    return {Value()};
  return give(b, std::move(*operand));
}

Results optionalElement(NodeBuilder &b) {
  std::optional<Operand> operand = b.operand(0);
  if (operand && operand->isAbsent())
    return {b.fail("input 0 is an optional that has nothing")};
  return identity(b);
}

Results optionalHasElement(NodeBuilder &b) {
  std::optional<Operand> operand = b.operand(0);
  if (!operand)
    return {Value()};
  return {b.scalar(b.graph.raw().getI1Type(), operand->isAbsent() ? 0 : 1)};
}

} // namespace

OpFamily sequenceOps() {
  return {{"ConcatFromSequence", concatFromSequence, {}, Takes::Sequence},
          {"Identity", identity, {}, Takes::Sequence},
          {"Optional", identity, {}, Takes::Sequence},
          {"OptionalGetElement", optionalElement, {}, Takes::Sequence},
          {"OptionalHasElement", optionalHasElement, {}, Takes::Sequence},
          {"SequenceAt", sequenceAt, {}, Takes::Sequence},
          {"SequenceConstruct", sequenceConstruct},
          {"SequenceEmpty", sequenceEmpty},
          {"SequenceErase", sequenceErase, {}, Takes::Sequence},
          {"SequenceInsert", sequenceInsert, {}, Takes::Sequence},
          {"SequenceLength", sequenceLength, {}, Takes::Sequence},
          {"SplitToSequence", splitToSequence}};
}

} // namespace tinh::onnx
