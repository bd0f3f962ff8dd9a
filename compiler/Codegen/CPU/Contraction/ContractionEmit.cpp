//===- ContractionEmit.cpp - Products in register tiles ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register tiles of `tileRows` rows by one panel of weights: the accumulators
// stay in registers over all of k, or of a part of it, between which they wait
// in scratch memory, and what follows the product is pulled on them before they
// are stored.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/ContractionEmit.h"
#include "compiler/Codegen/CPU/Contraction/QuantizedWeightsEmit.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Register tiles
//===----------------------------------------------------------------------===//

/// Vector `v` of the columns whose row in the panels begins at `rowAt`, as the
/// sums have it.
Value ContractionEmitter::loadColumns(Value rowAt, int64_t v) {
  Type element = cast<MemRefType>(weights.memref.getType()).getElementType();
  VectorType type = VectorType::get({lanes * c.group()}, element);
  Value at = scalar.add(rowAt, scalar.index(v * lanes * c.group())), columns;
  if (masks.empty()) {
    columns = vector::LoadOp::create(b, loc, type, weights.memref, at);
  } else {
    Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
    columns = vector::MaskedLoadOp::create(b, loc, type, weights.memref, at,
                                           masks[v], zero);
  }
  if (type == vectorType() || c.group() > 1)
    return columns;
  return arith::ExtFOp::create(b, loc, vectorType(), columns);
}

/// One step of k: a vector of each panel column times each row's element.
void ContractionEmitter::multiply(Value inputAt, Value weightsAt, int64_t rows,
                                  Values &sums) {
  Values columns, rowAt;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(loadColumns(weightsAt, v));
  int64_t stride = inputStride(c.left.loops.back());
  for (int64_t r = 0; r < rows; ++r)
    rowAt.push_back(scalar.add(inputAt, scalar.index(r * stride)));
  if (plan.left == LeftAccess::Extended) {
    ExtendedBytes slab = extendedBytes(c, plan);
    SmallVector<std::array<Value, 2>> words;
    for (Value column : columns)
      words.push_back(extendBytes(b, loc, column, /*isUnsigned=*/false));
    multiplyExtendedTile(b, loc, input.memref, rowAt, {slab.even, slab.odd},
                         words, target, sums);
  } else if (c.isOfBytes())
    multiplyByteTile(b, loc, input.memref, rowAt, columns, target, sums);
  else if (c.group() > 1)
    multiplyPairTile(b, loc, input.memref, rowAt, columns, sums);
  else
    multiplyTile(b, loc, input.memref, rowAt, columns, sums);
}

/// How many elements of the weights a cache line has.
int64_t ContractionEmitter::inLine() {
  constexpr int64_t kLine = 64;
  auto type = cast<MemRefType>(weights.memref.getType()).getElementType();
  return 8 * kLine / type.getIntOrFloatBitWidth();
}

/// Weights come from beyond the second-level cache when they are read first.
/// While all rows are multiplied by a panel, those of the next one are brought
/// there, by each of the tiles of rows a part of them.
ContractionEmitter::Prefetch
ContractionEmitter::prefetchOf(const Indices &dims, int64_t stepElements) {
  int64_t tiles = plan.tiles * llvm::divideCeil(plan.lines, plan.tileLines),
          lines = stepElements / inLine();
  if (plan.right != RightAccess::Packed || c.quantized || tiles == 1 || !lines)
    return {};
  auto quotient = [&](Value value, int64_t divisor) {
    return b.createOrFold<arith::DivUIOp>(loc, value, scalar.index(divisor));
  };
  Value tile = quotient(dims[c.left.loops.back()].base, plan.tileRows);
  if (auto loop = lineLoop()) {
    Value line = quotient(dims[*loop].base, plan.tileLines);
    tile = scalar.add(tile, scalar.mul(line, plan.tiles));
  }
  Prefetch next;
  next.lines = llvm::divideCeil(lines, tiles);
  Value first =
      minimum(scalar.mul(tile, next.lines), scalar.index(lines - next.lines));
  bool hasAllRows =
      plan.linesPerBlock == plan.lines && plan.tilesPerBlock == plan.tiles;
  int64_t panels = hasAllRows ? 1 : plan.panelsPerGroup;
  Value behind = scalar.index(panels * c.steps() * c.group() * plan.panelWidth);
  next.offset = scalar.add(scalar.mul(first, inLine()), behind);
  return next;
}

void ContractionEmitter::prefetch(const Prefetch &next, Value weightsAt) {
  if (!next.lines)
    return;
  Value from = scalar.add(weightsAt, next.offset);
  for (int64_t line = 0; line < next.lines; ++line) {
    Value at = scalar.add(from, scalar.index(line * inLine()));
    memref::PrefetchOp::create(b, loc, weights.memref, at, /*isWrite=*/false,
                               /*localityHint=*/2, /*isDataCache=*/true);
  }
}

