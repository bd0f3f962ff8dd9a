//===- AmxTile.h - Multiplying in tiles of AMX ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of rows, of one line or of several, by one panel of 16 columns or by
// two: sums of i32 or f32 in up to four tiles, which stay in registers over a
// product's depth. There are eight tiles, LLVM tells the CPU their shapes at
// the start of a function, and calls lose them: so all blocks of a function
// have one shape of each factor, and nothing is called between products.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_AMXTILE_H
#define TINH_CODEGEN_CPU_CONTRACTION_AMXTILE_H

#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

#include <functional>

namespace tinh::cpu {

constexpr int64_t kAmxRows = 16, kAmxColumns = 16;
/// Tiles of sums, which leave one for rows and two for columns.
constexpr int64_t kAmxSums = 4;

/// Bytes of a row of the left factor that one instruction takes, where it has
/// `depthBytes`, groups of four: as many as steps of one length allow.
int64_t amxStepBytes(int64_t depthBytes);

/// One block of a product, of i8 or of bf16.
struct AmxBlock {
  /// Memory of one dimension: rows of a line lie as they are read, so many
  /// elements apart, and so do lines.
  mlir::Value left;
  int64_t leftStride, lineStride = 0;
  /// Panels, `[depth / group][16][group]`, where a group has four bytes; a
  /// panel begins so many elements after the one before. They may be parts of
  /// wider ones, whose groups have `columns` columns.
  mlir::Value right;
  int64_t panelStride;
  int64_t columns = kAmxColumns;

  int64_t rows = 2 * kAmxRows, lines = 1, panels = 2; // Rows of a line.
  int64_t stepBytes = 64;                             // Of amxStepBytes.
  bool leftSigned = true, rightSigned = true;         // Integers.
  /// How many elements rows of sums are apart in memory; 0: panels side by
  /// side.
  int64_t sumStride = 0;
  /// Emits what is done with each step, which reads the right factor here.
  std::function<void(mlir::Value rightAt)> beforeStep;

  /// Tiles that rows are in, a line's side by side. They have as many rows, so
  /// that the last one of a line may begin with a row of the one before.
  int64_t tilesOfLine() const { return llvm::divideCeil(rows, kAmxRows); }
  int64_t rowTiles() const { return lines * tilesOfLine(); }
  int64_t rowsOfTile() const { return llvm::divideCeil(rows, tilesOfLine()); }
  int64_t firstRow(int64_t tileOfLine) const {
    return std::min(tileOfLine * rowsOfTile(), rows - rowsOfTile());
  }
  /// Elements of the left factor from the first row to this tile's.
  int64_t leftOffset(int64_t tile) const {
    return tile / tilesOfLine() * lineStride +
           firstRow(tile % tilesOfLine()) * leftStride;
  }
  /// Elements of the left factor that one step takes; the right one has
  /// `columns` times as many.
  int64_t stepElements() const;
};

/// Emits a block. Unless the block says otherwise, sums wait in memory of one
/// dimension as `[row tile][16 rows] [panel][16]`: rows that two tiles have are
/// there twice.
class AmxEmitter {
public:
  AmxEmitter(mlir::OpBuilder &b, mlir::Location loc, const AmxBlock &block)
      : b(b), loc(loc), block(block) {}

  using Values = llvm::SmallVector<mlir::Value>;

  /// The sums before the first step; panel by panel in each tile of rows.
  Values zeroSums();
  Values loadSums(mlir::Value memory, mlir::Value at);
  void storeSums(mlir::ValueRange sums, mlir::Value memory, mlir::Value at);
  /// The sums with the products of `steps` steps, from these elements of the
  /// factors on: those of the first row and of the first panel.
  Values multiply(mlir::Value leftAt, mlir::Value rightAt, int64_t steps,
                  mlir::ValueRange sums);

private:
  mlir::Value constant(int64_t value, unsigned bits);
  /// A pointer to element `at`, and `offset` more.
  mlir::Value pointer(mlir::Value memory, mlir::Value at, int64_t offset);
  mlir::Value call(llvm::StringRef intrinsic, mlir::ValueRange operands);
  mlir::Value load(int64_t rows, int64_t bytes, mlir::Value pointer,
                   int64_t stride);
  Values
  forSums(llvm::function_ref<mlir::Value(int64_t row, int64_t panel)> sum);
  mlir::Value sumPointer(mlir::Value memory, mlir::Value at, int64_t row,
                         int64_t panel);
  Values multiplyStep(mlir::Value leftAt, mlir::Value rightAt,
                      mlir::ValueRange sums);
  int64_t sumStride() const {
    return block.sumStride ? block.sumStride : block.panels * kAmxColumns;
  }

  mlir::OpBuilder &b;
  mlir::Location loc;
  const AmxBlock &block;
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_AMXTILE_H
