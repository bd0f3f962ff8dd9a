//===- Operands.cpp - Tensors as operations see them ----------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
#include "compiler/Eager/Cpu/Operands.h"

#include "compiler/Eager/Primitives/Primitive.h"
#include "compiler/Eager/Tensor/Support.h"

namespace tinh::eager {

uint64_t bitsOf(const Scalar &scalar) {
  switch (scalar.dtype) {
  case TINH_DTYPE_F64:
    return std::bit_cast<uint64_t>(scalar.real);
  case TINH_DTYPE_F32:
    return std::bit_cast<uint32_t>(static_cast<float>(scalar.real));
  case TINH_DTYPE_F16:
    return std::bit_cast<uint16_t>(static_cast<_Float16>(scalar.real));
  case TINH_DTYPE_BF16:
    return floatToBfloat16(static_cast<float>(scalar.real));
  default:
    return static_cast<uint64_t>(scalar.integer);
  }
}

Ref<TensorImpl> makeTemporary(tinh_dtype_t dtype,
                              std::span<const int64_t> sizes) {
  Ref<TensorImpl> tensor = TensorImpl::create();
  tensor->dtype = dtype;
  tensor->sizes = sizes;
  tensor->strides = contiguousStrides(sizes);
  eagerBackend().allocate(*tensor);
  return tensor;
}

Ref<const TensorImpl> contiguous(const TensorImpl &x, const Call &call) {
  if (isContiguous(x))
    return &x;
  Ref<TensorImpl> copy = makeTemporary(x.dtype, x.sizes);
  Input input{&x, {}};
  perform(primitives::Cast{}, {&input, 1}, *copy, call, eagerBackend());
  return copy.get();
}

void setView(TensorImpl &view, const TensorImpl &x) {
  view.dtype = x.dtype;
  view.sizes = x.sizes;
  view.strides = x.strides;
  view.offset = x.offset;
  view.storage = x.storage;
}

} // namespace tinh::eager
