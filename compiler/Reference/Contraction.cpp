//===- Contraction.cpp - Products, convolutions and pools, evaluated ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Sliding windows are evaluated with channels last: their innermost loops run
// over contiguous channels, whatever the layout of the op.
//
//===----------------------------------------------------------------------===//
#include "compiler/Reference/Families.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::reference {

using namespace graph;

//===----------------------------------------------------------------------===//
// matmul
//===----------------------------------------------------------------------===//

/// c[m, n] += Σ_k a[m, k] · b[k, n]
template <typename T>
static void addProduct(const T *a, const T *b, T *c, int64_t rows,
                       int64_t inner, int64_t columns) {
  for (int64_t m = 0; m < rows; ++m)
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t n = 0; n < columns; ++n)
        c[m * columns + n] += multiply(a[m * inner + k], b[k * columns + n]);
}

Tensor matrixProduct(const Tensor &a, const Tensor &b, Type result) {
  Tensor c(result);
  bool row = a.rank() == 1, column = b.rank() == 1;
  int64_t inner = a.shape().back();
  int64_t rows = row ? 1 : a.shape()[a.rank() - 2];
  int64_t columns = column ? 1 : b.shape().back();
  ArrayRef<int64_t> batch = c.shape().drop_back(!row + !column);
  std::array<Strides, 3> strides = {
      broadcastStrides(a.shape().drop_back(row ? 1 : 2), batch),
      broadcastStrides(b.shape().drop_back(column ? 1 : 2), batch),
      rowMajorStrides(batch)};
  visitElements(c, [&](auto kind) {
    using T = decltype(kind);
    const T *as = a.elements<T>().data(), *bs = b.elements<T>().data();
    T *cs = c.elements<T>().data();
    walk(batch, strides, [&](const std::array<int64_t, 3> &at) {
      addProduct(as + at[0] * rows * inner, bs + at[1] * inner * columns,
                 cs + at[2] * rows * columns, rows, inner, columns);
    });
  });
  return c;
}

static Tensor swapLastTwo(const Tensor &x) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(permutation[x.rank() - 1], permutation[x.rank() - 2]);
  return transpose(x, permutation);
}

static Tensor evaluateMatmul(MatmulOp op, Operands in) {
  Tensor a = op.getTransposeA() ? swapLastTwo(*in[0]) : *in[0];
  Tensor b = op.getTransposeB() ? swapLastTwo(*in[1]) : *in[1];
  return matrixProduct(a, b, op.getType());
}

//===----------------------------------------------------------------------===//
// Sliding windows
//===----------------------------------------------------------------------===//

namespace {

/// Windows of `kernel` that move over a tensor of the spatial extents `from`,
/// one for each position in `to`.
struct Windows {
  SmallVector<int64_t> from, to, kernel;
  ArrayRef<int64_t> strides, padding, dilations;

  /// Calls `visit` with each window's position in `to`, each position in its
  /// kernel and the position in `from` under that, if it exists; all three
  /// row-major.
  template <typename Visit> void forEachTap(Visit visit) const;
};

} // namespace

template <typename Visit> void Windows::forEachTap(Visit visit) const {
  SmallVector<int64_t> both(to);
  llvm::append_range(both, kernel);
  size_t rank = to.size();
  Strides fromStrides = rowMajorStrides(from);
  SmallVector<int64_t> basis = computeStrides(both);
  int64_t taps = computeProduct(kernel);
  for (int64_t i = 0, count = computeProduct(both); i < count; ++i) {
    int64_t position = 0;
    bool exists = true;
    for (size_t d = 0; d < rank; ++d) {
      int64_t window = i / basis[d] % both[d];
      int64_t tap = i / basis[rank + d] % both[rank + d];
      int64_t at = window * strides[d] + tap * dilations[d] - padding[d];
      exists &= 0 <= at && at < from[d];
      position += at * fromStrides[d];
    }
    if (exists)
      visit(i / taps, i % taps, position);
  }
}

/// Dimensions of a channels-first tensor in the order of a channels-last one,
/// and the reverse.
static SmallVector<int64_t> lastFromFirst(int64_t rank) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  std::rotate(permutation.begin() + 1, permutation.begin() + 2,
              permutation.end());
  return permutation;
}

