//===- Contraction.cpp - Products in register tiles -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Register tiles of `tileRows` rows by one panel of weights: the accumulators
// stay in registers over all of k, and what follows the product is pulled on
// them before they are stored. The input is read where it lies, or, if it is
// padded, computed or of another type, from a slab of scratch memory that each
// chunk fills first.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"
#include "compiler/Codegen/CPU/Tile.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// What becomes of a vector of sums, at these indices of the product's result.
using Finish = function_ref<LogicalResult(Pull &pull, Value sums, Indices at)>;

class ContractionEmitter {
public:
  ContractionEmitter(EmittedKernel &kernel, const Contraction &c,
                     const ContractionPlan &plan,
                     std::optional<unsigned> packed, const Target &target,
                     OpBuilder &b, const llvm::DenseMap<Value, Buffer> &buffers,
                     Finish finish)
      : kernel(kernel), c(c), plan(plan), packed(packed), target(target), b(b),
        loc(kernel.source.getLoc()), scalar(b, loc, 1), buffers(buffers),
        finish(finish) {
    depth = c.extentOf(c.k);
  }

  LogicalResult emitChunk(Value chunk);
  /// The whole product, at the batch indices in `start`.
  LogicalResult emitWhole(const Indices &start);

private:
  using Body = function_ref<LogicalResult(Value)>;

  LogicalResult loop(Value from, Value to, int64_t step, Body body) {
    auto op = scf::ForOp::create(b, loc, from, to, scalar.index(step));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    return body(op.getInductionVar());
  }
  Value minimum(Value x, Value y) {
    return b.createOrFold<arith::MinUIOp>(loc, x, y);
  }
  LogicalResult emitBlock(Indices dims, Value tile, Value tileEnd, Value line,
                          Value lineEnd, Value panel, Value panelEnd);
  /// The elements of an operand of the product, as the sums have them.
  FailureOr<LaneValue> pullFloat(Pull &pull, Value operand, const Indices &at);
  LogicalResult stage(const Indices &start);
  LogicalResult packWeights(const Indices &start, Value panel, Value panelEnd);
  LogicalResult emitTile(Indices dims, Value panel, int64_t rows);
  LogicalResult emitEpilogue(const Indices &dims, Value panel, int64_t rows,
                             ValueRange accumulators);
  FailureOr<SmallVector<Value>> emitProduct(const Indices &dims, Value panel,
                                            int64_t rows);
  void multiply(Value inputAt, Value weightsAt, int64_t rows, int64_t rowStride,
                SmallVectorImpl<Value> &accumulators);
  /// The lanes from `column` on that are columns; none if all always are.
  Value columnMask(Value column) {
    int64_t n = c.extents[c.n];
    if (n % plan.panelWidth == 0)
      return {};
    Value left = arith::SubIOp::create(b, loc, scalar.index(n), column);
    left = arith::MaxSIOp::create(b, loc, left, scalar.index(0));
    return firstLanes(b, loc, left, c.lanes(target));
  }
  /// How far one step of loop `dim` moves in the input's memory.
  int64_t inputStride(unsigned dim) const {
    int64_t stride = 0;
    for (auto [i, expr] : llvm::enumerate(c.inputMap.getResults()))
      stride += loopCoefficient(expr, dim, c.extents.size()) * input.strides[i];
    return stride;
  }

  EmittedKernel &kernel;
  Contraction c;
  const ContractionPlan &plan;
  std::optional<unsigned> packed;
  const Target &target;
  OpBuilder &b;
  Location loc;
  Pull scalar;
  const llvm::DenseMap<Value, Buffer> &buffers;
  Finish finish;
  Buffer input;
  Value weights;    // Packed panels, from
  Value firstPanel; // this one on.
  int64_t depth;
};

} // namespace

