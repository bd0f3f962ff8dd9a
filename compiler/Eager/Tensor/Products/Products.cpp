//===- Products.cpp - Matmuls -----------------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// All are one batched product of matrices, with views that give its operands
// their shapes.
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Tensor/Autocast.h"
#include "compiler/Eager/Tensor/Elementwise.h"

using namespace tinh;
using namespace tinh::eager;

static void requireSameDType(const TensorImpl &a, const TensorImpl &b,
                             const Call &call) {
  if (a.dtype != b.dtype)
    fail(call, "dtypes ", DType(a.dtype), " and ", DType(b.dtype),
         " differ; convert one of them with to()");
  if (a.dtype == TINH_DTYPE_BOOL)
    fail(call, "is not defined for boolean operands; convert them with to()");
}

/// [batch…, m, k] · [batch…, k, n] + bias, which broadcasts to the result.
static Tensor product(const TensorImpl &a, const TensorImpl &b,
                      const TensorImpl *bias, const Call &call) {
  Dims batchA = a.sizes, batchB = b.sizes;
  for (Dims *batch : {&batchA, &batchB}) {
    batch->erase(batch->size() - 1);
    batch->erase(batch->size() - 1);
  }
  Dims sizes = broadcastSizes(batchA, batchB, call);
  if (sizes.size() + 2 > TINH_MAX_RANK)
    fail(call, "the result would have more than ", TINH_MAX_RANK,
         " dimensions");
  sizes.push_back(a.sizes[a.rank() - 2]);
  sizes.push_back(b.sizes.back());
  if (bias && !broadcastsTo(bias->sizes, sizes))
    fail(call, "bias of shape ", bias->sizes,
         " does not broadcast to the result's shape ", sizes);
  Tensor out = makeTensor(a.dtype, sizes);
  TensorImpl &impl = use(out, call);
  if (impl.numElements() == 0)
    return out;
  if (a.sizes.back() != 0)
    perform(primitives::Matmul{}, {&a, &b, bias}, impl, call);
  else if (bias)
    copyInto(impl, *bias, call);
  else
    fill(impl, toScalar(0, a.dtype), call);
  return out;
}

static Tensor multiply(const Tensor &a, const Tensor &b, const TensorImpl *bias,
                       const Call &call) {
  const TensorImpl &x = use(a, call), &y = use(b, call);
  requireSameDType(x, y, call);
  if (x.rank() == 0 || y.rank() == 0)
    fail(call, "shapes ", x.sizes, " and ", y.sizes,
         ": a tensor of rank 0 has no rows; use mul");
  int64_t k = y.sizes[y.rank() == 1 ? 0 : y.rank() - 2];
  if (x.sizes.back() != k)
    fail(call, "shapes ", x.sizes, " and ", y.sizes, " do not fit: rows of ",
         x.sizes.back(), " elements meet columns of ", k,
         "; transpose one of them with mT()");
  Tensor rows = x.rank() == 1 ? a.unsqueeze(0, call.at) : a;
  Tensor columns = y.rank() == 1 ? b.unsqueeze(1, call.at) : b;
  Tensor out = product(use(rows, call), use(columns, call), bias, call);
  Dims sizes = use(out, call).sizes;
  if (y.rank() == 1)
    sizes.erase(sizes.size() - 1);
  if (x.rank() == 1)
    sizes.erase(sizes.size() - (y.rank() == 1 ? 1 : 2));
  return reshaped(use(out, call), sizes, call);
}

static Tensor factor(const Operand &x, const Call &call) {
  return lowered(toTensor(x, call), call);
}

Tensor tinh::matmul(Operand a, Operand b) {
  Call call{"matmul", a.at};
  return multiply(factor(a, call), factor(b, call), nullptr, call);
}

Tensor tinh::bmm(Operand a, Operand b) {
  Call call{"bmm", a.at};
  Tensor x = factor(a, call), y = factor(b, call);
  const Dims &sizesA = use(x, call).sizes, &sizesB = use(y, call).sizes;
  if (sizesA.size() != 3 || sizesB.size() != 3 || sizesA[0] != sizesB[0])
    fail(call, "shapes ", sizesA, " and ", sizesB,
         " must be [batch, m, k] and [batch, k, n]; matmul broadcasts");
  return multiply(x, y, nullptr, call);
}

static void requireVectors(const Tensor &a, const Tensor &b, const Call &call,
                           const char *advice) {
  const TensorImpl &x = use(a, call), &y = use(b, call);
  if (x.rank() != 1 || y.rank() != 1)
    fail(call, "shapes ", x.sizes, " and ", y.sizes, " must be vectors",
         advice);
}

Tensor tinh::dot(Operand a, Operand b) {
  Call call{"dot", a.at};
  Tensor x = factor(a, call), y = factor(b, call);
  requireVectors(x, y, call, "; use matmul");
  return multiply(x, y, nullptr, call);
}

Tensor tinh::outer(Operand a, Operand b) {
  Call call{"outer", a.at};
  Tensor x = toTensor(a, call), y = toTensor(b, call);
  requireVectors(x, y, call, "");
  Tensor column = x.unsqueeze(1, a.at);
  return mul(sameCall(column, call), sameCall(y, call));
}

Tensor tinh::linear(Operand x, Operand weights, const Tensor &bias) {
  Call call{"linear", x.at};
  Tensor input = factor(x, call), matrix = factor(weights, call);
  Tensor offset = lowered(bias, call);
  const TensorImpl &impl = use(input, call), &w = use(matrix, call);
  if (w.rank() != 2 || impl.rank() == 0 || impl.sizes.back() != w.sizes[1])
    fail(call, "shapes ", impl.sizes, " and ", w.sizes,
         ": the weight must be [out, in], and in is ",
         impl.rank() ? impl.sizes.back() : 0, " here");
  const TensorImpl *added = nullptr;
  if (offset.defined()) {
    added = &use(offset, call);
    requireSameDType(impl, *added, call);
    if (added->rank() != 1 || added->sizes[0] != w.sizes[0])
      fail(call, "bias has shape ", added->sizes, "; it must be [", w.sizes[0],
           "], as the weight ", w.sizes, " says");
  }
  Tensor transposed = matrix.t(x.at);
  if (impl.rank() <= 2)
    return multiply(input, transposed, added, call);
  // One product of all rows.
  requireSameDType(impl, w, call);
  Dims sizes = impl.sizes, flat = Dims::filled(2, impl.sizes.back());
  flat[0] = impl.sizes.back() ? impl.numElements() / impl.sizes.back() : 0;
  if (impl.numElements() == 0)
    return multiply(input, transposed, added, call);
  Tensor rows = reshaped(impl, flat, call);
  Tensor out = product(use(rows, call), use(transposed, call), added, call);
  sizes.back() = w.sizes[0];
  return reshaped(use(out, call), sizes, call);
}
