//===- Tile.cpp - Copying to slabs, multiplying in registers ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"

#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <numeric>

using namespace mlir;

namespace tinh::cpu {

void multiplyTile(OpBuilder &b, Location loc, Value input,
                  ArrayRef<Value> rowAt, ArrayRef<Value> columns,
                  MutableArrayRef<Value> sums) {
  Type type = columns.front().getType();
  for (auto [r, at] : llvm::enumerate(rowAt)) {
    Value element = memref::LoadOp::create(b, loc, input, at);
    Value row = vector::BroadcastOp::create(b, loc, type, element);
    for (auto [v, column] : llvm::enumerate(columns)) {
      Value &sum = sums[r * columns.size() + v];
      if (isa<FloatType>(element.getType())) {
        sum = vector::FMAOp::create(b, loc, row, column, sum);
        continue;
      }
      Value product = arith::MulIOp::create(b, loc, row, column);
      sum = arith::AddIOp::create(b, loc, sum, product);
    }
  }
}

LogicalResult checkColumns(const Product &p, int64_t columns,
                           const Target &target, EmitError emitError) {
  int64_t lanes = target.vectorBytes / p.elementBytes();
  if (failed(
          checkColumns(emitError, "columns of tile", columns, lanes, target)))
    return failure();
  if (!hasWholeVectors(p.result, lanes))
    return emitError() << "the panels of the result are no whole vectors of "
                       << target.name;
  return success();
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

Value TileEmitter::wholeVectors(Value count, int64_t width) {
  return scalar.mul(
      b.createOrFold<arith::DivUIOp>(loc, count, scalar.index(width)), width);
}

Value TileEmitter::zeroVector() {
  return arith::ConstantOp::create(b, loc, vectorType(),
                                   b.getZeroAttr(vectorType()));
}

Value TileEmitter::load(Value memory, Value at) {
  return vector::LoadOp::create(b, loc, vectorType(), memory, at);
}

void TileEmitter::store(Value vector, Value memory, Value at) {
  vector::StoreOp::create(b, loc, vector, memory, at);
}

void TileEmitter::clearSums(int64_t offset, int64_t size) {
  sums = scratch(offset, size);
  Value zero = zeroVector();
  (void)loop(size, lanes, [&](Value iv) {
    store(zero, sums, iv);
    return success();
  });
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

FailureOr<LaneValue> TileEmitter::pullAs(Type type, Pull &pull, Value factor,
                                         const Indices &at) {
  auto pulled = pull.at(factor, at);
  if (failed(pulled) || getElementTypeOrSelf(factor) == type)
    return pulled;
  if (auto vector = dyn_cast<VectorType>(pulled->value.getType()))
    type = vector.clone(type);
  Value converted = arith::ExtFOp::create(b, loc, type, pulled->value);
  return LaneValue{converted, pulled->uniform, {}};
}

/// Whether an operand's elements are moved to `factor`, and nothing else.
static bool isMoved(Value factor) {
  while (Operation *op = factor.getDefiningOp()) {
    if (isa<linalg::LinalgOp>(op) || op->getNumOperands() == 0)
      return false;
    factor = op->getOperand(0);
  }
  return true;
}

/// Elements that are staged at a time, of so many in a line: where they are
/// only moved, a vector of bytes or of bf16 has more than one of sums.
int64_t TileEmitter::lanesOfStage(Value factor, Type type, int64_t count) {
  int64_t bits = lanes * element.getIntOrFloatBitWidth(),
          wide = bits / type.getIntOrFloatBitWidth();
  if (count % wide != 0 || type != getElementTypeOrSelf(factor) ||
      !isMoved(factor))
    return lanes;
  LaneAnalysis analysis(kernel.source, wide);
  int64_t rank = cast<RankedTensorType>(factor.getType()).getRank();
  return analysis.computes(factor, analysis.indicesAlong(rank, rank - 1))
             ? wide
             : lanes;
}

LogicalResult TileEmitter::stageLine(Value factor, const Buffer &slab,
                                     const Indices &start, Value count) {
  Type type = cast<MemRefType>(slab.memref.getType()).getElementType();
  std::optional<int64_t> known = getConstantIntValue(count);
  bool isFirst = known && getConstantIntValue(start.back().base) == 0;
  int64_t width = known == 1 ? 1
                  : isFirst  ? lanesOfStage(factor, type, *known)
                             : lanes;
  int64_t alignment = isFirst ? kOfZero : start.back().alignment;
  auto copy = [&](Value iv, Value mask) -> LogicalResult {
    Pull pull(b, loc, width);
    pull.buffers = buffers;
    pull.mask = mask;
    Indices at = start;
    at.back() = {scalar.add(start.back().base, iv), width > 1 ? 1 : 0,
                 std::gcd(alignment, width)};
    auto value = pullAs(type, pull, factor, at);
    if (failed(value))
      return failure();
    return pull.store(*value, slab, at);
  };
  Value whole = wholeVectors(count, width);
  if (failed(loop(scalar.index(0), whole, width,
                  [&](Value iv) { return copy(iv, {}); })))
    return failure();
  if (known && *known % width == 0)
    return success();
  return loop(whole, count, width, [&](Value iv) {
    return copy(iv, firstLanes(b, loc, sub(count, iv), width));
  });
}

LogicalResult TileEmitter::stage(Value factor, Slab &slab, const Indices &from,
                                 Value count) {
  slab.buffer.origin.clear();
  for (const LaneIndex &index : from)
    slab.buffer.origin.push_back(index.base);
  // The last blocks may read less.
  Values ends;
  auto type = cast<RankedTensorType>(factor.getType());
  for (auto [i, index] : llvm::enumerate(from)) {
    if (count && i + 1 == from.size())
      ends.push_back(count);
    else
      ends.push_back(
          minimum(scalar.index(slab.shape[i]),
                  sub(scalar.index(type.getDimSize(i)), index.base)));
  }
  Indices at = from;
  std::function<LogicalResult(size_t)> nest = [&](size_t dim) {
    if (dim + 1 == from.size())
      return stageLine(factor, slab.buffer, at, ends[dim]);
    return loop(scalar.index(0), ends[dim], 1, [&](Value iv) {
      at[dim] = {scalar.add(from[dim].base, iv), 0, 1};
      return nest(dim + 1);
    });
  };
  return nest(0);
}

int64_t TileEmitter::step(const Factor &factor, const Buffer &slab,
                          unsigned loop) {
  int64_t distance = 0;
  for (auto [expr, stride] : llvm::zip(factor.map.getResults(), slab.strides))
    distance += loopCoefficient(expr, loop, factor.map.getNumDims()) * stride;
  return distance;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

LogicalResult TileEmitter::finish(const Product &p, const Indices &dims,
                                  Value sum, Value mask) {
  Indices at;
  for (unsigned i = 0; i < p.output.getNumResults(); ++i)
    at.push_back(dims[p.output.getDimPosition(i)]);
  bool isVector = isa<VectorType>(sum.getType());
  Pull pull(b, loc, isVector ? lanes : 1);
  pull.buffers = buffers;
  pull.mask = mask;
  at = indicesInResult(pull, p.op->getResult(0), p.result, at);
  pull.registers[p.result] = {sum, !isVector, {}};
  return kernel.storeResults(pull, at);
}

} // namespace tinh::cpu