static Tensor toChannelsLast(const Tensor &x, Layout layout) {
  return layout == Layout::ChannelsLast ? x
                                        : transpose(x, lastFromFirst(x.rank()));
}

static Tensor fromChannelsLast(const Tensor &x, Layout layout) {
  if (layout == Layout::ChannelsLast)
    return x;
  return transpose(x, invertPermutationVector(lastFromFirst(x.rank())));
}

/// A channels-last tensor for a result of `type` in `layout`.
static Tensor channelsLastZeros(Type type, Layout layout) {
  auto tensor = cast<RankedTensorType>(type);
  if (layout == Layout::ChannelsLast)
    return Tensor(type);
  auto shape =
      applyPermutation(tensor.getShape(), lastFromFirst(tensor.getRank()));
  return Tensor(tensor.clone(shape));
}

static ArrayRef<int64_t> spatial(const Tensor &channelsLast) {
  return channelsLast.shape().drop_front().drop_back();
}

/// Weights [O, I, kernel…] as [kernel…, I, O].
static Tensor kernelFirst(const Tensor &weights) {
  auto permutation = llvm::to_vector(llvm::seq<int64_t>(2, weights.rank()));
  permutation.append({1, 0});
  return transpose(weights, permutation);
}

/// For each group of channels, y[o] += Σ_c x[c] · w[c, o]. The weights' rows
/// are those of all groups, `stride` apart.
template <typename T>
static void addGroups(const T *x, const T *w, T *y, int64_t groups,
                      int64_t inputs, int64_t outputs, int64_t wGroup,
                      int64_t wRow) {
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t c = 0; c < inputs; ++c) {
      T factor = x[g * inputs + c];
      const T *row = w + g * wGroup + c * wRow;
      for (int64_t o = 0; o < outputs; ++o)
        y[g * outputs + o] += multiply(factor, row[o]);
    }
}

/// Channels-last x with a convolution's padding around it.
static Tensor padSpatial(const Tensor &x, ArrayRef<int64_t> padding,
                         int64_t value) {
  size_t rank = padding.size() / 2;
  SmallVector<int64_t> low(x.rank(), 0), high(x.rank(), 0);
  for (size_t i = 0; i < rank; ++i) {
    low[i + 1] = padding[i];
    high[i + 1] = padding[rank + i];
  }
  return padded(x, low, high, value);
}

/// [O, C/groups, kernel…] · windows of x.
static Tensor evaluateConv(ConvOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = padSpatial(toChannelsLast(*in[0], layout), op.getPadding(),
                        op.getPaddingValue());
  Tensor w = kernelFirst(*in[1]), y = channelsLastZeros(op.getType(), layout);
  SmallVector<int64_t> noPadding(op.getPadding().size(), 0);
  Windows windows{SmallVector<int64_t>(spatial(x)),
                  SmallVector<int64_t>(spatial(y)),
                  SmallVector<int64_t>(in[1]->shape().drop_front(2)),
                  op.getStrides(),
                  noPadding,
                  op.getDilations()};
  int64_t groups = op.getGroups();
  int64_t inputs = x.shape().back(), outputs = y.shape().back();
  int64_t from = computeProduct(windows.from), to = computeProduct(windows.to);
  visitElements(y, [&](auto kind) {
    using T = decltype(kind);
    const T *xs = x.elements<T>().data(), *ws = w.elements<T>().data();
    T *ys = y.elements<T>().data();
    for (int64_t n = 0; n < y.shape()[0]; ++n)
      windows.forEachTap([&](int64_t window, int64_t tap, int64_t position) {
        addGroups(xs + (n * from + position) * inputs,
                  ws + tap * (inputs / groups) * outputs,
                  ys + (n * to + window) * outputs, groups, inputs / groups,
                  outputs / groups, outputs / groups, outputs);
      });
  });
  return fromChannelsLast(y, layout);
}

/// Of `from` with channels last, one for each element of `to`.
template <typename Op>
static Windows windowsOf(Op op, const Tensor &from, const Tensor &to,
                         ArrayRef<int64_t> kernel) {
  return {SmallVector<int64_t>(spatial(from)),
          SmallVector<int64_t>(spatial(to)),
          SmallVector<int64_t>(kernel),
          op.getStrides(),
          op.getPadding(),
          op.getDilations()};
}

