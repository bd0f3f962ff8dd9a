//===- ContractionDivision.cpp - What follows from a product's plan -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"
#include "compiler/Codegen/CPU/Contraction/OrderedPanel.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"

using namespace mlir;

namespace tinh::cpu {

/// The part of the input that a block of lines reads, at `columns` of each and
/// `depth` iterations of the outermost loop over k.
static SmallVector<int64_t> slabShape(const Contraction &c,
                                      int64_t linesPerBlock, int64_t columns,
                                      int64_t depth) {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : c.left.map.getResults()) {
    int64_t extent = 1;
    for (unsigned dim = 0; dim < c.extents.size(); ++dim) {
      int64_t range = c.extents[dim];
      if (llvm::is_contained(c.batch, dim))
        range = 1;
      else if (dim == c.depth.front())
        range = depth;
      else if (dim == c.left.loops.back())
        range = columns;
      else if (llvm::is_contained(c.left.loops, dim))
        range =
            dim == c.left.loops[c.left.loops.size() - 2] ? linesPerBlock : 1;
      extent += loopCoefficient(expr, dim, c.extents.size()) * (range - 1);
    }
    shape.push_back(extent);
  }
  // Zeros fill the last group.
  shape.back() = llvm::alignTo(shape.back(), c.group());
  return shape;
}

int64_t slabBytes(const Contraction &c, ArrayRef<int64_t> slab) {
  return ShapedType::getNumElements(slab) * c.factorBytes();
}

int64_t mostRowTiles(const ContractionPlan &p) {
  int64_t panels = llvm::divideCeil(p.panelWidth, kAmxColumns);
  return std::max<int64_t>(kAmxSums / panels, 1);
}

TileDepth tileDepth(const Contraction &c,
                    llvm::function_ref<int64_t(unsigned)> leftStride) {
  TileDepth depth{c.depth.size() - 1, c.lastDepthBytes()};
  while (depth.level > 0 &&
         leftStride(c.depth[depth.level - 1]) * c.factorBytes() == depth.bytes)
    depth.bytes *= c.extents[c.depth[--depth.level]];
  return depth;
}

TileDepth tileDepth(const Contraction &c, const ContractionPlan &p) {
  // Of whole lines, as all tiles of one share a slab.
  SmallVector<int64_t> slab = slabShape(c, p.tileLines, c.rowsOfLine(),
                                        c.extents[c.depth.front()]),
                       strides;
  if (p.stages())
    strides = computeStrides(slab);
  else
    strides = *stridesInArgument(c.left.value);
  return tileDepth(c, [&](unsigned loop) {
    int64_t stride = 0;
    for (auto [expr, each] : llvm::zip(c.left.map.getResults(), strides))
      stride += each * loopCoefficient(expr, loop, c.extents.size());
    return stride;
  });
}

ExtendedBytes extendedBytes(const Contraction &c, const ContractionPlan &p) {
  int64_t each = alignBytes(slabBytes(c, p.slab)),
          even = c.groupOrder ? each : 0;
  return {even, even + each, even + 2 * each};
}

int64_t outerProducts(const Contraction &c) {
  ArrayRef<unsigned> rows = c.left.loops;
  return c.extentOf(c.batch) *
         c.extentOf(rows.drop_back(std::min<size_t>(2, rows.size())));
}

/// The last tile of AMX has as many rows as the others, whatever they hold.
SmallVector<int64_t> slabOf(const Contraction &c, const ContractionPlan &p) {
  int64_t rows = p.tilesPerBlock * p.tileRows;
  return slabShape(c, p.linesPerBlock,
                   p.usesAmx() ? rows : std::min(rows, c.rowsOfLine()),
                   p.depthPerBlock);
}

void divide(const Contraction &c, ContractionPlan &p, int64_t scratchOffset) {
  p.panels = llvm::divideCeil(c.columns(), p.panelWidth);
  p.tiles = llvm::divideCeil(c.rowsOfLine(), p.tileRows);
  p.lines = c.lines();
  p.outer = outerProducts(c);
  p.chunks = p.outer * llvm::divideCeil(p.lines, p.linesPerBlock) *
             llvm::divideCeil(p.tiles, p.tilesPerBlock) *
             llvm::divideCeil(p.panels, p.panelsPerGroup);
  int64_t bytes = c.elementBytes(), extent = c.extents[c.depth.front()];
  p.slabOffset = p.scratch = scratchOffset;
  if (p.stages()) {
    p.slab = slabOf(c, p);
    p.scratch += p.left == LeftAccess::Extended
                     ? extendedBytes(c, p).end
                     : alignBytes(slabBytes(c, p.slab));
  }
  p.groupsOffset = p.scratch;
  if (c.groupOrder)
    p.scratch += OrderedPanel::bytes(c, p);
  p.weightsOffset = p.scratch;
  if (p.right == RightAccess::Copied)
    p.scratch += alignBytes((c.isUnpacked() ? 1 : p.panelsPerGroup) *
                            (c.extentOf(c.depth) / extent) * p.depthPerBlock *
                            p.panelWidth * c.factorBytes());
  p.sumsOffset = p.scratch;
  if (p.usesAmx())
    p.scratch += alignBytes(p.tileLines * llvm::alignTo(p.tileRows, kAmxRows) *
                            p.panelWidth * bytes);
  else if (p.depthPerBlock < extent)
    p.scratch += alignBytes(p.sumsPerBlock() * bytes);
}

} // namespace tinh::cpu