FailureOr<LaneValue> ContractionEmitter::pullFloat(Pull &pull, Value operand,
                                                   const Indices &at) {
  auto element = pull.at(operand, at);
  if (failed(element) || getElementTypeOrSelf(operand) == c.element())
    return element;
  Type type = c.element();
  if (auto vector = dyn_cast<VectorType>(element->value.getType()))
    type = vector.clone(type);
  Value converted = arith::ExtFOp::create(b, loc, type, element->value);
  return LaneValue{converted, element->uniform, {}};
}

/// Fills the slab with the part of the input that the chunk reads.
LogicalResult ContractionEmitter::stage(const Indices &start) {
  auto from = scalar.apply(c.inputMap, start);
  if (failed(from))
    return failure();
  input = kernel.scratchBuffer(b, plan.slabOffset, plan.slab, c.element());
  for (LaneIndex &index : *from)
    input.origin.push_back(index.base);
  // The slab's extent along the lines shrinks with the last block.
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(c.input.getType()).getShape();
  SmallVector<Value> ends;
  for (auto [i, index] : llvm::enumerate(*from))
    ends.push_back(minimum(scalar.index(plan.slab[i]),
                           b.createOrFold<arith::SubIOp>(
                               loc, scalar.index(shape[i]), index.base)));
  int64_t rank = plan.slab.size(), last = plan.slab.back();
  int64_t lanes = last == 1 ? 1 : c.lanes(target);
  Indices at = *from;
  std::function<LogicalResult(int64_t)> nest = [&](int64_t dim) {
    if (dim + 1 < rank)
      return loop(scalar.index(0), ends[dim], 1, [&](Value iv) {
        at[dim] = {scalar.add((*from)[dim].base, iv), 0, 1};
        return nest(dim + 1);
      });
    auto copy = [&](Value iv, int64_t count) -> LogicalResult {
      Pull pull(b, loc, lanes);
      pull.buffers = buffers;
      at[dim] = {scalar.add((*from)[dim].base, iv), lanes > 1 ? 1 : 0, lanes};
      pull.mask = firstLanes(b, loc, count, lanes);
      auto value = pullFloat(pull, c.input, at);
      if (failed(value))
        return failure();
      return pull.store(*value, input, at);
    };
    int64_t whole = last / lanes * lanes;
    if (whole && failed(loop(scalar.index(0), scalar.index(whole), lanes,
                             [&](Value iv) { return copy(iv, lanes); })))
      return failure();
    return whole == last ? success() : copy(scalar.index(whole), last - whole);
  };
  return nest(0);
}

/// Copies the chunk's panels of a right-hand side that is no constant to
/// scratch memory, in the form of packed weights.
LogicalResult ContractionEmitter::packWeights(const Indices &start, Value panel,
                                              Value panelEnd) {
  int64_t lanes = c.lanes(target), vectors = plan.panelWidth / lanes;
  int64_t size = plan.panelsPerGroup * depth * plan.panelWidth;
  Buffer packing =
      kernel.scratchBuffer(b, plan.weightsOffset, size, c.element());
  weights = packing.memref;
  firstPanel = panel;
  Indices dims = start;
  std::function<LogicalResult(size_t, Value, Value)> nest =
      [&](size_t level, Value panel, Value row) -> LogicalResult {
    if (level < c.k.size())
      return loop(scalar.index(0), scalar.index(c.extents[c.k[level]]), 1,
                  [&](Value iv) {
                    dims[c.k[level]] = {iv, 0, 1};
                    return nest(
                        level + 1, panel,
                        scalar.add(scalar.mul(row, c.extents[c.k[level]]), iv));
                  });
    for (int64_t v = 0; v < vectors; ++v) {
      Value column = scalar.add(scalar.mul(panel, plan.panelWidth),
                                scalar.index(v * lanes));
      Pull pull(b, loc, lanes);
      pull.buffers = buffers;
      pull.mask = columnMask(column);
      dims[c.n] = {column, 1, lanes};
      auto at = pull.apply(c.weightsMap, dims);
      auto value = failed(at) ? FailureOr<LaneValue>(failure())
                              : pullFloat(pull, c.weights, *at);
      if (failed(value))
        return failure();
      Value to =
          scalar.add(scalar.mul(row, plan.panelWidth), scalar.index(v * lanes));
      pull.mask = {};
      if (failed(pull.store(*value, packing, {{to, 1, lanes}})))
        return failure();
    }
    return success();
  };
  return loop(panel, panelEnd, 1, [&](Value iv) {
    return nest(0, iv, b.createOrFold<arith::SubIOp>(loc, iv, panel));
  });
}

