//===- ByIndex.cpp - Elements picked and written by index -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Indices are checked where they are used, when the operation runs. The three
// functions whose result's shape depends on elements wait for these.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Device.h"
#include "compiler/Eager/Tensor/Elementwise.h"

#include "compiler/Eager/Tensor/Host.h"

#include <algorithm>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Picking
//===----------------------------------------------------------------------===//

/// Indices as backends take them.
static Tensor indicesOf(const Operand &index, const Call &call) {
  Tensor tensor = toTensor(index, call);
  DType dtype = use(tensor, call).dtype;
  if (!dtype.is_integer())
    fail(call, "the index has dtype ", dtype, "; it must be of integers");
  return converted(use(tensor, call), int64, call);
}

Tensor eager::gathered(const TensorImpl &x, const TensorImpl &indices,
                       int64_t axis, const Call &call) {
  Dims sizes = x.sizes;
  sizes.erase(size_t(axis));
  if (sizes.size() + indices.rank() > TINH_MAX_RANK)
    fail(call, "the result would have more than ", TINH_MAX_RANK,
         " dimensions");
  for (uint32_t i = 0; i < indices.rank(); ++i)
    sizes.insert(size_t(axis) + i, indices.sizes[i]);
  Tensor out = makeTensor(x.dtype, sizes);
  if (sizes.product() == 0)
    return out;
  if (x.numElements() == 0)
    fail(call, "there is nothing to pick from dimension ", axis, " of shape ",
         x.sizes);
  perform(primitives::Gather{axis}, {&x, &indices}, use(out, call), call);
  return out;
}

Tensor tinh::index_select(Operand x, int64_t axis, Operand index) {
  Call call{"index_select", x.at};
  Tensor tensor = toTensor(x, call), places = indicesOf(index, call);
  const TensorImpl &impl = use(tensor, call), &indices = use(places, call);
  if (impl.rank() == 0 || indices.rank() != 1)
    fail(call, "shape ", impl.sizes, " and index of shape ", indices.sizes,
         ": the index must have rank 1, and something to pick from");
  return gathered(impl, indices, checkedAxis(axis, impl.rank(), call), call);
}

Tensor tinh::take(Operand x, Operand index) {
  Call call{"take", x.at};
  Tensor tensor = toTensor(x, call), places = indicesOf(index, call);
  Tensor flat = tensor.reshape(-1, x.at);
  return gathered(use(flat, call), use(places, call), 0, call);
}

/// Throws unless `small` has the rank of `large` and is within it but for one
/// dimension.
static void requireWithin(const TensorImpl &small, const TensorImpl &large,
                          int64_t axis, const Call &call) {
  bool fits = small.rank() == large.rank();
  for (uint32_t i = 0; fits && i < small.rank(); ++i)
    fits = i == axis || small.sizes[i] <= large.sizes[i];
  if (!fits)
    fail(call, "an index of shape ", small.sizes, " must have the rank of ",
         large.sizes, " and not be larger but in dimension ", axis);
}

static Tensor gatherAlong(const Tensor &x, const Tensor &index, int64_t axis,
                          const Call &call) {
  const TensorImpl &impl = use(x, call), &indices = use(index, call);
  requireWithin(indices, impl, axis, call);
  Tensor out = makeTensor(impl.dtype, indices.sizes);
  if (indices.numElements() == 0)
    return out;
  if (impl.numElements() == 0)
    fail(call, "there is nothing to pick from shape ", impl.sizes);
  perform(primitives::GatherElements{axis}, {&impl, &indices}, use(out, call),
          call);
  return out;
}

/// A tensor of rank 0 as a vector.
static Tensor atLeastVector(const Tensor &x, const Call &call) {
  return use(x, call).rank() == 0 ? x.reshape(1, call.at) : x;
}

Tensor tinh::gather(Operand x, int64_t axis, Operand index) {
  Call call{"gather", x.at};
  Tensor tensor = toTensor(x, call), places = indicesOf(index, call);
  axis = checkedAxis(axis, use(tensor, call).rank(), call);
  if (use(tensor, call).rank() != 0)
    return gatherAlong(tensor, places, axis, call);
  Dims sizes = use(places, call).sizes;
  Tensor picked = gatherAlong(atLeastVector(tensor, call),
                              atLeastVector(places, call), axis, call);
  return reshaped(use(picked, call), sizes, call);
}

