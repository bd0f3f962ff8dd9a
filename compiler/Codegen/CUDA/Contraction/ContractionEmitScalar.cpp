//===- ContractionEmitScalar.cpp - Products by FFMA -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmit.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

int64_t scalarElements(const Tile &tile, int64_t depth) {
  return depth * (pitch(tile.rows) + pitch(tile.columns));
}

int64_t scalarShared(const Product &p, const Tile &tile, int64_t depth) {
  int64_t size = p.isOfBytes() ? 1 : graph::elementSize(p.element());
  return 2 * scalarElements(tile, depth) * size;
}

/// Rows lie side by side, so that threads read vectors of them.
void ScalarEmitter::storeUnit(const SharedTile &shared, const Unit &unit,
                              Value value, Value base) {
  int64_t line = pitch(shared.elements);
  Value at = scalar.add(scalar.mul(unit.depth, line), unit.row);
  at = scalar.add(scalar.add(base, scalar.index(shared.offset)), at);
  auto vector = dyn_cast<VectorType>(value.getType());
  if (!vector) {
    memref::StoreOp::create(b, loc, value, memory, at);
    return;
  }
  int64_t lanes = vector.getNumElements();
  if (!shared.factor.alongDepth) {
    int64_t bytes = lanes * graph::elementSize(storedType());
    vector::StoreOp::create(b, loc, value, memory, at, /*nontemporal=*/false,
                            llvm::MaybeAlign(std::min<int64_t>(16, bytes)));
    return;
  }
  for (int64_t lane = 0; lane < lanes; ++lane)
    memref::StoreOp::create(b, loc,
                            vector::ExtractOp::create(b, loc, value, lane),
                            memory, scalar.add(at, scalar.index(lane * line)));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Warps are 4 threads high and 8 wide: together they read the least from
/// shared memory.
void ScalarEmitter::findThread() {
  constexpr int64_t kHeight = 4, kWidth = kWarp / kHeight;
  Value rest = kernel.thread;
  Value column = scalar.takeDigit(rest, kWidth),
        row = scalar.takeDigit(rest, kHeight);
  int64_t warps = tile.columns / tile.threadColumns / kWidth;
  Value warpColumn = scalar.takeDigit(rest, warps);
  threadColumn = scalar.add(scalar.mul(warpColumn, kWidth), column);
  threadRow = scalar.add(scalar.mul(rest, kHeight), row);
}

Value ScalarEmitter::sharedVector(const SharedTile &shared, Value base,
                                  int64_t depth, Value thread, int64_t group,
                                  int64_t groups) {
  int64_t offset = shared.offset + depth * pitch(shared.elements) +
                   group * (shared.elements / groups);
  Value at = scalar.add(base, scalar.mul(thread, kGroup));
  return vector::LoadOp::create(b, loc, vectorType(kGroup), memory,
                                scalar.add(at, scalar.index(offset)),
                                /*nontemporal=*/false, llvm::MaybeAlign(16));
}

Value ScalarEmitter::multiplyGroup(Value ofRows, int64_t row, Value ofColumns,
                                   Value sums) {
  Value element = vector::ExtractOp::create(b, loc, ofRows, row);
  Value same = vector::BroadcastOp::create(b, loc, vectorType(kGroup), element);
  return vector::FMAOp::create(b, loc, same, ofColumns, sums);
}

/// Adds the products of a step to the thread's sums: vectors of columns, one
/// row after the other.
Values ScalarEmitter::multiply(Value base, ValueRange before) {
  int64_t rowGroups = tile.threadRows / kGroup;
  int64_t columnGroups = tile.threadColumns / kGroup;
  Values sums(before);
  for (int64_t depth = 0; depth < stepDepth; depth += depthOfProduct()) {
    Values ofRows, ofColumns;
    for (int64_t g = 0; g < rowGroups; ++g)
      ofRows.push_back(
          sharedVector(rows, base, depth, threadRow, g, rowGroups));
    for (int64_t g = 0; g < columnGroups; ++g)
      ofColumns.push_back(
          sharedVector(columns, base, depth, threadColumn, g, columnGroups));
    for (int64_t row = 0; row < tile.threadRows; ++row)
      for (int64_t g = 0; g < columnGroups; ++g) {
        Value &sum = sums[row * columnGroups + g];
        sum = multiplyGroup(ofRows[row / kGroup], row % kGroup, ofColumns[g],
                            sum);
      }
  }
  return sums;
}

Values ScalarEmitter::startSums() {
  Value zero =
      arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType(kGroup)));
  return Values(tile.threadRows * tile.threadColumns / kGroup, zero);
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// A row of the thread's sums.
LogicalResult ScalarEmitter::emitRow(ArrayRef<Value> sums, Value row) {
  for (auto [g, sum] : llvm::enumerate(sums)) {
    Value column =
        scalar.add(scalar.add(columns.first, scalar.mul(threadColumn, kGroup)),
                   scalar.index(g * (tile.columns / sums.size())));
    if (failed(emitGroup(sum, row, column)))
      return failure();
  }
  return success();
}

LogicalResult ScalarEmitter::emitResults(const Values &sums) {
  int64_t rowGroups = tile.threadRows / kGroup;
  int64_t columnGroups = tile.threadColumns / kGroup;
  for (int64_t i = 0; i < tile.threadRows; ++i) {
    int64_t from = i / kGroup * (tile.rows / rowGroups) + i % kGroup;
    Value row =
        scalar.add(scalar.add(rows.first, scalar.mul(threadRow, kGroup)),
                   scalar.index(from));
    auto ofRow = ArrayRef(sums).slice(i * columnGroups, columnGroups);
    if (failed(whenRow(row, [&] { return emitRow(ofRow, row); })))
      return failure();
  }
  return success();
}

} // namespace tinh::cuda
