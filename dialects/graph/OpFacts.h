//===- OpFacts.h - What each op says of itself ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes ask of an op, and no list beside it has to repeat. An op's
// definition in a .td file says it (Graph_Facts); an op that leaves something
// open is an error when the project is built.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_GRAPH_OPFACTS_H
#define TINH_GRAPH_OPFACTS_H

#include "mlir/IR/Operation.h"

namespace tinh::graph {

/// What part an op has in a kernel.
enum class FusionRole {
  /// Has ElementwiseOpTrait.
  Elementwise,
  /// Gives elements of its operands, at other places.
  Movement,
  /// The same, each at most once and in strides of where it was.
  StridedMovement,
  /// The same of its first operand, at places that others hold, any number of
  /// times.
  Lookup,
  /// Is computed by loops of its own, which other ops join.
  Anchor,
  /// The same; what reads its result has another kernel.
  LoneAnchor,
  /// Is in no kernel.
  None
};

/// How an op takes part in a model of lower precision.
enum class PrecisionClass {
  /// Products: operands and result are of the lower precision, and kernels sum
  /// in f32.
  Lowered,
  /// Of the lower precision where what it reads is.
  Follows,
  /// Computed in f32; the result is rounded if the first operand was.
  Rounded,
  /// In f32, whatever it reads.
  Full,
  /// Is not there in phase normalised, when precisions are chosen.
  NotInModels
};

struct OpFacts {
  /// Without the dialect: "add".
  llvm::StringLiteral name;
  FusionRole fusionRole;
  /// Roughly the vector instructions for an element of the result, where it is
  /// computed together with other ops; 0 for what computes nothing.
  int costPerElement;
  PrecisionClass precisionClass;
  /// Of the node in ONNX that computes the same of the same operands, without
  /// attributes; of types that ONNX has not, the exporter writes others. ""
  /// if there is none.
  llvm::StringLiteral onnxName;
  /// Whether an anchor never reads an element of its first operand for two of
  /// its results, other than along the outputs of a contraction; of windows,
  /// that is a matter of their attributes, and false here.
  bool readsOnce;
};

/// Of all ops of the dialect, by name.
llvm::ArrayRef<OpFacts> allFacts();

/// Null for an op of another dialect.
const OpFacts *findFacts(mlir::OperationName op);

/// Ends the program if `op` is one of another dialect.
const OpFacts &factsOf(mlir::Operation *op);

/// Whether `op` is one of the dialect with this role.
bool hasRole(mlir::Operation *op, FusionRole role);

} // namespace tinh::graph

#endif // TINH_GRAPH_OPFACTS_H
