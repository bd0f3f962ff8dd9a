//===- StringOps.cpp - Strings ----------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What moves strings is done with their places, which are numbers: the strings
// are then gathered.
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/InputSizes.h"
#include "compiler/Import/onnx/strings/Strings.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// All strings that a node reads, one below the other, and the place there of
/// each of its inputs' strings.
struct Places {
  Value strings;
  llvm::StringMap<Value> ofInput;
};

Places placesOfInputs(NodeBuilder &b) {
  Places places;
  int64_t width = 1, count = 0;
  for (int i = 0; i < b.numInputs(); ++i)
    if (b.isString(i))
      width = std::max(width, stringWidth(b.strings(i)));
  SmallVector<Value> parts;
  for (int i = 0; i < b.numInputs() && !b.failed(); ++i) {
    if (!b.isString(i) || places.ofInput.contains(b.node.proto->input(i)))
      continue;
    Value bytes = b.strings(i);
    ArrayRef<int64_t> shape = stringShape(bytes);
    int64_t own = *countElements(shape);
    places.ofInput[b.node.proto->input(i)] =
        withSizesOf(b, b.reshape(b.iota(own, count), shape), bytes);
    parts.push_back(
        b.reshape(withWidth(b, withoutSizes(b, bytes), width), {own, width}));
    count += own;
  }
  if (count == 0) // Something has to be there to gather nothing from.
    parts = {withWidth(b, constantStrings(b, 1, {""}), width)};
  places.strings = b.concat(parts, 0);
  return places;
}

/// The input of this name; -1 if it is none.
int inputOf(NodeBuilder &b, StringRef name) {
  for (int i = 0; i < b.numInputs(); ++i)
    if (b.node.proto->input(i) == name)
      return i;
  return -1;
}

/// Whether an input of a move is what moves. All others say where to.
bool isMoved(StringRef op, int i) {
  if (op == "Where")
    return i > 0;
  return i == 0 || op == "Concat" || (op.starts_with("Scatter") && i == 2);
}

/// Numbers beside strings would be taken for places of these.
bool checkMoved(NodeBuilder &b) {
  for (int i = 0; i < b.numInputs() && !b.failed(); ++i)
    if (b.has(i))
      isMoved(b.op(), i) ? b.strings(i) : b.input(i);
  return !b.failed();
}

Results moveStrings(NodeBuilder &b) {
  if (b.stringAttribute("reduction", "none") != "none")
    return {b.fail("strings cannot be reduced")};
  if (!checkMoved(b))
    return {Value()};
  Places places = placesOfInputs(b);
  if (b.failed())
    return {Value()};
  auto lookup = [&](StringRef name) {
    Value place = places.ofInput.lookup(name);
    return place ? place : b.input(inputOf(b, name));
  };
  auto findOperand = [&](StringRef name) -> std::optional<Operand> {
    Value place = places.ofInput.lookup(name);
    return place ? Operand{place, {}} : b.operand(inputOf(b, name));
  };
  auto findType = [&](StringRef name) { return b.inputType(inputOf(b, name)); };
  NodeBuilder ofPlaces(b.graph, b.node, b.file, lookup, findOperand, findType);
  std::string unknown = findUnknownSize(ofPlaces);
  if (!unknown.empty())
    return {b.fail(unknown)};
  const OpEntry *entry = findOp(b.node.domain(), b.op(), b.opset());
  Results moved = entry->build(ofPlaces);
  if (ofPlaces.failed() || b.failed() || llvm::is_contained(moved, Value()))
    return {b.fail(ofPlaces.takeError())};
  if (b.op() == "Shape" || b.op() == "Size")
    return moved;
  b.operandResults.emplace();
  for (Value place : moved)
    b.operandResults->push_back(
        {b.gather(places.strings, place, 0), {}, /*isString=*/true});
  return {};
}

//===----------------------------------------------------------------------===//
// Equal, StringConcat
//===----------------------------------------------------------------------===//

Results equalStrings(NodeBuilder &b) {
  return {areEqual(b, b.strings(0), b.strings(1))};
}

/// The bytes of the second string are read from where the first one ends.
Results stringConcat(NodeBuilder &b) {
  Value x = b.strings(0), y = b.strings(1);
  if (b.failed())
    return {Value()};
  int64_t own = stringWidth(y), width = stringWidth(x) + own;
  if (std::string wrong = checkStringLength(width); !wrong.empty())
    return {b.fail(wrong)};
  auto shape = graph::broadcastShapes({stringShape(x), stringShape(y)});
  if (!shape)
    return {b.fail("cannot broadcast strings of the shapes " +
                   formatShape(stringShape(x)) + " and " +
                   formatShape(stringShape(y)))};
  Ints wide(*shape), ends(*shape);
  wide.push_back(own);
  y = b.broadcast(y, wide);
  wide.back() = stringWidth(x);
  x = b.broadcast(x, wide);
  if (b.failed())
    return {Value()};
  Type i64 = b.graph.raw().getI64Type();
  wide.back() = width;
  ends.push_back(1);
  Value zero = b.scalar(i64, 0);
  Value place = b.sub(b.iota(width), b.reshape(stringLengths(b, x), ends));
  Value last = b.scalar(i64, static_cast<double>(own - 1));
  Value read = b.create<graph::GatherElementsOp>(
      {y, b.max(b.min(place, last), zero)},
      {b.attr("axis", static_cast<int64_t>(shape->size()))});
  Value isFirst = b.compare(Predicate::Less, place, zero);
  Value isBehind = b.compare(Predicate::Greater, place, last);
  return giveStrings(b, b.where(isFirst, withWidth(b, x, width),
                                b.where(isBehind, b.scalarLike(y, 0), read)));
}

} // namespace

bool isMove(const OpEntry &entry) { return entry.build == moveStrings; }

std::optional<OpEntry> findOpOnStrings(StringRef domain, StringRef name,
                                       int64_t opset) {
  static constexpr StringLiteral kMoves[] = {
      "Compress",     "Concat",          "DepthToSpace",   "Expand",
      "Flatten",      "Gather",          "GatherElements", "GatherND",
      "Reshape",      "ReverseSequence", "Scatter",        "ScatterElements",
      "ScatterND",    "Shape",           "Size",           "Slice",
      "SpaceToDepth", "Split",           "Squeeze",        "Tile",
      "Transpose",    "Unsqueeze",       "Where"};
  bool isMove = domain == "ai.onnx.ml"
                    ? name == "ArrayFeatureExtractor"
                    : domain.empty() && llvm::is_contained(kMoves, name);
  bool isEqual = domain.empty() && name == "Equal";
  const OpEntry *ofNumbers =
      isMove || isEqual ? findOp(domain, name, opset) : nullptr;
  if (!ofNumbers)
    return std::nullopt;
  OpEntry entry = *ofNumbers;
  entry.build = isEqual ? equalStrings : moveStrings;
  entry.takes = Takes::Strings;
  return entry;
}

OpFamily stringOps() {
  return {{"RegexFullMatch", regexFullMatch, {}, Takes::Strings},
          {"StringConcat", stringConcat, {}, Takes::Strings},
          {"StringNormalizer", stringNormalizer, {}, Takes::Strings},
          {"StringSplit", stringSplit, {}, Takes::Strings}};
}

} // namespace tinh::onnx
