//===- Views.cpp - Other shapes of the same elements ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Metadata alone: a view has the storage of what it was made from. Reshaping
// copies where no strides give the shape.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Support.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Making views
//===----------------------------------------------------------------------===//

Tensor eager::makeView(const TensorImpl &x, const View &how, const Dims &sizes,
                       const Dims &strides, int64_t offset) {
  TensorImpl *impl = TensorImpl::create();
  impl->retain();
  Tensor tensor = TensorAccess::make(impl);
  impl->dtype = x.dtype;
  impl->sizes = sizes;
  impl->strides = strides;
  impl->offset = offset;
  impl->storage = x.storage;
  Backend::current().view(how, x, *impl);
  return tensor;
}

/// Gives each run of x's dimensions that lies densely in memory to the new
/// dimensions of as many elements, from the last to the first.
std::optional<Dims> eager::stridesOfShape(const TensorImpl &x,
                                          const Dims &sizes) {
  if (x.numElements() == 0 || x.rank() == 0)
    return contiguousStrides(sizes);
  Dims strides = sizes;
  int64_t next = int64_t(sizes.size()) - 1;
  int64_t base = x.strides.back(), have = 1, given = 1;
  for (int64_t d = int64_t(x.rank()) - 1; d >= 0; --d) {
    have *= x.sizes[d];
    bool goesOn =
        d > 0 && (x.sizes[d - 1] == 1 || x.strides[d - 1] == have * base);
    if (goesOn)
      continue;
    for (; next >= 0 && (given < have || sizes[next] == 1); --next) {
      strides[next] = given * base;
      given *= sizes[next];
    }
    if (given != have)
      return std::nullopt;
    if (d > 0)
      base = x.strides[d - 1];
    have = given = 1;
  }
  return next < 0 ? std::optional(strides) : std::nullopt;
}

static Tensor reshapeView(const TensorImpl &x, const Dims &sizes,
                          const Dims &strides) {
  View how;
  how.kind = View::Reshape;
  return makeView(x, how, sizes, strides, x.offset);
}

Tensor eager::reshaped(const TensorImpl &x, const Dims &sizes,
                       const Call &call) {
  if (sizes == x.sizes)
    return TensorAccess::share(x);
  if (std::optional<Dims> strides = stridesOfShape(x, sizes))
    return reshapeView(x, sizes, *strides);
  Tensor copy = copied(x, x.dtype, call);
  return reshapeView(use(copy, call), sizes, contiguousStrides(sizes));
}

Tensor eager::broadcastView(const TensorImpl &x, const Dims &sizes,
                            const Call &call) {
  if (sizes == x.sizes)
    return TensorAccess::share(x);
  if (!broadcastsTo(x.sizes, sizes))
    fail(call, "shape ", x.sizes, " does not broadcast to ", sizes,
         "; its extents must be equal or 1, from the last on");
  View how;
  how.kind = View::Broadcast;
  Dims strides = Dims::filled(sizes.size(), 0);
  uint32_t lead = sizes.size() - x.rank();
  for (uint32_t i = 0; i < x.rank(); ++i)
    if (x.sizes[i] == sizes[lead + i])
      strides[lead + i] = x.strides[i];
  return makeView(x, how, sizes, strides, x.offset);
}

Tensor eager::permuted(const TensorImpl &x, const Dims &order) {
  View how;
  how.kind = View::Transpose;
  how.permutation = order;
  Dims sizes = order, strides = order;
  for (uint32_t i = 0; i < order.size(); ++i) {
    sizes[i] = x.sizes[order[i]];
    strides[i] = x.strides[order[i]];
  }
  return makeView(x, how, sizes, strides, x.offset);
}

Tensor eager::movedAxis(const TensorImpl &x, int64_t from, int64_t to) {
  if (from == to)
    return TensorAccess::share(x);
  Dims order;
  for (int64_t i = 0; i < x.rank(); ++i)
    order.push_back(i);
  order.erase(from);
  order.insert(to, from);
  return permuted(x, order);
}

//===----------------------------------------------------------------------===//
// Order of dimensions
//===----------------------------------------------------------------------===//

Tensor Tensor::transpose(int64_t a, int64_t b, At at) const {
  Call call{"transpose", at};
  const TensorImpl &x = use(*this, call);
  a = checkedAxis(a, x.rank(), call);
  b = checkedAxis(b, x.rank(), call);
  Dims order;
  for (int64_t i = 0; i < x.rank(); ++i)
    order.push_back(i == a ? b : i == b ? a : i);
  return permuted(x, order);
}

Tensor Tensor::permute(const Axes &order, At at) const {
  Call call{"permute", at};
  const TensorImpl &x = use(*this, call);
  if (order.size() != x.rank())
    fail(call, "order ", order, " has ", order.size(), " entries for shape ",
         x.sizes, "; it must name each dimension once");
  if (order.size() != 0)
    checkedAxes(order, x, call);
  Dims permutation;
  for (int64_t axis : order)
    permutation.push_back(checkedAxis(axis, x.rank(), call));
  return permuted(x, permutation);
}

