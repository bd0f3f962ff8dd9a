//===- Packing.cpp - Weights as products read them --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Packing.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AffineExpr.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Moving elements
//===----------------------------------------------------------------------===//

/// A generic over `source`, whose dimension i is `exprs[i]`, with a body that
/// makes an element of type `element` of one of the source's.
static Value mapElements(OpBuilder &b, Location loc, Value source,
                         ArrayRef<int64_t> shape, ArrayRef<AffineExpr> exprs,
                         Type element,
                         function_ref<Value(OpBuilder &, Value)> body) {
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

Value permute(OpBuilder &b, Location loc, Value source,
              ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    exprs[from] = b.getAffineDimExpr(i);
  }
  return mapElements(b, loc, source, shape, exprs, type.getElementType(),
                     [](OpBuilder &, Value x) { return x; });
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

Packing planPacking(const Contraction &c, const Target &target) {
  Packing p;
  p.plain = cast<RankedTensorType>(c.weights.getType());
  p.batch = c.batch.size();
  p.n = c.extents[c.n];
  p.width = panelWidth(c, target);
  p.panels = llvm::divideCeil(p.n, p.width);
  SmallVector<int64_t> shape;
  auto addColumn = [&](unsigned dim) {
    p.toColumns.push_back(*c.weightsMap.getResultPosition(
        getAffineDimExpr(dim, c.weightsMap.getContext())));
  };
  for (unsigned dim : c.batch) {
    addColumn(dim);
    shape.push_back(c.extents[dim]);
  }
  shape.push_back(p.panels);
  for (unsigned dim : c.k) {
    addColumn(dim);
    shape.push_back(c.extents[dim]);
  }
  addColumn(c.n);
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

Value packPanels(OpBuilder &b, Location loc, Value weights, const Packing &p) {
  Type element = p.packed.getElementType();
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
  return convert(b, loc, value, p.plain.getElementType());
}

} // namespace tinh::cpu
