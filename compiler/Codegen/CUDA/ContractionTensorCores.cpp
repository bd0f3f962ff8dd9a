//===- ContractionTensorCores.cpp - Products on tensor cores ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Warps multiply 16 × 16 by 16 × 8 elements of f16 or bf16 at a time, or half
// the depth of tf32, and add the products in f32. A step of the depth lies side
// by side in shared memory; lines are as far apart that the eight rows and four
// columns of a warp meet different banks.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/ContractionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

/// Rows and columns of one product of a warp, and bytes of its depth.
static constexpr int64_t kRows = 16, kColumns = 8, kDepthBytes = 32;
/// Bytes of a step's depth, and from one line to the next.
static constexpr int64_t kStepBytes = 64, kPitchBytes = kStepBytes + 16;

int64_t tensorCoreShared(const Tile &tile) {
  return 2 * (tile.rows + tile.columns) * kPitchBytes;
}

namespace {

int64_t bytesOf(const Product &p) {
  return getElementTypeOrSelf(p.rows.value).getIntOrFloatBitWidth() / 8;
}

class TensorCoreEmitter final : public ContractionEmitter {
public:
  TensorCoreEmitter(EmittedKernel &kernel, const Product &p, OpBuilder builder,
                    Tile tile)
      : ContractionEmitter(kernel, p, builder, tile),
        pitch(kPitchBytes / bytesOf(p)), depth(kDepthBytes / bytesOf(p)),
        warpColumns(std::clamp<int64_t>(tile.columns / 4, 16, 32)),
        warpRows(tile.rows * tile.columns / warpColumns /
                 (tile.threads() / kWarp)) {}

private:
  Type storedType() const override {
    return getElementTypeOrSelf(p.rows.value);
  }
  int64_t stepElements() const override {
    return (tile.rows + tile.columns) * pitch;
  }
  void layOut() override;
  void findThread() override;
  Values startSums() override;
  Values multiply(Value base, ValueRange sums) override;
  LogicalResult emitResults(const Values &sums) override;

  Value fragment(const SharedTile &shared, Value base, int64_t row,
                 int64_t first);
  Value multiplyWarp(ArrayRef<Value> ofRows, ArrayRef<Value> ofColumns,
                     Value sums);
  Value pairOf(Value sums, int64_t half);

  int64_t pitch, depth;          // In elements: of lines, and of a product.
  int64_t warpColumns, warpRows; // Of the tile, that a warp computes.
  Value warpRow, warpColumn;     // Where they begin.
  Value threadPlace;             // The thread among the four of a line.
};

} // namespace

void TensorCoreEmitter::layOut() {
  rows.rowStride = columns.rowStride = pitch;
  rows.depthStride = columns.depthStride = 1;
  columns.offset = tile.rows * pitch;
}

/// A thread has the row `threadRow` of eight, and two columns, of each product.
void TensorCoreEmitter::findThread() {
  Value rest = kernel.thread;
  threadPlace = scalar.peel(rest, 4);
  threadColumn = scalar.mul(threadPlace, 2);
  threadRow = scalar.peel(rest, 8);
  warpColumn =
      scalar.mul(scalar.peel(rest, tile.columns / warpColumns), warpColumns);
  warpRow = scalar.mul(rest, warpRows);
}

Values TensorCoreEmitter::startSums() {
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(vectorType(4)));
  return Values(warpRows / kRows * (warpColumns / kColumns), zero);
}

/// A register of the thread: what its line of the eight from `row` of the warp
/// on has at its place of four from `first` on along the depth.
Value TensorCoreEmitter::fragment(const SharedTile &shared, Value base,
                                  int64_t row, int64_t first) {
  int64_t packed = storedType().isF32() ? 1 : 2;
  Value line = scalar.add(&shared == &rows ? warpRow : warpColumn, threadRow);
  Value at = scalar.add(base, scalar.mul(line, pitch));
  at = scalar.add(at, scalar.mul(threadPlace, packed));
  at = scalar.add(at, scalar.index(shared.offset + row * pitch + first));
  if (packed == 1) {
    Value element = memref::LoadOp::create(b, loc, memory, at);
    return NVVM::ConvertFloatToTF32Op::create(
        b, loc, b.getI32Type(), element, NVVM::FPRoundingMode::RNA,
        NVVM::SaturationMode::NONE, /*relu=*/false);
  }
  Value pair = vector::LoadOp::create(
      b, loc, VectorType::get({2}, storedType()), memory, at,
      /*nontemporal=*/false, llvm::MaybeAlign(4));
  if (storedType().isF16())
    return pair;
  pair = vector::BitCastOp::create(b, loc, VectorType::get({1}, b.getI32Type()),
                                   pair);
  return vector::ExtractOp::create(b, loc, pair, 0);
}