/// As in conv, with x and y exchanged: each element of x is a window's. Weights
/// are [C, O/groups, kernel…].
static Tensor evaluateConvTranspose(ConvTransposeOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = toChannelsLast(*in[0], layout);
  Tensor w = swapLastTwo(kernelFirst(*in[1])); // [kernel…, C, O/groups]
  Tensor y = channelsLastZeros(op.getType(), layout);
  Windows windows = windowsOf(op, y, x, in[1]->shape().drop_front(2));
  int64_t groups = op.getGroups();
  int64_t inputs = x.shape().back(), outputs = y.shape().back();
  int64_t rows = inputs / groups, columns = outputs / groups;
  int64_t from = computeProduct(windows.from), to = computeProduct(windows.to);
  for (int64_t n = 0; n < y.shape()[0]; ++n)
    windows.forEachTap([&](int64_t window, int64_t tap, int64_t position) {
      addGroups(x.floats.data() + (n * to + window) * inputs,
                w.floats.data() + tap * inputs * columns,
                y.floats.data() + (n * from + position) * outputs, groups, rows,
                columns, rows * columns, columns);
    });
  return fromChannelsLast(y, layout);
}

/// For each group of channels, w[c, o] += x[c] · y[o], as in addGroups.
static void addOuterProducts(const double *x, const double *y, double *w,
                             int64_t groups, int64_t inputs, int64_t outputs) {
  for (int64_t g = 0; g < groups; ++g)
    for (int64_t c = 0; c < inputs; ++c)
      for (int64_t o = 0; o < outputs; ++o)
        w[(c * groups + g) * outputs + o] +=
            x[g * inputs + c] * y[g * outputs + o];
}

