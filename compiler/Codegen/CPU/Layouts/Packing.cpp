//===- Packing.cpp - Weights as products read them --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Packing.h"

#include "compiler/Codegen/Kernel/Conversions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;

namespace tinh::cpu {

PanelsAttr panelsOf(const Contraction &c, int64_t width, int64_t group) {
  MLIRContext *context = c.right.map.getContext();
  auto type = cast<RankedTensorType>(c.right.value.getType());
  SmallVector<int64_t> order;
  auto add = [&](unsigned dim) {
    order.push_back(
        *c.right.map.getResultPosition(getAffineDimExpr(dim, context)));
  };
  llvm::for_each(c.batch, add);
  llvm::for_each(c.depth, add);
  add(c.column());
  // To make f32 of bf16 is a shift, and of f16 one instruction: half the memory
  // for as good as nothing.
  Type element = type.getElementType();
  bool isKept = element == c.element() || element.isBF16() || element.isF16() ||
                c.isOfBytes();
  return PanelsAttr::get(context, type, {},
                         DenseI64ArrayAttr::get(context, order), c.batch.size(),
                         width, isKept ? Type() : c.element(), group);
}

/// Where dimension `dim` begins when columns have been divided into panels, and
/// k into groups.
static int64_t dividedDim(PanelsAttr p, int64_t dim) {
  return dim + (dim > p.getLane()) + (p.getGroup() > 1 && dim > p.getGrouped());
}

/// The dimensions of what is divided in the order of what is packed.
static SmallVector<int64_t> packedOrder(PanelsAttr p) {
  SmallVector<int64_t> order;
  for (int64_t dim : p.getOrder().asArrayRef())
    order.push_back(dividedDim(p, dim));
  int64_t panel = order.back();
  order.insert(order.begin() + p.getBatch(), panel);
  order.back() = panel + 1;
  if (p.getGroup() > 1)
    order.push_back(dividedDim(p, p.getGrouped()) + 1);
  return order;
}

/// The divided dimensions, each with the number of parts, the last one first.
static SmallVector<std::pair<int64_t, int64_t>> divisions(PanelsAttr p) {
  SmallVector<std::pair<int64_t, int64_t>> parts{{p.getLane(), p.getPanels()}};
  if (p.getGroup() > 1)
    parts.push_back({p.getGrouped(), p.getGroups()});
  llvm::sort(parts, std::greater());
  return parts;
}

/// `value`, of the shape of `from`, in that of `to`: one splits or merges
/// dimensions of the other.
static Value reshape(OpBuilder &b, Location loc, Value value,
                     RankedTensorType from, RankedTensorType to) {
  if (from.getShape() == to.getShape())
    return value;
  Type type = to.clone(getElementTypeOrSelf(value));
  auto groups = *getReassociationIndicesForReshape(from, to);
  if (from.getRank() < to.getRank())
    return tensor::ExpandShapeOp::create(b, loc, type, value, groups);
  return tensor::CollapseShapeOp::create(b, loc, type, value, groups);
}

/// The plain shape with whole panels and groups.
static SmallVector<int64_t> wholeShape(PanelsAttr p) {
  SmallVector<int64_t> shape(p.getPlain().getShape());
  shape[p.getLane()] = p.getPanels() * p.getWidth();
  if (p.getGroup() > 1)
    shape[p.getGrouped()] = p.getGroups() * p.getGroup();
  return shape;
}

Value packPanels(OpBuilder &b, Location loc, Value weights, PanelsAttr p) {
  Type element = p.getPacked().getElementType();
  weights = reshape(b, loc, weights, p.getOf(), p.getPlain());
  weights = convertElements(b, loc, weights, element);
  if (p.isPadded()) {
    ArrayRef<int64_t> plain = p.getPlain().getShape();
    SmallVector<int64_t> shape = wholeShape(p);
    SmallVector<OpFoldResult> low(shape.size(), b.getIndexAttr(0)), high;
    for (auto [all, some] : llvm::zip(shape, plain))
      high.push_back(b.getIndexAttr(all - some));
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
    weights =
        tensor::PadOp::create(b, loc, RankedTensorType::get(shape, element),
                              weights, low, high, zero);
  }
  for (auto [dim, parts] : divisions(p))
    weights = divideDimension(b, loc, weights, dim, parts);
  return permute(b, loc, weights, packedOrder(p));
}

Value unpackPanels(OpBuilder &b, Location loc, Value packed, PanelsAttr p) {
  RankedTensorType plain = p.getPlain();
  int64_t rank = plain.getRank();
  Value value =
      permute(b, loc, packed, invertPermutationVector(packedOrder(p)));
  auto divided = divisions(p);
  for (auto [dim, parts] : llvm::reverse(divided)) {
    int64_t merged = cast<RankedTensorType>(value.getType()).getRank() - 1;
    value = tensor::CollapseShapeOp::create(b, loc, value,
                                            splitGroups(merged, dim));
  }
  if (p.isPadded()) {
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
        steps(rank, b.getIndexAttr(1)),
        sizes = getAsIndexOpFoldResult(b.getContext(), plain.getShape());
    value =
        tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, steps);
  }
  value = convertElements(b, loc, value, plain.getElementType());
  return reshape(b, loc, value, plain, p.getOf());
}

