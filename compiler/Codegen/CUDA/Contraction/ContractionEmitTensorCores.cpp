//===- ContractionEmitTensorCores.cpp - On tensor cores ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps multiply 16 × 16 by 16 × 8 elements of f16 or bf16 at a time, or half
// the depth of tf32, and add the products in f32; or twice the depth of bytes,
// which are added in i32. ldmatrix brings them from shared memory to the
// registers that the product wants, along the depth or across it; elements of
// 32 bits that lie across it are read as words.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitTensorCores.h"
#include "compiler/Codegen/CUDA/Pointers.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

/// Rows and columns of one product of a warp. Its depth is two chunks, and both
/// are read in matrices of so many lines.
static constexpr int64_t kRows = 16, kColumns = 8, kLines = 8;

//===----------------------------------------------------------------------===//
// From shared memory to registers
//===----------------------------------------------------------------------===//

/// A thread has the row `threadRow` of eight, and two columns, of each product.
void TensorCoreEmitter::findThread() {
  Value rest = kernel.thread;
  threadPlace = scalar.takeDigit(rest, 4);
  threadRow = scalar.takeDigit(rest, 8);
  warpColumn = scalar.mul(scalar.takeDigit(rest, tile.columns / warpColumns),
                          warpColumns);
  warpRow = scalar.mul(rest, warpRows);
}

Values TensorCoreEmitter::startSums() {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType(4)));
  return Values(warpRows / kRows * (warpColumns / kColumns), zero);
}

Value TensorCoreEmitter::operand(Value bits) {
  if (storedType().isF32())
    return NVVM::ConvertFloatToTF32Op::create(
        b, loc, b.getI32Type(),
        b.createOrFold<arith::BitcastOp>(loc, b.getF32Type(), bits),
        NVVM::FPRoundingMode::RNA, NVVM::SaturationMode::NONE, /*relu=*/false);
  if (storedType().isBF16() || p.isOfBytes())
    return bits;
  return LLVM::BitcastOp::create(b, loc, VectorType::get({2}, storedType()),
                                 bits);
}

/// Four registers: of 16 rows, or 16 columns, from `first` of the warp's on,
/// for the product of this number in the step. Each eight lanes have the
/// addresses of one matrix: the second one has the next rows, or of columns the
/// next chunk of the depth; the third one the other of these.
Values TensorCoreEmitter::loadMatrices(const SharedTile &shared, Value base,
                                       int64_t first, int64_t product) {
  Value rest = kernel.thread;
  Value line = scalar.takeDigit(rest, kLines),
        second = scalar.takeDigit(rest, 2), third = scalar.takeDigit(rest, 2);
  auto [next, nextDepth] =
      isOfRows(shared) ? std::pair(second, third) : std::pair(third, second);
  Value chunk = nextDepth;
  int64_t fixedLine = first, fixedChunk = 2 * product;
  if (isInLines(shared)) {
    line = scalar.add(line, scalar.mul(next, kLines));
    line = scalar.add(line, warpFirst(shared));
  } else {
    line = scalar.add(line, scalar.mul(nextDepth, kLines));
    fixedLine = 2 * kLines * product;
    Value inWarp = warpFirst(shared);
    (void)scalar.takeDigit(inWarp, chunkElements());
    chunk = scalar.add(inWarp, next);
    fixedChunk = first / chunkElements();
  }
  Value at = chunkAt(shared, line, chunk, fixedLine, fixedChunk);
  at = scalar.add(scalar.add(base, at), scalar.index(shared.offset));
  Type i32 = b.getI32Type();
  Value loaded = NVVM::LdMatrixOp::create(
      b, loc,
      LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32, i32, i32}),
      sharedPointer(b, loc, memory, at), 4,
      isInLines(shared) ? NVVM::MMALayout::row : NVVM::MMALayout::col,
      NVVM::LdStMatrixShapeAttr::get(b.getContext(), kLines, kLines),
      NVVM::LdStMatrixEltType::B16);
  Values values;
  for (int64_t i = 0; i < 4; ++i)
    values.push_back(operand(LLVM::ExtractValueOp::create(b, loc, loaded, i)));
  return values;
}

