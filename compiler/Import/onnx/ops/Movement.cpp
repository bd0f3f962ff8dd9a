//===- Movement.cpp - Ops that pick, join and place elements ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Results concat(NodeBuilder &b) {
  if (!b.hasAttribute("axis") && b.opset() >= 4)
    return {b.fail("attribute axis is missing")};
  SmallVector<Value> inputs = b.inputs();
  if (b.failed())
    return {Value()};
  auto axis = b.axis(b.intAttribute("axis", 1), b.rank(inputs[0]));
  if (!axis)
    return {Value()};
  if (inputs.size() == 1)
    return {inputs[0]};
  return {b.create<graph::ConcatOp>(inputs, {b.attr("axis", *axis)})};
}

/// The sizes that Split cuts `extent` into.
std::optional<Ints> splitSizes(NodeBuilder &b, int64_t extent) {
  bool asInput = b.opset() >= 13 || b.opset() < 2;
  if (asInput && b.has(1))
    return b.ints(1, "split");
  if (b.opset() < 13 && b.hasAttribute("split"))
    return b.intsAttribute("split");
  int64_t count = b.numOutputs();
  int64_t named = b.intAttribute("num_outputs", count);
  if (named != count || count < 1) {
    b.fail("num_outputs is " + Twine(named) + ", but the node has " +
           Twine(count) + " outputs");
    return std::nullopt;
  }
  int64_t each = (extent + count - 1) / count;
  Ints sizes(count, each);
  sizes.back() = extent - each * (count - 1);
  return sizes;
}

Results split(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {Value()};
  int64_t extent = b.shape(x)[*axis];
  auto sizes = splitSizes(b, extent);
  if (!sizes)
    return {Value()};
  int64_t sum = 0;
  for (int64_t size : *sizes)
    sum = size < 0 || size > extent ? extent + 1 : sum + size;
  // Sizes that are written say how much of a bounded dimension there is.
  bool isWhole = b.graph.isBounded(x, *axis) ? sum <= extent : sum == extent;
  if (!isWhole || static_cast<int>(sizes->size()) != b.numOutputs())
    return {b.fail("cannot split " + Twine(extent) + " elements into " +
                   formatShape(*sizes) + " for " + Twine(b.numOutputs()) +
                   " outputs")};
  Results results;
  int64_t start = 0;
  for (int64_t size : *sizes) {
    results.push_back(b.sliceAxis(x, *axis, start, size));
    start += size;
  }
  return results;
}

struct SliceSpec {
  Ints starts, ends, axes, steps;
  /// Of ends that the run decides.
  SmallVector<Value> endSizes;
};

std::optional<SliceSpec> readSlice(NodeBuilder &b) {
  SliceSpec spec;
  if (b.opset() < 10) {
    spec.starts = b.intsAttribute("starts");
    spec.ends = b.intsAttribute("ends");
    spec.axes = b.intsAttribute("axes");
  } else {
    auto read = [&](int i, StringRef what, Ints &into) {
      if (!b.has(i))
        return true;
      auto values = b.ints(i, what);
      if (values)
        into = *values;
      return values.has_value();
    };
    auto ends = b.extents(2, "ends");
    if (!ends)
      return std::nullopt;
    spec.ends = ends->bounds;
    spec.endSizes = ends->sizes;
    if (!read(1, "starts", spec.starts) || !read(3, "axes", spec.axes) ||
        !read(4, "steps", spec.steps))
      return std::nullopt;
  }
  size_t count = spec.starts.size();
  if (spec.axes.empty())
    for (size_t i = 0; i < count; ++i)
      spec.axes.push_back(i);
  if (spec.steps.empty())
    spec.steps = Ints(count, 1);
  if (spec.ends.size() == count && spec.axes.size() == count &&
      spec.steps.size() == count)
    return spec;
  b.fail("starts, ends, axes and steps differ in length");
  return std::nullopt;
}

/// What `x` has its one element from.
Value withoutReshapes(Value x) {
  while (Operation *op = x.getDefiningOp()) {
    if (!isa<graph::ReshapeOp, graph::CastOp>(op))
      break;
    x = op->getOperand(0);
  }
  return x;
}

/// end - start, where that is known and they are not: end is start + n.
std::optional<int64_t> distance(NodeBuilder &b, Value start, Value end) {
  auto sum = withoutReshapes(end).getDefiningOp<graph::AddOp>();
  if (!sum)
    return std::nullopt;
  for (auto [from, by] :
       {std::pair(sum.getA(), sum.getB()), std::pair(sum.getB(), sum.getA())}) {
    auto known = b.graph.constantOf(by);
    if (known && known->getNumElements() == 1 &&
        withoutReshapes(from) == withoutReshapes(start))
      return denseToInts(*known)[0];
  }
  return std::nullopt;
}