/// One step of k: a vector of each panel column times each row's element.
void ContractionEmitter::multiply(Value inputAt, Value weightsAt, int64_t rows,
                                  int64_t rowStride,
                                  SmallVectorImpl<Value> &accumulators) {
  int64_t lanes = c.lanes(target), vectors = plan.panelWidth / lanes;
  auto type = VectorType::get({lanes}, c.element());
  SmallVector<Value> columns;
  for (int64_t v = 0; v < vectors; ++v)
    columns.push_back(vector::LoadOp::create(
        b, loc, type, weights, scalar.add(weightsAt, scalar.index(v * lanes))));
  SmallVector<Value> rowAt;
  for (int64_t r = 0; r < rows; ++r)
    rowAt.push_back(scalar.add(inputAt, scalar.index(r * rowStride)));
  multiplyTile(b, loc, input.memref, rowAt, columns, accumulators);
}

FailureOr<SmallVector<Value>>
ContractionEmitter::emitProduct(const Indices &dims, Value panel,
                                int64_t rows) {
  int64_t vectors = plan.panelWidth / c.lanes(target);
  auto type = VectorType::get({c.lanes(target)}, c.element());
  Value zero = arith::ConstantOp::create(b, loc, type, b.getZeroAttr(type));
  SmallVector<Value> sums(rows * vectors, zero);

  auto at = scalar.apply(c.inputMap, dims);
  if (failed(at))
    return failure();
  Value inputAt = scalar.index(0);
  for (auto [i, index] : llvm::enumerate(*at)) {
    Value position = index.base;
    if (!input.origin.empty())
      position = b.createOrFold<arith::SubIOp>(loc, position, input.origin[i]);
    inputAt = scalar.add(inputAt, scalar.mul(position, input.strides[i]));
  }
  Value weightsAt =
      scalar.mul(b.createOrFold<arith::SubIOp>(loc, panel, firstPanel),
                 depth * plan.panelWidth);
  int64_t rowStride = inputStride(c.m.back());

  std::function<FailureOr<SmallVector<Value>>(size_t, Value, Value, int64_t,
                                              ValueRange)>
      nest = [&](size_t level, Value inputAt, Value weightsAt, int64_t below,
                 ValueRange state) -> FailureOr<SmallVector<Value>> {
    unsigned dim = c.k[level];
    int64_t extent = c.extents[dim], stride = inputStride(dim);
    below /= extent;
    if (level + 1 < c.k.size())
      return buildLoop(
          b, loc, extent, 1, state, [&](Value iv, ValueRange values) {
            return nest(
                level + 1, scalar.add(inputAt, scalar.mul(iv, stride)),
                scalar.add(weightsAt, scalar.mul(iv, below * plan.panelWidth)),
                below, values);
          });
    int64_t unroll = extent % 4 == 0 ? 4 : extent % 2 == 0 ? 2 : 1;
    if (extent <= 8)
      unroll = extent;
    return buildLoop(
        b, loc, extent, unroll, state,
        [&](Value iv, ValueRange values) -> FailureOr<SmallVector<Value>> {
          SmallVector<Value> sums(values);
          Value x = scalar.add(inputAt, scalar.mul(iv, stride));
          Value w = scalar.add(weightsAt, scalar.mul(iv, plan.panelWidth));
          for (int64_t u = 0; u < unroll; ++u)
            multiply(scalar.add(x, scalar.index(u * stride)),
                     scalar.add(w, scalar.index(u * plan.panelWidth)), rows,
                     rowStride, sums);
          return sums;
        });
  };
  return nest(0, inputAt, weightsAt, depth, sums);
}

