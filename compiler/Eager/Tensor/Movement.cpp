//===- Movement.cpp - Joining, splitting, reordering ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What gives the elements of its operands in another place, without looking at
// them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Joining and splitting
//===----------------------------------------------------------------------===//

static Tensor join(std::span<const Tensor> inputs, int64_t axis,
                   const Call &call) {
  if (inputs.empty())
    fail(call, "there are no inputs");
  tinh_dtype_t dtype = use(inputs[0], call).dtype;
  const TensorImpl &first = use(inputs[0], call);
  axis = checkedAxis(axis, first.rank(), call);
  Dims sizes = first.sizes;
  for (const Tensor &input : inputs) {
    const TensorImpl &x = use(input, call);
    bool fits = x.rank() == sizes.size() && x.rank() != 0;
    for (uint32_t i = 0; fits && i < x.rank(); ++i)
      fits = i == axis || x.sizes[i] == sizes[i];
    if (!fits)
      fail(call, "shapes ", first.sizes, " and ", x.sizes,
           " must be equal but for dimension ", axis,
           x.rank() == 0 ? "; join tensors of rank 0 with stack" : "");
    dtype = promote(dtype, x.dtype, call);
    if (&x != &first || &input != &inputs[0])
      sizes[axis] += x.sizes[axis];
  }
  std::vector<Tensor> parts; // Without empty ones.
  std::vector<Input> list;
  for (const Tensor &input : inputs)
    if (use(input, call).numElements() != 0)
      parts.push_back(converted(use(input, call), dtype, call));
  list.reserve(parts.size());
  for (const Tensor &part : parts)
    list.push_back({TensorAccess::get(part), {}});
  Tensor out = makeTensor(dtype, sizes);
  if (!list.empty())
    perform(primitives::Concat{axis}, list, use(out, call), call);
  return out;
}

Tensor tinh::concat(std::span<const Tensor> inputs, int64_t axis, At at) {
  return join(inputs, axis, {"concat", at});
}
Tensor tinh::concat(std::initializer_list<Tensor> inputs, int64_t axis, At at) {
  return join({inputs.begin(), inputs.size()}, axis, {"concat", at});
}

Tensor tinh::stack(std::span<const Tensor> inputs, int64_t axis, At at) {
  Call call{"stack", at};
  std::vector<Tensor> parts;
  for (const Tensor &input : inputs) {
    const TensorImpl &x = use(input, call), &first = use(inputs[0], call);
    if (!(x.sizes == first.sizes))
      fail(call, "shapes ", first.sizes, " and ", x.sizes, " must be equal");
    parts.push_back(input.unsqueeze(axis, at));
  }
  return join(parts, axis, call);
}
Tensor tinh::stack(std::initializer_list<Tensor> inputs, int64_t axis, At at) {
  return stack(std::span<const Tensor>(inputs.begin(), inputs.size()), axis,
               at);
}

static std::vector<Tensor> splitBy(const Tensor &x,
                                   const std::vector<int64_t> &sizes,
                                   int64_t axis, const Call &call) {
  std::vector<Tensor> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(x.narrow(axis, start, size, call.at));
    start += size;
  }
  return parts;
}

static int64_t extentAlong(const Tensor &x, int64_t axis, const Call &call) {
  const TensorImpl &impl = use(x, call);
  if (impl.rank() == 0)
    fail(call, "a tensor of rank 0 has no dimension to split");
  return impl.sizes[checkedAxis(axis, impl.rank(), call)];
}

std::vector<Tensor> tinh::split(Operand x, int64_t size, int64_t axis) {
  Call call{"split", x.at};
  Tensor tensor = toTensor(x, call);
  int64_t extent = extentAlong(tensor, axis, call);
  if (size < 1)
    fail(call, "the size of parts is ", size, "; it must be positive");
  std::vector<int64_t> sizes;
  for (int64_t start = 0; start < extent; start += size)
    sizes.push_back(std::min(size, extent - start));
  if (sizes.empty())
    sizes.push_back(0);
  return splitBy(tensor, sizes, axis, call);
}

