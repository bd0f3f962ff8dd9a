//===- Pooling.cpp - Sliding windows and pools ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Import/onnx/ops/Windows.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

/// Beyond this no window, stride or padding makes sense, and sums are safe.
constexpr int64_t kLargest = int64_t(1) << 31;

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
    if (value < smallest || value > kLargest) {
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

Results pool(NodeBuilder &b, bool isMax) {
  Value x = b.input(0);
  auto w = readWindows(b, x, {});
  if (!w || b.refuseOutputs(1))
    return {Value()};
  SmallVector<NamedAttribute> attributes = {
      b.attr("kernel", w->kernel), b.attr("strides", w->strides),
      b.attr("padding", w->padding), b.attr("dilations", w->dilations),
      b.channelsFirst()};
  if (isMax)
    return {b.create<graph::MaxPoolOp>({x}, attributes)};
  if (b.intAttribute("count_include_pad", 0))
    attributes.push_back(b.unit("count_include_pad"));
  if (llvm::any_of(w->ceilPadding, [](int64_t n) { return n > 0; }))
    attributes.push_back(b.attr("ceil_padding", w->ceilPadding));
  return {b.create<graph::AvgPoolOp>({x}, attributes)};
}

Results maxPool(NodeBuilder &b) { return pool(b, true); }
Results averagePool(NodeBuilder &b) { return pool(b, false); }

template <graph::ReduceKind kind> Results globalPool(NodeBuilder &b) {
  Value x = b.input(0);
  if (b.rank(x) < 3)
    return {b.fail("expected an input of rank 3 or more, found " +
                   graph::shapeToString(x.getType()))};
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

ArrayRef<OpEntry> poolingOps() {
  using K = graph::ReduceKind;
  static const OpEntry entries[] = {
      {"AveragePool", 7, 1, 1, averagePool},
      {"GlobalAveragePool", 1, 1, 1, globalPool<K::Mean>},
      {"GlobalMaxPool", 1, 1, 1, globalPool<K::Max>},
      {"MaxPool", 1, 1, 1, maxPool},
  };
  return entries;
}

} // namespace tinh::onnx
