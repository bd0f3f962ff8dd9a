//===- Movement.cpp - Ops that move elements without changing them --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/onnx/NodeWriter.h"

using namespace mlir;

namespace tinh::onnx {

namespace {

Tensor reshape(NodeWriter &w) {
  return w.reshape(w.operand(0), w.type().getShape());
}

Tensor broadcast(NodeWriter &w) {
  return w.expand(w.operand(0), w.type().getShape());
}

Tensor transpose(NodeWriter &w, graph::TransposeOp op) {
  return w.transpose(w.operand(0), op.getPermutation());
}

Tensor concat(NodeWriter &w, graph::ConcatOp op) {
  return w.node("Concat", w.operands(), w.type(),
                {attribute("axis", int64_t(op.getAxis()))});
}

/// Dimensions that are taken as they are stay out of it.
Tensor slice(NodeWriter &w, graph::SliceOp op) {
  Tensor x = w.operand(0);
  Ints starts, ends, axes, steps;
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t start = op.getStarts()[i], size = op.getSizes()[i],
            step = op.getSteps()[i];
    if (size == x.shape()[i] && start == 0 && (step == 1 || size <= 1))
      continue;
    if (size <= 1) // however large the step, which may overflow
      step = 1;
    int64_t end = start + size * step;
    starts.push_back(start);
    // A negative end counts from the other end, but for one beyond it.
    ends.push_back(end < 0 ? INT64_MIN : end);
    axes.push_back(i);
    steps.push_back(step);
  }
  if (axes.empty())
    return x;
  return w.node("Slice",
                {x, w.ints(starts), w.ints(ends), w.ints(axes), w.ints(steps)},
                w.type());
}

Tensor pad(NodeWriter &w, graph::PadOp op) {
  return w.pad(w.operand(0), w.operand(1), op.getLow(), op.getHigh(),
               stringifyPadMode(op.getMode()));
}

Tensor gather(NodeWriter &w, graph::GatherOp op) {
  return w.node("Gather", w.operands(), w.type(),
                {attribute("axis", int64_t(op.getAxis()))});
}

Tensor gatherElements(NodeWriter &w, graph::GatherElementsOp op) {
  return w.node("GatherElements", w.operands(), w.type(),
                {attribute("axis", int64_t(op.getAxis()))});
}

/// Its indices are i64.
Tensor gatherNd(NodeWriter &w, graph::GatherNdOp op) {
  Type i64 = IntegerType::get(op.getContext(), 64);
  return w.node("GatherND", {w.operand(0), w.cast(w.operand(1), i64)}, w.type(),
                {attribute("batch_dims", int64_t(op.getBatchDims()))});
}

Attributes reductionOf(graph::ScatterKind kind) {
  if (kind == graph::ScatterKind::Assign)
    return {};
  return {attribute("reduction", stringifyScatterKind(kind))};
}

/// Tuples of one index, with the axis in front.
Tensor scatter(NodeWriter &w, graph::ScatterOp op) {
  Type i64 = IntegerType::get(op.getContext(), 64);
  int64_t axis = op.getAxis();
  Tensor x = w.operand(0), indices = w.cast(w.operand(1), i64),
         updates = w.operand(2);
  Ints tuples(indices.shape());
  tuples.push_back(1);
  auto moved = [&](const Tensor &tensor, int64_t count, bool back) {
    Ints order;
    for (int64_t d = axis; d < axis + count; ++d)
      order.push_back(d);
    for (int64_t d = 0; d < tensor.rank(); ++d)
      if (d < axis || d >= axis + count)
        order.push_back(d);
    Ints inverse(order.size());
    for (auto [to, from] : llvm::enumerate(order))
      inverse[from] = static_cast<int64_t>(to);
    return axis == 0 ? tensor : w.transpose(tensor, back ? inverse : order);
  };
  Tensor y = w.node("ScatterND",
                    {moved(x, 1, false), w.reshape(indices, tuples),
                     moved(updates, indices.rank(), false)},
                    moved(x, 1, false).type, reductionOf(op.getKind()));
  return moved(y, 1, true);
}

Tensor scatterElements(NodeWriter &w, graph::ScatterElementsOp op) {
  Attributes attributes = reductionOf(op.getKind());
  attributes.push_back(attribute("axis", int64_t(op.getAxis())));
  return w.node("ScatterElements", w.operands(), w.type(), attributes);
}

/// Its indices are i64.
Tensor scatterNd(NodeWriter &w, graph::ScatterNdOp op) {
  Type i64 = IntegerType::get(op.getContext(), 64);
  return w.node("ScatterND",
                {w.operand(0), w.cast(w.operand(1), i64), w.operand(2)},
                w.type(), reductionOf(op.getKind()));
}

/// What it says is for gradients alone.
Tensor stopGradient(NodeWriter &w) { return w.operand(0); }

/// It drops when a program trains the model, and does not say so itself.
Tensor dropout(NodeWriter &w, graph::DropoutOp op) {
  Tensor x = w.operand(0);
  Tensor ratio = w.scalar(Float32Type::get(op.getContext()),
                          op.getRatio().convertToDouble());
  return w.node("Dropout", {x, ratio}, w.type());
}

/// A range of integers, converted; with a step of 0, which ONNX does not allow,
/// one number repeated.
Tensor iota(NodeWriter &w, graph::IotaOp op) {
  Type element = w.type().getElementType();
  Type i64 = IntegerType::get(op.getContext(), 64);
  int64_t start = op.getStart(), step = op.getStep(),
          size = w.type().getDimSize(0), limit;
  auto number = [&](int64_t value) { return w.reshape(w.ints(value), {}); };
  if (step == 0)
    return w.cast(w.expand(w.ints(start), size), element);
  if (llvm::MulOverflow(size, step, limit) ||
      llvm::AddOverflow(start, limit, limit))
    return w.refuse("its numbers do not fit into 64 bits");
  Tensor y = w.node("Range", {number(start), number(limit), number(step)},
                    w.typeOf(i64));
  return w.cast(y, element);
}

} // namespace

OpWriters movementWriters() {
  return {{"graph.broadcast", broadcast},
          {"graph.reshape", reshape},
          {"graph.stop_gradient", stopGradient},
          entry<concat>(),
          entry<dropout>(),
          entry<gatherElements>(),
          entry<gatherNd>(),
          entry<gather>(),
          entry<iota>(),
          entry<pad>(),
          entry<scatterElements>(),
          entry<scatterNd>(),
          entry<scatter>(),
          entry<slice>(),
          entry<transpose>()};
}

} // namespace tinh::onnx
