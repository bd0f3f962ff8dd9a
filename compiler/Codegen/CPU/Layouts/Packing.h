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

#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "dialects/graph/Layout.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SmallBitVector.h"

namespace tinh::cpu {

/// How packed weights relate to those of a contraction.
struct Packing {
  /// What is packed, and what a contraction reads: that, maybe reshaped.
  mlir::RankedTensorType logical, plain;
  mlir::RankedTensorType packed;
  int64_t batch; // Dimensions of `plain`, the first ones of `packed`.
  int64_t n, panels, width;
  /// Dimensions of `plain` in the order batch…, k…, n.
  llvm::SmallVector<int64_t> toColumns;

  bool operator==(const Packing &) const = default;
  /// Whether the last panel has columns that are no outputs.
  bool isPadded() const { return panels * width != n; }
  /// The dimension of `plain` that panels are of.
  int64_t lane() const { return toColumns.back(); }
  /// The same for other elements, which are packed as they are.
  Packing of(mlir::Type element) const;
};
/// The packing of the contraction's weights in panels of `width` columns.
Packing packingOf(const Contraction &contraction, int64_t width);

/// Packed weights from what is packed: as the sums have them, or bf16.
mlir::Value packPanels(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value weights, const Packing &packing);
/// What was packed from packed weights.
mlir::Value unpackPanels(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value packed, const Packing &packing);
/// Weights packed in another way.
mlir::Value repackPanels(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value packed, const Packing &from,
                         const Packing &to);

/// Lets `kernel`, whose weights are an argument or a reshape of one, read them
/// packed.
void readPacked(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                const Contraction &contraction, const Packing &packing);

/// Packs constant weights that `dispatch` hands to `kernel`, which it alone
/// uses, as the kernel's strategy wants them: the packing becomes a dispatch.
/// `plan` is what the kernel would be computed as before.
void packWeights(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                 mlir::func::FuncOp kernel, graph::DispatchOp dispatch,
                 mlir::Attribute plan, const Target &target);

/// Whether `kernel` makes each element of its one result of one of its one
/// operand.
bool isMovement(mlir::func::FuncOp kernel);

/// Lets `kernel`, whose results have the shape of what is packed, return them
/// packed and read `arguments` packed. Fails, and leaves it half done, if it
/// reads one of these otherwise than at the index of a result.
mlir::LogicalResult packKernel(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                               const Packing &packing,
                               const llvm::SmallBitVector &arguments);

/// An element of a result from one of the source's.
using ElementBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Value)>;
/// A generic over `source`, whose dimension i is `exprs[i]`, with a body that
/// makes an element of type `element` of one of the source's.
mlir::Value mapElements(mlir::OpBuilder &b, mlir::Location loc,
                        mlir::Value source, llvm::ArrayRef<int64_t> shape,
                        llvm::ArrayRef<mlir::AffineExpr> exprs,
                        mlir::Type element, ElementBody body);
/// The same with the source's elements as they are.
mlir::Value moveElements(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value source, llvm::ArrayRef<int64_t> shape,
                         llvm::ArrayRef<mlir::AffineExpr> exprs);
/// `source` with its dimensions in another order.
mlir::Value permute(mlir::OpBuilder &b, mlir::Location loc, mlir::Value source,
                    llvm::ArrayRef<int64_t> permutation);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_PACKING_H
