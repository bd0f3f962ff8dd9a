//===- Costs.h - What parts of kernels cost ---------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Estimates in cycles of one core, for all strategies alike.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_COSTS_H
#define TINH_CODEGEN_CPU_COSTS_H

#include "compiler/Codegen/CPU/Target.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseSet.h"

namespace tinh::cpu {

/// To start a chunk, and to end the step when the last one is done.
double dispatchCycles(const Target &target, int64_t chunks);

/// To read the kernel's operands and write its results once, from where tensors
/// of that size lie.
double trafficCycles(mlir::func::FuncOp kernel, const Target &target);

/// To run the body of `op` once for a vector: its arithmetic alone.
double bodyCycles(mlir::linalg::GenericOp op, const Target &target);

/// The part of it that makes wider numbers of an operand, which is done once
/// where a vector that was loaded is read several times.
double wideningCycles(mlir::linalg::GenericOp op, mlir::OpOperand *operand,
                      const Target &target);

/// How the elements of a kernel's results are computed: in vectors of `lanes`
/// that lie along dimension `along` of the results, the last one if that is
/// negative, with the sums of `registers` vectors at a time.
/// What follows sums is computed while they are in registers, or from memory.
struct ElementLoops {
  int64_t lanes, along = -1, registers = 1;
  bool followsInRegisters = true;
  /// Reductions whose vectors lie along what they reduce.
  llvm::DenseSet<mlir::Operation *> alongReduced = {};
};
/// To compute all elements of all generics of the kernel once but those of
/// `except`, which make sums.
double elementwiseCycles(mlir::func::FuncOp kernel,
                         const llvm::DenseSet<mlir::Operation *> &except,
                         const ElementLoops &loops, const Target &target);

/// For `tiles` register tiles of `rows` by `vectors` and `depth` steps each.
double tileCycles(double tiles, int64_t rows, int64_t vectors, double depth,
                  const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_COSTS_H
