//===- Pooling.cpp - Extremes and means of windows ------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of results at a time: for each place in the window, the elements that
// the row's windows have there are added to as many accumulators.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Cpu/CpuPrimitives.h"
#include "compiler/Eager/Cpu/Operands.h"

using namespace tinh;
using namespace tinh::eager;

namespace {

/// One spatial dimension.
struct PoolDimension {
  int64_t in = 1, out = 1, kernel = 1, stride = 1, dilation = 1;
  int64_t padLow = 0, padHigh = 0; // As far as it counts.
  int64_t xStride = 0, outStride = 0;

  /// The index in x of a place in a window; it may be in the padding.
  int64_t source(int64_t window, int64_t place) const {
    return window * stride - padLow + place * dilation;
  }
  /// Windows [first, last) have that place within x.
  std::pair<int64_t, int64_t> windowsWithin(int64_t place) const {
    int64_t before = padLow - place * dilation;
    int64_t first = before > 0 ? ceilDiv(before, stride) : 0;
    int64_t end = in + before;
    int64_t last = end > 0 ? std::min(out, ceilDiv(end, stride)) : 0;
    return {first, std::max(first, last)};
  }
  /// Places of a window that are within x, or its padding.
  int64_t count(int64_t window, bool withPadding) const {
    int64_t low = withPadding ? -padLow : 0;
    int64_t high = withPadding ? in + padHigh : in;
    int64_t result = 0;
    for (int64_t place = 0; place < kernel; ++place) {
      int64_t at = source(window, place);
      result += at >= low && at < high;
    }
    return result;
  }
};

/// The spatial dimensions, as three, of which the first ones may be missing.
std::array<PoolDimension, 3> poolDimensions(const TensorImpl &x,
                                            const Window &window,
                                            const TensorImpl &out) {
  std::array<PoolDimension, 3> dims;
  uint32_t count = x.rank() - 2;
  for (uint32_t d = 0; d < count; ++d) {
    int64_t ceiling = window.ceilPad.empty() ? 0 : window.ceilPad[d];
    dims[3 - count + d] = {x.sizes[2 + d],
                           out.sizes[2 + d],
                           window.kernel[d],
                           window.strides[d],
                           window.dilations[d],
                           window.padLow[d],
                           window.padHigh[d] - ceiling,
                           x.strides[2 + d],
                           out.strides[2 + d]};
  }
  return dims;
}

struct PoolOperation : Pieces { // Rows of results.
  PoolOp op;
  tinh_dtype_t dtype;
  Elements x, out;
  int64_t channels;
  int64_t xStrides[2], outStrides[2]; // Of images and channels.
  std::array<PoolDimension, 3> dims;

  PoolOperation(PoolOp op, const TensorImpl &x, const Window &window,
                const TensorImpl &out)
      : Pieces(out.numElements() / out.sizes.back(), 1, coversStorage(out)),
        op(op), dtype(x.dtype), x(x), out(out), channels(x.sizes[1]),
        xStrides{x.strides[0], x.strides[1]},
        outStrides{out.strides[0], out.strides[1]},
        dims(poolDimensions(x, window, out)) {
    int64_t work =
        dims[0].kernel * dims[1].kernel * dims[2].kernel * dims[2].out;
    perChunk = std::max<int64_t>(1, elementsPerChunk(dtype) / work);
  }

  void run(uint32_t begin, uint32_t end, Worker &worker) {
    withElement(dtype, [&]<typename Element>(Element) {
      int64_t last = firstOf(end);
      for (int64_t row = firstOf(begin); row < last; ++row)
        poolRow<Element>(row, worker);
    });
  }

private:
  template <typename Element> void poolRow(int64_t row, Worker &worker) const {
    using Value = typename SumOf<Element>::type;
    int64_t depth = row / dims[1].out % dims[0].out, height = row % dims[1].out;
    int64_t plane = row / (dims[0].out * dims[1].out);
    int64_t channel = plane % channels, image = plane / channels;
    auto *from = reinterpret_cast<const Element *>(x.data()) +
                 image * xStrides[0] + channel * xStrides[1];
    auto *to = reinterpret_cast<Element *>(out.data()) + image * outStrides[0] +
               channel * outStrides[1] + depth * dims[0].outStride +
               height * dims[1].outStride;
    int64_t width = dims[2].out;
    auto *values = static_cast<Value *>(
        worker.scratch(static_cast<uint64_t>(width) * sizeof(Value)));
    std::fill_n(values, width, initial<Value>());
    for (int64_t i = 0; i < dims[0].kernel; ++i) {
      int64_t z = dims[0].source(depth, i);
      for (int64_t j = 0; j < dims[1].kernel; ++j) {
        int64_t y = dims[1].source(height, j);
        if (z >= 0 && z < dims[0].in && y >= 0 && y < dims[1].in)
          addRow(from + z * dims[0].xStride + y * dims[1].xStride, values);
      }
    }
    if (op == PoolOp::Max)
      for (int64_t i = 0; i < width; ++i)
        to[i * dims[2].outStride] = static_cast<Element>(values[i]);
    else
      divideRow(values, to, depth, height);
  }