LogicalResult ContractionEmitter::emitEpilogue(const Indices &dims, Value panel,
                                               int64_t rows,
                                               ValueRange accumulators) {
  int64_t lanes = c.lanes(target), vectors = plan.panelWidth / lanes;
  for (int64_t v = 0; v < vectors; ++v) {
    Value column =
        scalar.add(scalar.mul(panel, plan.panelWidth), scalar.index(v * lanes));
    Value mask = columnMask(column);
    for (int64_t r = 0; r < rows; ++r) {
      Indices at;
      AffineMap output = c.op.getMatchingIndexingMap(c.op.getDpsInitOperand(0));
      for (unsigned i = 0; i < output.getNumResults(); ++i) {
        unsigned dim = output.getDimPosition(i);
        at.push_back(dims[dim]);
        if (dim == c.m.back())
          at.back().base = scalar.add(at.back().base, scalar.index(r));
      }
      at.back() = {column, 1, lanes};
      Pull pull(b, loc, lanes);
      pull.mask = mask;
      pull.buffers = buffers;
      if (failed(finish(pull, accumulators[r * vectors + v], at)))
        return failure();
    }
  }
  return success();
}

LogicalResult ContractionEmitter::emitTile(Indices dims, Value panel,
                                           int64_t rows) {
  auto sums = emitProduct(dims, panel, rows);
  if (failed(sums))
    return failure();
  return emitEpilogue(dims, panel, rows, *sums);
}

LogicalResult ContractionEmitter::emitChunk(Value chunk) {
  Value rest = chunk;
  auto block = [&](int64_t all, int64_t each) {
    return scalar.mul(scalar.peel(rest, llvm::divideCeil(all, each)), each);
  };
  Value tile = block(plan.tiles, plan.tilesPerBlock);
  Value line = block(plan.lines, plan.linesPerBlock);
  Indices dims(c.extents.size(), {scalar.index(0), 0, 1});
  for (unsigned dim :
       llvm::reverse(ArrayRef(c.m).drop_back(std::min<size_t>(2, c.m.size()))))
    dims[dim].base = scalar.peel(rest, c.extents[dim]);
  for (unsigned dim : llvm::reverse(c.batch))
    dims[dim].base = scalar.peel(rest, c.extents[dim]);
  Value panel = scalar.mul(rest, plan.panelsPerGroup);

  Value lineEnd = minimum(scalar.add(line, scalar.index(plan.linesPerBlock)),
                          scalar.index(plan.lines));
  Value panelEnd = minimum(scalar.add(panel, scalar.index(plan.panelsPerGroup)),
                           scalar.index(plan.panels));
  Value tileEnd = minimum(scalar.add(tile, scalar.index(plan.tilesPerBlock)),
                          scalar.index(plan.tiles));
  return emitBlock(dims, tile, tileEnd, line, lineEnd, panel, panelEnd);
}

LogicalResult ContractionEmitter::emitWhole(const Indices &start) {
  Value zero = scalar.index(0);
  return emitBlock(start, zero, scalar.index(plan.tiles), zero,
                   scalar.index(plan.lines), zero, scalar.index(plan.panels));
}