/// A slice along one axis that starts where only a run knows, as a window that
/// a loop moves: so many elements from there on. Null if it is none.
Value movingSlice(NodeBuilder &b) {
  if (!b.has(1) || !b.has(2))
    return {};
  Value x = b.input(0), start = b.input(1), end = b.input(2);
  if (b.failed() || b.graph.constantOf(start) ||
      b.type(start).getNumElements() != 1)
    return {};
  auto size = distance(b, start, end);
  auto axes = b.has(3) ? b.ints(3, "axes") : Ints{0};
  auto steps = b.has(4) ? b.ints(4, "steps") : Ints{1};
  if (!size || *size < 0 || !axes || axes->size() != 1 || !steps ||
      *steps != Ints{1})
    return {};
  auto axis = b.axis(axes->front(), b.rank(x));
  Value first = b.cast(b.reshape(start, {1}), b.graph.raw().getI64Type());
  return axis ? b.gather(x, b.add(first, b.iota(*size)), *axis) : Value();
}

struct Span {
  int64_t start, end, step;
};

/// A slice along an axis whose size the run decides, or that ends where it says
/// (`end`, else null): elements are gathered, counted from the size.
Value sliceBounded(NodeBuilder &b, Value x, int64_t axis, Span span,
                   Value end) {
  Type i64 = b.graph.raw().getI64Type();
  int64_t extent = b.shape(x)[axis];
  if (span.step != 1)
    return b.fail("a slice by steps of " + Twine(span.step) +
                  " along dimension " + Twine(axis) +
                  ", whose size the run decides, is not supported");
  if (!end && span.start == 0 && span.end >= extent)
    return x;
  Value size = b.dimensionSize(x, axis);
  // Counts from the size if negative, and is cut to what exists.
  auto clamp = [&](Value at) {
    Value zero = b.scalar(i64, 0);
    at = b.where(b.compare(Predicate::Less, at, zero), b.add(at, size), at);
    return b.max(b.min(at, size), zero);
  };
  Value first = clamp(b.constantInts({}, span.start));
  Value last = clamp(end ? end : b.constantInts({}, span.end));
  Value count = b.max(b.sub(last, first), b.scalar(i64, 0));
  // How many elements there are at most.
  int64_t most = extent;
  if (span.start >= 0) // An end that the run decides may count from the size.
    most = std::max<int64_t>(
        std::min(extent, end || span.end < 0 ? extent : span.end) - span.start,
        0);
  else
    most = span.start < -extent ? extent : -span.start;
  b.graph.setBound(count, most);
  Value y = span.start == 0 ? b.sliceAxis(x, axis, 0, most)
                            : b.gather(x, b.add(b.iota(most), first), axis);
  return y ? b.setDimensionSize(y, axis, count) : Value();
}

Results slice(NodeBuilder &b) {
  Value x = b.input(0);
  if (Value moving = movingSlice(b))
    return {moving};
  auto spec = readSlice(b);
  if (!spec || !b.axes(spec->axes, b.rank(x)))
    return {Value()};
  Ints starts(b.rank(x), 0), sizes(b.shape(x)), steps(b.rank(x), 1);
  for (size_t i = 0; i < spec->starts.size(); ++i) {
    int64_t axis = *b.axis(spec->axes[i], b.rank(x));
    int64_t extent = b.shape(x)[axis], step = spec->steps[i];
    if (step == 0 || step < -INT64_MAX)
      return {b.fail("a step is " + Twine(step))};
    Value endByRun = i < spec->endSizes.size() ? spec->endSizes[i] : Value();
    if (b.graph.isBounded(x, axis) || endByRun) {
      x = sliceBounded(b, x, axis, {spec->starts[i], spec->ends[i], step},
                       endByRun);
      if (!x)
        return {Value()};
      sizes[axis] = b.shape(x)[axis];
      continue;
    }
    // Bounds count from the end if negative, and are cut to what exists.
    auto clamp = [&](int64_t at) {
      if (at < 0)
        at = at < -extent ? -1 : at + extent;
      int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
      return std::clamp(at, low, std::max(low, high));
    };
    int64_t start = clamp(spec->starts[i]), end = clamp(spec->ends[i]);
    if (step < 0 && start < 0)
      start = 0, end = 0;
    int64_t distance = step > 0 ? end - start : start - end;
    int64_t stride = step > 0 ? step : -step;
    int64_t size = distance <= 0 ? 0 : (distance - 1) / stride + 1;
    starts[axis] = size == 0 ? 0 : start;
    sizes[axis] = size;
    steps[axis] = size <= 1 ? 1 : step;
  }
  if (b.failed())
    return {Value()};
  if (sizes == Ints(b.shape(x)) && steps == Ints(b.rank(x), 1))
    return {x};
  Value y = b.create<graph::SliceOp>({x}, {b.attr("starts", starts),
                                           b.attr("sizes", sizes),
                                           b.attr("steps", steps)});
  return {y};
}

