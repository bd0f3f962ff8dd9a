//===- Weights.h - What reads weights, and how they get there ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What layouts of variables, of constants and of what a function computes have
// in common: products that read weights, and kernels that make these what
// products want.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_WEIGHTS_H
#define TINH_CODEGEN_CPU_WEIGHTS_H

#include "compiler/Codegen/CPU/Layouts/Packing.h"
#include "compiler/Codegen/Kernel/Conversions.h"

#include "dialects/graph/Strides.h"

namespace tinh::cpu {

/// A product that reads an operand as weights, and nothing else of it.
struct WeightsReader {
  graph::DispatchOp dispatch;
  mlir::func::FuncOp kernel;
  Contraction contraction;
  unsigned operand;
  PanelsAttr layout; // That it wants.

  mlir::Value weights() { return dispatch.getInputs()[operand]; }
  /// Whether it can as well read panels of `other`, of another width maybe.
  bool canRead(PanelsAttr other) const {
    return layout.withWidth(other.getWidth()) == other;
  }
  /// Whether those are what it wants but for groups.
  bool canRegroup(PanelsAttr other) const {
    return layout.withWidth(other.getWidth()).withGroup(1) == other;
  }
};
/// The product that the kernel of `dispatch` is, if it can read panels.
std::optional<WeightsReader> findReader(graph::DispatchOp dispatch,
                                        mlir::func::FuncOp kernel,
                                        const Target &target);

/// Whether `kernel` is a product that dequantises constant weights.
bool dequantizesWeights(graph::DispatchOp dispatch, mlir::func::FuncOp kernel);
/// Packs them, and their scales and zero points.
void packQuantizedWeights(mlir::SymbolTable &symbols,
                          graph::DispatchOp dispatch, const Target &target);

/// Lets the product in `kernel` read its weights in panels.
void readPanels(mlir::OpBuilder &b, mlir::func::FuncOp kernel,
                const Contraction &contraction, PanelsAttr panels);

/// Lets a kernel of its own turn the left factor of a product of bf16 that lies
/// across the depth, if pairs save more; says whether it does.
bool turnLeftFactor(DispatchedKernel dispatched, const Target &target);

/// Whether `kernel` makes each element of its one result of one of its one
/// operand.
bool isMovement(mlir::func::FuncOp kernel);
/// `op` if it is a dispatch of such a kernel; else null, as for none.
graph::DispatchOp asMovement(mlir::SymbolTable &symbols, mlir::Operation *op);

/// Erases a dispatch whose results nobody reads, and its kernel if that was the
/// last one.
void eraseDispatch(mlir::SymbolTable &symbols, graph::DispatchOp dispatch);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_WEIGHTS_H
