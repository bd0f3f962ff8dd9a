//===- Create.cpp - New tensors ---------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Constants, sequences, and copies of the program's memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Promotion.h"

#include <cmath>

using namespace tinh;
using namespace tinh::eager;

Tensor tinh::empty(const Shape &shape, DType dtype, At at) {
  Tensor out = makeTensor(dtype, checkedSizes(shape, dtype, {"empty", at}));
  placeOn(currentDevice(), *TensorAccess::get(out));
  return out;
}

static Tensor constant(const Shape &shape, const Number &value, DType dtype,
                       const Call &call) {
  return filled(checkedSizes(shape, dtype, call), toScalar(value, dtype), call);
}

Tensor tinh::zeros(const Shape &shape, DType dtype, At at) {
  return constant(shape, 0, dtype, {"zeros", at});
}
Tensor tinh::ones(const Shape &shape, DType dtype, At at) {
  return constant(shape, 1, dtype, {"ones", at});
}
Tensor tinh::full(const Shape &shape, Number value, std::optional<DType> dtype,
                  At at) {
  return constant(shape, value, dtype.value_or(value.dtype), {"full", at});
}

Tensor tinh::empty(const Shape &shape, DType dtype, Device device, At at) {
  DeviceScope scope(device);
  return empty(shape, dtype, at);
}
Tensor tinh::zeros(const Shape &shape, DType dtype, Device device, At at) {
  DeviceScope scope(device);
  return zeros(shape, dtype, at);
}
Tensor tinh::ones(const Shape &shape, DType dtype, Device device, At at) {
  DeviceScope scope(device);
  return ones(shape, dtype, at);
}
Tensor tinh::full(const Shape &shape, Number value, std::optional<DType> dtype,
                  Device device, At at) {
  DeviceScope scope(device);
  return full(shape, value, dtype, at);
}

static Tensor constantLike(const Tensor &x, const Number &value,
                           std::optional<DType> dtype, const Call &call) {
  const TensorImpl &impl = use(x, call);
  LikeScope scope(impl);
  return filled(impl.sizes, toScalar(value, dtype.value_or(impl.dtype)), call);
}

Tensor tinh::empty_like(const Tensor &x, std::optional<DType> dtype, At at) {
  Call call{"empty_like", at};
  const TensorImpl &impl = use(x, call);
  requireDType(dtype.value_or(impl.dtype), call);
  Tensor out = makeTensor(dtype.value_or(impl.dtype), impl.sizes);
  placeOn(deviceOf(impl), *TensorAccess::get(out));
  return out;
}
Tensor tinh::zeros_like(const Tensor &x, std::optional<DType> dtype, At at) {
  return constantLike(x, 0, dtype, {"zeros_like", at});
}
Tensor tinh::ones_like(const Tensor &x, std::optional<DType> dtype, At at) {
  return constantLike(x, 1, dtype, {"ones_like", at});
}
Tensor tinh::full_like(const Tensor &x, Number value,
                       std::optional<DType> dtype, At at) {
  return constantLike(x, value, dtype, {"full_like", at});
}

//===----------------------------------------------------------------------===//
// Sequences
//===----------------------------------------------------------------------===//

static Tensor iota(const Scalar &start, const Scalar &step, int64_t count,
                   DType dtype, const Call &call) {
  Tensor out = makeTensor(dtype, checkedSizes(count, dtype, call));
  if (count != 0)
    perform(primitives::Iota{start, step}, {}, use(out, call), call);
  return out;
}

/// The numbers of arange, if the count fits.
static int64_t countOf(double exact, const Call &call) {
  double count = std::ceil(exact);
  if (!(count < 0x1p62)) // NaN included.
    fail(call, "there is no such number of elements: ", count);
  return count > 0 ? static_cast<int64_t>(count) : 0;
}

Tensor tinh::arange(Number start, Number stop, Number step,
                    std::optional<DType> dtype, At at) {
  Call call{"arange", at};
  bool isReal = start.dtype.is_floating_point() ||
                stop.dtype.is_floating_point() ||
                step.dtype.is_floating_point();
  DType computed = isReal ? float64 : int64;
  DType result = dtype.value_or(isReal ? float32 : int64);
  Scalar first = toScalar(start, computed), last = toScalar(stop, computed),
         by = toScalar(step, computed);
  if (isReal ? by.real == 0 : by.integer == 0)
    fail(call, "the step is 0");
  if (isReal)
    return iota(first, by, countOf((last.real - first.real) / by.real, call),
                result, call);
  __int128 distance = __int128(last.integer) - first.integer;
  __int128 sign = by.integer > 0 ? 1 : -1;
  __int128 count = (distance + by.integer - sign) / by.integer;
  if (count > INT64_MAX)
    fail(call, "there are more elements than can be counted");
  return iota(first, by, std::max<int64_t>(static_cast<int64_t>(count), 0),
              result, call);
}

Tensor tinh::arange(Number stop, At at) {
  return arange(stop.dtype.is_floating_point() ? Number(0.0) : Number(0), stop,
                1, {}, at);
}

Tensor tinh::linspace(double start, double stop, int64_t count, DType dtype,
                      At at) {
  Call call{"linspace", at};
  if (count < 0)
    fail(call, "the count is ", count, "; it must not be negative");
  double step = count > 1 ? (stop - start) / double(count - 1) : 0;
  Scalar first = {TINH_DTYPE_F64, {}}, by = {TINH_DTYPE_F64, {}};
  first.real = start;
  by.real = step;
  Tensor out = iota(first, by, count, dtype, call);
  if (count > 1) // Exactly, whatever was rounded.
    out.select(0, count - 1, at).fill_({Number(stop), at});
  return out;
}

Tensor tinh::eye(int64_t rows, std::optional<int64_t> columns, DType dtype,
                 At at) {
  Call call{"eye", at};
  Shape shape = {rows, columns.value_or(rows)};
  Tensor out = constant(shape, 0, dtype, call);
  TensorImpl &impl = use(out, call);
  int64_t count = std::min(shape[0], shape[1]);
  if (count == 0)
    return out;
  // Row i's column i: every columns + 1 elements.
  Tensor flat = out.reshape(-1, at);
  flat.slice(0, 0, count * (impl.sizes[1] + 1), impl.sizes[1] + 1, at)
      .fill_({Number(1), at});
  return out;
}

//===----------------------------------------------------------------------===//
// From the program's memory
//===----------------------------------------------------------------------===//

Tensor tinh::from_bytes(const void *data, const Shape &shape, DType dtype,
                        At at) {
  Call call{"from_data", at};
  Tensor out = makeTensor(dtype, checkedSizes(shape, dtype, call));
  TensorImpl &impl = use(out, call);
  if (impl.numElements() == 0)
    return out;
  if (!data)
    fail(call, "no memory is given for shape ", shape);
  Backend::current().fromHost(data, impl, call);
  return out;
}

void tinh::requireElements(size_t count, const Shape &shape, At at) {
  Call call{"from_data", at};
  int64_t expected = checkedSizes(shape, int8, call).product();
  if (count != static_cast<size_t>(expected))
    fail(call, count, " elements are given, where shape ", shape, " has ",
         expected, "; rows of nested lists must be equally long");
}
