//===- Shapes.cpp - Ops on the shape alone ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "dialects/graph/Dimensions.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Whether each dimension whose size the run decides goes where the model
/// leaves an extent open: by -1, by a size or by the 0 of the same dimension. A
/// number is an extent, which the bound may equal by chance.
bool keepsSizes(NodeBuilder &b, Value x, const Extents &extents,
                ArrayRef<int64_t> to) {
  auto isOpen = [&](int64_t t, int64_t from) {
    int64_t written = extents.bounds[t];
    return extents.sizes[t] || written == -1 || (written == 0 && t == from);
  };
  for (const graph::ReshapedRun &run : graph::reshapedRuns(b.shape(x), to)) {
    bool isBounded = false;
    for (int64_t d = run.fromBegin; d < run.fromEnd; ++d)
      isBounded |= b.graph.isBounded(x, d);
    if (!isBounded)
      continue;
    bool isKept = isOpen(run.toBegin, run.fromBegin);
    for (int64_t t = run.toBegin + 1; t < run.toEnd; ++t)
      isKept &= !isOpen(t, -1);
    if (!isKept) {
      b.fail("the run decides the size of dimension " + Twine(run.fromBegin) +
             " of " + graph::shapeToString(x.getType()) + ", which the shape " +
             formatShape(extents.bounds) + " does not leave to it");
      return false;
    }
  }
  return true;
}

/// 0 keeps the input's extent (unless allowzero), -1 is what remains.
Results reshape(NodeBuilder &b) {
  Value x = b.input(0);
  std::optional<Extents> extents =
      b.opset() < 5 ? Extents::constants(b.intsAttribute("shape"))
                    : b.extents(1, "the shape");
  if (!extents || b.failed())
    return {Value()};
  const Ints *wanted = &extents->bounds;
  bool keepZero = b.opset() >= 14 && b.intAttribute("allowzero", 0);
  ArrayRef<int64_t> from = b.shape(x);
  Ints to = *wanted;
  int64_t open = -1;
  for (auto [i, extent] : llvm::enumerate(to)) {
    if (extent == 0 && !keepZero) {
      if (i >= from.size())
        return {b.fail("the shape " + formatShape(*wanted) +
                       " keeps dimension " + Twine(i) + ", which " +
                       graph::shapeToString(x.getType()) + " lacks")};
      extent = from[i];
    } else if (extent == -1 && open < 0) {
      open = i;
    } else if (extent < 0) {
      return {b.fail("malformed shape " + formatShape(*wanted))};
    }
  }
  int64_t elements = b.type(x).getNumElements();
  if (open >= 0) {
    to[open] = 1;
    int64_t others = countElements(to).value_or(0);
    if (others == 0 || elements % others)
      return {b.fail("cannot reshape " + graph::shapeToString(x.getType()) +
                     " to " + formatShape(*wanted))};
    to[open] = elements / others;
  }
  if (countElements(to) != elements)
    return {b.fail("cannot reshape " + graph::shapeToString(x.getType()) +
                   " (" + Twine(elements) + " elements) to " +
                   formatShape(*wanted))};
  if (!keepsSizes(b, x, *extents, to))
    return {Value()};
  return {b.withSizes(b.reshape(x, to), *extents)};
}

Results flatten(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x), axis = b.intAttribute("axis", 1);
  if (axis < -rank || axis > rank)
    return {b.fail("axis " + Twine(axis) + " is outside a tensor of rank " +
                   Twine(rank))};
  if (axis < 0)
    axis += rank;
  int64_t rows = *countElements(b.shape(x).take_front(axis));
  int64_t columns = *countElements(b.shape(x).drop_front(axis));
  return {b.reshape(x, {rows, columns})};
}

/// The axes of input 0, or of the result if they are new: an attribute before
/// opset 13, then an input. None if they are missing or wrong.
std::optional<Ints> readAxes(NodeBuilder &b, bool areNew) {
  bool isAttribute = b.opset() < 13;
  if (!(isAttribute ? b.hasAttribute("axes") : b.has(1)))
    return std::nullopt;
  auto given = isAttribute ? b.intsAttribute("axes") : b.ints(1, "axes");
  if (!given)
    return std::nullopt;
  return b.axes(*given, b.rank(b.input(0)) + (areNew ? given->size() : 0));
}

Results squeeze(NodeBuilder &b) {
  Value x = b.input(0);
  auto axes = readAxes(b, /*areNew=*/false);
  if (b.failed())
    return {Value()};
  Ints to;
  for (auto [i, extent] : llvm::enumerate(b.shape(x))) {
    bool dropped =
        axes ? llvm::is_contained(*axes, static_cast<int64_t>(i)) : extent == 1;
    if (dropped && extent != 1)
      return {b.fail("dimension " + Twine(i) + " of " +
                     graph::shapeToString(x.getType()) +
                     " is not 1 and cannot be squeezed")};
    if (!dropped)
      to.push_back(extent);
  }
  return {b.reshape(x, to)};
}