  template <typename Element, typename Value>
  void divideRow(const Value *values, Element *to, int64_t depth,
                 int64_t height) const {
    bool withPadding = op == PoolOp::MeanWithPadding;
    const PoolDimension &dim = dims[2];
    int64_t rows =
        dims[0].count(depth, withPadding) * dims[1].count(height, withPadding);
    for (int64_t i = 0; i < dim.out; ++i) {
      bool isWhole =
          dim.source(i, 0) >= 0 && dim.source(i, dim.kernel - 1) < dim.in;
      int64_t columns = isWhole ? dim.kernel : dim.count(i, withPadding);
      to[i * dim.outStride] = static_cast<Element>(
          static_cast<Value>(values[i] / static_cast<Value>(rows * columns)));
    }
  }

  template <typename Value> Value initial() const {
    if (op != PoolOp::Max)
      return Value(0);
    using Limits = std::numeric_limits<Value>;
    return Limits::has_infinity ? static_cast<Value>(-Limits::infinity())
                                : Limits::lowest();
  }

  /// Adds a row of x to the windows that it is within.
  template <typename Element, typename Value>
  void addRow(const Element *from, Value *values) const {
    const PoolDimension &dim = dims[2];
    for (int64_t place = 0; place < dim.kernel; ++place) {
      auto [first, last] = dim.windowsWithin(place);
      const Element *start = from + dim.source(first, place) * dim.xStride;
      int64_t step = dim.stride * dim.xStride;
      if (step == 1)
        accumulate(start, 1, values + first, last - first);
      else
        accumulate(start, step, values + first, last - first);
    }
  }

  template <typename Element, typename Value>
  [[gnu::always_inline]] void accumulate(const Element *from, int64_t step,
                                         Value *values, int64_t count) const {
    if (op == PoolOp::Max)
      for (int64_t i = 0; i < count; ++i) {
        auto value = static_cast<Value>(from[i * step]);
        // NaN, which is not equal to itself, stays.
        values[i] = value > values[i] || value != value ? value : values[i];
      }
    else
      for (int64_t i = 0; i < count; ++i)
        values[i] = wrappingAdd(values[i], static_cast<Value>(from[i * step]));
  }
};

/// A channel of an image at a time: a row of windows finds where its largest
/// elements are, a tap after the other; then their gradients are added there.
struct MaxPoolGradientOperation : Pieces { // Planes.
  tinh_dtype_t dtype;
  Elements x, dy, dx;
  int64_t channels;
  int64_t xStrides[2], dyStrides[2], dxStrides[2]; // Of images and channels.
  std::array<PoolDimension, 3> dims;               // Of x and dy.
  int64_t dxSpatial[3] = {};

  MaxPoolGradientOperation(const TensorImpl &x, const TensorImpl &dy,
                           const Window &window, const TensorImpl &out)
      : Pieces(x.sizes[0] * x.sizes[1], 1, coversStorage(out)), dtype(x.dtype),
        x(x), dy(dy), dx(out), channels(x.sizes[1]),
        xStrides{x.strides[0], x.strides[1]},
        dyStrides{dy.strides[0], dy.strides[1]},
        dxStrides{out.strides[0], out.strides[1]},
        dims(poolDimensions(x, window, dy)) {
    uint32_t count = x.rank() - 2;
    for (uint32_t d = 0; d < count; ++d)
      dxSpatial[3 - count + d] = out.strides[2 + d];
    perChunk = std::max<int64_t>(1, elementsPerChunk(dtype) / planeSize());
  }

  void run(uint32_t begin, uint32_t end, Worker &worker) {
    withElement(dtype, [&]<typename Element>(Element) {
      // Narrow floats are compared and summed in f32.
      using Value = typename SumOf<Element>::type;
      if constexpr (std::is_floating_point_v<Value>) {
        int64_t last = firstOf(end);
        for (int64_t plane = firstOf(begin); plane < last; ++plane)
          if (planeSize() <= std::numeric_limits<int32_t>::max())
            addPlane<Element, Value, int32_t>(plane, worker);
          else
            addPlane<Element, Value, int64_t>(plane, worker);
      }
    });
  }

private:
  /// Of the windows of a row.
  template <typename Value, typename Place> struct Largest {
    Value *values;
    Place *places; // In a dense plane of x; -1: none yet.
  };

