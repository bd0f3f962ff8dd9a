//===- VariableLayouts.h - How variables are stored -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the parts of `layOutVariables` share: AbsorbMovements.cpp lets products
// read variables themselves, LayOutVariables.cpp finds the layouts that pay,
// ApplyLayout.cpp makes a module follow one.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_LAYOUTS_VARIABLELAYOUTS_H
#define TINH_CODEGEN_CPU_LAYOUTS_VARIABLELAYOUTS_H

#include "compiler/Codegen/CPU/Layouts/Weights.h"
#include "compiler/Codegen/CPU/Strategies.h"

#include "dialects/graph/Graph.h"

#include "llvm/ADT/SetVector.h"

namespace tinh::cpu {

/// Lets kernels read variables themselves that are reshaped before, and
/// products those whose dimensions are in another order before.
void absorbMovements(mlir::ModuleOp module);

/// What would follow from a layout of some variables.
struct Proposal {
  PanelsAttr layout;
  mlir::func::FuncOp kernel; // That wants it.
  llvm::SetVector<mlir::StringAttr> variables;
  /// Dispatches whose results are packed, and which operands of them are.
  llvm::MapVector<mlir::Operation *, llvm::SmallBitVector> updates;
  /// What is packed: arguments, and results of these dispatches.
  llvm::SetVector<mlir::Value> values;
  /// Results that are made plain and packed then.
  llvm::SetVector<mlir::Value> packedAfter;
  int64_t gain = 0;

  /// The layout of one of `values`.
  PanelsAttr layoutOf(mlir::Value value) const {
    return layout.withElement(mlir::getElementTypeOrSelf(value));
  }
};

class VariableLayouts {
public:
  VariableLayouts(mlir::ModuleOp module, const Target &target)
      : module(module), target(target), symbols(module),
        b(module.getContext()) {}
  /// Returns the number of variables that have got layouts.
  int64_t run();

private:
  // What the functions do.
  void collect();
  mlir::func::FuncOp kernelOf(graph::DispatchOp dispatch);
  std::optional<WeightsReader> productOf(mlir::OpOperand &use);
  graph::DispatchOp castOf(mlir::OpOperand &use);
  llvm::SmallVector<WeightsReader, 0> candidates(mlir::StringAttr variable);

  // What a layout would change.
  std::optional<Proposal> propose(mlir::StringAttr variable,
                                  const WeightsReader &reader);
  bool isReadPacked(const Proposal &proposal, mlir::OpOperand &use);
  void addVariable(Proposal &proposal, mlir::StringAttr variable);
  void addValue(Proposal &proposal, mlir::Value value);
  void addResult(Proposal &proposal, mlir::Value value);
  bool addUpdate(Proposal &proposal, graph::DispatchOp update);
  llvm::SmallBitVector packedOperands(graph::DispatchOp update,
                                      PanelsAttr layout);
  void addOperand(Proposal &proposal, mlir::Value value);
  void countReaders(Proposal &proposal, mlir::Value value);
  int64_t costOf(const WeightsReader &reader, PanelsAttr layout);
  int64_t weightOf(mlir::Value value);

  // The change.
  void apply(Proposal &proposal);
  mlir::func::FuncOp createKernel(const Proposal &proposal, mlir::Type element,
                                  bool packs);
  void changeReaders(Proposal &proposal, mlir::Value value);
  void packAfter(Proposal &proposal, mlir::Value value);
  void changeDeclarations(const Proposal &proposal);

  mlir::ModuleOp module;
  const Target &target;
  mlir::SymbolTable symbols;
  mlir::OpBuilder b;
  llvm::MapVector<mlir::StringAttr, graph::VariableOp> variables;
  llvm::DenseMap<mlir::StringAttr, llvm::SmallVector<mlir::Value>> arguments,
      results;
  llvm::DenseMap<mlir::Value, mlir::StringAttr> variableOf; // Of arguments.
};

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_LAYOUTS_VARIABLELAYOUTS_H