/// As in conv, with y given and the weights to be found.
static Tensor evaluateConvWeightGradient(ConvWeightGradientOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = toChannelsLast(*in[0], layout),
         dy = toChannelsLast(*in[1], layout);
  Windows windows = windowsOf(op, x, dy, op.getKernel());
  int64_t groups = op.getGroups();
  int64_t inputs = x.shape().back(), outputs = dy.shape().back();
  SmallVector<int64_t> shape(op.getKernel());
  shape.append({inputs / groups, outputs});
  Tensor w(x.type.clone(shape));
  int64_t from = computeProduct(windows.from), to = computeProduct(windows.to);
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    windows.forEachTap([&](int64_t window, int64_t tap, int64_t position) {
      addOuterProducts(x.floats.data() + (n * from + position) * inputs,
                       dy.floats.data() + (n * to + window) * outputs,
                       w.floats.data() + tap * (inputs / groups) * outputs,
                       groups, inputs / groups, outputs / groups);
    });
  int64_t rank = static_cast<int64_t>(op.getKernel().size());
  SmallVector<int64_t> permutation{rank + 1, rank};
  llvm::append_range(permutation, llvm::seq<int64_t>(0, rank));
  return transpose(w, permutation);
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

static Tensor evaluateMaxPool(MaxPoolOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = toChannelsLast(*in[0], layout);
  Tensor y = channelsLastZeros(op.getType(), layout);
  Windows windows = windowsOf(op, x, y, op.getKernel());
  int64_t channels = x.shape().back();
  int64_t from = computeProduct(windows.from), to = computeProduct(windows.to);
  visitElements(y, [&](auto kind) {
    using T = decltype(kind);
    const T *xs = x.elements<T>().data();
    T *ys = y.elements<T>().data();
    std::fill_n(ys, y.size(), lowest<T>(y.element()));
    for (int64_t n = 0; n < y.shape()[0]; ++n)
      windows.forEachTap([&](int64_t window, int64_t, int64_t position) {
        const T *row = xs + (n * from + position) * channels;
        T *best = ys + (n * to + window) * channels;
        for (int64_t c = 0; c < channels; ++c)
          best[c] = larger(best[c], row[c]);
      });
  });
  return fromChannelsLast(y, layout);
}

/// Adds each element of dy at the place of the first of its window's largest.
static Tensor evaluateMaxPoolGradient(MaxPoolGradientOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = toChannelsLast(*in[0], layout),
         dy = toChannelsLast(*in[1], layout);
  Tensor dx(x.type);
  Windows windows = windowsOf(op, x, dy, op.getKernel());
  int64_t channels = x.shape().back();
  int64_t from = computeProduct(windows.from), to = computeProduct(windows.to);
  std::vector<int64_t> places(dy.size(), -1);
  for (int64_t n = 0; n < x.shape()[0]; ++n)
    windows.forEachTap([&](int64_t window, int64_t, int64_t position) {
      for (int64_t c = 0; c < channels; ++c) {
        int64_t at = (n * from + position) * channels + c;
        int64_t &place = places[(n * to + window) * channels + c];
        if (place < 0 || x.floats[at] > x.floats[place] ||
            (isNan(x.floats[at]) && !isNan(x.floats[place])))
          place = at;
      }
    });
  for (auto [place, element] : llvm::zip_equal(places, dy.floats))
    if (place >= 0)
      dx.floats[place] += element;
  return fromChannelsLast(dx, layout);
}

/// By how many elements each window's sum is to be divided.
static std::vector<int64_t> countElements(AvgPoolOp op, Windows windows) {
  std::vector<int64_t> counts(computeProduct(windows.to));
  size_t rank = windows.from.size();
  SmallVector<int64_t> padding(op.getPadding());
  if (op.getCountIncludePad())
    // The windows of the tensor that padding is part of.
    for (size_t i = 0; i < rank; ++i) {
      int64_t uncounted =
          op.getCeilPadding().empty() ? 0 : op.getCeilPadding()[i];
      windows.from[i] += padding[i] + padding[rank + i] - uncounted;
      padding[i] = 0;
    }
  windows.padding = padding;
  windows.forEachTap(
      [&](int64_t window, int64_t, int64_t) { ++counts[window]; });
  return counts;
}

static Tensor evaluateAvgPool(AvgPoolOp op, Operands in) {
  Layout layout = op.getLayout();
  Tensor x = toChannelsLast(*in[0], layout);
  Tensor y = channelsLastZeros(op.getType(), layout);
  Windows windows = windowsOf(op, x, y, op.getKernel());
  std::vector<int64_t> counts = countElements(op, windows);
  int64_t channels = x.shape().back();
  int64_t from = computeProduct(windows.from), to = counts.size();
  visitElements(y, [&](auto kind) {
    using T = decltype(kind);
    const T *xs = x.elements<T>().data();
    T *ys = y.elements<T>().data();
    for (int64_t n = 0; n < y.shape()[0]; ++n) {
      windows.forEachTap([&](int64_t window, int64_t, int64_t position) {
        for (int64_t c = 0; c < channels; ++c)
          ys[(n * to + window) * channels + c] +=
              xs[(n * from + position) * channels + c];
      });
      for (int64_t window = 0; window < to; ++window)
        for (int64_t c = 0; c < channels; ++c)
          ys[(n * to + window) * channels + c] /=
              std::max<int64_t>(counts[window], 1);
    }
  });
  return fromChannelsLast(y, layout);
}

std::optional<Tensor> evaluateContraction(Operation *op, Operands in) {
  using Result = std::optional<Tensor>;
  return llvm::TypeSwitch<Operation *, Result>(op)
      .Case([&](MatmulOp matmul) { return evaluateMatmul(matmul, in); })
      .Case([&](ConvOp conv) { return evaluateConv(conv, in); })
      .Case(
          [&](ConvTransposeOp conv) { return evaluateConvTranspose(conv, in); })
      .Case([&](ConvWeightGradientOp conv) {
        return evaluateConvWeightGradient(conv, in);
      })
      .Case([&](MaxPoolOp pool) { return evaluateMaxPool(pool, in); })
      .Case([&](MaxPoolGradientOp pool) {
        return evaluateMaxPoolGradient(pool, in);
      })
      .Case([&](AvgPoolOp pool) { return evaluateAvgPool(pool, in); })
      .Default([](Operation *) { return Result(); });
}

} // namespace tinh::reference