/// The part of the product in a range of tiles, lines and panels.
LogicalResult ContractionEmitter::emitBlock(Indices dims, Value tile,
                                            Value tileEnd, Value line,
                                            Value lineEnd, Value panel,
                                            Value panelEnd) {
  bool hasLines = c.m.size() > 1;
  if (plan.staged) {
    Indices start = dims;
    if (hasLines)
      start[c.m[c.m.size() - 2]].base = line;
    start[c.m.back()].base = scalar.mul(tile, plan.tileRows);
    if (failed(stage(start)))
      return failure();
  } else {
    input = kernel.operand(reshapedArgument(c.input).getArgNumber());
    input.strides = *stridesInArgument(c.input);
  }
  if (packed) {
    weights = kernel.function.getArgument(*packed);
    firstPanel = scalar.index(0);
    for (unsigned dim : c.batch) // They count on where the last batch ended.
      firstPanel =
          scalar.add(scalar.mul(firstPanel, c.extents[dim]), dims[dim].base);
    firstPanel = scalar.mul(firstPanel, -plan.panels);
  } else if (failed(packWeights(dims, panel, panelEnd))) {
    return failure();
  }
  int64_t inner = c.extents[c.m.back()];
  int64_t whole = inner / plan.tileRows, tail = inner % plan.tileRows;
  return loop(panel, panelEnd, 1, [&](Value panel) {
    return loop(line, lineEnd, 1, [&](Value line) -> LogicalResult {
      if (hasLines)
        dims[c.m[c.m.size() - 2]].base = line;
      Value wholeEnd = minimum(tileEnd, scalar.index(whole));
      if (whole && failed(loop(tile, wholeEnd, 1, [&](Value tile) {
            dims[c.m.back()].base = scalar.mul(tile, plan.tileRows);
            return emitTile(dims, panel, plan.tileRows);
          })))
        return failure();
      if (!tail)
        return success();
      Value last = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq,
                                         tileEnd, scalar.index(plan.tiles));
      auto branch = scf::IfOp::create(b, loc, TypeRange(), last, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(branch.thenBlock());
      dims[c.m.back()].base = scalar.index(whole * plan.tileRows);
      return emitTile(dims, panel, tail);
    });
  });
}

LogicalResult emitContraction(EmittedKernel &kernel, const Target &target) {
  auto c = matchContraction(kernel.source);
  if (!c)
    return failure();
  std::optional<unsigned> packed;
  if (auto operand =
          kernel.source->getAttrOfType<IntegerAttr>(graph::names::kPacked))
    packed = operand.getInt();
  ContractionPlan plan = planContraction(*c, target, packed.has_value());
  Block &entry = kernel.function.getBody().front();
  OpBuilder b(entry.getTerminator());
  Location loc = kernel.source.getLoc();
  Value one = arith::ConstantIndexOp::create(b, loc, 1);
  auto chunks = scf::ForOp::create(b, loc, kernel.begin, kernel.end, one);
  b.setInsertionPointToStart(chunks.getBody());

  auto finish = [&](Pull &pull, Value sums, Indices at) {
    pull.registers[c->result] = {sums, false, {}};
    if (auto merged = c->result.getDefiningOp<tensor::CollapseShapeOp>())
      at = pull.merge(at, merged.getSrcType().getShape(),
                      merged.getReassociationIndices());
    return storeResults(kernel, pull, at);
  };
  Pull operands(b, loc, 1);
  kernel.bindInputs(operands);
  return ContractionEmitter(kernel, *c, plan, packed, target, b,
                            operands.buffers, finish)
      .emitChunk(chunks.getInductionVar());
}

//===----------------------------------------------------------------------===//
// Products within a kernel of rows
//===----------------------------------------------------------------------===//

LogicalResult emitContractionStage(EmittedKernel &kernel, const Contraction &c,
                                   const llvm::DenseMap<Value, Buffer> &buffers,
                                   const Indices &row, int64_t scratchOffset,
                                   const Buffer &result, const Target &target,
                                   OpBuilder &b) {
  ContractionPlan plan = planContractionStage(c, target, scratchOffset);
  auto finish = [&](Pull &pull, Value sums, Indices at) {
    return pull.store({sums, false, {}}, result, at);
  };
  Value zero = arith::ConstantIndexOp::create(b, kernel.source.getLoc(), 0);
  Indices start(c.extents.size(), {zero, 0, 1});
  for (auto [dim, index] : llvm::zip(c.batch, row))
    start[dim] = index;
  return ContractionEmitter(kernel, c, plan, std::nullopt, target, b, buffers,
                            finish)
      .emitWhole(start);
}

} // namespace tinh::cpu
