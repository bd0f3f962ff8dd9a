//===- Windows.cpp - Convolution and pooling --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Windows and extents from strides, paddings and dilations.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Windows/Windows.h"

#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"
#include "tinh/autocast.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

Dims tinh::eager::perDimension(const char *what, const IntArray &given,
                               uint32_t rank, int64_t lowest,
                               const Call &call) {
  if (given.size() != 1 && given.size() != rank)
    fail(call, what, " ", given, " must have one entry, or ", rank);
  Dims values;
  for (uint32_t i = 0; i < rank; ++i) {
    values.push_back(given[given.size() == 1 ? 0 : i]);
    if (values.back() < lowest)
      fail(call, what, " ", given, " must be ", lowest, " or more");
  }
  return values;
}

/// Padding before and after: the same, or given one after the other.
static void setPadding(Window &window, const IntArray &given, uint32_t rank,
                       const Call &call) {
  if (given.size() != 2 * rank || rank == 0) {
    window.padLow = perDimension("padding", given, rank, 0, call);
    window.padHigh = window.padLow;
    return;
  }
  std::span<const int64_t> all(given);
  IntArray low(all.first(rank)), high(all.subspan(rank));
  window.padLow = perDimension("padding", low, rank, 0, call);
  window.padHigh = perDimension("padding", high, rank, 0, call);
}

Window tinh::eager::makeWindow(uint32_t rank, const Dims &kernel,
                               const IntArray &stride, const IntArray &padding,
                               const IntArray &dilation, const Call &call) {
  Window window;
  window.kernel = kernel;
  window.strides =
      stride.empty() ? kernel : perDimension("stride", stride, rank, 1, call);
  window.dilations = perDimension("dilation", dilation, rank, 1, call);
  setPadding(window, padding, rank, call);
  window.ceilPad = Dims::filled(rank, 0);
  return window;
}

/// The spatial extents of the result.
static Dims extentsOf(const Window &window, const TensorImpl &x,
                      const Call &call) {
  Dims extents;
  for (uint32_t i = 0; i < window.kernel.size(); ++i) {
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t padded = x.sizes[2 + i] + window.padLow[i] + window.padHigh[i];
    if (reach > padded)
      fail(call, "a window of ", reach, " elements does not fit dimension ",
           2 + i, " of shape ", x.sizes, ", which has ", padded,
           " with padding");
    extents.push_back((padded - reach) / window.strides[i] + 1);
  }
  return extents;
}

Tensor tinh::eager::withBatch(const Operand &x, uint32_t rank,
                              const Call &call) {
  Tensor tensor = toTensor(x, call);
  uint32_t found = use(tensor, call).rank();
  if (found != rank + 2 && found != rank + 1)
    fail(call, "shape ", use(tensor, call).sizes,
         " must be [N, C, …] or [C, …] "
         "with ",
         rank, " spatial dimensions");
  return found == rank + 2 ? tensor : tensor.unsqueeze(0, call.at);
}

