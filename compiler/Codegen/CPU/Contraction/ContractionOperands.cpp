//===- ContractionOperands.cpp - What products read -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The input of a product is read where it lies, or, if it is padded, computed
// or of another type, from a slab of scratch memory that is filled first
// (`TileEmitter::stage`). Its
// weights are a packed operand, or an operand's vectors where they lie, or
// panels of scratch memory that are packed first.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/ContractionOperands.h"

#include "compiler/Codegen/CPU/Contraction/QuantizedWeightsEmit.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

int64_t ContractionOperands::inputStride(unsigned dim) const {
  int64_t stride = 0;
  for (auto [i, expr] : llvm::enumerate(c.left.map.getResults()))
    stride += loopCoefficient(expr, dim, c.extents.size()) * input.strides[i];
  return stride;
}

Value ContractionOperands::columnMask(Value column) {
  int64_t n = c.columns();
  if (n % plan.panelWidth == 0)
    return {};
  Value left = scalar.sub(scalar.index(n), column);
  left = arith::MaxSIOp::create(b, loc, left, scalar.index(0));
  return firstLanes(b, loc, left, lanes);
}

FailureOr<Value> ContractionOperands::inputAt(const Indices &dims) {
  auto at = scalar.apply(c.left.map, dims);
  if (failed(at))
    return failure();
  Value sum = scalar.index(0);
  for (auto [i, index] : llvm::enumerate(*at)) {
    Value position = index.base;
    if (!input.origin.empty())
      position = sub(position, input.origin[i]);
    sum = scalar.add(sum, scalar.mul(position, input.strides[i]));
  }
  return sum;
}

Value ContractionOperands::panelAt(Value panel) {
  return scalar.add(weightsAt, scalar.mul(sub(panel, firstPanel), panelStride));
}

//===----------------------------------------------------------------------===//
// Input
//===----------------------------------------------------------------------===//

/// Zeros in a slab for what groups have beyond the last element, from `from`
/// on: a row that has it overwrites it, and what was there may be no number.
void ContractionOperands::clearLastGroups(const Slab &slab, Value from) {
  int64_t extent = c.extents[c.depth.back()], row = slab.shape.back();
  if (extent % c.group() == 0)
    return;
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(c.factorElement()));
  Value last = minimum(sub(scalar.index(extent), from), scalar.index(row - 1));
  (void)loop(llvm::product_of(slab.shape), row, [&](Value at) {
    memref::StoreOp::create(b, loc, zero, slab.buffer.memref,
                            scalar.add(at, last));
    return success();
  });
}

/// Says where the block's part of the input lies.
LogicalResult ContractionOperands::findInput(const Indices &dims,
                                             const Block &block) {
  if (plan.left == LeftAccess::InPlace) {
    input = kernel.operand(reshapedArgument(c.left.value).getArgNumber());
    input.strides = *stridesInArgument(c.left.value);
    return success();
  }
  Indices start = dims;
  if (auto lines = lineLoop())
    start[*lines].base = block.line;
  start[c.left.loops.back()].base = scalar.mul(block.tile, plan.tileRows);
  auto from = scalar.apply(c.left.map, start);
  if (failed(from))
    return failure();
  from->back().alignment = lanes;
  Slab slab{
      kernel.scratchBuffer(b, plan.slabOffset, plan.slab, c.factorElement()),
      plan.slab};
  if (c.factorElement().isBF16())
    clearLastGroups(slab, from->back().base);
  LogicalResult staged = stage(c.left.value, slab, *from);
  input = slab.buffer;
  if (plan.left == LeftAccess::Extended)
    extendSlab();
  return staged;
}