std::vector<Tensor> tinh::split_sizes(Operand x, const IntArray &sizes,
                                      int64_t axis) {
  Call call{"split_sizes", x.at};
  Tensor tensor = toTensor(x, call);
  int64_t extent = extentAlong(tensor, axis, call), total = 0;
  for (int64_t size : sizes)
    total += size;
  if (total != extent)
    fail(call, "sizes ", sizes, " are ", total, " together, but dimension ",
         axis, " of shape ", use(tensor, call).sizes, " is ", extent);
  return splitBy(tensor, {sizes.begin(), sizes.end()}, axis, call);
}

std::vector<Tensor> tinh::chunk(Operand x, int64_t count, int64_t axis) {
  Call call{"chunk", x.at};
  if (count < 1)
    fail(call, "the count is ", count, "; it must be positive");
  Tensor tensor = toTensor(x, call);
  int64_t extent = extentAlong(tensor, axis, call);
  int64_t size = std::max<int64_t>((extent + count - 1) / count, 1);
  return split(sameCall(tensor, call), size, axis);
}

//===----------------------------------------------------------------------===//
// Repeating
//===----------------------------------------------------------------------===//

/// Repeats by a new dimension before (whole) or after (each element) axis.
static Tensor repeated(const Tensor &x, int64_t axis, int64_t times, bool whole,
                       const Call &call) {
  Dims sizes = use(x, call).sizes, result = sizes;
  int64_t place = whole ? axis : axis + 1;
  Tensor wider = x.unsqueeze(place, call.at);
  sizes.insert(place, times);
  result[axis] *= times;
  Tensor view = broadcastView(use(wider, call), sizes, call);
  return reshaped(use(view, call), result, call);
}

Tensor tinh::tile(Operand x, const IntArray &times) {
  Call call{"tile", x.at};
  Tensor result = toTensor(x, call);
  for (int64_t count : times)
    if (count < 0)
      fail(call, "times ", times, " must not be negative");
  checkedSizes(times, int8, call);
  while (use(result, call).rank() < times.size())
    result = result.unsqueeze(0, call.at);
  int64_t lead = use(result, call).rank() - int64_t(times.size());
  bool isSame = true;
  for (size_t i = 0; i < times.size(); ++i)
    if (times[i] != 1) {
      result = repeated(result, lead + int64_t(i), times[i], true, call);
      isSame = false;
    }
  return isSame ? result.clone(x.at) : result;
}

Tensor tinh::repeat_interleave(Operand x, int64_t times, int64_t axis) {
  Call call{"repeat_interleave", x.at};
  Tensor tensor = toTensor(x, call);
  extentAlong(tensor, axis, call);
  if (times < 0)
    fail(call, "times is ", times, "; it must not be negative");
  axis = checkedAxis(axis, use(tensor, call).rank(), call);
  if (times == 1)
    return tensor.clone(x.at);
  return repeated(tensor, axis, times, false, call);
}

//===----------------------------------------------------------------------===//
// Reordering
//===----------------------------------------------------------------------===//

Tensor tinh::flip(Operand x, const Axes &axes) {
  Call call{"flip", x.at};
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  uint32_t mask = checkedAxes(axes, impl, call);
  Tensor out = makeTensor(impl.dtype, impl.sizes);
  if (mask == 0)
    copyInto(use(out, call), impl, call);
  else if (impl.numElements() != 0)
    perform(primitives::Flip{axesOf(mask)}, {&impl}, use(out, call), call);
  return out;
}

Tensor tinh::roll(Operand x, const IntArray &shifts, const Axes &axes) {
  Call call{"roll", x.at};
  Tensor result = toTensor(x, call);
  if (shifts.size() != axes.size())
    fail(call, "there are ", shifts.size(), " shifts for ", axes.size(),
         " axes");
  bool isSame = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t extent = extentAlong(result, axes[i], call);
    int64_t shift = extent ? (shifts[i] % extent + extent) % extent : 0;
    if (shift == 0)
      continue;
    Tensor head = result.narrow(axes[i], 0, extent - shift, x.at);
    Tensor tail = result.narrow(axes[i], extent - shift, shift, x.at);
    result = concat({tail, head}, axes[i], x.at);
    isSame = false;
  }
  return isSame ? result.clone(x.at) : result;
}