Tensor Tensor::t(At at) const {
  Call call{"t", at};
  const TensorImpl &x = use(*this, call);
  if (x.rank() > 2)
    fail(call, "expected at most 2 dimensions, found shape ", x.sizes,
         ": mT swaps the last two, permute gives any order");
  return x.rank() < 2 ? *this : transpose(0, 1, at);
}

Tensor Tensor::mT(At at) const {
  Call call{"mT", at};
  const TensorImpl &x = use(*this, call);
  if (x.rank() < 2)
    fail(call, "expected at least 2 dimensions, found shape ", x.sizes);
  return transpose(-2, -1, at);
}

//===----------------------------------------------------------------------===//
// Other shapes
//===----------------------------------------------------------------------===//

/// `shape` with its -1, if any, replaced.
static Dims resolveShape(const TensorImpl &x, const Shape &shape,
                         const Call &call) {
  Shape given = shape;
  int64_t unknown = -1, known = 1;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] != -1) {
      known *= given[i];
      continue;
    }
    if (unknown >= 0)
      fail(call, "shape ", shape, " has more than one -1");
    unknown = static_cast<int64_t>(i);
  }
  int64_t count = x.numElements();
  if (unknown >= 0) {
    if (known <= 0 || count % known != 0)
      fail(call, "shape ", x.sizes, " of ", count, " elements does not fit ",
           shape, ": ", count, " is no multiple of ", known);
    given[unknown] = count / known;
  }
  Dims sizes = checkedSizes(given, x.dtype, call);
  if (sizes.product() != count)
    fail(call, "shape ", x.sizes, " has ", count, " elements, ", shape, " ",
         sizes.product(),
         "; give extents of the same product, one of which "
         "may be -1");
  return sizes;
}

Tensor Tensor::reshape(const Shape &shape, At at) const {
  Call call{"reshape", at};
  const TensorImpl &x = use(*this, call);
  return reshaped(x, resolveShape(x, shape, call), call);
}

Tensor Tensor::view(const Shape &shape, At at) const {
  Call call{"view", at};
  const TensorImpl &x = use(*this, call);
  Dims sizes = resolveShape(x, shape, call);
  std::optional<Dims> strides = stridesOfShape(x, sizes);
  if (!strides)
    fail(call, "shape ", x.sizes, " of strides ", x.strides, " has no view ",
         sizes, " without a copy; use reshape");
  return reshapeView(x, sizes, *strides);
}

Tensor Tensor::flatten(int64_t first, int64_t last, At at) const {
  Call call{"flatten", at};
  const TensorImpl &x = use(*this, call);
  if (x.rank() == 0)
    return reshaped(x, Dims::filled(1, 1), call);
  first = checkedAxis(first, x.rank(), call);
  last = checkedAxis(last, x.rank(), call);
  if (first > last)
    fail(call, "axis ", first, " is after axis ", last);
  Dims sizes;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (i > first && i <= last)
      sizes.back() *= x.sizes[i];
    else
      sizes.push_back(x.sizes[i]);
  return reshaped(x, sizes, call);
}

Tensor Tensor::squeeze(const Axes &axes, At at) const {
  Call call{"squeeze", at};
  const TensorImpl &x = use(*this, call);
  uint32_t mask = checkedAxes(axes, x, call);
  Dims sizes, strides;
  for (uint32_t i = 0; i < x.rank(); ++i) {
    if ((mask >> i & 1) && x.sizes[i] == 1)
      continue;
    sizes.push_back(x.sizes[i]);
    strides.push_back(x.strides[i]);
  }
  return sizes == x.sizes ? *this : reshapeView(x, sizes, strides);
}

Tensor Tensor::unsqueeze(int64_t axis, At at) const {
  Call call{"unsqueeze", at};
  const TensorImpl &x = use(*this, call);
  axis = checkedAxis(axis, x.rank() + 1, call);
  if (x.rank() == TINH_MAX_RANK)
    fail(call, "shape ", x.sizes, " has ", x.rank(),
         " dimensions already, which is the most");
  Dims sizes = x.sizes, strides = x.strides;
  int64_t stride = axis < x.rank() ? x.sizes[axis] * x.strides[axis] : 1;
  sizes.insert(axis, 1);
  strides.insert(axis, std::max<int64_t>(stride, 1));
  return reshapeView(x, sizes, strides);
}

Tensor Tensor::expand(const Shape &shape, At at) const {
  Call call{"expand", at};
  const TensorImpl &x = use(*this, call);
  Shape wanted = shape;
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t own = int64_t(i) + x.rank() - int64_t(wanted.size());
    if (wanted[i] == -1 && own >= 0)
      wanted[i] = x.sizes[own];
  }
  return broadcastView(x, checkedSizes(wanted, x.dtype, call), call);
}

Tensor tinh::broadcast_to(Operand x, const Shape &shape) {
  Call call{"broadcast_to", x.at};
  Tensor tensor = toTensor(x, call);
  const TensorImpl &impl = use(tensor, call);
  return broadcastView(impl, checkedSizes(shape, impl.dtype, call), call);
}
