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
#ifndef TINH_CODEGEN_CPU_LAYOUTS_PACKING_H
#define TINH_CODEGEN_CPU_LAYOUTS_PACKING_H

#include "compiler/Codegen/CPU/Contraction/Contraction.h"

#include "llvm/ADT/SmallBitVector.h"

namespace tinh::cpu {

/// The contraction's weights in panels of `width` columns, `group` neighbours
/// along k side by side.
PanelsAttr panelsOf(const Contraction &contraction, int64_t width,
                    int64_t group);

/// Packed weights from what is packed: as the sums have them, or bf16.
mlir::Value packPanels(mlir::OpBuilder &b, mlir::Location loc,
                       mlir::Value weights, PanelsAttr panels);
/// What was packed from packed weights.
mlir::Value unpackPanels(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value packed, PanelsAttr panels);
/// Weights packed in another way.
mlir::Value repackPanels(mlir::OpBuilder &b, mlir::Location loc,
                         mlir::Value packed, PanelsAttr from, PanelsAttr to);

/// Lets `kernel`, whose results have the shape of what is packed, return them
/// packed and read `arguments` packed. Fails, and leaves it half done, if it
/// reads one of these otherwise than at the index of a result.
mlir::LogicalResult packKernel(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                               PanelsAttr panels,
                               const llvm::SmallBitVector &arguments);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LAYOUTS_PACKING_H
