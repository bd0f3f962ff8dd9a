//===- Packing.cpp - Weights as products read them --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/Packing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

Value mapElements(OpBuilder &b, Location loc, Value source,
                  ArrayRef<int64_t> shape, ArrayRef<AffineExpr> exprs,
                  Type element, ElementBody body) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  AffineMap maps[] = {
      AffineMap::get(shape.size(), 0, exprs, b.getContext()),
      AffineMap::getMultiDimIdentityMap(shape.size(), b.getContext())};
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), source, empty, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(b, loc, body(b, arguments[0]));
             })
      .getResult(0);
}

Value moveElements(OpBuilder &b, Location loc, Value source,
                   ArrayRef<int64_t> shape, ArrayRef<AffineExpr> exprs) {
  return mapElements(b, loc, source, shape, exprs, getElementTypeOrSelf(source),
                     [](OpBuilder &, Value x) { return x; });
}

Value permute(OpBuilder &b, Location loc, Value source,
              ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    exprs[from] = b.getAffineDimExpr(i);
  }
  return moveElements(b, loc, source, shape, exprs);
}

/// `source` with elements of another floating-point type.
static Value convert(OpBuilder &b, Location loc, Value source, Type element) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getElementType() == element)
    return source;
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < type.getRank(); ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  bool wider = element.getIntOrFloatBitWidth() >
               type.getElementType().getIntOrFloatBitWidth();
  return mapElements(b, loc, source, type.getShape(), exprs, element,
                     [&](OpBuilder &b, Value x) -> Value {
                       if (wider)
                         return arith::ExtFOp::create(b, loc, element, x);
                       return arith::TruncFOp::create(b, loc, element, x);
                     });
}

//===----------------------------------------------------------------------===//
// Panels
//===----------------------------------------------------------------------===//

Packing Packing::of(Type element) const {
  Packing result = *this;
  for (RankedTensorType *type :
       {&result.logical, &result.plain, &result.packed})
    *type = type->clone(element);
  return result;
}

Packing packingOf(const Contraction &c, int64_t width) {
  Packing p;
  p.plain = cast<RankedTensorType>(c.right.value.getType());
  p.logical = p.plain;
  p.batch = c.batch.size();
  p.n = c.columns();
  p.width = width;
  p.panels = llvm::divideCeil(p.n, p.width);
  SmallVector<int64_t> shape;
  auto addColumn = [&](unsigned dim) {
    p.toColumns.push_back(*c.right.map.getResultPosition(
        getAffineDimExpr(dim, c.right.map.getContext())));
  };
  for (unsigned dim : c.batch) {
    addColumn(dim);
    shape.push_back(c.extents[dim]);
  }
  shape.push_back(p.panels);
  for (unsigned dim : c.depth) {
    addColumn(dim);
    shape.push_back(c.extents[dim]);
  }
  addColumn(c.column());
  shape.push_back(p.width);
  // To make f32 of bf16 is a shift: half the memory for as good as nothing.
  Type element = p.plain.getElementType();
  p.packed =
      RankedTensorType::get(shape, element.isBF16() ? element : c.element());
  return p;
}

/// Groups of a reshape that splits dimension `split` of `rank` into panels and
/// what is within one.
static SmallVector<ReassociationIndices> panelGroups(int64_t rank,
                                                     int64_t split) {
  SmallVector<ReassociationIndices> groups;
  for (int64_t i = 0, next = 0; i < rank; ++i) {
    groups.push_back({next++});
    if (i == split)
      groups.back().push_back(next++);
  }
  return groups;
}

