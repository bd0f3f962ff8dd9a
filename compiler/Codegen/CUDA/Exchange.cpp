//===- Exchange.cpp - Values that threads combine together ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Exchange.h"

#include "compiler/Codegen/CUDA/EmittedKernel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace tinh::cuda {

/// Shuffles move words of 32 bits.
static Value shuffleWord(OpBuilder &b, Location loc, Value word,
                         int64_t distance, gpu::ShuffleMode mode) {
  return gpu::ShuffleOp::create(b, loc, word, distance, kWarp, mode)
      .getShuffleResult();
}

static Value shuffleScalar(OpBuilder &b, Location loc, Value value,
                           int64_t distance, gpu::ShuffleMode mode) {
  Type type = value.getType();
  if (type.isIndex()) {
    Value wide = arith::IndexCastOp::create(b, loc, b.getI64Type(), value);
    return arith::IndexCastOp::create(
        b, loc, type, shuffleScalar(b, loc, wide, distance, mode));
  }
  unsigned bits = type.getIntOrFloatBitWidth();
  if (type.isF32() || type.isInteger(32))
    return shuffleWord(b, loc, value, distance, mode);
  Type integer = b.getIntegerType(bits), word = b.getI32Type();
  Value raw = type == integer
                  ? value
                  : arith::BitcastOp::create(b, loc, integer, value);
  if (bits < 32) {
    raw = arith::ExtUIOp::create(b, loc, word, raw);
    raw = shuffleWord(b, loc, raw, distance, mode);
    raw = arith::TruncIOp::create(b, loc, integer, raw);
  } else {
    Value shift = arith::ConstantIntOp::create(b, loc, integer, 32);
    Value low = arith::TruncIOp::create(b, loc, word, raw);
    Value high = arith::TruncIOp::create(
        b, loc, word, arith::ShRUIOp::create(b, loc, raw, shift));
    low = shuffleWord(b, loc, low, distance, mode);
    high = shuffleWord(b, loc, high, distance, mode);
    low = arith::ExtUIOp::create(b, loc, integer, low);
    high = arith::ExtUIOp::create(b, loc, integer, high);
    raw = arith::OrIOp::create(b, loc, low,
                               arith::ShLIOp::create(b, loc, high, shift));
  }
  return type == integer ? raw : arith::BitcastOp::create(b, loc, type, raw);
}

Value shuffle(OpBuilder &b, Location loc, Value value, int64_t distance,
              gpu::ShuffleMode mode) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return shuffleScalar(b, loc, value, distance, mode);
  Value result = ub::PoisonOp::create(b, loc, type);
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    Value element = vector::ExtractOp::create(b, loc, value, i);
    element = shuffleScalar(b, loc, element, distance, mode);
    result = vector::InsertOp::create(b, loc, element, result, i);
  }
  return result;
}

} // namespace tinh::cuda