template <typename OpTy> Results gather(NodeBuilder &b) {
  Value x = b.input(0);
  auto axis = b.axis(b.intAttribute("axis", 0), b.rank(x));
  if (!axis)
    return {Value()};
  return {b.create<OpTy>({x, b.input(1)}, {b.attr("axis", *axis)})};
}

Results gatherNd(NodeBuilder &b) {
  Value x = b.input(0);
  return {b.create<graph::GatherNdOp>(
      {x, b.input(1)},
      {b.attr("batch_dims", b.intAttribute("batch_dims", 0))})};
}

struct PadSpec {
  Ints pads, axes;
  Value value;
};

/// Attributes before opset 11, then inputs; axes from opset 18 on.
std::optional<PadSpec> readPad(NodeBuilder &b, Value x) {
  PadSpec spec;
  if (b.opset() < 11) {
    spec.pads = b.intsAttribute(b.opset() < 2 ? "paddings" : "pads");
    spec.value = b.scalarLike(x, b.floatAttribute("value", 0));
  } else {
    auto pads = b.ints(1, "pads");
    if (!pads)
      return std::nullopt;
    spec.pads = *pads;
    spec.value = b.has(2) ? b.reshape(b.input(2), {}) : b.scalarLike(x, 0);
  }
  if (b.has(3)) {
    auto axes = b.ints(3, "axes");
    if (!axes)
      return std::nullopt;
    spec.axes = *axes;
  } else {
    for (int64_t i = 0; i < b.rank(x); ++i)
      spec.axes.push_back(i);
  }
  if (!spec.value || !b.axes(spec.axes, b.rank(x)))
    return std::nullopt;
  if (spec.pads.size() != 2 * spec.axes.size()) {
    b.fail("expected " + Twine(2 * spec.axes.size()) + " pads, found " +
           Twine(spec.pads.size()));
    return std::nullopt;
  }
  for (int64_t pad : spec.pads)
    if (pad < -(int64_t(1) << 40) || pad > int64_t(1) << 40) {
      b.fail("padding by " + Twine(pad) + " is out of range");
      return std::nullopt;
    }
  return spec;
}

Results pad(NodeBuilder &b) {
  Value x = b.input(0);
  std::string mode = b.stringAttribute("mode", "constant");
  auto kind = graph::symbolizePadMode(mode);
  if (!kind)
    return {b.fail("attribute mode: unknown value \"" + mode + "\"")};
  auto spec = readPad(b, x);
  if (!spec)
    return {Value()};
  Ints low(b.rank(x), 0), high(b.rank(x), 0);
  size_t count = spec->axes.size();
  for (size_t i = 0; i < count; ++i) {
    int64_t axis = *b.axis(spec->axes[i], b.rank(x));
    low[axis] = spec->pads[i];
    high[axis] = spec->pads[count + i];
  }
  return {b.create<graph::PadOp>(
      {x, spec->value},
      {b.attr("low", low), b.attr("high", high),
       b.attr("mode", graph::PadModeAttr::get(b.graph.context(), *kind))})};
}

Results trilu(NodeBuilder &b) {
  Value x = b.input(0);
  int64_t rank = b.rank(x);
  if (!b.hasRank(x, 2, "a tensor"))
    return {Value()};
  int64_t k = 0;
  if (b.has(1)) {
    auto given = b.ints(1, "k");
    if (!given)
      return {Value()};
    if (given->size() != 1)
      return {b.fail("k must be one number")};
    k = std::clamp<int64_t>(given->front(), -(int64_t(1) << 40),
                            int64_t(1) << 40);
  }
  int64_t rows = b.shape(x)[rank - 2], columns = b.shape(x)[rank - 1];
  Value row = b.reshape(b.iota(rows, k), {rows, 1});
  auto predicate = b.intAttribute("upper", 1) ? Predicate::GreaterEqual
                                              : Predicate::LessEqual;
  Value keep = b.compare(predicate, b.iota(columns), row);
  return {b.where(keep, x, b.scalarLike(x, 0))};
}