Results unsqueeze(NodeBuilder &b) {
  Value x = b.input(0);
  auto axes = readAxes(b, /*areNew=*/true);
  if (!axes)
    return {b.failed() ? Value() : b.fail("axes are missing")};
  Ints to(b.shape(x));
  for (int64_t axis : *axes)
    to.insert(to.begin() + axis, 1);
  return {b.reshape(x, to)};
}

Results shapeOf(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  auto clamp = [&](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank);
  };
  int64_t start = clamp(b.intAttribute("start", 0));
  int64_t end = std::max(start, clamp(b.intAttribute("end", rank)));
  ArrayRef<int64_t> part = b.shape(x).slice(start, end - start);
  if (!b.graph.isBounded(x))
    return {b.constantInts({end - start}, part)};
  SmallVector<Value> sizes;
  for (int64_t d = start; d < end; ++d)
    sizes.push_back(b.reshape(b.dimensionSize(x, d), {1}));
  return {sizes.empty() ? b.constantInts({0}, {}) : b.concat(sizes, 0)};
}

Results sizeOf(NodeBuilder &b) {
  Value x = b.input(0);
  if (!b.graph.isBounded(x))
    return {b.constantInts({}, b.type(x).getNumElements())};
  Value size = b.constantInts({}, 1);
  for (int64_t d = 0; d < b.rank(x); ++d)
    size = b.mul(size, b.dimensionSize(x, d));
  return {size};
}

Results expand(NodeBuilder &b) {
  Value x = b.input(0);
  auto wanted = b.extents(1, "the shape");
  if (!wanted)
    return {Value()};
  auto to = graph::broadcastShapes({b.shape(x), wanted->bounds});
  if (!to)
    return {b.fail("cannot expand " + graph::shapeToString(x.getType()) +
                   " to " + formatShape(wanted->bounds))};
  return {b.withSizes(b.broadcast(x, *to), *wanted)};
}

/// How often each dimension is repeated. Before operator set 6 one dimension
/// was, whose number is an input.
std::optional<Ints> readRepeats(NodeBuilder &b, Value x) {
  if (b.opset() >= 6)
    return b.ints(1, "repeats");
  auto tiles = b.integer(1, "tiles"), number = b.integer(2, "axis");
  auto axis = tiles && number ? b.axis(*number, b.rank(x)) : std::nullopt;
  if (!axis)
    return std::nullopt;
  Ints repeats(b.rank(x), 1);
  repeats[*axis] = *tiles;
  return repeats;
}

/// [a, b] repeated (r, s) times: [1, a, 1, b] -> [r, a, s, b] -> [ra, sb].
Results tile(NodeBuilder &b) {
  Value x = b.input(0);
  auto repeats = readRepeats(b, x);
  if (!repeats)
    return {Value()};
  ArrayRef<int64_t> shape = b.shape(x);
  if (repeats->size() != shape.size())
    return {b.fail("expected " + Twine(shape.size()) + " repeats for " +
                   graph::shapeToString(x.getType()) + ", found " +
                   Twine(repeats->size()))};
  Ints spread, repeated, to;
  for (auto [extent, count] : llvm::zip(shape, *repeats)) {
    if (count < 0 || count > int64_t(1) << 40)
      return {b.fail("cannot repeat " + Twine(count) + " times")};
    if (count != 1) {
      spread.push_back(1);
      repeated.push_back(count);
    }
    spread.push_back(extent);
    repeated.push_back(extent);
    to.push_back(static_cast<int64_t>(static_cast<uint64_t>(extent) * count));
  }
  return {b.reshape(b.broadcast(b.reshape(x, spread), repeated), to)};
}

Results transpose(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  Ints reversed;
  for (int64_t i = rank - 1; i >= 0; --i)
    reversed.push_back(i);
  Ints permutation = b.intsAttribute("perm", reversed);
  auto sorted = b.axes(permutation, rank);
  if (!sorted)
    return {Value()};
  if (static_cast<int64_t>(sorted->size()) != rank)
    return {b.fail("perm " + formatShape(permutation) +
                   " does not fit a tensor of rank " + Twine(rank))};
  for (int64_t &axis : permutation)
    axis += axis < 0 ? rank : 0;
  return {b.transpose(x, permutation)};
}

} // namespace

OpFamily shapeOps() {
  return {{"Expand", expand},
          {"Flatten", flatten},
          {"Reshape", reshape, {1, 1, 1}},
          {"Reshape", reshape, {5, 2, 2}},
          {"Shape", shapeOf},
          {"Size", sizeOf},
          {"Squeeze", squeeze},
          {"Tile", tile, {1, 3, 3}},
          {"Tile", tile, {6, 2, 2}},
          {"Transpose", transpose},
          {"Unsqueeze", unsqueeze}};
}

} // namespace tinh::onnx
