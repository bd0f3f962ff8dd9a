//===- ViewNodes.cpp - Views on the tape ----------------------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Eager/Autograd/ViewNodes.h"

#include "compiler/Eager/Autograd/Walk.h"
#include "compiler/Eager/Tensor/Support.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

namespace tinh::eager {

ViewGeometry::ViewGeometry(const TensorImpl &base, const TensorImpl &view)
    : base(geometryOf(base)), view(geometryOf(view)),
      contiguousBase(isContiguous(base)) {}

/// The extents of the view, but for elements that it shows again.
Dims ViewGeometry::once() const {
  Dims sizes = view->sizes;
  for (uint32_t d = 0; d < sizes.size(); ++d)
    if (view->strides[d] == 0)
      sizes[d] = 1;
  return sizes;
}

Tensor ViewGeometry::withoutRepetition(Tensor gradient,
                                       const Call &call) const {
  Axes repeated;
  for (uint32_t d = 0; d < view->rank(); ++d)
    if (view->strides[d] == 0 && view->sizes[d] != 1)
      repeated.push_back(d);
  return repeated.empty() ? gradient
                          : sum(Operand(gradient, call.at), repeated,
                                /*keepdims=*/true);
}

Tensor ViewGeometry::asWhole(const Tensor &gradient, const Call &call) const {
  Dims sizes = once();
  if (!contiguousBase || view->offset != base->offset ||
      sizes.product() != base->numElements())
    return {};
  // No element is shown twice, so these are all; by stride they are in order.
  auto key = [&](int64_t d) {
    return std::pair(sizes[d] == 1 ? 1 : -view->strides[d], d);
  };
  llvm::SmallVector<int64_t> order =
      llvm::to_vector(llvm::seq<int64_t>(0, sizes.size()));
  llvm::sort(order, [&](int64_t a, int64_t b) { return key(a) < key(b); });
  Tensor ordered = gradient;
  if (!llvm::is_sorted(order))
    ordered = permuted(*TensorAccess::get(gradient), Dims(std::span(order)));
  return reshaped(*TensorAccess::get(ordered), base->sizes, call);
}

//===----------------------------------------------------------------------===//
// Memory laid out as the base's
//===----------------------------------------------------------------------===//

static Tensor zeroTensor(const TensorImpl &like, const Dims &sizes,
                         const Call &call) {
  return filled(sizes, toScalar(Number(0), like.dtype), call);
}

Tensor ViewGeometry::zeros(const Call &call) const {
  if (contiguousBase)
    return zeroTensor(*base, base->sizes, call);
  int64_t span = 1;
  for (uint32_t d = 0; d < base->rank(); ++d)
    span += (base->sizes[d] - 1) * base->strides[d];
  return zeroTensor(*base, Dims::filled(1, span), call);
}

Tensor ViewGeometry::laidOut(const Tensor &gradient, const Call &call) const {
  if (contiguousBase)
    return gradient.contiguous(call.at);
  Tensor memory = zeros(call);
  baseOf(memory).copy_(Operand(gradient, call.at));
  return memory;
}

static Tensor inMemory(const Tensor &memory, const Dims &sizes,
                       const Dims &strides, int64_t offset) {
  const TensorImpl &x = *TensorAccess::get(memory);
  View how;
  how.kind = View::Slice;
  return makeView(x, how, sizes, strides, x.offset + offset);
}

Tensor ViewGeometry::baseOf(const Tensor &memory) const {
  return contiguousBase ? memory
                        : inMemory(memory, base->sizes, base->strides, 0);
}

Tensor ViewGeometry::viewOf(const Tensor &memory) const {
  return inMemory(memory, once(), view->strides, view->offset - base->offset);
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

ViewNode::ViewNode(const Edge &of, const TensorImpl &base,
                   const TensorImpl &view)
    : Node({"view", {}}), geometry(base, view) {
  inputs.push_back(of);
}

void ViewNode::differentiate(Walk &walk,
                             llvm::MutableArrayRef<Tensor> gradients) {
  walk.sendView(inputs[0], geometry, std::move(gradients[0]));
}

SpliceNode::SpliceNode(const Call &call, Edge written, Edge rest,
                       const TensorImpl &base, const TensorImpl &view)
    : Node(call), geometry(base, view) {
  inputs.push_back(std::move(written));
  inputs.push_back(std::move(rest));
}

void SpliceNode::differentiate(Walk &walk,
                               llvm::MutableArrayRef<Tensor> gradients) {
  Tensor memory = geometry.laidOut(gradients[0], call);
  gradients[0] = {};
  if (walk.wants(inputs[0]))
    walk.send(inputs[0], geometry.viewOf(memory).clone(call.at));
  if (!walk.wants(inputs[1]))
    return;
  memory = walk.owned(std::move(memory));
  geometry.viewOf(memory).zero_(call.at);
  walk.send(inputs[1], geometry.baseOf(memory));
}

} // namespace tinh::eager