/// `sums` with the products of 16 rows and 8 columns.
Value TensorCoreEmitter::multiplyWarp(ArrayRef<Value> ofRows,
                                      ArrayRef<Value> ofColumns, Value sums) {
  Values before, after;
  for (int64_t i = 0; i < 4; ++i)
    before.push_back(vector::ExtractOp::create(b, loc, sums, i));
  Type f32 = b.getF32Type();
  auto type =
      LLVM::LLVMStructType::getLiteral(b.getContext(), {f32, f32, f32, f32});
  auto factor = storedType().isF16()    ? NVVM::MMATypes::f16
                : storedType().isBF16() ? NVVM::MMATypes::bf16
                                        : NVVM::MMATypes::tf32;
  Value product = NVVM::MmaOp::create(
      b, loc, type, ofRows, ofColumns, before, {kRows, kColumns, depth},
      std::nullopt, std::nullopt, std::array{factor, factor},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  for (int64_t i = 0; i < 4; ++i)
    after.push_back(LLVM::ExtractValueOp::create(b, loc, product, i));
  return vector::FromElementsOp::create(b, loc, vectorType(4), after);
}

Values TensorCoreEmitter::multiply(Value base, ValueRange before) {
  Values sums(before);
  int64_t across = warpColumns / kColumns;
  for (int64_t first = 0; first < tile.depth; first += depth) {
    SmallVector<Values> ofColumns;
    for (int64_t column = 0; column < warpColumns; column += kColumns)
      ofColumns.push_back({fragment(columns, base, column, first),
                           fragment(columns, base, column, first + depth / 2)});
    for (int64_t i = 0; i < warpRows / kRows; ++i) {
      Values ofRows;
      for (int64_t half : {int64_t(0), depth / 2})
        for (int64_t row : {0, 8})
          ofRows.push_back(fragment(rows, base, i * kRows + row, first + half));
      for (int64_t j = 0; j < across; ++j) {
        Value &sum = sums[i * across + j];
        sum = multiplyWarp(ofRows, ofColumns[j], sum);
      }
    }
  }
  return sums;
}

/// The first or the second two of four sums: those of one row.
Value TensorCoreEmitter::pairOf(Value sums, int64_t half) {
  Values pair;
  for (int64_t i : {2 * half, 2 * half + 1})
    pair.push_back(vector::ExtractOp::create(b, loc, sums, i));
  return vector::FromElementsOp::create(b, loc, vectorType(2), pair);
}

LogicalResult TensorCoreEmitter::emitResults(const Values &sums) {
  int64_t across = warpColumns / kColumns;
  Value firstRow = scalar.add(scalar.add(rows.first, warpRow), threadRow);
  Value firstColumn =
      scalar.add(scalar.add(columns.first, warpColumn), threadColumn);
  for (int64_t line = 0; line < warpRows / 8; ++line) {
    Value row = scalar.add(firstRow, scalar.index(line * 8));
    auto emitLine = [&]() -> LogicalResult {
      for (int64_t j = 0; j < across; ++j) {
        Value pair = pairOf(sums[line / 2 * across + j], line % 2);
        Value column = scalar.add(firstColumn, scalar.index(j * kColumns));
        if (failed(emitGroup(pair, row, column)))
          return failure();
      }
      return success();
    };
    if (failed(when(row, rows.extent, emitLine)))
      return failure();
  }
  return success();
}

LogicalResult emitWithTensorCores(EmittedKernel &kernel, const Product &p,
                                  OpBuilder builder) {
  Tile tile = planContraction(p).tile;
  tile.depth = kStepBytes / bytesOf(p);
  return TensorCoreEmitter(kernel, p, builder, tile).emit();
}

} // namespace tinh::cuda
