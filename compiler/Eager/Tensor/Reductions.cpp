//===- Reductions.cpp - Sums, extremes and the like -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over axes, with what is to be done for no elements at all.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Eager/Tensor/Elementwise.h"

#include <cmath>
#include <limits>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Reductions by a primitive
//===----------------------------------------------------------------------===//

/// What a reduction over no elements gives.
static Scalar identityOf(ReduceOp op, DType dtype, const Call &call) {
  Scalar value = {dtype, {}};
  switch (op) {
  case ReduceOp::Sum:
    return value;
  case ReduceOp::Prod:
    return toScalar(1, dtype);
  case ReduceOp::Mean:
    value.real = std::numeric_limits<double>::quiet_NaN();
    return value;
  case ReduceOp::Max: // Of boolean: any, of which there is none.
    if (dtype == boolean)
      return value;
    break;
  case ReduceOp::Min:
    if (dtype == boolean)
      return toScalar(true, dtype);
    break;
  }
  fail(call, "there are no elements, of which none is the largest or smallest");
}

/// Without the reduced dimensions, unless these are kept.
static Tensor dropAxes(const Tensor &x, uint32_t mask, bool keepdims,
                       const Call &call) {
  if (keepdims || mask == 0)
    return x;
  const TensorImpl &impl = use(x, call);
  Dims sizes;
  for (uint32_t i = 0; i < impl.rank(); ++i)
    if (!(mask >> i & 1))
      sizes.push_back(impl.sizes[i]);
  return reshaped(impl, sizes, call);
}

static Dims keptSizes(const TensorImpl &x, uint32_t mask) {
  Dims sizes = x.sizes;
  for (uint32_t i = 0; i < x.rank(); ++i)
    if (mask >> i & 1)
      sizes[i] = 1;
  return sizes;
}

static Tensor reduce(ReduceOp op, const TensorImpl &x, uint32_t mask,
                     bool keepdims, const Call &call) {
  Tensor out = makeTensor(x.dtype, keptSizes(x, mask));
  TensorImpl &impl = use(out, call);
  if (impl.numElements() == 0)
    ; // Nothing to do.
  else if (x.numElements() == 0)
    fill(impl, identityOf(op, x.dtype, call), call);
  else if (mask == 0)
    copyInto(impl, x, call);
  else
    perform(primitives::Reduce{op, axesOf(mask)}, {&x}, impl, call);
  return dropAxes(out, mask, keepdims, call);
}

/// Of x converted to `dtype`.
static Tensor reduce(ReduceOp op, const Operand &x, DType dtype,
                     const Axes &axes, bool keepdims, const Call &call) {
  Tensor tensor = toTensor(x, fullDType(dtype), call);
  const TensorImpl &impl = use(tensor, call);
  return reduce(op, impl, checkedAxes(axes, impl, call), keepdims, call);
}

static DType dtypeOf(const Operand &x, const Call &call) {
  return commonDType(call, x);
}

static void requireFloating(const Operand &x, const Call &call) {
  if (!dtypeOf(x, call).is_floating_point())
    fail(call, "is not defined for ", dtypeOf(x, call),
         "; convert the operand with to(float32)");
}

Tensor tinh::sum(Operand x, const Axes &axes, bool keepdims) {
  Call call{"sum", x.at};
  return reduce(ReduceOp::Sum, x, sumDType(dtypeOf(x, call)), axes, keepdims,
                call);
}
Tensor tinh::prod(Operand x, const Axes &axes, bool keepdims) {
  Call call{"prod", x.at};
  return reduce(ReduceOp::Prod, x, sumDType(dtypeOf(x, call)), axes, keepdims,
                call);
}
Tensor tinh::mean(Operand x, const Axes &axes, bool keepdims) {
  Call call{"mean", x.at};
  requireFloating(x, call);
  return reduce(ReduceOp::Mean, x, dtypeOf(x, call), axes, keepdims, call);
}
Tensor tinh::max(Operand x, const Axes &axes, bool keepdims) {
  Call call{"max", x.at};
  return reduce(ReduceOp::Max, x, dtypeOf(x, call), axes, keepdims, call);
}
Tensor tinh::min(Operand x, const Axes &axes, bool keepdims) {
  Call call{"min", x.at};
  return reduce(ReduceOp::Min, x, dtypeOf(x, call), axes, keepdims, call);
}
Tensor tinh::any(Operand x, const Axes &axes, bool keepdims) {
  return reduce(ReduceOp::Max, x, boolean, axes, keepdims, {"any", x.at});
}
Tensor tinh::all(Operand x, const Axes &axes, bool keepdims) {
  return reduce(ReduceOp::Min, x, boolean, axes, keepdims, {"all", x.at});
}
Tensor tinh::count_nonzero(Operand x, const Axes &axes, bool keepdims) {
  Call call{"count_nonzero", x.at};
  Tensor isSet = toTensor(x, boolean, call);
  return reduce(ReduceOp::Sum, sameCall(isSet, call), int64, axes, keepdims,
                call);
}

//===----------------------------------------------------------------------===//
// Indices of extremes, running sums and their like
//===----------------------------------------------------------------------===//

