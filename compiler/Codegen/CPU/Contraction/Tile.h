//===- Tile.h - Multiplying in registers ------------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_CONTRACTION_TILE_H
#define TINH_CODEGEN_CPU_CONTRACTION_TILE_H

#include "compiler/Codegen/CPU/EmittedKernel.h"
#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Forms/Product.h"

namespace tinh::cpu {

/// One step of a product along k, in a register tile: for each row, the element
/// of `input` at `rowAt`, times each of the vectors `columns`, is added to the
/// row's `sums`.
void multiplyTile(mlir::OpBuilder &b, mlir::Location loc, mlir::Value input,
                  llvm::ArrayRef<mlir::Value> rowAt,
                  llvm::ArrayRef<mlir::Value> columns,
                  llvm::MutableArrayRef<mlir::Value> sums);

/// Whether register tiles of so many columns, and what a kernel may store them
/// to, are whole vectors.
llvm::LogicalResult checkColumns(const Product &product, int64_t columns,
                                 const Target &target, EmitError emitError);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_CONTRACTION_TILE_H
