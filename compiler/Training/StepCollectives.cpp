//===- StepCollectives.cpp - Training steps of several ranks --------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Training/StepCollectives.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace tinh::training {

static NamedAttribute kindAttribute(GraphOps &ops, graph::ReduceKind kind) {
  return ops.attr("kind",
                  graph::ReduceKindAttr::get(ops.graph.context(), kind));
}

/// Gradients of f32 may be sent in fewer bytes.
void StepCollectives::addWire(SmallVectorImpl<NamedAttribute> &attributes,
                              Value x) {
  if (options.communicationDtype != "bf16" || !x ||
      !GraphOps::element(x).isF32())
    return;
  Type type = BFloat16Type::get(ops.graph.context());
  attributes.push_back(ops.attr("communication_dtype", TypeAttr::get(type)));
}

Value StepCollectives::reduce(graph::ReduceKind kind, Value x,
                              bool isGradient) {
  SmallVector<NamedAttribute> attributes = {kindAttribute(ops, kind)};
  if (isGradient)
    addWire(attributes, x);
  return ops.create<graph::AllReduceOp>({x}, attributes);
}

Value StepCollectives::count(Type element) {
  return ops.create<graph::AllReduceOp>(
      {ops.scalar(element, 1)}, {kindAttribute(ops, graph::ReduceKind::Sum)});
}

RankedTensorType StepCollectives::shardType(RankedTensorType type) const {
  int64_t size = llvm::divideCeil(type.getNumElements(), options.shards);
  return RankedTensorType::get(size, type.getElementType());
}

/// The runtime need not tell: of numbers that all have, each gets its own.
Value StepCollectives::rank() {
  SmallVector<int64_t> all(options.shards);
  std::iota(all.begin(), all.end(), 0);
  Value own = ops.create<graph::ReduceScatterOp>(
      {ops.constantInts(options.shards, all)},
      {kindAttribute(ops, graph::ReduceKind::Max),
       ops.attr("ranks", options.shards)});
  return ops.reshape(own, {});
}

Value StepCollectives::filledUp(Value x) {
  auto type = GraphOps::type(x);
  int64_t size = type.getNumElements();
  int64_t missing = shardType(type).getNumElements() * options.shards - size;
  Value flat = ops.reshape(x, size);
  if (missing == 0)
    return flat;
  Value zeros = ops.broadcast(ops.scalarLike(x, 0), missing);
  return ops.concat({flat, zeros}, /*axis=*/0);
}

Value StepCollectives::shard(Value x, Value rank) {
  int64_t size = shardType(GraphOps::type(x)).getNumElements();
  Value parts = ops.reshape(filledUp(x), {options.shards, size});
  return ops.gather(parts, rank, /*axis=*/0);
}

Value StepCollectives::reduceScatter(graph::ReduceKind kind, Value gradient) {
  SmallVector<NamedAttribute> attributes = {kindAttribute(ops, kind),
                                            ops.attr("ranks", options.shards)};
  addWire(attributes, gradient);
  return ops.create<graph::ReduceScatterOp>({filledUp(gradient)}, attributes);
}

Value StepCollectives::gather(Value part, RankedTensorType type) {
  Value all = ops.create<graph::AllGatherOp>(
      {part}, {ops.attr("ranks", options.shards)});
  return ops.reshape(ops.sliceAxis(all, 0, 0, type.getNumElements()),
                     type.getShape());
}

} // namespace tinh::training