Tensor tinh::eager::withoutBatch(const Tensor &out, const Operand &x,
                                 const Call &call) {
  bool hadBatch = use(*x.tensor(), call).rank() == use(out, call).rank();
  return hadBatch ? out : out.squeeze(0, call.at);
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

void tinh::eager::checkBias(const Tensor &bias, int64_t channels, DType dtype,
                            const Call &call) {
  if (!bias.defined())
    return;
  const TensorImpl &impl = use(bias, call);
  if (impl.rank() != 1 || impl.sizes[0] != channels || impl.dtype != dtype)
    fail(call, "bias is of shape ", impl.sizes, " and ", DType(impl.dtype),
         "; it must be [", channels, "] of ", dtype);
}

void tinh::eager::checkWeights(const TensorImpl &x, const TensorImpl &weights,
                               uint32_t rank, int64_t groups,
                               const Call &call) {
  if (weights.rank() != rank + 2)
    fail(call, "the weight has shape ", weights.sizes, "; it must have ",
         rank + 2, " dimensions");
  if (x.dtype != weights.dtype)
    fail(call, "dtypes ", DType(x.dtype), " and ", DType(weights.dtype),
         " differ; convert one of them with to()");
  if (x.dtype == TINH_DTYPE_BOOL)
    fail(call, "is not defined for boolean operands; convert them with to()");
  if (groups < 1)
    fail(call, "groups is ", groups, "; it must be 1 or more");
}

Dims tinh::eager::spatialSizes(const TensorImpl &weights) {
  return Dims(std::span<const int64_t>(weights.sizes).subspan(2));
}

Tensor tinh::eager::convolve(const TensorImpl &x, const TensorImpl &weights,
                             const Tensor &bias, const Window &window,
                             const Call &call) {
  Dims extents = extentsOf(window, x, call);
  Dims sizes;
  sizes.push_back(x.sizes[0]);
  sizes.push_back(weights.sizes[0]);
  for (int64_t extent : extents)
    sizes.push_back(extent);
  Tensor out = makeTensor(x.dtype, sizes);
  TensorImpl &impl = use(out, call);
  if (impl.numElements() == 0)
    return out;
  if (weights.numElements() != 0 && x.numElements() != 0) {
    perform(primitives::Conv{window}, {&x, &weights, TensorAccess::get(bias)},
            impl, call);
    return out;
  }
  fill(impl, toScalar(0, x.dtype), call); // A sum of nothing.
  if (bias.defined()) {
    Dims channels = Dims::filled(sizes.size() - 1, 1);
    channels[0] = sizes[1];
    out.add_(sameCall(reshaped(use(bias, call), channels, call), call));
  }
  return out;
}

static Tensor conv(uint32_t rank, const Operand &x, const Operand &weights,
                   const Tensor &bias, const IntArray &stride,
                   const IntArray &padding, const IntArray &dilation,
                   int64_t groups, const Call &call) {
  Tensor input = lowered(withBatch(x, rank, call), call);
  Tensor kernel = lowered(toTensor(weights, call), call);
  Tensor offset = lowered(bias, call);
  const TensorImpl &impl = use(input, call), &w = use(kernel, call);
  checkWeights(impl, w, rank, groups, call);
  if (w.sizes[1] * groups != impl.sizes[1] || w.sizes[0] % groups != 0)
    fail(call, "a weight of shape ", w.sizes, " in ", groups, " groups is for ",
         w.sizes[1] * groups, " channels and a multiple of ", groups,
         " outputs; the input has shape ", impl.sizes);
  checkBias(offset, w.sizes[0], impl.dtype, call);
  Window window =
      makeWindow(rank, spatialSizes(w), stride, padding, dilation, call);
  window.groups = groups;
  return withoutBatch(convolve(impl, w, offset, window, call), x, call);
}

Tensor tinh::conv1d(Operand x, Operand weights, const Tensor &bias,
                    const IntArray &stride, const IntArray &padding,
                    const IntArray &dilation, int64_t groups) {
  return conv(1, x, weights, bias, stride, padding, dilation, groups,
              {"conv1d", x.at});
}
Tensor tinh::conv2d(Operand x, Operand weights, const Tensor &bias,
                    const IntArray &stride, const IntArray &padding,
                    const IntArray &dilation, int64_t groups) {
  return conv(2, x, weights, bias, stride, padding, dilation, groups,
              {"conv2d", x.at});
}
Tensor tinh::conv3d(Operand x, Operand weights, const Tensor &bias,
                    const IntArray &stride, const IntArray &padding,
                    const IntArray &dilation, int64_t groups) {
  return conv(3, x, weights, bias, stride, padding, dilation, groups,
              {"conv3d", x.at});
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

/// Lets a last window that starts within the input or the padding before it end
/// beyond the padding.
static void roundUp(Window &window, const TensorImpl &x) {
  for (uint32_t i = 0; i < window.kernel.size(); ++i) {
    int64_t extent = x.sizes[2 + i];
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    int64_t padded = extent + window.padLow[i] + window.padHigh[i];
    int64_t stride = window.strides[i];
    int64_t count = (padded - reach + stride - 1) / stride + 1;
    if ((count - 1) * stride >= extent + window.padLow[i])
      --count;
    int64_t missing = (count - 1) * stride + reach - padded;
    if (missing > 0) {
      window.ceilPad[i] = missing;
      window.padHigh[i] += missing;
    }
  }
}

static Tensor pool(uint32_t rank, PoolOp op, const Operand &x,
                   const IntArray &kernel, const IntArray &stride,
                   const IntArray &padding, const IntArray &dilation,
                   bool ceilMode, const Call &call) {
  Tensor input = withBatch(x, rank, call);
  const TensorImpl &impl = use(input, call);
  if (op != PoolOp::Max && !DType(impl.dtype).is_floating_point())
    fail(call, "is not defined for ", DType(impl.dtype),
         "; convert the operand with to(float32)");
  Dims extents = perDimension("kernel", kernel, rank, 1, call);
  Window window = makeWindow(rank, extents, stride, padding, dilation, call);
  for (uint32_t i = 0; i < rank; ++i)
    if (2 * std::max(window.padLow[i], window.padHigh[i]) > extents[i])
      fail(call, "padding ", padding, " is more than half of the kernel ",
           kernel, ", so that windows would lie in padding alone");
  extentsOf(window, impl, call);
  if (ceilMode)
    roundUp(window, impl);
  Dims sizes = extentsOf(window, impl, call);
  sizes.insert(0, impl.sizes[1]);
  sizes.insert(0, impl.sizes[0]);
  Tensor out = makeTensor(impl.dtype, sizes);
  if (use(out, call).numElements() != 0)
    perform(primitives::Pool{op, window}, {&impl}, use(out, call), call);
  return withoutBatch(out, x, call);
}

Tensor tinh::max_pool1d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        const IntArray &dilation, bool ceil_mode) {
  return pool(1, PoolOp::Max, x, kernel, stride, padding, dilation, ceil_mode,
              {"max_pool1d", x.at});
}
Tensor tinh::max_pool2d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        const IntArray &dilation, bool ceil_mode) {
  return pool(2, PoolOp::Max, x, kernel, stride, padding, dilation, ceil_mode,
              {"max_pool2d", x.at});
}
Tensor tinh::max_pool3d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        const IntArray &dilation, bool ceil_mode) {
  return pool(3, PoolOp::Max, x, kernel, stride, padding, dilation, ceil_mode,
              {"max_pool3d", x.at});
}

