//===- Tile.cpp - Multiplying in registers ----------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

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

} // namespace tinh::cpu