/// Adds the products over the loops over k from `level` on, `count` iterations
/// of that one, of the last one in groups.
FailureOr<SmallVector<Value>>
ContractionEmitter::addProducts(const Indices &dims, size_t level,
                                Value inputAt, Value weightsAt, int64_t count,
                                int64_t rows, ValueRange sums) {
  int64_t inStep = inputStride(c.depth[level]), step = weights.strides[level];
  if (level + 1 < c.depth.size())
    return buildLoop(b, loc, count, 1, sums, [&](Value iv, ValueRange values) {
      return addProducts(dims, level + 1,
                         scalar.add(inputAt, scalar.mul(iv, inStep)),
                         scalar.add(weightsAt, scalar.mul(iv, step)),
                         c.extents[c.depth[level + 1]], rows, values);
    });
  inStep *= c.group();
  step *= c.group();
  count = llvm::divideCeil(count, c.group());
  int64_t unroll = count % 4 == 0 ? 4 : count % 2 == 0 ? 2 : 1;
  if (count <= 8)
    unroll = count;
  // LLVM adds integers in another order, which takes more registers.
  if (plan.left == LeftAccess::Extended)
    unroll = 1;
  Prefetch next = prefetchOf(dims, unroll * step);
  return buildLoop(b, loc, count, unroll, sums,
                   [&](Value iv, ValueRange values) -> FailureOr<Values> {
                     Values sums(values);
                     Value x = scalar.add(inputAt, scalar.mul(iv, inStep));
                     Value w = scalar.add(weightsAt, scalar.mul(iv, step));
                     prefetch(next, w);
                     for (int64_t u = 0; u < unroll; ++u)
                       multiply(scalar.add(x, scalar.index(u * inStep)),
                                scalar.add(w, scalar.index(u * step)), rows,
                                sums);
                     return sums;
                   });
}

FailureOr<SmallVector<Value>>
ContractionEmitter::emitProduct(const Indices &dims, Value panel, int64_t rows,
                                int64_t count, ValueRange sums) {
  auto at = inputAt(dims);
  if (failed(at))
    return failure();
  if (plan.right == RightAccess::InPlace && c.columns() % plan.panelWidth)
    for (int64_t v = 0; v < vectors; ++v)
      masks.push_back(columnMask(scalar.add(scalar.mul(panel, plan.panelWidth),
                                            scalar.index(v * lanes))));
  if (ordered)
    return ordered->addProducts(input.memref, *at, rows,
                                inputStride(c.left.loops.back()), sums);
  bool hasWords = c.quantized && plan.right == RightAccess::Packed;
  QuantizedWeightsEmitter words(*this, c, plan, target, weights, panel,
                                vectors);
  auto products =
      hasWords
          ? words.addBlocks(dims, input, *at, panelAt(panel), count, rows, sums)
          : addProducts(dims, 0, *at, panelAt(panel), count, rows, sums);
  masks.clear();
  return products;
}

/// What follows the product, of a panel's columns. A result in panels has zeros
/// for what is left of the last one, for kernels that go through all of it.
LogicalResult ContractionEmitter::emitEpilogue(const Indices &dims, Value panel,
                                               int64_t rows, ValueRange sums) {
  std::optional<int64_t> columns = columnsOfPanels(c.result);
  Value zero = zeroVector();
  int64_t stored = vectors, all = plan.panelWidth / lanes;
  if (columns && vectors < all) // The last one.
    stored =
        std::min(all, (*columns - (plan.panels - 1) * plan.panelWidth) / lanes);
  for (int64_t v = 0; v < stored; ++v) {
    Value column =
        scalar.add(scalar.mul(panel, plan.panelWidth), scalar.index(v * lanes));
    Value mask = columns ? Value() : columnMask(column);
    for (int64_t r = 0; r < rows; ++r) {
      Indices at;
      AffineMap output = outputMap(c.op);
      for (unsigned i = 0; i < output.getNumResults(); ++i) {
        unsigned dim = output.getDimPosition(i);
        at.push_back(dims[dim]);
        if (dim == c.left.loops.back())
          at.back().base = scalar.add(at.back().base, scalar.index(r));
      }
      at.back() = {column, 1, lanes};
      Pull pull(b, loc, lanes);
      pull.mask = mask;
      pull.buffers = buffers;
      if (failed(finish(pull, v < vectors ? sums[r * vectors + v] : zero, at)))
        return failure();
    }
  }
  return success();
}

