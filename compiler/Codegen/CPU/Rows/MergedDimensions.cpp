//===- MergedDimensions.cpp - Short dimensions that are one -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Vectors along a last dimension of three elements are mostly empty. Where all
// that a kernel reads and writes is contiguous over several dimensions, such as
// the weights of convolutions when an optimizer updates them, lanes go through
// these as if they were one: the last one's index runs over all, and the other
// ones' stay zero.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Rows/Rows.h"

using namespace mlir;

namespace tinh::cpu {

/// How many of the last dimensions of a tensor with these strides lie in memory
/// as one.
static int64_t contiguousDimensions(ArrayRef<int64_t> shape,
                                    ArrayRef<int64_t> strides) {
  int64_t rank = shape.size(), count = 0, expected = 1;
  for (; count < rank && strides[rank - 1 - count] == expected; ++count)
    expected *= shape[rank - 1 - count];
  return count;
}

/// Whether the last `count` results of both maps are the same loops, which do
/// nothing else for `map`.
static bool haveSameEnd(AffineMap map, AffineMap output, int64_t count) {
  if (map.getNumResults() < count)
    return false;
  ArrayRef<AffineExpr> results = map.getResults();
  ArrayRef<AffineExpr> end = output.getResults().take_back(count);
  return results.take_back(count) == end &&
         llvm::none_of(results.drop_back(count), [&](AffineExpr expr) {
           return llvm::any_of(end, [&](AffineExpr dim) {
             return expr.isFunctionOfDim(
                 cast<AffineDimExpr>(dim).getPosition());
           });
         });
}

/// Whether `map` uses none of the loops that are the last `count` results of
/// `output`.
static bool ignoresEnd(AffineMap map, AffineMap output, int64_t count) {
  return llvm::none_of(
      output.getResults().take_back(count), [&](AffineExpr dim) {
        return map.isFunctionOfDim(cast<AffineDimExpr>(dim).getPosition());
      });
}

/// How many of the last dimensions of `value` may be one, at most `count`, as
/// far as what it is computed from is concerned.
static int64_t mergeableDimensions(Value value, int64_t count) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto strides = stridesInArgument(argument);
    return std::min(
        count,
        contiguousDimensions(cast<RankedTensorType>(value.getType()).getShape(),
                             *strides));
  }
  Operation *op = value.getDefiningOp();
  if (isa<linalg::FillOp, tensor::EmptyOp, arith::ConstantOp>(op))
    return count;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  bool readsIndices = false;
  if (generic)
    generic.getBody()->walk([&](Operation *inner) {
      readsIndices |= isa<linalg::IndexOp, tensor::ExtractOp>(inner);
    });
  if (!generic || readsIndices)
    return 1;
  AffineMap output = outputMap(generic);
  for (OpOperand &operand : generic->getOpOperands()) {
    AffineMap map = generic.getMatchingIndexingMap(&operand);
    while (count > 1 && !ignoresEnd(map, output, count) &&
           !haveSameEnd(map, output, count))
      --count;
    if (count > 1 && !ignoresEnd(map, output, count))
      count = mergeableDimensions(operand.get(), count);
  }
  return count;
}

int64_t mergedDimensions(ArrayRef<WrittenValue> written) {
  // Vectors fill such a dimension, and such a row is long enough.
  constexpr int64_t kFull = 64, kEnough = 1024;
  auto type = cast<RankedTensorType>(written[0].value.getType());
  ArrayRef<int64_t> shape = type.getShape();
  int64_t count = shape.size();
  if (count == 0 || shape.back() >= kFull || type.getNumElements() == 0)
    return 1;
  for (const WrittenValue &result : written) {
    if (cast<RankedTensorType>(result.value.getType()).getShape() != shape)
      return 1;
    count = std::min(count, contiguousDimensions(shape, result.strides));
    count = mergeableDimensions(result.value, count);
  }
  int64_t merged = 1, extent = shape.back();
  while (merged < count && extent < kEnough)
    extent *= shape[shape.size() - ++merged];
  return merged;
}

} // namespace tinh::cpu