/// The same of words that lie across the depth.
Values TensorCoreEmitter::loadWords(const SharedTile &shared, Value base,
                                    int64_t first, int64_t product) {
  Value chunk = scalar.add(warpFirst(shared), threadRow);
  Value within = scalar.takeDigit(chunk, chunkElements());
  Values values;
  for (int64_t i = 0; i < 4; ++i) {
    auto [next, nextDepth] =
        isOfRows(shared) ? std::pair(i % 2, i / 2) : std::pair(i / 2, i % 2);
    Value line = threadPlace;
    int64_t fixedLine = (2 * product + nextDepth) * chunkElements();
    if (takesPairs()) {
      line = scalar.add(scalar.mul(line, 2), scalar.index(nextDepth));
      fixedLine = 2 * product * chunkElements();
    }
    Value at = chunkAt(shared, line, chunk, fixedLine,
                       (first + next * kLines) / chunkElements());
    at = scalar.add(scalar.add(base, scalar.index(shared.offset)), at);
    Value word = memref::LoadOp::create(b, loc, memory, scalar.add(at, within));
    values.push_back(operand(word));
  }
  return values;
}

Values TensorCoreEmitter::fragments(const SharedTile &shared, Value base,
                                    int64_t product) {
  Values values;
  int64_t extent = isOfRows(shared) ? warpRows : warpColumns;
  for (int64_t first = 0; first < extent; first += 2 * kLines)
    llvm::append_range(values,
                       isReadInWords(shared)
                           ? loadWords(shared, base, first, product)
                           : loadMatrices(shared, base, first, product));
  return values;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

NVVM::MMATypes TensorCoreEmitter::typeOf(const Factor &factor) const {
  if (p.isOfBytes())
    return isUnsignedInput(p.op, factor.input) ? NVVM::MMATypes::u8
                                               : NVVM::MMATypes::s8;
  return storedType().isF16()    ? NVVM::MMATypes::f16
         : storedType().isBF16() ? NVVM::MMATypes::bf16
                                 : NVVM::MMATypes::tf32;
}

Value TensorCoreEmitter::multiplyWarp(ValueRange ofRows, ValueRange ofColumns,
                                      Value sums) {
  Values before, after;
  for (int64_t i = 0; i < 4; ++i)
    before.push_back(vector::ExtractOp::create(b, loc, sums, i));
  auto type = LLVM::LLVMStructType::getLiteral(
      b.getContext(), SmallVector<Type>(4, p.element()));
  std::optional<NVVM::MMAIntOverflow> overflow;
  if (p.isOfBytes())
    overflow = NVVM::MMAIntOverflow::wrapped;
  Value product = NVVM::MmaOp::create(
      b, loc, type, ofRows, ofColumns, before,
      {kRows, kColumns, 2 * chunkElements()}, std::nullopt, overflow,
      std::array{typeOf(p.left), typeOf(p.right)},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    after.push_back(LLVM::ExtractValueOp::create(b, loc, product, i));
  return vector::FromElementsOp::create(b, loc, vectorType(4), after);
}

Values TensorCoreEmitter::multiply(Value base, ValueRange before) {
  Values sums(before);
  int64_t products = kStepBytes / (2 * kChunkBytes);
  int64_t across = warpColumns / kColumns;
  // What the next products take is read before these are computed.
  Values nextRows = fragments(rows, base, 0),
         nextColumns = fragments(columns, base, 0);
  for (int64_t product = 0; product < products; ++product) {
    Values ofRows = std::move(nextRows), ofColumns = std::move(nextColumns);
    if (product + 1 < products) {
      nextRows = fragments(rows, base, product + 1);
      nextColumns = fragments(columns, base, product + 1);
    }
    for (int64_t i = 0; i < warpRows / kRows; ++i)
      for (int64_t j = 0; j < across; ++j) {
        Value &sum = sums[i * across + j];
        sum = multiplyWarp(ArrayRef(ofRows).slice(4 * i, 4),
                           ArrayRef(ofColumns).slice(2 * j, 2), sum);
      }
  }
  return sums;
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// Sums of one row: of the columns that the thread has in `x`, of eight that
/// its four threads have, and in `y` of eight others. It gets what it and the
/// thread this far from it have of the first eight columns, or of the others if
/// it is the second of both.
Values TensorCoreEmitter::exchange(ArrayRef<Value> x, ArrayRef<Value> y,
                                   int64_t distance) {
  Value bit =
      b.createOrFold<arith::AndIOp>(loc, threadPlace, scalar.index(distance));
  Value isSecond = b.createOrFold<arith::CmpIOp>(loc, arith::CmpIPredicate::ne,
                                                 bit, scalar.index(0));
  auto choose = [&](Value second, Value first) -> Value {
    return arith::SelectOp::create(b, loc, isSecond, second, first);
  };
  Values lower, upper;
  for (auto [ofX, ofY] : llvm::zip_equal(x, y)) {
    Value kept = choose(ofY, ofX);
    Value got = gpu::ShuffleOp::create(b, loc, choose(ofX, ofY),
                                       static_cast<int32_t>(distance), kWarp,
                                       gpu::ShuffleMode::XOR)
                    .getShuffleResult();
    lower.push_back(choose(got, kept));
    upper.push_back(choose(kept, got));
  }
  lower.append(upper);
  return lower;
}

/// What the thread stores of these eight-column blocks' sums: of the first or
/// second one of their two rows. As many threads as there are blocks have one
/// block's columns each, in their order.
Value TensorCoreEmitter::vectorOf(ArrayRef<Value> sums, int64_t half) {
  SmallVector<Values> parts;
  for (Value sum : sums)
    parts.push_back({vector::ExtractOp::create(b, loc, sum, 2 * half),
                     vector::ExtractOp::create(b, loc, sum, 2 * half + 1)});
  for (int64_t distance = 1; parts.size() > 1; distance *= 2) {
    SmallVector<Values> joined;
    for (size_t i = 0; i < parts.size(); i += 2)
      joined.push_back(exchange(parts[i], parts[i + 1], distance));
    parts = std::move(joined);
  }
  return vector::FromElementsOp::create(b, loc, vectorType(parts[0].size()),
                                        parts[0]);
}

LogicalResult TensorCoreEmitter::emitResults(const Values &sums) {
  // Two sums are what a thread has anyway.
  int64_t across = warpColumns / kColumns,
          lanes = std::max<int64_t>(code.stores, 2);
  int64_t blocks = lanes / 2; // Of eight columns, for one vector.
  Value rest = threadPlace;
  Value block = scalar.takeDigit(rest, blocks);
  Value column =
      scalar.add(scalar.mul(block, kColumns), scalar.mul(rest, lanes));
  column = scalar.add(scalar.add(columns.first, warpColumn), column);
  Value firstRow = scalar.add(scalar.add(rows.first, warpRow), threadRow);
  for (int64_t line = 0; line < warpRows / kLines; ++line) {
    Values vectors;
    for (int64_t j = 0; j < across; j += blocks)
      vectors.push_back(vectorOf(
          ArrayRef(sums).slice(line / 2 * across + j, blocks), line % 2));
    Value row = scalar.add(firstRow, scalar.index(rowOfLine(line)));
    auto emitLine = [&]() -> LogicalResult {
      for (auto [j, vector] : llvm::enumerate(vectors))
        if (failed(emitGroup(
                vector, row,
                scalar.add(column, scalar.index(j * blocks * kColumns)))))
          return failure();
      return success();
    };
    if (failed(whenRow(row, emitLine)))
      return failure();
  }
  return success();
}

} // namespace tinh::cuda
