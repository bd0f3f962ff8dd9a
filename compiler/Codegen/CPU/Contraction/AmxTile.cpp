//===- AmxTile.cpp - Multiplying in tiles of AMX ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's intrinsics rather than the dialect `amx`, whose type of tiles loops
// cannot carry through their conversion to branches.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/AmxTile.h"

#include "compiler/Codegen/Kernel/Loops.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cpu {

// Of a row of a tile, of a group of elements, and of a sum.
static constexpr int64_t kRowBytes = 64, kGroupBytes = 4, kSumBytes = 4;

int64_t amxStepBytes(int64_t depthBytes) {
  int64_t groups = depthBytes / kGroupBytes;
  int64_t steps = llvm::divideCeil(depthBytes, kRowBytes);
  while (groups % steps)
    ++steps;
  return depthBytes / steps;
}

static Type elementOf(Value memory) {
  return cast<MemRefType>(memory.getType()).getElementType();
}

static int64_t bytesOf(Value memory) {
  return elementOf(memory).getIntOrFloatBitWidth() / 8;
}

int64_t AmxBlock::stepElements() const { return stepBytes / bytesOf(left); }

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

Value AmxEmitter::constant(int64_t value, unsigned bits) {
  return LLVM::ConstantOp::create(
      b, loc, b.getIntegerAttr(b.getIntegerType(bits), value));
}

Value AmxEmitter::pointer(Value memory, Value at, int64_t offset) {
  Type type = LLVM::LLVMPointerType::get(b.getContext()), i64 = b.getI64Type();
  Value address =
      memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memory);
  address = arith::IndexCastOp::create(b, loc, i64, address);
  address = LLVM::IntToPtrOp::create(b, loc, type, address);
  Value index = codegen::IndexBuilder(&b, loc).index(offset);
  index = arith::AddIOp::create(b, loc, at, index);
  index = arith::IndexCastOp::create(b, loc, i64, index);
  Type bytes = b.getIntegerType(8 * bytesOf(memory));
  return LLVM::GEPOp::create(b, loc, type, bytes, address, index);
}

Value AmxEmitter::call(StringRef intrinsic, ValueRange operands) {
  return LLVM::CallIntrinsicOp::create(
             b, loc, LLVM::LLVMX86AMXType::get(b.getContext()),
             b.getStringAttr(("llvm.x86." + intrinsic + ".internal").str()),
             operands)
      .getResult(0);
}

/// A tile of rows so many bytes apart.
Value AmxEmitter::load(int64_t rows, int64_t bytes, Value pointer,
                       int64_t stride) {
  return call("tileloadd64", {constant(rows, 16), constant(bytes, 16), pointer,
                              constant(stride, 64)});
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<Value>
AmxEmitter::forSums(llvm::function_ref<Value(int64_t, int64_t)> sum) {
  Values sums;
  for (int64_t row = 0; row < block.rowTiles(); ++row)
    for (int64_t panel = 0; panel < block.panels; ++panel)
      sums.push_back(sum(row, panel));
  return sums;
}

Value AmxEmitter::sumPointer(Value memory, Value at, int64_t row,
                             int64_t panel) {
  return pointer(memory, at,
                 row * kAmxRows * sumStride() + panel * kAmxColumns);
}

SmallVector<Value> AmxEmitter::zeroSums() {
  return forSums([&](int64_t, int64_t) {
    return call("tilezero",
                {constant(block.rowsOfTile(), 16), constant(kRowBytes, 16)});
  });
}

SmallVector<Value> AmxEmitter::loadSums(Value memory, Value at) {
  return forSums([&](int64_t row, int64_t panel) {
    return load(block.rowsOfTile(), kRowBytes,
                sumPointer(memory, at, row, panel), kSumBytes * sumStride());
  });
}

void AmxEmitter::storeSums(ValueRange sums, Value memory, Value at) {
  forSums([&](int64_t row, int64_t panel) {
    Value sum = sums[row * block.panels + panel];
    LLVM::CallIntrinsicOp::create(
        b, loc, b.getStringAttr("llvm.x86.tilestored64.internal"),
        ValueRange{constant(block.rowsOfTile(), 16), constant(kRowBytes, 16),
                   sumPointer(memory, at, row, panel),
                   constant(kSumBytes * sumStride(), 64), sum});
    return sum;
  });
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static StringRef productOf(const AmxBlock &block) {
  if (elementOf(block.left).isBF16())
    return "tdpbf16ps";
  if (block.leftSigned)
    return block.rightSigned ? "tdpbssd" : "tdpbsud";
  return block.rightSigned ? "tdpbusd" : "tdpbuud";
}

SmallVector<Value> AmxEmitter::multiplyStep(Value leftAt, Value rightAt,
                                            ValueRange sums) {
  int64_t rows = block.rowsOfTile(), bytes = block.stepBytes;
  if (block.beforeStep)
    block.beforeStep(rightAt);
  Values columns;
  Value left;
  return forSums([&](int64_t row, int64_t panel) {
    if (panel == 0)
      left =
          load(rows, bytes, pointer(block.left, leftAt, block.leftOffset(row)),
               bytesOf(block.left) * block.leftStride);
    if (row == 0)
      columns.push_back(
          load(bytes / kGroupBytes, kRowBytes,
               pointer(block.right, rightAt, panel * block.panelStride),
               kGroupBytes * block.columns));
    return call(productOf(block),
                {constant(rows, 16), constant(kRowBytes, 16),
                 constant(bytes, 16), sums[row * block.panels + panel], left,
                 columns[panel]});
  });
}

SmallVector<Value> AmxEmitter::multiply(Value leftAt, Value rightAt,
                                        int64_t steps, ValueRange sums) {
  codegen::IndexBuilder indices(&b, loc);
  int64_t step = block.stepElements();
  auto body = [&](Value iv, ValueRange sums) -> FailureOr<Values> {
    return multiplyStep(
        indices.add(leftAt, indices.mul(iv, step)),
        indices.add(rightAt, indices.mul(iv, step * block.columns)), sums);
  };
  return *codegen::buildLoop(b, loc, steps, 1, sums, body);
}

} // namespace tinh::cpu
