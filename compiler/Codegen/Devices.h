//===- Devices.h - On which devices values lie ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and collectives say on which device they run, and so where their
// operands and results lie. The functions' arguments and results lie on the
// CPU, or where the variables do that they are; conditions and numbers of
// iterations lie on the CPU. What regions carry, yield or stack, or find a row
// of, lies on the GPU if one kernel for it reads or computes it. Constants can
// be read on both.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_DEVICES_H
#define TINH_CODEGEN_DEVICES_H

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace tinh::codegen {

/// The variable that an argument reads or whose next value a result is; null if
/// it is none.
mlir::StringAttr argumentVariable(mlir::func::FuncOp function, unsigned index);
mlir::StringAttr resultVariable(mlir::func::FuncOp function, unsigned index);

/// Calls `flow(to, from)` for each result and region argument of control flow,
/// and each value that it may be or be a row of, or that may be one of its
/// rows.
void forEachFlow(
    mlir::Operation *op,
    llvm::function_ref<void(mlir::Value to, mlir::Value from)> flow);

class Devices {
public:
  /// What there is to know about variables: Chosen, they lie where they say;
  /// Open, they are to lie where kernels use them.
  enum class Variables { Chosen, Open };
  Devices(mlir::ModuleOp module, Variables variables);

  /// Whether `value` lies on the GPU, and not on the CPU or both.
  bool isOnCuda(mlir::Value value) const;
  /// Whether `value` can be read on both devices: a constant, a weight, or a
  /// row of one.
  bool isOnBoth(mlir::Value value) const { return both.contains(value); }
  bool isOnCuda(mlir::StringAttr variable) const;

  /// Whether `use` is one on the GPU; nothing if it can be on any device.
  std::optional<bool> needsCuda(mlir::OpOperand &use) const;

  /// Fails, with a message, for a use of what does not lie where it should.
  mlir::LogicalResult verify() const;

private:
  void collect(mlir::func::FuncOp function);
  void collect(mlir::Operation *op);
  void collectControlFlow(mlir::Operation *op);
  void tie(mlir::Value open, mlir::Value value);
  void follow(mlir::Value open, mlir::Value value);
  void use(mlir::Value value);
  bool isOpen(mlir::Value value) const;
  bool isMadeOnCuda(mlir::Value value) const;
  mlir::Value leaderOf(mlir::Value value) const;
  bool runsOnCuda(mlir::Operation *op) const;
  std::optional<bool> needsCuda(graph::YieldOp yield, unsigned index) const;

  llvm::SmallVector<mlir::func::FuncOp> functions; ///< Those that are public.
  Variables mode;
  mlir::SymbolTable symbols;
  /// Variables on the GPU and, if they are open, an argument of each.
  llvm::DenseSet<mlir::StringAttr> onCuda;
  llvm::DenseMap<mlir::StringAttr, mlir::Value> arguments;
  /// What can be read on both devices, constants and their rows in loops: what
  /// is computed of a row is no constant.
  llvm::DenseSet<mlir::Value> both, constants;
  /// Open values, which lie where they are used, and those that they become or
  /// come from.
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> ties;
  /// By open value one that lies where it does, and at last their leader.
  llvm::DenseMap<mlir::Value, mlir::Value> towardsLeader;
  /// The open values that the GPU needs, and their leaders.
  llvm::DenseSet<mlir::Value> used, leaders;
};

} // namespace tinh::codegen

#endif // TINH_CODEGEN_DEVICES_H
