//===- WinogradEmit.cpp - Winograd convolutions -----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A chunk transforms the images of a block of tiles, all channels, to scratch
// memory as [product][tile][channel]. Then it multiplies these by its panels of
// filters, product by product, to [product][panel][tile][column], and
// transforms that to outputs, which what follows is pulled on.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"
#include "compiler/Codegen/CPU/Winograd/KnownMatrix.h"
#include "compiler/Codegen/CPU/Winograd/Winograd.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Chunks
//===----------------------------------------------------------------------===//

namespace {

class WinogradEmitter : TileEmitter {
public:
  WinogradEmitter(EmittedKernel &kernel, OpBuilder &b, const Winograd &w,
                  const WinogradPlan &plan, const Target &target,
                  const llvm::DenseMap<Value, Buffer> &buffers)
      : TileEmitter(kernel, b, w.element(), target.lanes(), buffers), w(w),
        t(*w.transform), plan(plan), vectors(w.panelWidth / lanes) {}

  LogicalResult emitChunk(Value chunk);

private:
  Indices startOf(Value tile);

  // Images.
  LogicalResult transformImages();
  LogicalResult transformImage(const Indices &start, Value to);
  Value isWithin(const Indices &start);
  using Part =
      llvm::function_ref<FailureOr<Values>(const Indices &, Value mask)>;
  LogicalResult transformChannels(const Indices &start, Value to, Part part);
  FailureOr<Values> loadPart(const Indices &start, Value mask);
  FailureOr<Values> copyPart(const Indices &start, Value mask);

  // Products.
  using ForPanel = llvm::function_ref<LogicalResult(Value panel)>;
  LogicalResult forPanels(ForPanel body);
  Value productsAt(Value product, Value panel);
  LogicalResult multiply(Value panel, Value product);
  LogicalResult multiplyRows(Value panel, Value product, Value tile,
                             int64_t rows);

  // Outputs.
  LogicalResult transformProducts(Value panel);
  LogicalResult finishTile(const Indices &start, Value panel, Value from);
  LogicalResult finishPart(const Indices &start, Value mask);

  const Winograd &w;
  const WinogradTransform &t;
  const WinogradPlan &plan;
  int64_t vectors;              // Of the panel's columns.
  Value images, products, part; // Scratch memory.
  Value firstTile, endTile;     // Of the block.
  Value firstPanel, endPanel;   // Of the group.
};

} // namespace

/// The indices of the loops where tile number `tile` begins.
Indices WinogradEmitter::startOf(Value tile) {
  Indices dims(w.extents.size(), {scalar.index(0), 0, 1});
  for (unsigned loop : {w.x, w.y})
    dims[loop].base =
        scalar.mul(scalar.takeDigit(tile, w.tilesOf(loop)), t.outputs);
  for (unsigned loop : llvm::reverse(w.images))
    dims[loop].base = scalar.takeDigit(tile, w.extents[loop]);
  return dims;
}

LogicalResult WinogradEmitter::emitChunk(Value chunk) {
  Value group = chunk, block = scalar.takeDigit(group, plan.blocks);
  firstTile = scalar.mul(block, plan.tilesPerBlock);
  endTile = minimum(scalar.add(firstTile, scalar.index(plan.tilesPerBlock)),
                    scalar.index(w.tiles()));
  int64_t each = t.products() * plan.tilesPerBlock;
  images = scratch(plan.imagesOffset, each * plan.channelStride);
  products =
      scratch(plan.productsOffset, each * plan.panelsPerGroup * w.panelWidth);
  part = scratch(plan.tileOffset, t.products() * lanes);
  if (failed(transformImages()))
    return failure();
  firstPanel = scalar.mul(group, plan.panelsPerGroup);
  endPanel = minimum(scalar.add(firstPanel, scalar.index(plan.panelsPerGroup)),
                     scalar.index(plan.panels));
  if (failed(loop(t.products(), 1, [&](Value product) {
        return forPanels([&](Value panel) { return multiply(panel, product); });
      })))
    return failure();
  return forPanels([&](Value panel) { return transformProducts(panel); });
}

