//===- ContractionEmitAmx.cpp - Products in tiles of AMX --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A register tile is up to two tiles of 16 rows, of one line or of two, by two
// of 16 columns, or up to four by one. All of a kernel have the same rows, as
// the CPU is told their shapes once: of a line's last rows, a tile has those
// before again, or what lies behind them in the slab. They are not stored.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/ContractionEmit.h"

using namespace mlir;

namespace tinh::cpu {

/// Adds the products over the loops over k from `level` on.
FailureOr<SmallVector<Value>>
ContractionEmitter::addTileProducts(AmxEmitter &tiles, const TileDepth &depth,
                                    size_t level, Value inputAt,
                                    Value weightsAt, ValueRange sums) {
  if (level == depth.level)
    return tiles.multiply(inputAt, weightsAt,
                          depth.bytes / amxStepBytes(depth.bytes), sums);
  int64_t extent = c.extents[c.depth[level]];
  int64_t inStep = inputStride(c.depth[level]), step = weights.strides[level];
  return buildLoop(b, loc, extent, 1, sums, [&](Value iv, ValueRange values) {
    return addTileProducts(tiles, depth, level + 1,
                           scalar.add(inputAt, scalar.mul(iv, inStep)),
                           scalar.add(weightsAt, scalar.mul(iv, step)), values);
  });
}

/// The rows of a tile from `firstNew` to before `end` of each of so many lines,
/// of one panel.
LogicalResult ContractionEmitter::emitAmxTile(Indices dims, Value panel,
                                              int64_t lines, int64_t firstNew,
                                              int64_t end) {
  auto at = inputAt(dims);
  if (failed(at))
    return failure();
  AmxBlock block;
  block.left = input.memref;
  block.leftStride = inputStride(c.left.loops.back());
  block.right = weights.memref;
  block.columns = plan.panelWidth;
  block.panelStride = kAmxColumns * c.group();
  block.rows = plan.tileRows;
  block.lines = lines;
  if (auto line = lineLoop())
    block.lineStride = inputStride(*line);
  block.panels = vectors;
  TileDepth depth =
      tileDepth(c, [&](unsigned loop) { return inputStride(loop); });
  block.stepBytes = amxStepBytes(depth.bytes);
  block.leftSigned = false;
  Prefetch next = prefetchOf(dims, block.stepElements() * plan.panelWidth);
  block.beforeStep = [&](Value rightAt) { prefetch(next, rightAt); };
  AmxEmitter tiles(b, loc, block);
  auto products =
      addTileProducts(tiles, depth, 0, *at, panelAt(panel), tiles.zeroSums());
  if (failed(products))
    return failure();
  int64_t width = vectors * lanes;
  sums = kernel
             .scratchBuffer(b, plan.sumsOffset,
                            block.rowTiles() * kAmxRows * width, element)
             .memref;
  tiles.storeSums(*products, sums, scalar.index(0));
  Value first = dims[c.left.loops.back()].base;
  std::optional<unsigned> lineDim = lineLoop();
  Value firstLine = lineDim ? dims[*lineDim].base : Value();
  for (int64_t tile = 0; tile < block.rowTiles(); ++tile) {
    int64_t line = tile / block.tilesOfLine(),
            tileOfLine = tile % block.tilesOfLine(),
            firstRow = block.firstRow(tileOfLine);
    // Rows that the tile before has not had.
    int64_t begin = std::max(firstNew, tileOfLine * block.rowsOfTile()),
            behind = std::min(end, firstRow + block.rowsOfTile());
    if (begin >= behind)
      continue;
    if (lineDim)
      dims[*lineDim].base = scalar.add(firstLine, scalar.index(line));
    // Where row 0 would lie.
    int64_t origin = (tile * kAmxRows - firstRow) * width;
    LogicalResult rows =
        loop(scalar.index(begin), scalar.index(behind), 1, [&](Value row) {
          Value at = scalar.add(scalar.mul(row, width), scalar.index(origin));
          Values ofRow;
          for (int64_t v = 0; v < vectors; ++v)
            ofRow.push_back(vector::LoadOp::create(
                b, loc, vectorType(), sums,
                scalar.add(at, scalar.index(v * lanes))));
          dims[c.left.loops.back()].base = scalar.add(first, row);
          return emitEpilogue(dims, panel, 1, ofRow);
        });
    if (failed(rows))
      return failure();
  }
  sums = {};
  return success();
}

} // namespace tinh::cpu