/// The dimensions of what is split in the order of what is packed.
static SmallVector<int64_t> packedOrder(const Packing &p) {
  SmallVector<int64_t> order;
  auto behindSplit = [&](int64_t dim) { return dim + (dim > p.lane()); };
  for (auto [i, dim] : llvm::enumerate(p.toColumns)) {
    if (static_cast<int64_t>(i) == p.batch)
      order.push_back(p.lane());
    order.push_back(behindSplit(dim));
  }
  order.back() = p.lane() + 1;
  return order;
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

Value packPanels(OpBuilder &b, Location loc, Value weights, const Packing &p) {
  Type element = p.packed.getElementType();
  weights = reshape(b, loc, weights, p.logical, p.plain);
  weights = convert(b, loc, weights, element);
  SmallVector<int64_t> shape(p.plain.getShape());
  if (p.isPadded()) {
    SmallVector<OpFoldResult> low(shape.size(), b.getIndexAttr(0)), high = low;
    high[p.lane()] = b.getIndexAttr(p.panels * p.width - p.n);
    shape[p.lane()] = p.panels * p.width;
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
    weights =
        tensor::PadOp::create(b, loc, RankedTensorType::get(shape, element),
                              weights, low, high, zero);
  }
  SmallVector<ReassociationIndices> groups =
      panelGroups(shape.size(), p.lane());
  shape[p.lane()] = p.panels;
  shape.insert(shape.begin() + p.lane() + 1, p.width);
  Value split = tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, element), weights, groups);
  return permute(b, loc, split, packedOrder(p));
}

Value unpackPanels(OpBuilder &b, Location loc, Value packed, const Packing &p) {
  SmallVector<int64_t> order = packedOrder(p), back(order.size());
  for (auto [i, dim] : llvm::enumerate(order))
    back[dim] = i;
  int64_t rank = p.plain.getRank();
  Value value = tensor::CollapseShapeOp::create(
      b, loc, permute(b, loc, packed, back), panelGroups(rank, p.lane()));
  if (p.isPadded()) {
    SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)),
        steps(rank, b.getIndexAttr(1)), sizes;
    for (int64_t extent : p.plain.getShape())
      sizes.push_back(b.getIndexAttr(extent));
    value =
        tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, steps);
  }
  value = convert(b, loc, value, p.plain.getElementType());
  return reshape(b, loc, value, p.plain, p.logical);
}

/// The dimensions of packed weights that a dimension of `plain` has become.
static SmallVector<int64_t> packedDims(const Packing &p, int64_t dim) {
  SmallVector<int64_t> order = packedOrder(p), dims;
  int64_t first = dim + (dim > p.lane());
  for (int64_t split = first; split <= first + (dim == p.lane()); ++split)
    dims.push_back(llvm::find(order, split) - order.begin());
  return dims;
}

/// Whole panels of one dimension as whole panels of another are squares that
/// are turned.
static Value turnPanels(OpBuilder &b, Location loc, Value packed,
                        const Packing &from, const Packing &to) {
  // The dimension of the new panels becomes two.
  auto type = cast<RankedTensorType>(packed.getType());
  int64_t split = packedDims(from, to.lane())[0];
  SmallVector<int64_t> shape(type.getShape());
  shape[split] = to.panels;
  shape.insert(shape.begin() + split + 1, to.width);
  Value source = tensor::ExpandShapeOp::create(
      b, loc, type.clone(shape), packed, panelGroups(type.getRank(), split));
  auto behindSplit = [&](int64_t dim) { return dim + (dim > split); };
  // That of the old ones becomes one.
  SmallVector<int64_t> order;
  SmallVector<ReassociationIndices> groups;
  for (auto [i, dim] : llvm::enumerate(to.toColumns)) {
    if (static_cast<int64_t>(i) == to.batch) {
      groups.push_back({static_cast<int64_t>(order.size())});
      order.push_back(split);
    }
    groups.emplace_back();
    SmallVector<int64_t> parts{split + 1}; // Within the new panels.
    if (dim != to.lane())
      parts = llvm::map_to_vector(packedDims(from, dim), behindSplit);
    for (int64_t part : parts) {
      groups.back().push_back(order.size());
      order.push_back(part);
    }
  }
  return tensor::CollapseShapeOp::create(b, loc, permute(b, loc, source, order),
                                         groups);
}

Value repackPanels(OpBuilder &b, Location loc, Value packed,
                   const Packing &from, const Packing &to) {
  bool canTurn = from.plain == to.plain && from.lane() != to.lane() &&
                 !from.isPadded() && !to.isPadded() &&
                 from.packed.getElementType() == to.packed.getElementType();
  if (canTurn)
    return turnPanels(b, loc, packed, from, to);
  return packPanels(b, loc, unpackPanels(b, loc, packed, from), to);
}

} // namespace tinh::cpu
