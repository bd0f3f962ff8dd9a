//===- Support.cpp - What all families of operations share ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See Support.h.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Support.h"

#include "compiler/Eager/FreeList.h"

#include <numeric>

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Memory of tensors
//===----------------------------------------------------------------------===//

using TensorBlocks = FreeList<sizeof(TensorImpl), 64>;

TensorImpl *TensorImpl::create() {
  return new (TensorBlocks::allocate()) TensorImpl;
}

void TensorImpl::destroy(TensorImpl *tensor) {
  tensor->~TensorImpl();
  TensorBlocks::deallocate(tensor);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

void eager::failWith(const Call &call, const std::string &message) {
  throw Error(TINH_INVALID_ARGUMENT, describe(call, message));
}

void eager::failUndefined(const Call &call) {
  failWith(call, "use after move: the tensor was moved from, or was never "
                 "given a value; copy the handle, or move it last");
}

void eager::requireTracing(const Call &call) {
  if (!Backend::current().isTracing())
    fail(call, "a tensor that was made while a function or a graph was traced "
               "has no value outside of it; return it from the function, or "
               "fetch it");
}

std::ostream &eager::operator<<(std::ostream &stream, const Dims &dims) {
  return stream << toArray(dims);
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

Scalar eager::toScalar(const Number &number, tinh_dtype_t dtype) {
  Scalar scalar = {dtype, {}};
  bool isReal = number.dtype.is_floating_point();
  if (DType(dtype).is_floating_point())
    scalar.real = isReal                   ? number.real
                  : number.dtype == uint64 ? double(uint64_t(number.integer))
                                           : double(number.integer);
  else if (dtype == TINH_DTYPE_BOOL)
    scalar.integer = isReal ? number.real != 0 : number.integer != 0;
  else if (!isReal)
    scalar.integer = number.integer;
  else if (number.real > -0x1p63 && number.real < 0x1p63)
    scalar.integer = static_cast<int64_t>(number.real);
  else // Beyond int64, NaN included: what it converts to is unspecified.
    scalar.integer = number.real > 0 && number.real < 0x1p64
                         ? static_cast<int64_t>(uint64_t(number.real))
                         : INT64_MIN;
  return scalar;
}

Tensor eager::toTensor(const Operand &operand, const Call &call) {
  if (const Tensor *tensor = operand.tensor())
    return TensorAccess::share(use(*tensor, call));
  DType dtype = operand.number().dtype;
  return filled({}, toScalar(operand.number(), dtype), call);
}

Tensor eager::toTensor(const Operand &operand, DType dtype, const Call &call) {
  if (operand.tensor())
    return converted(use(*operand.tensor(), call), dtype, call);
  return filled({}, toScalar(operand.number(), dtype), call);
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

Dims eager::contiguousStrides(const Dims &sizes) {
  Dims strides = sizes;
  int64_t stride = 1;
  for (uint32_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool eager::isContiguous(const TensorImpl &x) {
  int64_t stride = 1;
  for (uint32_t i = x.rank(); i-- > 0;) {
    if (x.sizes[i] == 0)
      return true;
    if (x.sizes[i] != 1 && x.strides[i] != stride)
      return false;
    stride *= x.sizes[i];
  }
  return true;
}

void eager::requireDType(tinh_dtype_t dtype, const Call &call) {
  if (dtype > TINH_DTYPE_F64)
    fail(call, "tensors have no elements of ", tinh_dtype_name(dtype),
         ", which compiled models alone store; take float32 or float16");
}

Dims eager::checkedSizes(const IntArray &shape, DType dtype, const Call &call) {
  requireDType(dtype, call);
  if (shape.size() > TINH_MAX_RANK)
    fail(call, "shape ", shape, " has ", shape.size(),
         " dimensions; tensors have at most ", TINH_MAX_RANK);
  int64_t bytes = static_cast<int64_t>(dtype.size());
  for (int64_t extent : shape) {
    if (extent < 0)
      fail(call, "shape ", shape, " has a negative extent");
    if (__builtin_mul_overflow(bytes, std::max<int64_t>(extent, 1), &bytes))
      fail(call, "a tensor of shape ", shape, " and ", dtype,
           " is larger than can be addressed");
  }
  return Dims(shape);
}

int64_t eager::checkedAxis(int64_t axis, int64_t rank, const Call &call) {
  // A scalar is treated as having one dimension, as in PyTorch.
  int64_t count = std::max<int64_t>(rank, 1);
  if (axis < -count || axis >= count)
    fail(call, "axis ", axis, " is out of range for ", rank,
         rank == 1 ? " dimension" : " dimensions", "; it must be from ", -count,
         " to ", count - 1);
  return axis < 0 ? axis + count : axis;
}

uint32_t eager::checkedAxes(const Axes &axes, const TensorImpl &x,
                            const Call &call) {
  uint32_t mask = 0;
  if (axes.empty())
    return (1u << x.rank()) - 1;
  for (int64_t given : axes) {
    int64_t axis = checkedAxis(given, x.rank(), call);
    if (mask >> axis & 1)
      fail(call, "axis ", given, " occurs twice in ", axes);
    mask |= 1u << axis;
  }
  return x.rank() == 0 ? 0 : mask;
}

Dims eager::axesOf(uint32_t mask) {
  Dims axes;
  for (uint32_t axis = 0; mask >> axis; ++axis)
    if (mask >> axis & 1)
      axes.push_back(axis);
  return axes;
}

Dims eager::broadcastSizes(const Dims &a, const Dims &b, const Call &call) {
  const Dims &longer = a.size() >= b.size() ? a : b;
  const Dims &shorter = a.size() >= b.size() ? b : a;
  Dims sizes = longer;
  uint32_t lead = longer.size() - shorter.size();
  for (uint32_t i = 0; i < shorter.size(); ++i) {
    int64_t &extent = sizes[lead + i];
    if (extent == shorter[i] || shorter[i] == 1)
      continue;
    if (extent != 1)
      fail(call, "shapes ", a, " and ", b, " do not broadcast: dimension ",
           int64_t(i) - int64_t(shorter.size()), " is ",
           a[a.size() - shorter.size() + i], " in one and ",
           b[b.size() - shorter.size() + i],
           " in the other, and neither is 1; reshape or transpose one of them");
    extent = shorter[i];
  }
  return sizes;
}

bool eager::broadcastsTo(const Dims &from, const Dims &to) {
  if (from.size() > to.size())
    return false;
  uint32_t lead = to.size() - from.size();
  for (uint32_t i = 0; i < from.size(); ++i)
    if (from[i] != 1 && from[i] != to[lead + i])
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// New tensors
//===----------------------------------------------------------------------===//

Tensor eager::makeTensor(DType dtype, const Dims &sizes) {
  TensorImpl *impl = TensorImpl::create();
  impl->retain();
  Tensor tensor = TensorAccess::make(impl);
  impl->dtype = dtype;
  impl->sizes = sizes;
  impl->strides = contiguousStrides(sizes);
  Backend::current().allocate(*impl);
  return tensor;
}

void eager::copyInto(TensorImpl &out, const TensorImpl &x, const Call &call) {
  if (out.numElements() != 0)
    perform(primitives::Cast{}, {&x}, out, call);
}

void eager::fill(TensorImpl &out, const Scalar &value, const Call &call) {
  Input input{nullptr, value};
  if (out.numElements() != 0)
    perform(primitives::Cast{}, {&input, 1}, out, call);
}

Tensor eager::copied(const TensorImpl &x, DType dtype, const Call &call) {
  requireDType(dtype, call);
  Tensor out = makeTensor(dtype, x.sizes);
  copyInto(*TensorAccess::get(out), x, call);
  return out;
}

Tensor eager::converted(const TensorImpl &x, DType dtype, const Call &call) {
  return x.dtype == dtype ? TensorAccess::share(x) : copied(x, dtype, call);
}

Tensor eager::filled(const Dims &sizes, const Scalar &value, const Call &call) {
  requireDType(value.dtype, call);
  Tensor out = makeTensor(value.dtype, sizes);
  fill(*TensorAccess::get(out), value, call);
  return out;
}

//===----------------------------------------------------------------------===//
// Writing where others read
//===----------------------------------------------------------------------===//

void eager::requireWritable(const TensorImpl &out, const Call &call) {
  for (uint32_t i = 0; i < out.rank(); ++i)
    if (out.strides[i] == 0 && out.sizes[i] > 1)
      fail(call, "writes in place to an expanded view of shape ", out.sizes,
           ", whose dimension ", i,
           " shows one element many times; clone() it before");
}

/// The index, in the storage, after the last element.
static int64_t endOf(const TensorImpl &x) {
  int64_t end = x.offset + 1;
  for (uint32_t i = 0; i < x.rank(); ++i)
    end += (x.sizes[i] - 1) * x.strides[i];
  return end;
}

bool eager::overlapsPartly(const TensorImpl &out, const TensorImpl &x) {
  if (out.identity() != x.identity() || x.numElements() == 0)
    return false;
  if (&out == &x)
    return false;
  if (out.dtype == x.dtype && out.offset == x.offset && out.sizes == x.sizes &&
      out.strides == x.strides)
    return false;
  return out.offset < endOf(x) && x.offset < endOf(out);
}

Tensor eager::withoutOverlap(const TensorImpl &out, const TensorImpl &x,
                             const Call &call) {
  return overlapsPartly(out, x) ? copied(x, x.dtype, call)
                                : TensorAccess::share(x);
}

namespace tinh {

AtScope::AtScope(At at) : previous(std::exchange(eager::placeOfScope, at)) {}

AtScope::~AtScope() { eager::placeOfScope = previous; }

/// With whose they are.
static thread_local std::vector<std::pair<const NameScope *, std::string>>
    openScopes;

NameScope::NameScope(const std::string &name) {
  if (!name.empty())
    openScopes.emplace_back(this, name);
}

/// Scopes of generators may end in any order.
NameScope::~NameScope() {
  std::erase_if(openScopes,
                [&](const auto &scope) { return scope.first == this; });
}

std::string eager::scopedName(std::string_view name) {
  std::string path;
  for (const auto &[owner, scope] : openScopes)
    path.append(scope).append("/");
  return path.append(name);
}

} // namespace tinh