//===----------------------------------------------------------------------===//
// Padding
//===----------------------------------------------------------------------===//

static void checkPadding(const TensorImpl &x, const Dims &low, const Dims &high,
                         PadMode mode, const Call &call) {
  for (uint32_t i = 0; i < x.rank(); ++i) {
    int64_t most = std::max(low[i], high[i]), extent = x.sizes[i];
    bool fits = mode == PadMode::Edge      ? extent > 0
                : mode == PadMode::Reflect ? most < extent
                                           : most <= extent;
    if (most > 0 && mode != PadMode::Constant && !fits)
      fail(call, "dimension ", i, " of shape ", x.sizes,
           " has too few elements to be padded by ", most, " in this mode");
  }
}

Tensor tinh::pad(Operand x, const IntArray &low, const IntArray &high,
                 Padding mode, Number value) {
  Call call{"pad", x.at};
  Tensor tensor = toTensor(x, call);
  uint32_t rank = use(tensor, call).rank();
  if (low.size() != rank || high.size() != rank)
    fail(call, "low ", low, " and high ", high, " must have ", rank,
         " entries for shape ", use(tensor, call).sizes);
  Dims before = Dims::filled(rank, 0), after = before;
  bool isSame = true;
  for (uint32_t i = 0; i < rank; ++i) {
    int64_t extent = use(tensor, call).sizes[i];
    int64_t cutLow = std::max<int64_t>(-low[i], 0);
    int64_t cutHigh = std::max<int64_t>(-high[i], 0);
    if (cutLow + cutHigh > 0)
      tensor = tensor.narrow(i, std::min(cutLow, extent),
                             extent - cutLow - cutHigh, x.at);
    before[i] = std::max<int64_t>(low[i], 0);
    after[i] = std::max<int64_t>(high[i], 0);
    isSame &= before[i] == 0 && after[i] == 0;
  }
  const TensorImpl &impl = use(tensor, call);
  if (isSame)
    return copied(impl, impl.dtype, call);
  auto how = static_cast<PadMode>(mode);
  checkPadding(impl, before, after, how, call);
  Shape shape;
  for (uint32_t i = 0; i < rank; ++i)
    shape.push_back(impl.sizes[i] + before[i] + after[i]);
  Tensor out = makeTensor(impl.dtype, checkedSizes(shape, impl.dtype, call));
  TensorImpl &result = use(out, call);
  Scalar scalar = toScalar(value, impl.dtype);
  if (result.numElements() == 0)
    return out;
  if (impl.numElements() == 0)
    fill(result, scalar, call);
  else
    perform(primitives::Pad{before, after, how, scalar}, {&impl}, result, call);
  return out;
}

//===----------------------------------------------------------------------===//
// Triangles
//===----------------------------------------------------------------------===//

/// Keeps elements by how column - row compares with the diagonal.
static Tensor triangle(const Operand &x, int64_t diagonal, bool lower,
                       const Call &call) {
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  if (impl.rank() < 2)
    fail(call, "shape ", impl.sizes, " must have rows and columns");
  LikeScope scope(impl);
  Tensor rows = arange(impl.sizes[impl.rank() - 2], call.at);
  Tensor columns = arange(impl.sizes.back(), call.at);
  Tensor limit = add(sameCall(rows.unsqueeze(1, call.at), call), diagonal);
  Tensor kept = lower ? le(sameCall(columns, call), sameCall(limit, call))
                      : ge(sameCall(columns, call), sameCall(limit, call));
  return elementwise(ElementwiseOp::Where,
                     {sameCall(kept, call), sameCall(tensor, call), 0},
                     impl.dtype, call);
}

Tensor tinh::tril(Operand x, int64_t diagonal) {
  return triangle(x, diagonal, true, {"tril", x.at});
}
Tensor tinh::triu(Operand x, int64_t diagonal) {
  return triangle(x, diagonal, false, {"triu", x.at});
}
