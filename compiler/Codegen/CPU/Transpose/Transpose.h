//===- Transpose.h - Moving the last dimension elsewhere --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The strategy `transpose`: a kernel that only reorders dimensions, where the
// last one of its operand is not the last one of its result.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_TRANSPOSE_TRANSPOSE_H
#define TINH_CODEGEN_CPU_TRANSPOSE_TRANSPOSE_H

#include "compiler/Codegen/CPU/EmittedKernel.h"

namespace tinh::cpu {

/// A dimension of the result; those that stay neighbours are one.
struct TransposedDimension {
  int64_t extent;
  int64_t from, to; // Strides of the operand and the result in elements.
};

struct Transpose {
  mlir::func::FuncOp kernel;
  mlir::Type source, element; // Of the operand, and of the result.
  /// Neighbours that stay so, and are moved as one element.
  int64_t together = 1;
  /// All but the next two.
  llvm::SmallVector<TransposedDimension> outer;
  TransposedDimension columns; // Contiguous in the operand,
  TransposedDimension rows;    // and in the result.

  /// Whether the result has few rows, whose elements lie between one another:
  /// no squares, but vectors of it.
  bool interleaves() const {
    return together == 1 && columns.to == rows.extent &&
           (rows.extent == 2 || rows.extent == 4);
  }
};

/// Squares that are turned in registers. Rows of one lie `fromStep` elements
/// apart in the source and become columns, `toStep` apart in the result.
struct Squares {
  mlir::Value source, result;
  mlir::OpFoldResult fromStep, toStep;
  mlir::VectorType type; // Of a row or a column of the result.
  mlir::Type element;    // Of the source.
  int64_t together = 1;  // Elements that are moved as one.

  mlir::Value load(mlir::OpBuilder &b, mlir::Location loc, mlir::Value at,
                   int64_t count) const;
  void store(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
             mlir::Value at, int64_t count) const;
  /// Of a row or a column as it is turned.
  mlir::VectorType turned() const;
};
/// Turns the square whose first elements lie at `from` and `to`, or its first
/// `rows` and `columns`.
void emitSquare(mlir::OpBuilder &b, mlir::Location loc, const Squares &squares,
                mlir::Value from, mlir::Value to, int64_t rows,
                int64_t columns);

/// How a transpose is cut: what its plan says, and what follows from it.
struct TransposePlan : Division {
  int64_t side;         // Of the squares that are turned in registers.
  int64_t rowsPerBlock; // A whole number of squares.
  int64_t unitsPerChunk;

  int64_t columnBlocks; // Each one square wide.
  int64_t rowBlocks;
  int64_t units;
};

struct TransposeStrategy
    : Functions<Transpose, TransposePlanAttr, TransposePlan> {
  static MatchFunction match;
  static PlansFunction plans;
  static ExpandFunction expand;
  static CostFunction cost;
  static EmitFunction emit;
};

/// Stores so many `rows` of the columns of a square with their elements between
/// one another.
void emitInterleaved(mlir::OpBuilder &b, mlir::Location loc,
                     const Squares &squares, mlir::Value from, mlir::Value to,
                     int64_t rows, int64_t columns);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_TRANSPOSE_TRANSPOSE_H
