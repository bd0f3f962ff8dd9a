//===- Pooling.cpp - Sliding windows and pools ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/OpTable.h"
#include "compiler/Import/onnx/Schemas.h"
#include "compiler/Import/onnx/ops/Windows.h"

#include <cmath>

using namespace mlir;

namespace tinh::onnx {

namespace {

bool readList(NodeBuilder &b, StringRef name, size_t size, int64_t smallest,
              Ints &list) {
  list = b.intsAttribute(name, std::move(list));
  if (list.size() != size) {
    b.fail("attribute " + name + ": expected " + Twine(size) + " numbers for " +
           Twine(b.rank(b.input(0)) - 2) + " spatial dimensions, found " +
           Twine(list.size()));
    return false;
  }
  for (int64_t value : list)
    if (value < smallest || value > kLargestNumber) {
      b.fail("attribute " + name + ": " + Twine(value) + " is out of range");
      return false;
    }
  return !b.failed();
}

/// SAME: the output has ceil(extent / stride) elements; an odd element of
/// padding goes to the end (UPPER) or the begin (LOWER).
void padSame(Windows &w, ArrayRef<int64_t> extents, bool upper) {
  size_t rank = extents.size();
  for (size_t i = 0; i < rank; ++i) {
    int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    int64_t outputs = (extents[i] + w.strides[i] - 1) / w.strides[i];
    int64_t total = std::max<int64_t>(0, (outputs - 1) * w.strides[i] + window -
                                             extents[i]);
    int64_t less = total / 2, more = total - less;
    w.padding[i] = upper ? less : more;
    w.padding[rank + i] = upper ? more : less;
  }
}

/// Rounding up the number of windows is more padding at the end. A window
/// that would start in that padding is left out.
void padCeil(Windows &w, ArrayRef<int64_t> extents) {
  size_t rank = extents.size();
  for (size_t i = 0; i < rank; ++i) {
    int64_t window = (w.kernel[i] - 1) * w.dilations[i] + 1;
    int64_t begin = w.padding[i];
    int64_t padded = extents[i] + begin + w.padding[rank + i];
    if (padded < window)
      continue;
    int64_t steps = (padded - window + w.strides[i] - 1) / w.strides[i];
    if (steps * w.strides[i] >= extents[i] + begin)
      --steps;
    int64_t extra = steps * w.strides[i] + window - padded;
    if (extra <= 0)
      continue;
    w.padding[rank + i] += extra;
    w.ceilPadding[i] = extra;
  }
}

/// Reads kernel_shape, which convolutions may leave to the weights.
bool readKernel(NodeBuilder &b, size_t rank, ArrayRef<int64_t> kernel,
                Windows &w) {
  w.kernel = Ints(kernel);
  if (kernel.empty() && !b.hasAttribute("kernel_shape")) {
    b.fail("attribute kernel_shape is missing");
    return false;
  }
  if (!readList(b, "kernel_shape", rank, 1, w.kernel))
    return false;
  if (kernel.empty() || ArrayRef<int64_t>(w.kernel) == kernel)
    return true;
  b.fail("attribute kernel_shape " + formatShape(w.kernel) +
         " differs from the weights' " + formatShape(kernel));
  return false;
}

SmallVector<NamedAttribute> windowAttributes(NodeBuilder &b, const Windows &w) {
  return {b.attr("kernel", w.kernel), b.attr("strides", w.strides),
          b.attr("padding", w.padding), b.attr("dilations", w.dilations),
          b.channelsFirst()};
}

Results averagePoolNode(NodeBuilder &b) { return {averagePool(b, b.input(0))}; }

/// The p of a norm, which was no integer at first.
double normOrder(NodeBuilder &b) {
  return b.opset() < 2 ? b.floatAttribute("p", 2)
                       : static_cast<double>(b.intAttribute("p", 2));
}

/// (Σ |x|^p)^(1/p): the mean that counts padding, times the elements.
Results lpPool(NodeBuilder &b) {
  Value x = b.input(0);
  auto w = readWindows(b, x, {});
  double p = normOrder(b);
  if (!w)
    return {Value()};
  if (p < 1)
    return {b.fail("attribute p: expected 1 or more")};
  double elements = 1;
  for (int64_t extent : w->kernel)
    elements *= static_cast<double>(extent);
  SmallVector<NamedAttribute> attributes = windowAttributes(b, *w);
  attributes.push_back(b.unit("count_include_pad"));
  Value magnitude = b.create<graph::AbsOp>({x});
  Value power = p == 1
                    ? magnitude
                    : b.create<graph::PowOp>({magnitude, b.scalarLike(x, p)});
  Value mean = b.create<graph::AvgPoolOp>({power}, attributes);
  Value sum = b.mul(mean, b.scalarLike(x, elements));
  return {p == 1 ? sum : b.create<graph::PowOp>({sum, b.scalarLike(x, 1 / p)})};
}

//===----------------------------------------------------------------------===//
// MaxPool
//===----------------------------------------------------------------------===//

/// Calls `visit` with each index into a box, row by row.
void forEachIndex(ArrayRef<int64_t> extents,
                  llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  int64_t count = *countElements(extents);
  Ints index(extents.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(index);
    for (size_t d = extents.size(); d-- > 0;) {
      if (++index[d] < extents[d])
        break;
      index[d] = 0;
    }
  }
}

/// Where in each window the maximum is: the elements of the windows side by
/// side, [N, C, outputs…, elements], and the first that is the largest.
Value indexInWindow(NodeBuilder &b, Value padded, const Windows &w,
                    ArrayRef<int64_t> outputs) {
  SmallVector<Value> parts;
  forEachIndex(w.kernel, [&](ArrayRef<int64_t> index) {
    Ints starts(2, 0), sizes(b.shape(padded).take_front(2)), steps(2, 1);
    for (auto [d, at] : llvm::enumerate(index))
      starts.push_back(at * w.dilations[d]);
    sizes.append(outputs.begin(), outputs.end());
    steps.append(w.strides);
    Value part = b.create<graph::SliceOp>({padded}, {b.attr("starts", starts),
                                                     b.attr("sizes", sizes),
                                                     b.attr("steps", steps)});
    sizes.push_back(1);
    parts.push_back(b.reshape(part, sizes));
  });
  if (b.failed())
    return {};
  auto axis = static_cast<int64_t>(outputs.size()) + 2;
  return b.create<graph::ArgmaxOp>({b.concat(parts, axis)},
                                   {b.attr("axis", axis)});
}

/// x with padding that is never the maximum.
Value padWithLowest(NodeBuilder &b, Value x, const Windows &w) {
  auto middle = w.padding.begin() + static_cast<int64_t>(w.kernel.size());
  Ints low(2, 0), high(2, 0);
  low.append(w.padding.begin(), middle);
  high.append(middle, w.padding.end());
  double lowest = -INFINITY;
  if (auto integer = dyn_cast<IntegerType>(b.element(x)))
    lowest = integer.isUnsigned()
                 ? 0
                 : -std::ldexp(1.0, static_cast<int>(integer.getWidth()) - 1);
  return b.pad(x, b.scalarLike(x, lowest), low, high);
}

/// How far apart neighbours along each dimension of an image are: row by row
/// or, with storage_order 1, column by column.
Ints elementStrides(NodeBuilder &b, ArrayRef<int64_t> extents) {
  Ints strides(extents.size(), 1);
  bool columns = b.intAttribute("storage_order", 0);
  for (size_t i = 1; i < extents.size(); ++i) {
    size_t d = columns ? i : extents.size() - 1 - i;
    size_t inner = columns ? d - 1 : d + 1;
    strides[d] = strides[inner] * extents[inner];
  }
  return strides;
}

/// The position of each maximum among the elements of x.
Value maxPoolIndices(NodeBuilder &b, Value x, Value y, const Windows &w) {
  ArrayRef<int64_t> extents = b.shape(x).drop_front(2);
  ArrayRef<int64_t> outputs = b.shape(y).drop_front(2);
  Ints strides = elementStrides(b, extents), origins, offsets;
  auto place = [&](ArrayRef<int64_t> index, ArrayRef<int64_t> steps) {
    int64_t sum = 0;
    for (size_t d = 0; d < strides.size(); ++d)
      sum += index[d] * steps[d] * strides[d];
    return sum;
  };
  // The place of a window's first element, and what each of them adds to it.
  int64_t before = place(w.padding, Ints(strides.size(), 1));
  forEachIndex(outputs, [&](ArrayRef<int64_t> index) {
    origins.push_back(place(index, w.strides) - before);
  });
  forEachIndex(w.kernel, [&](ArrayRef<int64_t> index) {
    offsets.push_back(place(index, w.dilations));
  });
  Value inWindow = indexInWindow(b, padWithLowest(b, x, w), w, outputs);
  Value table = b.constantInts(static_cast<int64_t>(offsets.size()), offsets);
  Value inImage =
      b.add(b.constantInts(outputs, origins), b.gather(table, inWindow, 0));
  Ints imageShape(b.shape(x).take_front(2));
  int64_t images = imageShape[0] * imageShape[1];
  imageShape.append(extents.size(), 1);
  Value image = b.iota(images, 0, *countElements(extents));
  return b.add(inImage, b.reshape(image, imageShape));
}

Results maxPool(NodeBuilder &b) {
  Value x = b.input(0);
  auto w = readWindows(b, x, {});
  if (!w)
    return {Value()};
  Value y = b.create<graph::MaxPoolOp>({x}, windowAttributes(b, *w));
  if (!y || !b.wants(1))
    return {y};
  constexpr int64_t kMostElements = 1024, kMostWindows = int64_t(1) << 22;
  auto elements = countElements(w->kernel);
  auto windows = countElements(b.shape(y).drop_front(2));
  if (!elements || *elements > kMostElements || !windows ||
      *windows > kMostWindows)
    return {b.fail("output 1, the indices, is supported for up to " +
                   Twine(kMostElements) + " elements in a window and " +
                   Twine(kMostWindows) + " windows")};
  return {y, maxPoolIndices(b, x, y, *w)};
}

/// The global Lp norm of each channel.
Results globalLpPool(NodeBuilder &b) {
  Value x = b.input(0);
  Ints axes;
  for (int64_t i = 2; i < b.rank(x); ++i)
    axes.push_back(i);
  double p = normOrder(b);
  if (axes.empty() || p < 1)
    return {b.fail("expected an input of rank 3 or more and a p of 1 or more")};
  Value power =
      b.create<graph::PowOp>({b.create<graph::AbsOp>({x}), b.scalarLike(x, p)});
  Value sum = b.reduce(Kind::Sum, power, axes, true);
  return {b.create<graph::PowOp>({sum, b.scalarLike(x, 1 / p)})};
}

template <graph::ReduceKind kind> Results globalPool(NodeBuilder &b) {
  Value x = b.input(0);
  if (!b.hasRank(x, 3, "an input"))
    return {Value()};
  Ints axes;
  for (int64_t i = 2; i < b.rank(x); ++i)
    axes.push_back(i);
  return {b.reduce(kind, x, axes, /*keepdims=*/true)};
}

} // namespace

std::optional<Windows> readWindows(NodeBuilder &b, Value x,
                                   ArrayRef<int64_t> kernel) {
  if (b.rank(x) < 3) {
    b.fail("expected an input of rank 3 or more (batch, channels, spatial …), "
           "found " +
           graph::shapeToString(x.getType()));
    return std::nullopt;
  }
  ArrayRef<int64_t> extents = b.shape(x).drop_front(2);
  size_t rank = extents.size();
  Windows w;
  w.strides = Ints(rank, 1);
  w.dilations = Ints(rank, 1);
  w.padding = Ints(2 * rank, 0);
  w.ceilPadding = Ints(rank, 0);
  for (int64_t extent : extents)
    if (extent > kLargestNumber) {
      b.fail("a spatial extent is " + Twine(extent) + ", and at most " +
             Twine(kLargestNumber) + " is supported");
      return std::nullopt;
    }
  if (!readKernel(b, rank, kernel, w) ||
      !readList(b, "strides", rank, 1, w.strides) ||
      !readList(b, "dilations", rank, 1, w.dilations) ||
      !readList(b, "pads", 2 * rank, 0, w.padding))
    return std::nullopt;
  std::string automatic = b.stringAttribute("auto_pad", "NOTSET");
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    padSame(w, extents, automatic == "SAME_UPPER");
  } else if (automatic == "VALID") {
    w.padding = Ints(2 * rank, 0);
  } else if (automatic != "NOTSET" && !automatic.empty()) {
    b.fail("attribute auto_pad: unknown value \"" + automatic + "\"");
    return std::nullopt;
  }
  if (b.intAttribute("ceil_mode", 0))
    padCeil(w, extents);
  return w;
}

Value averagePool(NodeBuilder &b, Value x) {
  if (!x)
    return {};
  auto w = readWindows(b, x, {});
  if (!w)
    return {};
  SmallVector<NamedAttribute> attributes = windowAttributes(b, *w);
  if (b.intAttribute("count_include_pad", 0))
    attributes.push_back(b.unit("count_include_pad"));
  if (llvm::any_of(w->ceilPadding, [](int64_t n) { return n > 0; }))
    attributes.push_back(b.attr("ceil_padding", w->ceilPadding));
  return b.create<graph::AvgPoolOp>({x}, attributes);
}

OpFamily poolingOps() {
  return {{"AveragePool", averagePoolNode},
          {"GlobalAveragePool", globalPool<Kind::Mean>},
          {"GlobalLpPool", globalLpPool},
          {"GlobalMaxPool", globalPool<Kind::Max>},
          {"LpPool", lpPool},
          {"MaxPool", maxPool}};
}

} // namespace tinh::onnx