static Tensor argReduce(ArgOp op, const Operand &x, std::optional<int64_t> axis,
                        bool keepdims, const Call &call) {
  DType dtype = dtypeOf(x, call);
  Tensor tensor = toTensor(x, dtype == boolean ? uint8 : dtype, call);
  Dims original = use(tensor, call).sizes;
  if (!axis || original.empty())
    tensor = tensor.reshape(-1, call.at);
  const TensorImpl &impl = use(tensor, call);
  int64_t along = original.empty()
                      ? checkedAxis(axis.value_or(0), 0, call)
                      : checkedAxis(axis.value_or(0), impl.rank(), call);
  uint32_t mask = 1u << along;
  Tensor out = makeTensor(int64, keptSizes(impl, mask));
  if (use(out, call).numElements() != 0) {
    if (impl.numElements() == 0)
      fail(call, "there are no elements along the axis in shape ", impl.sizes);
    perform(primitives::ArgReduce{op, along}, {&impl}, use(out, call), call);
  }
  if (axis && !original.empty())
    return dropAxes(out, mask, keepdims, call);
  Dims sizes = keepdims ? Dims::filled(original.size(), 1) : Dims();
  return reshaped(use(out, call), sizes, call);
}

Tensor tinh::argmax(Operand x, std::optional<int64_t> axis, bool keepdims) {
  return argReduce(ArgOp::Max, x, axis, keepdims, {"argmax", x.at});
}
Tensor tinh::argmin(Operand x, std::optional<int64_t> axis, bool keepdims) {
  return argReduce(ArgOp::Min, x, axis, keepdims, {"argmin", x.at});
}

static Tensor cumulative(CumulativeOp op, const Operand &x, int64_t axis,
                         const Call &call) {
  DType dtype = fullDType(sumDType(dtypeOf(x, call)));
  Tensor tensor = toTensor(x, dtype, call);
  const TensorImpl &impl = use(tensor, call);
  axis = checkedAxis(axis, impl.rank(), call);
  if (impl.rank() == 0)
    return copied(impl, dtype, call);
  Tensor out = makeTensor(dtype, impl.sizes);
  if (impl.numElements() != 0)
    perform(primitives::Cumulative{op, axis}, {&impl}, use(out, call), call);
  return out;
}

#define CUMULATIVE_OP(NAME, MNEMONIC)                                          \
  Tensor tinh::MNEMONIC(Operand x, int64_t axis) {                             \
    return cumulative(CumulativeOp::NAME, x, axis, {#MNEMONIC, x.at});         \
  }
#include "dialects/graph/ReductionOps.inc"

//===----------------------------------------------------------------------===//
// Of several steps
//===----------------------------------------------------------------------===//

Tensor tinh::var(Operand x, const Axes &axes, bool keepdims,
                 double correction) {
  Call call{"var", x.at};
  requireFloating(x, call);
  Tensor tensor = toTensor(x, fullDType(dtypeOf(x, call)), call);
  const TensorImpl &impl = use(tensor, call);
  uint32_t mask = checkedAxes(axes, impl, call);
  double count = 1;
  for (int64_t axis : axesOf(mask))
    count *= double(impl.sizes[axis]);
  Tensor center = reduce(ReduceOp::Mean, impl, mask, true, call);
  Tensor distance = sub(sameCall(tensor, call), sameCall(center, call));
  Tensor squares = square(sameCall(distance, call));
  Tensor total =
      reduce(ReduceOp::Sum, use(squares, call), mask, keepdims, call);
  return div(sameCall(total, call), std::max(count - correction, 0.0));
}

Tensor tinh::std(Operand x, const Axes &axes, bool keepdims,
                 double correction) {
  Call call{"std", x.at};
  requireFloating(x, call);
  Tensor variance = var(x, axes, keepdims, correction);
  return sqrt(sameCall(variance, call));
}

Tensor tinh::norm(Operand x, double p, const Axes &axes, bool keepdims) {
  Call call{"norm", x.at};
  requireFloating(x, call);
  if (!(p > 0))
    fail(call, "p is ", p, "; it must be positive");
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  if (p == 2) {
    Tensor squares = square(x), total = sum(op(squares), axes, keepdims);
    return sqrt(op(total));
  }
  Tensor sizes = abs(x);
  if (p == 1)
    return sum(op(sizes), axes, keepdims);
  if (std::isinf(p))
    return max(op(sizes), axes, keepdims);
  Tensor powers = pow(op(sizes), p), total = sum(op(powers), axes, keepdims);
  return pow(op(total), 1 / p);
}

Tensor tinh::logsumexp(Operand x, const Axes &axes, bool keepdims) {
  Call call{"logsumexp", x.at};
  requireFloating(x, call);
  auto op = [&](const Tensor &tensor) { return sameCall(tensor, call); };
  Tensor tensor = toTensor(x, fullDType(dtypeOf(x, call)), call);
  const TensorImpl &impl = use(tensor, call);
  uint32_t mask = checkedAxes(axes, impl, call);
  Tensor largest = reduce(ReduceOp::Max, impl, mask, true, call);
  // Where all is -∞ or some is +∞, the difference would be NaN.
  Tensor isInfinite = isinf(op(largest));
  Tensor shift = where(op(isInfinite), 0.0, op(largest));
  Tensor powers = exp(op(sub(op(tensor), op(shift))));
  Tensor total = reduce(ReduceOp::Sum, use(powers, call), mask, true, call);
  Tensor result = add(op(log(op(total))), op(shift));
  return dropAxes(result, mask, keepdims, call);
}
