//===- Gather.cpp - Gathers as generics that read at computed indices -----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A generic over the result whose inputs are the indices and whose body reads
// x. An index is made valid first: a negative one counts from the end, and
// what is still outside is clamped, so that no index reads foreign memory.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Linalg/LowerToLinalg.h"

using namespace mlir;

namespace tinh::codegen {
namespace {

FailureOr<Value> lowerGather(graph::GatherOp op, Emitter &e,
                             ValueRange operands) {
  Value x = operands[0], indices = operands[1];
  auto result = cast<RankedTensorType>(op.getType());
  int64_t axis = op.getAxis(), picked = shapeOf(indices).size();
  int64_t extent = shapeOf(x)[axis];
  AffineMap map = e.identity(result.getRank()).getSliceMap(axis, picked);
  return e.parallel(result.getShape(), elementOf(x), indices, map,
                    [&](Scalars &s, ValueRange v) {
                      SmallVector<Value> from;
                      for (int64_t i = 0; i < result.getRank(); ++i)
                        if (i < axis || i >= axis + picked)
                          from.push_back(Emitter::index(s, i));
                      from.insert(from.begin() + axis,
                                  Emitter::validIndex(s, v[0], extent));
                      return Emitter::extract(s, x, from);
                    });
}

FailureOr<Value> lowerGatherElements(graph::GatherElementsOp op, Emitter &e,
                                     ValueRange operands) {
  Value x = operands[0];
  auto result = cast<RankedTensorType>(op.getType());
  int64_t axis = op.getAxis();
  return e.elementwise(
      result.getShape(), elementOf(x), operands[1],
      [&](Scalars &s, ValueRange v) {
        SmallVector<Value> from;
        for (int64_t i = 0; i < result.getRank(); ++i)
          from.push_back(i == axis
                             ? Emitter::validIndex(s, v[0], shapeOf(x)[axis])
                             : Emitter::index(s, i));
        return Emitter::extract(s, x, from);
      });
}

FailureOr<Value> lowerGatherNd(graph::GatherNdOp op, Emitter &e,
                               ValueRange operands) {
  Value x = operands[0], indices = operands[1];
  auto result = cast<RankedTensorType>(op.getType());
  int64_t rank = result.getRank(), batch = op.getBatchDims();
  int64_t leading = shapeOf(indices).size() - 1;
  int64_t width = shapeOf(indices).back();
  // The tuples' parts are as many inputs: the same tensor at j = 0, 1, …
  SmallVector<Value> inputs(width, indices);
  SmallVector<AffineMap> maps;
  for (int64_t j = 0; j < width; ++j) {
    SmallVector<AffineExpr> exprs(
        e.identity(rank).getResults().take_front(leading));
    exprs.push_back(e.b.getAffineConstantExpr(j));
    maps.push_back(e.map(rank, exprs));
  }
  return e.parallel(
      result.getShape(), elementOf(x), inputs, maps,
      [&](Scalars &s, ValueRange v) {
        SmallVector<Value> from;
        for (int64_t i = 0; i < batch; ++i)
          from.push_back(Emitter::index(s, i));
        for (int64_t j = 0; j < width; ++j)
          from.push_back(Emitter::validIndex(s, v[j], shapeOf(x)[batch + j]));
        for (int64_t i = leading; i < rank; ++i)
          from.push_back(Emitter::index(s, i));
        return Emitter::extract(s, x, from);
      });
}

} // namespace

void attachGatherLowerings(MLIRContext *context) {
  attachLowerings<lowerGather, lowerGatherElements, lowerGatherNd>(context);
}

} // namespace tinh::codegen