static Tensor averagePool(uint32_t rank, const Operand &x,
                          const IntArray &kernel, const IntArray &stride,
                          const IntArray &padding, bool ceilMode,
                          bool countIncludesPad, const Call &call) {
  PoolOp op = countIncludesPad ? PoolOp::MeanWithPadding : PoolOp::Mean;
  return roundedAfter(x, call, [&](const Operand &wide) {
    return pool(rank, op, wide, kernel, stride, padding, 1, ceilMode, call);
  });
}

Tensor tinh::avg_pool1d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        bool ceil_mode, bool count_include_pad) {
  return averagePool(1, x, kernel, stride, padding, ceil_mode,
                     count_include_pad, {"avg_pool1d", x.at});
}
Tensor tinh::avg_pool2d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        bool ceil_mode, bool count_include_pad) {
  return averagePool(2, x, kernel, stride, padding, ceil_mode,
                     count_include_pad, {"avg_pool2d", x.at});
}
Tensor tinh::avg_pool3d(Operand x, const IntArray &kernel,
                        const IntArray &stride, const IntArray &padding,
                        bool ceil_mode, bool count_include_pad) {
  return averagePool(3, x, kernel, stride, padding, ceil_mode,
                     count_include_pad, {"avg_pool3d", x.at});
}

//===----------------------------------------------------------------------===//
// To a given extent
//===----------------------------------------------------------------------===//

/// [in, out]: columns are the means over in·i/out … ⌈in·(i+1)/out⌉.
static Tensor meanMatrix(int64_t in, int64_t out, DType dtype, At at) {
  std::vector<double> weights(size_t(in * out));
  for (int64_t i = 0; i < out; ++i) {
    int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
    for (int64_t j = begin; j < end; ++j)
      weights[size_t(j * out + i)] = 1.0 / double(end - begin);
  }
  return from_data(weights, Shape{in, out}, at).to(dtype, at);
}

static Tensor adaptiveMean(uint32_t rank, const Operand &x,
                           const IntArray &extents, const Call &call) {
  Tensor tensor = withBatch(x, rank, call);
  DType dtype = use(tensor, call).dtype;
  if (!dtype.is_floating_point())
    fail(call, "is not defined for ", dtype,
         "; convert the operand with to(float32)");
  Dims wanted = perDimension("extents", extents, rank, 1, call);
  IntArray kernel;
  bool isEven = true;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t extent = use(tensor, call).sizes[2 + i];
    if (extent == 0)
      fail(call, "shape ", use(tensor, call).sizes, " has no elements to pool");
    isEven &= extent % wanted[i] == 0;
    kernel.push_back(extent / wanted[i]);
  }
  if (isEven)
    return withoutBatch(pool(rank, PoolOp::Mean, sameCall(tensor, call), kernel,
                             {}, 0, 1, false, call),
                        x, call);
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t axis = 2 + i, extent = use(tensor, call).sizes[axis];
    if (extent == wanted[i])
      continue;
    Tensor last = movedAxis(use(tensor, call), axis, rank + 1);
    LikeScope scope(use(tensor, call));
    Tensor weights = meanMatrix(extent, wanted[i], dtype, call.at);
    Autocast exact(float32);
    Tensor means = matmul(sameCall(last, call), sameCall(weights, call));
    tensor = movedAxis(use(means, call), rank + 1, axis);
  }
  return withoutBatch(tensor, x, call);
}

static Tensor adaptivePool(uint32_t rank, const Operand &x,
                           const IntArray &extents, const Call &call) {
  return roundedAfter(x, call, [&](const Operand &wide) {
    return adaptiveMean(rank, wide, extents, call);
  });
}

Tensor tinh::adaptive_avg_pool1d(Operand x, const IntArray &extents) {
  return adaptivePool(1, x, extents, {"adaptive_avg_pool1d", x.at});
}
Tensor tinh::adaptive_avg_pool2d(Operand x, const IntArray &extents) {
  return adaptivePool(2, x, extents, {"adaptive_avg_pool2d", x.at});
}
Tensor tinh::adaptive_avg_pool3d(Operand x, const IntArray &extents) {
  return adaptivePool(3, x, extents, {"adaptive_avg_pool3d", x.at});
}