/// Each byte gets 16 bits, those at even positions and those at odd ones by
/// themselves: of each two bytes the one with zeros in place of the other one.
void ContractionOperands::extendSlab() {
  ExtendedBytes slab = extendedBytes(c, plan);
  int64_t width = target.vectorBytes;
  input.memref =
      kernel.scratchBuffer(b, plan.slabOffset, slab.end, b.getI8Type()).memref;
  auto bytes = VectorType::get({width}, b.getI8Type());
  (void)loop(slab.odd - slab.even, width, [&](Value at) {
    Value lanes = vector::LoadOp::create(b, loc, bytes, input.memref, at);
    auto [even, odd] = extendBytes(b, loc, lanes, /*isUnsigned=*/true);
    auto store = [&](Value words, int64_t offset) {
      words = vector::BitCastOp::create(b, loc, bytes, words);
      vector::StoreOp::create(b, loc, words, input.memref,
                              scalar.add(at, scalar.index(offset)));
    };
    store(even, slab.even);
    store(odd, slab.odd);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

SmallVector<int64_t> ContractionOperands::panelStrides() const {
  SmallVector<int64_t> strides(c.depth.size(), plan.panelWidth);
  int64_t below = llvm::alignTo(c.extents[c.depth.back()], c.group());
  for (size_t level = c.depth.size() - 1; level-- > 0;) {
    strides[level] = strides[level + 1] * below;
    below = c.extents[c.depth[level]];
  }
  return strides;
}

/// Says where an operand in panels lies, from the outermost iteration over k in
/// `dims` on.
void ContractionOperands::findPanels(const Indices &dims) {
  weights.memref = kernel.function.getArgument(*c.packed);
  weights.strides = panelStrides();
  for (int64_t &stride : weights.strides)
    stride = c.inPanels(stride);
  panelStride = c.inPanels(c.steps() * c.group() * plan.panelWidth);
  weightsAt = scalar.mul(dims[c.depth.front()].base, weights.strides.front());
  firstPanel = scalar.index(0);
  for (unsigned dim : c.batch) // They count on where the last batch ended.
    firstPanel =
        scalar.add(scalar.mul(firstPanel, c.extents[dim]), dims[dim].base);
  firstPanel = scalar.mul(firstPanel, -plan.panels);
}

/// Makes f32 of so many elements from `at` on.
void ContractionOperands::widenPanel(Value at, int64_t size, Value memory) {
  auto type = VectorType::get({lanes}, getElementTypeOrSelf(c.right.value));
  (void)loop(size, plan.panelWidth, [&](Value row) {
    for (int64_t v = 0; v < plan.panelWidth; v += lanes) {
      Value to = scalar.add(row, scalar.index(v));
      Value narrow = vector::LoadOp::create(b, loc, type, weights.memref,
                                            scalar.add(at, to));
      Value wide = arith::ExtFOp::create(b, loc, vectorType(), narrow);
      vector::StoreOp::create(b, loc, wide, memory, to);
    }
    return success();
  });
}

/// Makes f32 of `count` outermost iterations over k of a panel, in scratch
/// memory, where tiles find the panel then.
LogicalResult ContractionOperands::unpackPanel(const Indices &dims, Value panel,
                                               int64_t count) {
  findPanels(dims);
  int64_t steps = c.extentOf(c.depth) / c.extents[c.depth.front()];
  Buffer floats = kernel.scratchBuffer(
      b, plan.weightsOffset, plan.depthPerBlock * steps * plan.panelWidth,
      element);
  if (c.quantized) {
    QuantizedWeightsEmitter words(*this, c, plan, target, weights, panel,
                                  vectors);
    if (failed(words.unpack(dims, panelAt(panel), count, floats.memref)))
      return failure();
  } else {
    widenPanel(panelAt(panel), count * steps * plan.panelWidth, floats.memref);
  }
  weights = {floats.memref, panelStrides(), {}};
  weightsAt = firstPanel = scalar.index(0);
  panelStride = 0;
  return success();
}

/// Says where the block's weights lie: for `count` iterations of the outermost
/// loop over k, from the one in `dims` on.
LogicalResult ContractionOperands::findWeights(const Indices &dims,
                                               const Block &block,
                                               int64_t count) {
  if (unpacksPanels()) // One after the other.
    return success();
  if (plan.right == RightAccess::Packed) {
    findPanels(dims);
    return success();
  }
  if (plan.right == RightAccess::Copied) {
    firstPanel = block.panel;
    weightsAt = scalar.index(0);
    return packRight(dims, block, count);
  }
  weights = kernel.operand(reshapedArgument(c.right.value).getArgNumber());
  SmallVector<int64_t> strides = *stridesInArgument(c.right.value);
  auto at = scalar.apply(c.right.map, dims);
  if (failed(at))
    return failure();
  weightsAt = scalar.index(0);
  for (auto [index, stride] : llvm::zip(*at, strides))
    weightsAt = scalar.add(weightsAt, scalar.mul(index.base, stride));
  weights.strides.clear();
  for (unsigned dim : c.depth)
    weights.strides.push_back(
        strides[*c.right.map.getResultPosition(b.getAffineDimExpr(dim))]);
  firstPanel = scalar.index(0);
  panelStride = plan.panelWidth;
  return success();
}

/// Copies the columns of `panel` at one step of k to that row of the panels.
LogicalResult ContractionOperands::packRow(Indices dims, const Buffer &packing,
                                           Value panel, Value row) {
  for (int64_t v = 0; v < vectors; ++v) {
    Value column =
        scalar.add(scalar.mul(panel, plan.panelWidth), scalar.index(v * lanes));
    Pull pull(b, loc, lanes);
    pull.buffers = buffers;
    pull.mask = columnMask(column);
    dims[c.column()] = {column, 1, lanes};
    auto at = pull.apply(c.right.map, dims);
    auto value = failed(at) ? FailureOr<LaneValue>(failure())
                            : pullAs(element, pull, c.right.value, *at);
    if (failed(value))
      return failure();
    Value to =
        scalar.add(scalar.mul(row, plan.panelWidth), scalar.index(v * lanes));
    pull.mask = {};
    if (failed(pull.store(*value, packing, {{to, 1, lanes}})))
      return failure();
  }
  return success();
}

/// Copies the block's panels of a right-hand side that is no constant to
/// scratch memory, in the form of packed weights.
LogicalResult ContractionOperands::packRight(Indices dims, const Block &block,
                                             int64_t count) {
  SmallVector<int64_t> extents;
  for (unsigned dim : c.depth)
    extents.push_back(c.extents[dim]);
  extents.front() = count;
  int64_t depth = llvm::product_of(extents);
  int64_t size = plan.panelsPerGroup * depth * plan.panelWidth;
  Buffer packing = kernel.scratchBuffer(b, plan.weightsOffset, size, element);
  weights = {packing.memref, panelStrides(), {}};
  panelStride = depth * plan.panelWidth;
  Value first = dims[c.depth.front()].base;
  std::function<LogicalResult(size_t, Value, Value)> nest =
      [&](size_t level, Value panel, Value row) -> LogicalResult {
    if (level == c.depth.size())
      return packRow(dims, packing, panel, row);
    return loop(scalar.index(0), scalar.index(extents[level]), 1,
                [&](Value iv) {
                  Value at = level == 0 ? scalar.add(first, iv) : iv;
                  dims[c.depth[level]] = {at, 0, 1};
                  return nest(level + 1, panel,
                              scalar.add(scalar.mul(row, extents[level]), iv));
                });
  };
  return loop(block.panel, block.panelEnd, 1,
              [&](Value iv) { return nest(0, iv, sub(iv, block.panel)); });
}

} // namespace tinh::cpu
