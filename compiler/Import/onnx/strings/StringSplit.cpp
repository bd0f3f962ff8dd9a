//===- StringSplit.cpp - Strings cut at delimiters ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Of each part the bytes at which it begins and ends are found; how many parts
// there are at most in any string, the run decides.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/strings/Automaton.h"
#include "compiler/Import/onnx/strings/CodePoints.h"
#include "compiler/Import/onnx/strings/Strings.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

class Splitter {
public:
  Splitter(NodeBuilder &b, Value bytes, std::optional<int64_t> most)
      : b(b), bytes(bytes), i64(b.graph.raw().getI64Type()), most(most),
        lengths(stringLengths(b, bytes)) {}

  void atWhiteSpace();
  void at(const std::string &delimiter);
  /// The parts [shape…, parts, width].
  Value parts();
  /// How many there are, [shape…].
  Value counts;

private:
  Value number(int64_t value) {
    return b.scalar(i64, static_cast<double>(value));
  }
  int64_t axis() { return b.rank(bytes) - 1; }
  /// How many marks there are up to each byte.
  Value sums(Value isMarked) {
    return b.create<graph::CumsumOp>({b.cast(isMarked, i64)},
                                     {b.attr("axis", axis())});
  }
  /// The byte of each part's mark, counted from that of the first part:
  /// [shape…, parts]; the width, if there is none.
  Value findMarks(Value sums, int64_t first);
  Value withDimension(Value x, int64_t at);
  void setParts(int64_t bound) {
    count = most ? std::min(bound, *most + 1) : bound;
  }
  /// Ends of the last part that there may be: that of the string.
  Value endLast(Value ends);

  NodeBuilder &b;
  Value bytes;
  Type i64;
  std::optional<int64_t> most; ///< How often a string is cut.
  Value lengths;               ///< [shape…]
  int64_t count = 0;           ///< The bound of the parts.
  Value starts, ends;          ///< [shape…, parts]
};

Value Splitter::withDimension(Value x, int64_t at) {
  if (!x)
    return {};
  Ints shape(b.shape(x));
  shape.insert(shape.begin() + at, 1);
  return b.reshape(x, shape);
}

/// Bytes with fewer marks than a part's own are before it.
Value Splitter::findMarks(Value sums, int64_t first) {
  Value wanted = b.reshape(b.iota(count, first), {count, 1});
  Value isBefore =
      b.compare(Predicate::Less, withDimension(sums, axis()), wanted);
  return isBefore ? b.reduce(Kind::Sum, b.cast(isBefore, i64), axis() + 1,
                             /*keepdims=*/false)
                  : Value();
}

Value Splitter::endLast(Value ends) {
  if (!most || *most >= count)
    return ends;
  Value isLast = b.compare(Predicate::Equal, b.iota(count), number(*most));
  return b.where(isLast, withDimension(lengths, axis()), ends);
}

/// Parts are runs of other bytes, so that none is empty.
void Splitter::atWhiteSpace() {
  int64_t width = stringWidth(bytes);
  setParts((width + 1) / 2);
  // One is told from other dimensions of one when it is reshaped.
  count = std::max<int64_t>(count, 2);
  Value isIn =
      b.compare(Predicate::Less, b.iota(width), withDimension(lengths, axis()));
  Value isPart = b.create<graph::AndOp>(
      {isIn, b.create<graph::NotOp>({isWhiteSpace(b, bytes)})});
  // Whether a byte is part of one, and the byte so far from it is of none.
  auto isEdge = [&](int64_t places) {
    Value ones = b.cast(isPart, i64);
    Value beside = movedBy(b, ones, places);
    return b.compare(Predicate::Greater, ones, beside);
  };
  Value begun = sums(isEdge(1)), ended = sums(isEdge(-1));
  if (b.failed())
    return;
  counts = b.reduce(Kind::Max, begun, axis(), /*keepdims=*/false);
  if (most)
    counts = b.min(counts, number(*most + 1));
  starts = findMarks(begun, 1);
  Value lastByte = findMarks(ended, 1);
  ends = endLast(b.add(lastByte, number(1)));
  Value isThere = b.compare(Predicate::Less, starts, number(width));
  ends = b.where(isThere, ends, number(0));
}