/// values = [off, on]
Results oneHot(NodeBuilder &b) {
  Value indices = b.input(0), values = b.input(2);
  auto given = b.integer(1, "depth");
  if (!given)
    return {Value()};
  int64_t depth = *given;
  auto axis = b.axis(b.intAttribute("axis", -1), b.rank(indices) + 1);
  if (!axis)
    return {Value()};
  if (depth < 1 || b.shape(values) != ArrayRef<int64_t>{2})
    return {b.fail("expected a positive depth and two values, found " +
                   Twine(depth) + " and " +
                   graph::shapeToString(values.getType()))};
  Type i64 = b.graph.raw().getI64Type();
  Value index = b.cast(indices, i64);
  Value fromEnd = b.add(index, b.scalar(i64, depth));
  Value isNegative = b.compare(Predicate::Less, index, b.scalar(i64, 0));
  index = b.where(isNegative, fromEnd, index);
  Ints shape(b.shape(indices));
  shape.insert(shape.begin() + *axis, 1);
  Ints along(shape.size(), 1);
  along[*axis] = depth;
  Value hot = b.compare(Predicate::Equal, b.reshape(index, shape),
                        b.reshape(b.iota(depth), along));
  Value off = b.reshape(b.sliceAxis(values, 0, 0, 1), {});
  Value on = b.reshape(b.sliceAxis(values, 0, 1, 1), {});
  return {b.where(hot, on, off)};
}

/// Checks rank 4 and the block size.
/// Crops or pads with zeros around the centre of some dimensions.
Results centerCropPad(NodeBuilder &b) {
  Value x = b.input(0);
  auto shape = b.ints(1, "the shape");
  if (!shape)
    return {Value()};
  Ints all = llvm::to_vector(llvm::seq<int64_t>(b.rank(x)));
  Ints axes = b.intsAttribute("axes", all), low(b.rank(x), 0), high(low);
  if (!b.axes(axes, b.rank(x)))
    return {Value()};
  if (axes.size() != shape->size())
    return {b.fail("expected " + Twine(axes.size()) + " extents, found " +
                   Twine(shape->size()))};
  for (auto [given, extent] : llvm::zip(axes, *shape)) {
    int64_t axis = *b.axis(given, b.rank(x));
    int64_t more = extent - b.shape(x)[axis];
    if (extent < 0 || more > int64_t(1) << 40)
      return {b.fail("an extent is " + Twine(extent))};
    // Of an odd number the larger half is at the end.
    low[axis] = more < 0 ? -(-more / 2) : more / 2;
    high[axis] = more - low[axis];
  }
  return {b.pad(x, b.scalarLike(x, 0), low, high)};
}

/// The blocks of an image.
struct Blocks {
  int64_t size = 0; ///< 0 after a failure.
  /// Whether the channels of a position in a block lie side by side (DCR).
  bool depthFirst = true;
};

Blocks readBlocks(NodeBuilder &b, Value x) {
  int64_t size = b.intAttribute("blocksize", 0);
  std::string mode = b.stringAttribute("mode", "DCR");
  if (b.rank(x) != 4 || size <= 0 || size >= (1 << 15))
    b.fail("expected an image of rank 4 and a positive blocksize, found " +
           graph::shapeToString(x.getType()) + " and " + Twine(size));
  else if (mode != "DCR" && mode != "CRD")
    b.fail("attribute mode: expected DCR or CRD, found \"" + mode + "\"");
  else
    return {size, mode == "DCR"};
  return {};
}

Results depthToSpace(NodeBuilder &b) {
  Value x = b.input(0);
  auto [block, depthFirst] = readBlocks(b, x);
  if (block == 0)
    return {Value()};
  ArrayRef<int64_t> s = b.shape(x);
  int64_t channels = s[1] / (block * block);
  Value y = depthFirst
                ? b.transpose(
                      b.reshape(x, {s[0], block, block, channels, s[2], s[3]}),
                      {0, 3, 4, 1, 5, 2})
                : b.transpose(
                      b.reshape(x, {s[0], channels, block, block, s[2], s[3]}),
                      {0, 1, 4, 2, 5, 3});
  return {b.reshape(y, {s[0], channels, s[2] * block, s[3] * block})};
}

Results spaceToDepth(NodeBuilder &b) {
  Value x = b.input(0);
  auto [block, depthFirst] = readBlocks(b, x);
  if (block == 0)
    return {Value()};
  ArrayRef<int64_t> s = b.shape(x);
  int64_t rows = s[2] / block, columns = s[3] / block;
  Ints order = depthFirst ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4};
  Value y = b.transpose(b.reshape(x, {s[0], s[1], rows, block, columns, block}),
                        order);
  return {b.reshape(y, {s[0], s[1] * block * block, rows, columns})};
}

} // namespace

OpFamily movementOps() {
  return {{"CenterCropPad", centerCropPad},
          {"Concat", concat},
          {"DepthToSpace", depthToSpace},
          {"Gather", gather<graph::GatherOp>},
          {"GatherElements", gather<graph::GatherElementsOp>},
          {"GatherND", gatherNd},
          {"OneHot", oneHot},
          {"Pad", pad},
          {"Slice", slice},
          {"SpaceToDepth", spaceToDepth},
          {"Split", split},
          {"Trilu", trilu}};
}

} // namespace tinh::onnx