/// Where the sums of the tile at `dims` begin that wait in scratch memory.
Value ContractionEmitter::sumsAt(const Indices &dims, const Block &block,
                                 Value panel) {
  Value lines = scalar.mul(sub(panel, block.panel), plan.linesPerBlock);
  if (auto line = lineLoop())
    lines = scalar.add(lines, sub(dims[*line].base, block.line));
  Value row = sub(dims[c.left.loops.back()].base,
                  scalar.mul(block.tile, plan.tileRows));
  row = scalar.add(scalar.mul(lines, plan.tilesPerBlock * plan.tileRows), row);
  return scalar.mul(row, plan.panelWidth);
}

/// `rows` rows of a panel: their sums go on from those in scratch memory, if
/// the sum is done in parts, and back there or to what follows the product.
LogicalResult ContractionEmitter::emitTile(const Indices &dims,
                                           const Block &block, Value panel,
                                           int64_t rows, const Depth &depth) {
  Value zero = zeroVector();
  Values state(rows * vectors, zero);
  Value first = sums ? sumsAt(dims, block, panel) : Value();
  auto at = [&](size_t i) {
    return scalar.add(first, scalar.index(i * lanes));
  };
  if (sums)
    for (auto [i, value] : llvm::enumerate(state))
      value = vector::LoadOp::create(b, loc, vectorType(), sums, at(i));
  auto added = emitProduct(dims, panel, rows, depth.count, state);
  if (failed(added))
    return failure();
  if (depth.isLast)
    return emitEpilogue(dims, panel, rows, *added);
  for (auto [i, value] : llvm::enumerate(*added))
    vector::StoreOp::create(b, loc, value, sums, at(i));
  return success();
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

LogicalResult ContractionEmitter::emitChunk(Value chunk) {
  Value rest = chunk;
  auto block = [&](int64_t all, int64_t each) {
    return scalar.mul(scalar.takeDigit(rest, llvm::divideCeil(all, each)),
                      each);
  };
  auto end = [&](Value begin, int64_t each, int64_t all) {
    return minimum(scalar.add(begin, scalar.index(each)), scalar.index(all));
  };
  Block part;
  part.tile = block(plan.tiles, plan.tilesPerBlock);
  part.line = block(plan.lines, plan.linesPerBlock);
  Indices dims(c.extents.size(), {scalar.index(0), 0, 1});
  for (unsigned dim :
       llvm::reverse(ArrayRef(c.left.loops)
                         .drop_back(std::min<size_t>(2, c.left.loops.size()))))
    dims[dim].base = scalar.takeDigit(rest, c.extents[dim]);
  for (unsigned dim : llvm::reverse(c.batch))
    dims[dim].base = scalar.takeDigit(rest, c.extents[dim]);
  part.panel = scalar.mul(rest, plan.panelsPerGroup);
  part.tileEnd = end(part.tile, plan.tilesPerBlock, plan.tiles);
  part.lineEnd = end(part.line, plan.linesPerBlock, plan.lines);
  part.panelEnd = end(part.panel, plan.panelsPerGroup, plan.panels);
  return emitBlock(dims, part);
}

ContractionEmitter::Block ContractionEmitter::rowsOfTiles(Value tile,
                                                          Value tileEnd) {
  Value zero = scalar.index(0);
  return {tile, tileEnd,
          zero, scalar.index(plan.lines),
          zero, scalar.index(plan.panels)};
}

LogicalResult ContractionEmitter::emitRight(const Indices &batch) {
  Indices start(c.extents.size(), {scalar.index(0), 0, 1});
  for (auto [dim, index] : llvm::zip(c.batch, batch))
    start[dim] = index;
  batchStart = start;
  return findWeights(start,
                     rowsOfTiles(scalar.index(0), scalar.index(plan.tiles)),
                     c.extents[c.depth.front()]);
}

LogicalResult ContractionEmitter::emitRows(Value tile, Value tileEnd) {
  return emitBlock(*batchStart, rowsOfTiles(tile, tileEnd));
}

/// The part of the product in a block, some of the sum after the other.
LogicalResult ContractionEmitter::emitBlock(Indices dims, const Block &block) {
  Value &k = dims[c.depth.front()].base;
  int64_t extent = c.extents[c.depth.front()], each = plan.depthPerBlock;
  int64_t last = (llvm::divideCeil(extent, each) - 1) * each;
  if (last > 0) {
    clearSums(plan.sumsOffset, plan.sumsPerBlock());
    if (failed(loop(scalar.index(0), scalar.index(last), each, [&](Value iv) {
          k = iv;
          return emitDepth(dims, block, {each, /*isLast=*/false});
        })))
      return failure();
  }
  k = scalar.index(last);
  return emitDepth(dims, block, {extent - last, /*isLast=*/true});
}

/// Emits the body for all panels of the block; of the product's last one only
/// the vectors that have columns are computed.
LogicalResult ContractionEmitter::forPanels(const Block &block, Body body) {
  int64_t all = plan.panelWidth / lanes, last = plan.panels - 1;
  int64_t used = llvm::divideCeil(c.columns() - last * plan.panelWidth, lanes);
  if (used == all)
    return loop(block.panel, block.panelEnd, 1, body);
  Value wholeEnd = minimum(block.panelEnd, scalar.index(last));
  if (last > 0 && failed(loop(block.panel, wholeEnd, 1, body)))
    return failure();
  Value hasLast = scalar.isEqual(block.panelEnd, plan.panels);
  return buildIf(b, loc, hasLast, [&] {
    vectors = used;
    LogicalResult result = body(scalar.index(last));
    vectors = all;
    return result;
  });
}

/// Emits the body for all lines of the block, as many at a time as a register
/// tile has, and then those that are left.
LogicalResult ContractionEmitter::emitLines(
    Indices &dims, const Block &block,
    llvm::function_ref<LogicalResult(int64_t)> emitTiles) {
  auto emit = [&](Value from, Value to, int64_t lines) {
    return loop(from, to, lines, [&](Value line) {
      if (auto loop = lineLoop())
        dims[*loop].base = line;
      return emitTiles(lines);
    });
  };
  int64_t together = plan.tileLines;
  if (together == 1)
    return emit(block.line, block.lineEnd, 1);
  Value whole = wholeVectors(sub(block.lineEnd, block.line), together);
  whole = scalar.add(block.line, whole);
  if (failed(emit(block.line, whole, together)))
    return failure();
  bool isWhole = plan.linesPerBlock % together == 0 &&
                 plan.lines % plan.linesPerBlock % together == 0;
  return isWhole ? success() : emit(whole, block.lineEnd, 1);
}

LogicalResult ContractionEmitter::emitDepth(Indices dims, const Block &block,
                                            const Depth &depth) {
  if (failed(findInput(dims, block)) ||
      (!batchStart && failed(findWeights(dims, block, depth.count))))
    return failure();
  if (c.groupOrder) {
    const TileEmitter &tile = *this;
    ordered.emplace(tile, c, plan, target);
    ordered->listGroups([&](unsigned loop) { return inputStride(loop); });
  }
  int64_t inner = c.extents[c.left.loops.back()];
  int64_t whole = inner / plan.tileRows, tail = inner % plan.tileRows;
  auto emitTiles = [&](Value panel, int64_t lines) -> LogicalResult {
    Value wholeEnd = minimum(block.tileEnd, scalar.index(whole));
    if (whole && failed(loop(block.tile, wholeEnd, 1, [&](Value tile) {
          dims[c.left.loops.back()].base = scalar.mul(tile, plan.tileRows);
          return plan.usesAmx()
                     ? emitAmxTile(dims, panel, lines, 0, plan.tileRows)
                     : emitTile(dims, block, panel, plan.tileRows, depth);
        })))
      return failure();
    if (!tail)
      return success();
    Value hasTail = scalar.isEqual(block.tileEnd, plan.tiles);
    return buildIf(b, loc, hasTail, [&] {
      Value &row = dims[c.left.loops.back()].base;
      row = scalar.index(whole * plan.tileRows);
      if (!plan.usesAmx())
        return emitTile(dims, block, panel, tail, depth);
      if (plan.stages())
        return emitAmxTile(dims, panel, lines, 0, tail);
      row = scalar.index(inner - plan.tileRows);
      return emitAmxTile(dims, panel, lines, plan.tileRows - tail,
                         plan.tileRows);
    });
  };
  return forPanels(block, [&](Value panel) -> LogicalResult {
    if (unpacksPanels() && failed(unpackPanel(dims, panel, depth.count)))
      return failure();
    if (ordered)
      ordered->copy(weights.memref, panelAt(panel),
                    kernel.function.getArgument(*c.groupOrder), orderAt(panel),
                    vectors);
    return emitLines(dims, block,
                     [&](int64_t lines) { return emitTiles(panel, lines); });
  });
}

//===----------------------------------------------------------------------===//
// Kernels of one product
//===----------------------------------------------------------------------===//

LogicalResult ContractionStrategy::emit(EmittedKernel &kernel,
                                        const Contraction &c,
                                        const ContractionPlan &plan,
                                        const Target &target) {
  OpBuilder b = kernel.builder();
  Location loc = kernel.source.getLoc();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto chunks = scf::ForOp::create(b, loc, kernel.begin, kernel.end, one);
  b.setInsertionPointToStart(chunks.getBody());

  auto finish = [&](Pull &pull, Value sums, Indices at) {
    linalg::GenericOp op = c.op;
    pull.registers[c.result] = {sums, false, {}};
    return kernel.storeResults(
        pull, indicesInResult(pull, op.getResult(0), c.result, at));
  };
  auto inputs = kernel.inputs();
  return ContractionEmitter(kernel, c, plan, target, b, inputs, finish)
      .emitChunk(chunks.getInductionVar());
}

} // namespace tinh::cpu