/// Calls `body` for the group's panels; of the last one of all, only the
/// vectors that have columns count.
LogicalResult WinogradEmitter::forPanels(ForPanel body) {
  int64_t all = vectors, last = plan.panels - 1;
  int64_t used = llvm::divideCeil(w.columns() - last * w.panelWidth, lanes);
  if (used == all)
    return loop(firstPanel, endPanel, 1, body);
  if (last > 0 &&
      failed(loop(firstPanel, minimum(endPanel, scalar.index(last)), 1, body)))
    return failure();
  return buildIf(b, loc, scalar.isEqual(endPanel, plan.panels), [&] {
    vectors = used;
    LogicalResult result = body(scalar.index(last));
    vectors = all;
    return result;
  });
}

/// Where the products of a panel begin.
Value WinogradEmitter::productsAt(Value product, Value panel) {
  Value number = scalar.add(scalar.mul(product, plan.panelsPerGroup),
                            sub(panel, firstPanel));
  return scalar.mul(number, plan.tilesPerBlock * w.panelWidth);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

LogicalResult WinogradEmitter::transformImages() {
  return loop(firstTile, endTile, 1, [&](Value tile) {
    return transformImage(startOf(tile),
                          scalar.mul(sub(tile, firstTile), plan.channelStride));
  });
}

/// Whether all of the part that the tile at `start` needs is in the image; null
/// if it always is.
Value WinogradEmitter::isWithin(const Indices &start) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(w.image.getType()).getShape();
  Value within;
  for (auto [i, expr] : llvm::enumerate(w.left.map.getResults()))
    for (unsigned loop : {w.y, w.x})
      if (expr.isFunctionOfDim(loop)) {
        int64_t last = (w.tilesOf(loop) - 1) * t.outputs - w.low[i];
        if (w.low[i] == 0 && last + t.side() <= shape[i])
          continue;
        // One unsigned comparison checks both ends.
        Value first = sub(start[loop].base, scalar.index(w.low[i]));
        int64_t places = std::max<int64_t>(shape[i] - t.side() + 1, 0);
        within = scalar.both(within, scalar.isBelow(first, places));
      }
  return within;
}

/// Transforms the image's part at `start`, to where row `to` begins.
LogicalResult WinogradEmitter::transformImage(const Indices &start, Value to) {
  auto load = [&](const Indices &at, Value mask) { return loadPart(at, mask); };
  Value within = isWithin(start);
  if (!within)
    return transformChannels(start, to, load);
  if (failed(buildIf(b, loc, within,
                     [&] { return transformChannels(start, to, load); })))
    return failure();
  return buildIf(b, loc, scalar.negate(within), [&] {
    return transformChannels(start, to, [&](const Indices &at, Value mask) {
      return copyPart(at, mask);
    });
  });
}

LogicalResult WinogradEmitter::transformChannels(const Indices &start, Value to,
                                                 Part part) {
  int64_t whole = w.channels() / lanes * lanes, tail = w.channels() - whole;
  int64_t between = plan.tilesPerBlock * plan.channelStride;
  auto emit = [&](Value channel, Value mask) -> LogicalResult {
    Indices at = start;
    at[w.channel] = {channel, 1, lanes};
    FailureOr<Values> elements = part(at, mask);
    if (failed(elements))
      return failure();
    Value first = scalar.add(to, channel);
    for (auto [i, value] :
         llvm::enumerate(multiplyBothSides(b, loc, t.input, *elements)))
      store(value, images, scalar.add(first, scalar.index(i * between)));
    return success();
  };
  if (failed(loop(whole, lanes, [&](Value iv) { return emit(iv, {}); })))
    return failure();
  return tail ? emit(scalar.index(whole), firstLanes(b, loc, tail, lanes))
              : success();
}

