//===- Packing.h - Weights as products read them ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Packed weights are panels, [batch…, panels, k…, width], of as many outputs as
// a register tile has columns: a product reads them from one end to the other.
// Here is how linalg says what is packed and unpacked.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_PACKING_H
#define TINH_CODEGEN_CPU_PACKING_H

#include "compiler/Codegen/CPU/Strategy.h"

#include "llvm/ADT/SmallBitVector.h"

namespace tinh::cpu {

/// How packed weights relate to those of a contraction.
struct Packing {
  mlir::RankedTensorType plain, packed;
  int64_t batch; // Dimensions of both, the first ones of `packed`.
  int64_t n, panels, width;
  /// Dimensions of `plain` in the order batch…, k…, n.
  llvm::SmallVector<int64_t> toColumns;

  bool operator==(const Packing &) const = default;
  /// Whether the last panel has columns that are no outputs.
  bool isPadded() const { return panels * width != n; }
  /// The dimension of `plain` that panels are of.
  int64_t lane() const { return toColumns.back(); }
};
Packing planPacking(const Contraction &contraction, const Target &target);

/// Packed weights from those of the contraction: as the sums have them, or bf16.
mlir::Value packPanels(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value weights, const Packing &packing);
/// The contraction's weights from packed ones.
mlir::Value unpackPanels(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value packed, const Packing &packing);

/// Lets `kernel`, whose weights are an argument, read them packed.
void readPacked(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                const Contraction &contraction, const Packing &packing);

/// Lets `kernel`, whose results have the type of plain weights but for their
/// elements', return them packed and read `arguments` packed. Fails, and leaves
/// it half done, if it reads one of these otherwise than at the index of a
/// result.
mlir::LogicalResult packKernel(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                               const Packing &packing,
                               const llvm::SmallBitVector &arguments);

/// `source` with its dimensions in another order.
mlir::Value permute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value source,
                    llvm::ArrayRef<int64_t> permutation);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_PACKING_H