/// The dimensions of packed weights that a dimension of plain ones has become.
static SmallVector<int64_t> packedDims(PanelsAttr p, int64_t dim) {
  SmallVector<int64_t> order = packedOrder(p), dims;
  int64_t first = dim + (dim > p.getLane());
  for (int64_t split = first; split <= first + (dim == p.getLane()); ++split)
    dims.push_back(llvm::find(order, split) - order.begin());
  return dims;
}

/// Panels with groups of neighbours along k side by side.
static Value groupPanels(OpBuilder &b, Location loc, Value packed,
                         PanelsAttr to) {
  int64_t rank = cast<RankedTensorType>(packed.getType()).getRank();
  Value divided = divideDimension(b, loc, packed, rank - 2, to.getGroups());
  return permute(b, loc, divided, orderWithLast(rank + 1, rank - 1));
}

/// Whole panels of one dimension as whole panels of another are squares that
/// are turned, of groups where those of the result lie side by side in a panel.
static Value turnPanels(OpBuilder &b, Location loc, Value packed,
                        PanelsAttr from, PanelsAttr to) {
  // The dimension of the new panels becomes two.
  int64_t split = packedDims(from, to.getLane())[0];
  Value source = divideDimension(b, loc, packed, split, to.getPanels());
  int64_t last = cast<RankedTensorType>(source.getType()).getRank() - 1;
  if (to.getGroup() > 1)
    source =
        divideDimension(b, loc, source, last, from.getWidth() / to.getGroup());
  auto behindSplit = [&](int64_t dim) { return dim + (dim > split); };
  // That of the old ones becomes one.
  SmallVector<int64_t> order;
  SmallVector<ReassociationIndices> groups;
  for (auto [i, dim] : llvm::enumerate(to.getOrder().asArrayRef())) {
    if (static_cast<int64_t>(i) == to.getBatch()) {
      groups.push_back({static_cast<int64_t>(order.size())});
      order.push_back(split);
    }
    groups.emplace_back();
    SmallVector<int64_t> parts{split + 1}; // Within the new panels.
    if (dim != to.getLane())
      parts = llvm::map_to_vector(packedDims(from, dim), behindSplit);
    for (int64_t part : parts) {
      groups.back().push_back(order.size());
      order.push_back(part);
    }
  }
  if (to.getGroup() > 1) {
    groups.push_back({static_cast<int64_t>(order.size())});
    order.push_back(last + 1);
  }
  return tensor::CollapseShapeOp::create(b, loc, permute(b, loc, source, order),
                                         groups);
}

Value repackPanels(OpBuilder &b, Location loc, Value packed, PanelsAttr from,
                   PanelsAttr to) {
  bool isSame =
      from.getGroup() == 1 && from.getPlain() == to.getPlain() &&
      from.getPacked().getElementType() == to.getPacked().getElementType();
  if (isSame && to.withGroup(1) == from &&
      to.getGroups() * to.getGroup() ==
          to.getPlain().getDimSize(to.getGrouped()))
    return groupPanels(b, loc, packed, to);
  bool hasGroups = to.getGroup() == 1 || (from.getLane() == to.getGrouped() &&
                                          from.getWidth() % to.getGroup() == 0);
  if (isSame && hasGroups && from.getLane() != to.getLane() &&
      !from.isPadded() && !to.isPadded())
    return turnPanels(b, loc, packed, from, to);
  return packPanels(b, loc, unpackPanels(b, loc, packed, from), to);
}

} // namespace tinh::cpu
