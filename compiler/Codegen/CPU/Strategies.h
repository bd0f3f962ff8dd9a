//===- Strategies.h - How kernels for CPUs are computed ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of the CPU's strategies. A kernel gets the plan that costs least;
// from then on its attribute `graph.plan` says all about its code.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_STRATEGIES_H
#define TINH_CODEGEN_CPU_STRATEGIES_H

#include "compiler/Codegen/CPU/EmittedKernel.h"

#include "mlir/IR/SymbolTable.h"

namespace tinh::cpu {

struct Device {
  using Target = cpu::Target;
  using EmittedKernel = cpu::EmittedKernel;
  static constexpr llvm::StringLiteral kName = "a CPU";
  /// In the end some workers wait for others, for half a chunk each, and all
  /// the time if there are fewer chunks than the cores of a small machine; what
  /// takes a few microseconds is not worth more chunks.
  static double idleCycles(double cycles, const Division &division) {
    constexpr int64_t kCores = 4;
    constexpr double kShort = 50e3;
    double chunk = cycles / division.chunks;
    double missing = std::max<int64_t>(kCores - division.chunks, 0);
    return chunk > kShort ? std::max(missing, 0.5) * chunk : 0;
  }
};

/// Rows compute every kernel.
StrategyTable<Device> strategies();

/// What is to be known of a kernel that is not split: its dispatch, and the
/// plan that it would have as it is.
using VisitKernel =
    llvm::function_ref<void(DispatchedKernel, mlir::Attribute plan)>;
/// Splits the kernel functions of a module whose strategies want that, and
/// visits those that remain, but for those that have a plan.
mlir::LogicalResult splitKernels(mlir::ModuleOp module, const Target &target,
                                 VisitKernel visit);

/// Gives all kernel functions of a module at phase `kernels` plans. With
/// `remarks`, says what was considered.
void chooseStrategies(mlir::ModuleOp module, const Target &target,
                      bool remarks);

/// Sets a plan, and what it is estimated to cost.
void setPlan(mlir::func::FuncOp kernel, const Candidate &candidate);

/// Sets the chunks and scratch memory that follow from the kernels' plans.
mlir::LogicalResult divideKernels(mlir::ModuleOp module, const Target &target);

/// Emits `@name(operands…, scratch, begin, end)` over flat memrefs for the
/// kernel function `kernel`, which has a plan, into `module`.
mlir::FailureOr<mlir::func::FuncOp> emitKernel(mlir::func::FuncOp kernel,
                                               mlir::ModuleOp module,
                                               const Target &target);

/// The target that the module's `graph.cpu` names.
mlir::FailureOr<Target> targetOf(mlir::ModuleOp module);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_STRATEGIES_H