  int64_t planeSize() const { return dims[0].in * dims[1].in * dims[2].in; }

  template <typename Element>
  Element *planeOf(const Elements &elements, const int64_t (&strides)[2],
                   int64_t plane) const {
    return reinterpret_cast<Element *>(elements.data()) +
           plane / channels * strides[0] + plane % channels * strides[1];
  }

  template <typename Element, typename Value, typename Place>
  void addPlane(int64_t plane, Worker &worker) const {
    int64_t width = dims[2].out, size = planeSize();
    auto *sums = static_cast<Value *>(
        worker.scratch(static_cast<uint64_t>(size + width) * sizeof(Value) +
                       static_cast<uint64_t>(width) * sizeof(Place)));
    Largest<Value, Place> row{sums + size,
                              reinterpret_cast<Place *>(sums + size + width)};
    std::fill_n(sums, size, Value(0));
    auto *image = planeOf<const Element>(x, xStrides, plane);
    auto *gradients = planeOf<const Element>(dy, dyStrides, plane);
    for (int64_t depth = 0; depth < dims[0].out; ++depth)
      for (int64_t height = 0; height < dims[1].out; ++height) {
        findLargest(image, depth, height, row);
        const Element *from =
            gradients + depth * dims[0].outStride + height * dims[1].outStride;
        for (int64_t i = 0; i < width; ++i)
          sums[row.places[i]] +=
              static_cast<Value>(from[i * dims[2].outStride]);
      }
    store(sums, planeOf<Element>(dx, dxStrides, plane));
  }

  template <typename Element, typename Value, typename Place>
  void findLargest(const Element *image, int64_t depth, int64_t height,
                   const Largest<Value, Place> &row) const {
    std::fill_n(row.values, dims[2].out,
                -std::numeric_limits<Value>::infinity());
    std::fill_n(row.places, dims[2].out, Place(-1));
    for (int64_t i = 0; i < dims[0].kernel; ++i) {
      int64_t z = dims[0].source(depth, i);
      for (int64_t j = 0; j < dims[1].kernel; ++j) {
        int64_t y = dims[1].source(height, j);
        if (z < 0 || z >= dims[0].in || y < 0 || y >= dims[1].in)
          continue;
        int64_t line = (z * dims[1].in + y) * dims[2].in;
        compareLine(image + z * dims[0].xStride + y * dims[1].xStride,
                    static_cast<Place>(line), row);
      }
    }
  }

  template <typename Element, typename Value, typename Place>
  void compareLine(const Element *from, Place line,
                   const Largest<Value, Place> &row) const {
    const PoolDimension &dim = dims[2];
    for (int64_t tap = 0; tap < dim.kernel; ++tap) {
      auto [first, last] = dim.windowsWithin(tap);
      int64_t start = dim.source(0, tap);
      for (int64_t i = first; i < last; ++i) {
        int64_t at = start + i * dim.stride;
        auto value = static_cast<Value>(from[at * dim.xStride]);
        Value best = row.values[i];
        // A NaN is taken, and stays.
        bool isTaken = best == best && (!(value <= best) || row.places[i] < 0);
        row.values[i] = isTaken ? value : best;
        row.places[i] = isTaken ? static_cast<Place>(line + at) : row.places[i];
      }
    }
  }

  template <typename Element, typename Value>
  void store(const Value *sums, Element *to) const {
    for (int64_t z = 0; z < dims[0].in; ++z)
      for (int64_t y = 0; y < dims[1].in; ++y)
        for (int64_t i = 0; i < dims[2].in; ++i)
          to[z * dxSpatial[0] + y * dxSpatial[1] + i * dxSpatial[2]] =
              static_cast<Element>(*sums++);
  }
};

} // namespace

void kernels::pool(const Primitive &primitive) {
  const auto &[op, window] = primitive.get<primitives::Pool>();
  const TensorImpl &x = primitive.input(0);
  TensorImpl &out = primitive.output();
  Engine::get().emplace<PoolOperation>(
      primitive.call, std::array{x.storage.get()},
      std::array{out.storage.get()}, op, x, window, out);
}

void kernels::maxPoolGradient(const Primitive &primitive) {
  const Window &window = primitive.get<primitives::MaxPoolGradient>().window;
  const TensorImpl &x = primitive.input(0), &dy = primitive.input(1);
  TensorImpl &out = primitive.output();
  Engine::get().emplace<MaxPoolGradientOperation>(
      primitive.call, std::array{x.storage.get(), dy.storage.get()},
      std::array{out.storage.get()}, x, dy, window, out);
}