/// The elements of a part that is in the image.
FailureOr<SmallVector<Value>> WinogradEmitter::loadPart(const Indices &start,
                                                        Value mask) {
  Pull pull(b, loc, lanes);
  pull.buffers = buffers;
  pull.mask = mask;
  Values elements;
  for (int64_t i = 0; i < t.products(); ++i) {
    Indices dims = start;
    dims[w.y].base = scalar.add(dims[w.y].base, scalar.index(i / t.side()));
    dims[w.x].base = scalar.add(dims[w.x].base, scalar.index(i % t.side()));
    auto at = pull.apply(w.left.map, dims);
    if (failed(at))
      return failure();
    for (auto [index, low] : llvm::zip(*at, w.low))
      if (low != 0)
        index.base = sub(index.base, scalar.index(low));
    auto element = pull.at(w.image, *at);
    if (failed(element))
      return failure();
    elements.push_back(pull.asVector(*element));
  }
  return elements;
}

/// Those of any part, by way of scratch memory: zeros where there is no image.
FailureOr<SmallVector<Value>> WinogradEmitter::copyPart(const Indices &start,
                                                        Value mask) {
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(w.left.value.getType()).getShape();
  int64_t dimOfY = -1, dimOfX = -1;
  for (auto [i, expr] : llvm::enumerate(w.left.map.getResults())) {
    dimOfY = expr.isFunctionOfDim(w.y) ? i : dimOfY;
    dimOfX = expr.isFunctionOfDim(w.x) ? i : dimOfX;
  }
  Value zero = zeroVector();
  auto copy = [&](Value row, Value column) -> LogicalResult {
    Pull pull(b, loc, lanes);
    pull.buffers = buffers;
    pull.mask = mask;
    Indices dims = start;
    dims[w.y].base = scalar.add(dims[w.y].base, row);
    dims[w.x].base = scalar.add(dims[w.x].base, column);
    Value to = scalar.mul(scalar.add(scalar.mul(row, t.side()), column), lanes);
    store(zero, part, to);
    auto at = pull.apply(w.left.map, dims);
    if (failed(at))
      return failure();
    Value isThere =
        scalar.both(scalar.isBelow((*at)[dimOfY].base, shape[dimOfY]),
                    scalar.isBelow((*at)[dimOfX].base, shape[dimOfX]));
    return buildIf(b, loc, isThere, [&]() -> LogicalResult {
      auto element = pull.at(w.left.value, *at);
      if (failed(element))
        return failure();
      store(pull.asVector(*element), part, to);
      return success();
    });
  };
  if (failed(loop(t.side(), 1, [&](Value row) {
        return loop(t.side(), 1,
                    [&](Value column) { return copy(row, column); });
      })))
    return failure();
  Values elements;
  for (int64_t i = 0; i < t.products(); ++i)
    elements.push_back(load(part, scalar.index(i * lanes)));
  return elements;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

LogicalResult WinogradEmitter::multiply(Value panel, Value product) {
  int64_t whole = w.tiles() / plan.tileRows * plan.tileRows,
          tail = w.tiles() - whole;
  Value end = minimum(endTile, scalar.index(whole));
  if (whole && failed(loop(firstTile, end, plan.tileRows, [&](Value tile) {
        return multiplyRows(panel, product, tile, plan.tileRows);
      })))
    return failure();
  if (!tail)
    return success();
  return buildIf(b, loc, scalar.isEqual(endTile, w.tiles()), [&] {
    return multiplyRows(panel, product, scalar.index(whole), tail);
  });
}

/// `rows` tiles from `tile` on times a panel, of one of the products.
LogicalResult WinogradEmitter::multiplyRows(Value panel, Value product,
                                            Value tile, int64_t rows) {
  Value filters = kernel.function.getArgument(w.filters);
  Value row = sub(tile, firstTile);
  Value imageAt =
      scalar.mul(scalar.add(scalar.mul(product, plan.tilesPerBlock), row),
                 plan.channelStride);
  Value filterAt =
      scalar.mul(scalar.add(scalar.mul(panel, t.products()), product),
                 w.channels() * w.panelWidth);
  int64_t unroll = w.channels() % 4 == 0 ? 4 : 1;
  Values zeros(rows * vectors, zeroVector());
  auto sums = buildLoop(
      b, loc, w.channels(), unroll, zeros,
      [&](Value channel, ValueRange values) -> FailureOr<Values> {
        Values sums(values);
        Value at = scalar.add(filterAt, scalar.mul(channel, w.panelWidth));
        for (int64_t u = 0; u < unroll; ++u) {
          Values columns, rowAt;
          for (int64_t v = 0; v < vectors; ++v)
            columns.push_back(load(
                filters,
                scalar.add(at, scalar.index(u * w.panelWidth + v * lanes))));
          for (int64_t r = 0; r < rows; ++r)
            rowAt.push_back(
                scalar.add(scalar.add(imageAt, channel),
                           scalar.index(r * plan.channelStride + u)));
          multiplyTile(b, loc, images, rowAt, columns, sums);
        }
        return sums;
      });
  if (failed(sums))
    return failure();
  Value to =
      scalar.add(productsAt(product, panel), scalar.mul(row, w.panelWidth));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t v = 0; v < vectors; ++v)
      store((*sums)[r * vectors + v], products,
            scalar.add(to, scalar.index(r * w.panelWidth + v * lanes)));
  return success();
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

LogicalResult WinogradEmitter::transformProducts(Value panel) {
  Value first = productsAt(scalar.index(0), panel);
  return loop(firstTile, endTile, 1, [&](Value tile) {
    Value row = scalar.mul(sub(tile, firstTile), w.panelWidth);
    return finishTile(startOf(tile), panel, scalar.add(first, row));
  });
}

/// The outputs of a tile, as far as there are any: by way of scratch memory.
/// (With code of its own for whole tiles it was no faster on Zen 4.)
LogicalResult WinogradEmitter::finishTile(const Indices &start, Value panel,
                                          Value from) {
  unsigned column = w.right.loops.back();
  int64_t between = plan.panelsPerGroup * plan.tilesPerBlock * w.panelWidth;
  for (int64_t v = 0; v < vectors; ++v) {
    Values sums;
    for (int64_t i = 0; i < t.products(); ++i)
      sums.push_back(load(
          products, scalar.add(from, scalar.index(i * between + v * lanes))));
    for (auto [i, value] :
         llvm::enumerate(multiplyBothSides(b, loc, t.output, sums)))
      store(value, part, scalar.index(i * lanes));
    Indices dims = start;
    Value first =
        scalar.add(scalar.mul(panel, w.panelWidth), scalar.index(v * lanes));
    dims[column] = {first, 1, lanes};
    Value mask;
    if (w.columns() % lanes != 0)
      mask = firstLanes(
          b, loc,
          minimum(sub(scalar.index(w.columns()), first), scalar.index(lanes)),
          lanes);
    if (failed(finishPart(dims, mask)))
      return failure();
  }
  return success();
}

/// What follows for the outputs in scratch memory.
LogicalResult WinogradEmitter::finishPart(const Indices &start, Value mask) {
  auto rest = [&](unsigned loop) {
    return minimum(sub(scalar.index(w.extents[loop]), start[loop].base),
                   scalar.index(t.outputs));
  };
  Indices dims = start;
  return loop(scalar.index(0), rest(w.y), 1, [&](Value row) {
    dims[w.y].base = scalar.add(start[w.y].base, row);
    return loop(scalar.index(0), rest(w.x), 1, [&](Value at) {
      dims[w.x].base = scalar.add(start[w.x].base, at);
      Value number = scalar.add(scalar.mul(row, t.outputs), at);
      return finish(w, dims, load(part, scalar.mul(number, lanes)), mask);
    });
  });
}

LogicalResult WinogradStrategy::emit(EmittedKernel &kernel, const Winograd &w,
                                     const WinogradPlan &plan,
                                     const Target &target) {
  OpBuilder b = kernel.builder();
  Value one = arith::ConstantIndexOp::create(b, kernel.source.getLoc(), 1);
  auto chunks = scf::ForOp::create(b, kernel.source.getLoc(), kernel.begin,
                                   kernel.end, one);
  b.setInsertionPointToStart(chunks.getBody());
  auto inputs = kernel.inputs();
  return WinogradEmitter(kernel, b, w, plan, target, inputs)
      .emitChunk(chunks.getInductionVar());
}

} // namespace tinh::cpu