Tensor tinh::take_along(Operand x, Operand index, int64_t axis) {
  Call call{"take_along", x.at};
  Tensor tensor = toTensor(x, call), places = indicesOf(index, call);
  const TensorImpl &impl = use(tensor, call), &indices = use(places, call);
  if (impl.rank() == 0 || impl.rank() != indices.rank())
    fail(call, "shape ", impl.sizes, " and index of shape ", indices.sizes,
         " must have the same number of dimensions, and at least one");
  axis = checkedAxis(axis, impl.rank(), call);
  Dims own = impl.sizes, wanted = indices.sizes;
  own[axis] = wanted[axis] = 1;
  Dims common = broadcastSizes(own, wanted, call);
  own = wanted = common;
  own[axis] = impl.sizes[axis];
  wanted[axis] = indices.sizes[axis];
  return gatherAlong(broadcastView(impl, own, call),
                     broadcastView(indices, wanted, call), axis, call);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Checks that elements of `source` can be written to `out` along `axis`, which
/// is counted from the first one on then.
static TensorImpl &writtenAlong(int64_t &axis, const Tensor &out,
                                const Operand &source, const Call &call) {
  TensorImpl &impl = use(out, call);
  if (impl.rank() == 0)
    fail(call, "a tensor of rank 0 has no dimension to index");
  axis = checkedAxis(axis, impl.rank(), call);
  requireWritable(impl, call);
  requireFits(commonDType(call, source), impl.dtype, call);
  return impl;
}

static void scatterInto(ScatterOp op, const Tensor &out, int64_t axis,
                        const Operand &index, const Operand &source,
                        const Call &call) {
  TensorImpl &impl = writtenAlong(axis, out, source, call);
  Tensor places = indicesOf(index, call);
  places = withoutOverlap(impl, use(places, call), call);
  const TensorImpl &indices = use(places, call);
  requireWithin(indices, impl, axis, call);
  Tensor values = toTensor(source, impl.dtype, call);
  if (use(values, call).rank() == 0) {
    values = broadcastView(use(values, call), indices.sizes, call);
  } else {
    requireWithin(indices, use(values, call), axis, call);
    for (uint32_t i = 0; i < indices.rank(); ++i)
      if (indices.sizes[i] > use(values, call).sizes[i])
        fail(call, "an index of shape ", indices.sizes,
             " is larger than the source of shape ", use(values, call).sizes);
      else
        values = values.narrow(i, 0, indices.sizes[i], call.at);
  }
  values = withoutOverlap(impl, use(values, call), call);
  if (indices.numElements() == 0)
    return;
  if (impl.numElements() == 0)
    fail(call, "there is nothing to write in shape ", impl.sizes);
  perform(primitives::ScatterElements{op, axis},
          {&impl, &indices, &use(values, call)}, impl, call);
}

const Tensor &Tensor::scatter_(int64_t axis, Operand index,
                               Operand source) const {
  scatterInto(ScatterOp::Assign, *this, axis, index, source,
              {"scatter_", index.at});
  return *this;
}
const Tensor &Tensor::scatter_add_(int64_t axis, Operand index,
                                   Operand source) const {
  scatterInto(ScatterOp::Add, *this, axis, index, source,
              {"scatter_add_", index.at});
  return *this;
}

Tensor tinh::scatter(Operand x, int64_t axis, Operand index, Operand source) {
  Call call{"scatter", x.at};
  Tensor tensor = toTensor(x, call), out = tensor.clone(x.at);
  scatterInto(ScatterOp::Assign, out, axis, index, source, call);
  return out;
}
Tensor tinh::scatter_add(Operand x, int64_t axis, Operand index,
                         Operand source) {
  Call call{"scatter_add", x.at};
  Tensor tensor = toTensor(x, call), out = tensor.clone(x.at);
  scatterInto(ScatterOp::Add, out, axis, index, source, call);
  return out;
}

static void addParts(const Tensor &out, int64_t axis, const Operand &index,
                     const Operand &source, const Call &call) {
  TensorImpl &impl = writtenAlong(axis, out, source, call);
  Tensor places = indicesOf(index, call);
  if (use(places, call).rank() != 1)
    fail(call, "the index has shape ", use(places, call).sizes,
         "; it must have rank 1");
  Dims wanted = impl.sizes;
  wanted[axis] = use(places, call).sizes[0];
  Tensor values = toTensor(source, impl.dtype, call);
  values = broadcastView(use(values, call), wanted, call);
  if (wanted.product() == 0)
    return;
  if (impl.numElements() == 0)
    fail(call, "there is nothing to write in shape ", impl.sizes);
  Tensor parts = movedAxis(use(values, call), axis, 0);
  Tensor target = movedAxis(impl, axis, 0);
  Tensor tuples = places.unsqueeze(1, call.at);
  parts = withoutOverlap(impl, use(parts, call), call);
  tuples = withoutOverlap(impl, use(tuples, call), call);
  TensorImpl &written = use(target, call);
  perform(primitives::ScatterNd{ScatterOp::Add},
          {&written, &use(tuples, call), &use(parts, call)}, written, call);
}

const Tensor &Tensor::index_add_(int64_t axis, Operand index,
                                 Operand source) const {
  addParts(*this, axis, index, source, {"index_add_", index.at});
  return *this;
}
Tensor tinh::index_add(Operand x, int64_t axis, Operand index, Operand source) {
  Call call{"index_add", x.at};
  Tensor tensor = toTensor(x, call), out = tensor.clone(x.at);
  addParts(out, axis, index, source, call);
  return out;
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// The first `count` along the axis, in order.
static ValuesAndIndices sortFirst(const Tensor &x, int64_t count, int64_t axis,
                                  bool descending, bool wantsValues,
                                  const Call &call) {
  const TensorImpl &impl = use(x, call);
  LikeScope scope(impl);
  if (impl.rank() == 0)
    return {wantsValues ? x.clone(call.at) : Tensor(),
            filled({}, toScalar(0, int64), call)};
  Dims sizes = impl.sizes;
  sizes[axis] = count;
  ValuesAndIndices result;
  if (wantsValues)
    result.values = makeTensor(impl.dtype, sizes);
  result.indices = makeTensor(int64, sizes);
  if (sizes.product() == 0)
    return result;
  Input input{&impl, {}};
  TensorImpl *outputs[] = {TensorAccess::get(result.values),
                           TensorAccess::get(result.indices)};
  Backend::current().perform({primitives::Sort{axis, descending, wantsValues},
                              {&input, 1},
                              std::span(outputs).subspan(wantsValues ? 0 : 1),
                              call});
  return result;
}

static ValuesAndIndices sortAll(const Operand &x, int64_t axis, bool descending,
                                bool wantsValues, const Call &call) {
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  axis = checkedAxis(axis, impl.rank(), call);
  int64_t extent = impl.rank() == 0 ? 1 : impl.sizes[axis];
  return sortFirst(tensor, extent, axis, descending, wantsValues, call);
}

ValuesAndIndices tinh::sort(Operand x, int64_t axis, bool descending) {
  return sortAll(x, axis, descending, true, {"sort", x.at});
}
Tensor tinh::argsort(Operand x, int64_t axis, bool descending) {
  return sortAll(x, axis, descending, false, {"argsort", x.at}).indices;
}

ValuesAndIndices tinh::topk(Operand x, int64_t count, int64_t axis,
                            bool largest) {
  Call call{"topk", x.at};
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  axis = checkedAxis(axis, impl.rank(), call);
  int64_t extent = impl.rank() == 0 ? 1 : impl.sizes[axis];
  if (count < 0 || count > extent)
    fail(call, "there are no ", count, " elements along dimension ", axis,
         " of shape ", impl.sizes);
  return sortFirst(tensor, count, axis, largest, true, call);
}

//===----------------------------------------------------------------------===//
// Shapes that depend on elements
//===----------------------------------------------------------------------===//

Tensor tinh::nonzero(Operand x) {
  Call call{"nonzero", x.at};
  Tensor isSet = toTensor(x, boolean, call);
  const TensorImpl &impl = use(isSet, call);
  LikeScope scope(impl);
  std::vector<uint8_t> set(size_t(impl.numElements()));
  copyToHost(impl, set.data(), call);
  std::vector<int64_t> indices;
  int64_t count = 0;
  for (size_t i = 0; i < set.size(); ++i) {
    if (!set[i])
      continue;
    ++count;
    int64_t rest = int64_t(i);
    indices.resize(indices.size() + impl.rank());
    for (uint32_t d = impl.rank(); d-- > 0; rest /= impl.sizes[d])
      indices[indices.size() - impl.rank() + d] = rest % impl.sizes[d];
  }
  return from_data(indices, Shape{count, int64_t(impl.rank())}, x.at);
}

Tensor tinh::masked_select(Operand x, Operand mask) {
  Call call{"masked_select", x.at};
  Tensor tensor = toTensor(x, call), holds = toTensor(mask, call);
  const TensorImpl &impl = use(tensor, call), &condition = use(holds, call);
  if (condition.dtype != TINH_DTYPE_BOOL)
    fail(call, "the mask has dtype ", DType(condition.dtype),
         "; it must be boolean, as x != 0 is");
  Dims sizes = broadcastSizes(impl.sizes, condition.sizes, call);
  Tensor elements = broadcastView(impl, sizes, call).reshape(-1, x.at);
  Tensor flags = broadcastView(condition, sizes, call).reshape(-1, x.at);
  Tensor places = nonzero(sameCall(flags, call)).reshape(-1, x.at);
  return gathered(use(elements, call), use(places, call), 0, call);
}

Tensor tinh::unique(Operand x) {
  Call call{"unique", x.at};
  Tensor flat = toTensor(x, call).reshape(-1, x.at);
  Tensor sorted = sortAll(sameCall(flat, call), 0, false, true, call).values;
  int64_t count = use(sorted, call).numElements();
  if (count < 2)
    return sorted;
  // The first one, and each that differs from the one before.
  Tensor later = sorted.narrow(0, 1, count - 1, x.at);
  Tensor earlier = sorted.narrow(0, 0, count - 1, x.at);
  Tensor differs = ne(sameCall(later, call), sameCall(earlier, call));
  LikeScope scope(use(sorted, call));
  Tensor first = filled(Dims::filled(1, 1), toScalar(true, boolean), call);
  Tensor kept = concat({first, differs}, 0, x.at);
  return masked_select(sameCall(sorted, call), sameCall(kept, call));
}