/// Each delimiter ends a part, and the end of the string the last one.
void Splitter::at(const std::string &delimiter) {
  auto size = static_cast<int64_t>(delimiter.size());
  int64_t width = stringWidth(bytes);
  setParts(width / size + 1);
  Value isEnd;
  if (size > width) { // No string has it.
    isEnd = b.broadcast(b.scalar(b.graph.raw().getI1Type(), 0), b.shape(bytes));
  } else if (size == 1) {
    isEnd =
        b.compare(Predicate::Equal, bytes,
                  b.scalarLike(bytes, static_cast<uint8_t>(delimiter.front())));
  } else {
    Automaton automaton = findWord(delimiter);
    Value states = traceAutomaton(b, automaton, bytes);
    Value isIn = b.compare(Predicate::Less, b.iota(width),
                           withDimension(lengths, axis()));
    isEnd = b.create<graph::AndOp>({areAccepting(b, automaton, states), isIn});
  }
  Value delimiters = sums(isEnd);
  if (b.failed())
    return;
  Value found = b.reduce(Kind::Max, delimiters, axis(), /*keepdims=*/false);
  if (most)
    found = b.min(found, number(*most));
  counts = b.add(found, number(1));
  // The first part begins at byte 0, which no delimiter is before.
  Value before = findMarks(delimiters, 0), behind = findMarks(delimiters, 1);
  starts = b.add(before, b.min(b.iota(count), number(1)));
  Value isThere = b.compare(Predicate::Less, behind, number(width));
  ends = endLast(b.where(isThere, b.sub(behind, number(size - 1)),
                         withDimension(lengths, axis())));
}

Value Splitter::parts() {
  if (b.failed())
    return {};
  int64_t width = stringWidth(bytes);
  Ints wide(stringShape(bytes));
  wide.append({count, width});
  Value all = b.broadcast(withDimension(bytes, axis()), wide);
  Value place = b.add(withDimension(starts, axis() + 1), b.iota(width));
  Value isPart =
      b.compare(Predicate::Less, place, withDimension(ends, axis() + 1));
  Value read = b.create<graph::GatherElementsOp>(
      {all, b.min(place, number(width - 1))}, {b.attr("axis", axis() + 1)});
  return b.where(isPart, read, b.scalarLike(read, 0));
}

/// The largest of all counts; 0 of none.
Value largestOf(NodeBuilder &b, Value counts) {
  Ints axes = llvm::to_vector(llvm::seq<int64_t>(b.rank(counts)));
  return b.reduce(Kind::Max, counts, axes, /*keepdims=*/false);
}

} // namespace

Results stringSplit(NodeBuilder &b) {
  Value x = b.strings(0);
  std::string delimiter = b.stringAttribute("delimiter", "");
  std::optional<int64_t> most;
  if (b.hasAttribute("maxsplit") && b.intAttribute("maxsplit", -1) >= 0)
    most = b.intAttribute("maxsplit", -1);
  if (b.failed())
    return {Value()};
  auto rank = static_cast<int64_t>(stringShape(x).size());
  if (countElements(stringShape(x)) == 0) {
    Ints shape(stringShape(x));
    Value none = b.broadcast(b.constantInts({}, 0), shape);
    shape.push_back(0);
    return giveStrings(b, constantStrings(b, shape, {}), {none});
  }
  Value bytes = withoutSizes(b, x);
  Splitter splitter(b, bytes, most);
  if (delimiter.empty())
    splitter.atWhiteSpace();
  else
    splitter.at(delimiter);
  Value parts = splitter.parts();
  if (!parts)
    return {Value()};
  // Empty strings of padding have a part, too, if the delimiter is given.
  Value counts = withSizesOf(b, splitter.counts, x);
  int64_t bound = b.shape(parts)[rank];
  Value largest = largestOf(b, counts);
  if (!largest)
    return {Value()};
  parts = withSizesOf(b, parts, x);
  if (bound > 1) {
    b.graph.setBound(largest, bound);
    parts = b.setDimensionSize(parts, rank, largest);
  }
  return giveStrings(b, parts, {counts});
}

} // namespace tinh::onnx
