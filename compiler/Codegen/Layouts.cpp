//===- Layouts.cpp - Where the values of a function lie ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Layouts.h"

using namespace mlir;

namespace tinh::codegen {

Value withoutReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<graph::ReshapeOp>())
    value = reshape.getX();
  return value;
}

Value withoutViews(Value value) {
  while (
      isa_and_nonnull<graph::ReshapeOp, graph::SliceOp>(value.getDefiningOp()))
    value = value.getDefiningOp()->getOperand(0);
  return value;
}

bool allUses(Value value, function_ref<bool(OpOperand &)> check) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    if (isa<graph::ReshapeOp, graph::SliceOp>(use.getOwner()))
      return allUses(use.getOwner()->getResult(0), check);
    return check(use);
  });
}

bool comesBefore(Operation *user, Operation *op) {
  for (; user; user = user->getParentOp())
    if (Operation *around = user->getBlock()->findAncestorOpInBlock(*op))
      return around != user && user->isBeforeInBlock(around);
  return false;
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool Layouts::place(graph::ConcatOp concat, unsigned index) {
  Value part = withoutReshapes(concat.getInputs()[index]);
  return isa_and_nonnull<graph::DispatchOp, graph::ConcatOp>(
             part.getDefiningOp()) &&
         places.try_emplace(part, Place{concat, index, startOf(concat, index)})
             .second;
}

/// Where operand `index` begins along the axis. Operands are mostly placed in
/// their order: where the one before begins is known.
int64_t Layouts::startOf(graph::ConcatOp concat, unsigned index) const {
  int64_t axis = concat.getAxis(), start = 0;
  for (unsigned i = index; i-- > 0;) {
    Value before = concat.getInputs()[i];
    start += typeOf(before).getDimSize(axis);
    auto place = places.find(withoutReshapes(before));
    if (place != places.end() && place->second.concat == concat &&
        place->second.index == i)
      return start + place->second.start;
  }
  return start;
}

Value Layouts::placedIn(Value value) const {
  auto place = places.find(value);
  if (place == places.end())
    return {};
  graph::ConcatOp concat = place->second.concat;
  return concat.getY();
}

std::optional<Layout> Layouts::of(Value value) const {
  std::optional<Layout> layout = find(value);
  if (!layout || !graph::rowsOf(typeOf(value), layout->strides))
    return std::nullopt;
  return layout;
}

/// A part that is reshaped for its concatenation has to be contiguous there.
std::optional<Layout> Layouts::ofPart(Value value) const {
  auto [concat, index, start] = places.at(value);
  std::optional<Layout> layout = of(concat.getY());
  if (!layout)
    return std::nullopt;
  layout->offset += start * layout->strides[concat.getAxis()];
  Value operand = concat.getInputs()[index];
  if (operand == value)
    return layout;
  if (!graph::isDense(typeOf(operand), layout->strides))
    return std::nullopt;
  layout->strides = graph::denseStrides(typeOf(value).getShape());
  return layout;
}

std::optional<Layout> Layouts::find(Value value) const {
  if (auto reshape = value.getDefiningOp<graph::ReshapeOp>()) {
    std::optional<Layout> layout = of(reshape.getX());
    if (!layout || !graph::isDense(typeOf(reshape.getX()), layout->strides))
      return std::nullopt;
    layout->strides = graph::denseStrides(typeOf(value).getShape());
    return layout;
  }
  if (auto slice = value.getDefiningOp<graph::SliceOp>()) {
    std::optional<Layout> layout = of(slice.getX());
    for (size_t i = 0; layout && i < layout->strides.size(); ++i) {
      layout->offset += slice.getStarts()[i] * layout->strides[i];
      layout->strides[i] *= slice.getSteps()[i];
    }
    return layout;
  }
  if (places.contains(value))
    return ofPart(value);
  return Layout{value, 0, graph::denseStrides(typeOf(value).getShape())};
}

} // namespace tinh::codegen
