//===- Tensor.cpp - The handle and what it tells ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reference counts, metadata, and the functions that are members too.
//
//===----------------------------------------------------------------------===//
#include "tinh/tensor.h"

#include "compiler/Eager/Tensor/Support.h"

using namespace tinh;
using namespace tinh::eager;

//===----------------------------------------------------------------------===//
// Handle
//===----------------------------------------------------------------------===//

Tensor::Tensor(const Tensor &other) noexcept : impl(other.impl) {
  if (impl)
    impl->retain();
}

Tensor::~Tensor() {
  if (impl)
    impl->release();
}

Tensor &Tensor::operator=(const Tensor &other) & noexcept {
  Tensor copy(other);
  std::swap(impl, copy.impl);
  return *this;
}

Tensor &Tensor::operator=(Tensor &&other) & noexcept {
  Tensor taken(std::move(other));
  std::swap(impl, taken.impl);
  return *this;
}

bool Tensor::shares_memory_with(const Tensor &other) const {
  return impl && other.impl && impl->identity() == other.impl->identity();
}

//===----------------------------------------------------------------------===//
// Metadata
//===----------------------------------------------------------------------===//

Shape Tensor::shape(At at) const {
  return toArray(metadataOf(*this, {"shape", at}).sizes);
}

int64_t Tensor::size(int64_t axis, At at) const {
  Call call{"size", at};
  const TensorImpl &x = metadataOf(*this, call);
  if (x.rank() == 0)
    fail(call, "a tensor of rank 0 has no dimension ", axis);
  return x.sizes[checkedAxis(axis, x.rank(), call)];
}

IntArray Tensor::strides(At at) const {
  return toArray(metadataOf(*this, {"strides", at}).strides);
}

DType Tensor::dtype(At at) const {
  return metadataOf(*this, {"dtype", at}).dtype;
}

int64_t Tensor::dim(At at) const {
  return metadataOf(*this, {"dim", at}).rank();
}

int64_t Tensor::numel(At at) const {
  return metadataOf(*this, {"numel", at}).numElements();
}

uint64_t Tensor::nbytes(At at) const {
  const TensorImpl &x = metadataOf(*this, {"nbytes", at});
  return static_cast<uint64_t>(x.numElements()) * DType(x.dtype).size();
}

bool Tensor::is_contiguous(At at) const {
  return isContiguous(metadataOf(*this, {"is_contiguous", at}));
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

Tensor Tensor::clone(At at) const {
  Call call{"clone", at};
  const TensorImpl &x = use(*this, call);
  return copied(x, x.dtype, call);
}

Tensor Tensor::contiguous(At at) const {
  return is_contiguous(at) ? *this : clone(at);
}

Tensor Tensor::to(DType dtype, At at) const {
  Call call{"to", at};
  return converted(use(*this, call), dtype, call);
}

//===----------------------------------------------------------------------===//
// Functions that are members too
//===----------------------------------------------------------------------===//

Tensor Tensor::sum(const Axes &axes, bool keepdims, At at) const {
  return tinh::sum({*this, at}, axes, keepdims);
}
Tensor Tensor::mean(const Axes &axes, bool keepdims, At at) const {
  return tinh::mean({*this, at}, axes, keepdims);
}
Tensor Tensor::prod(const Axes &axes, bool keepdims, At at) const {
  return tinh::prod({*this, at}, axes, keepdims);
}
Tensor Tensor::max(const Axes &axes, bool keepdims, At at) const {
  return tinh::max({*this, at}, axes, keepdims);
}
Tensor Tensor::min(const Axes &axes, bool keepdims, At at) const {
  return tinh::min({*this, at}, axes, keepdims);
}
Tensor Tensor::any(const Axes &axes, bool keepdims, At at) const {
  return tinh::any({*this, at}, axes, keepdims);
}
Tensor Tensor::all(const Axes &axes, bool keepdims, At at) const {
  return tinh::all({*this, at}, axes, keepdims);
}
Tensor Tensor::argmax(std::optional<int64_t> axis, bool keepdims, At at) const {
  return tinh::argmax({*this, at}, axis, keepdims);
}
Tensor Tensor::argmin(std::optional<int64_t> axis, bool keepdims, At at) const {
  return tinh::argmin({*this, at}, axis, keepdims);
}
Tensor Tensor::abs(At at) const { return tinh::abs({*this, at}); }
Tensor Tensor::exp(At at) const { return tinh::exp({*this, at}); }
Tensor Tensor::log(At at) const { return tinh::log({*this, at}); }
Tensor Tensor::sqrt(At at) const { return tinh::sqrt({*this, at}); }
Tensor Tensor::tanh(At at) const { return tinh::tanh({*this, at}); }
Tensor Tensor::sigmoid(At at) const { return tinh::sigmoid({*this, at}); }
Tensor Tensor::relu(At at) const { return tinh::relu({*this, at}); }
Tensor Tensor::softmax(int64_t axis, At at) const {
  return tinh::softmax({*this, at}, axis);
}
Tensor Tensor::log_softmax(int64_t axis, At at) const {
  return tinh::log_softmax({*this, at}, axis);
}
Tensor Tensor::pow(Operand exponent) const {
  return tinh::pow({*this, exponent.at}, exponent);
}
Tensor Tensor::clamp(Operand low, Operand high) const {
  return tinh::clamp({*this, low.at}, low, high);
}
Tensor Tensor::matmul(Operand other) const {
  return tinh::matmul({*this, other.at}, other);
}
Tensor Tensor::masked_fill(Operand mask, Operand value) const {
  return tinh::masked_fill({*this, mask.at}, mask, value);
}
