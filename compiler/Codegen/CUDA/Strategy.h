//===- Strategy.h - How the code of a kernel for GPUs is made ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy decides, for a kernel function over linalg, how its work is cut
// into blocks and threads and what code each of them runs; there is a table of
// them (Strategies.h). `chooseStrategies` records the decisions as the
// function's `graph.plan`; `divideKernels` and `emitKernel` follow them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_STRATEGY_H
#define TINH_CODEGEN_CUDA_STRATEGY_H

#include "compiler/Codegen/CUDA/Target.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Pull.h"
#include "compiler/Codegen/Kernel/Strategy.h"

#include "dialects/cuda/Cuda.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

namespace tinh::cuda {

using namespace codegen; // What all devices have in common.

/// Threads that run in step.
inline constexpr int64_t kWarp = 32;
/// Those of a block, where nothing asks for another number.
inline constexpr int64_t kThreads = 256;

/// A kernel function while code for it is being emitted.
struct EmittedKernel {
  mlir::func::FuncOp source;
  mlir::gpu::GPUFuncOp function;
  mlir::Value block, thread; ///< Their numbers.

  /// Where its code goes.
  mlir::OpBuilder builder();
  /// Memory of the kernel's operand `i`: its inputs, then its results.
  Buffer operand(unsigned i);
  /// Lets `pull` see the kernel's inputs.
  void bindInputs(Pull &pull);
  /// Stores these results, or all, at `at`.
  mlir::LogicalResult storeResults(Pull &pull, const Indices &at,
                                   llvm::ArrayRef<unsigned> results);
  mlir::LogicalResult storeResults(Pull &pull, const Indices &at);
  /// A buffer of `shape` at `offset` bytes, a multiple of 16, of the block's
  /// shared memory.
  Buffer sharedBuffer(mlir::OpBuilder &b, int64_t offset,
                      llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// All threads of the block wait for each other here and see in shared and
  /// global memory what the others have written before.
  void barrier(mlir::OpBuilder &b);
  /// For code that loads much ahead: says that 512 threads on a multiprocessor
  /// are enough. Told only how many a block has, ptxas rather spills registers
  /// than that fewer blocks are there.
  void preferRegisters();
  /// For products: lets a thread have nearly all registers there are. Given all
  /// of them, ptxas loads ahead until they are full, and spills some.
  void takeRegisters();
};

/// What the table of strategies for GPUs is about (Kernel/Strategy.h).
struct Device {
  using Target = cuda::Target;
  using EmittedKernel = cuda::EmittedKernel;
  static constexpr llvm::StringLiteral kName = "a GPU";
  /// Plans count the waves of blocks that multiprocessors go through.
  static double idleCycles(double, const Division &) { return 0; }
};

/// An error if a block of `division` has more than chips allow; each thread
/// takes so many registers.
llvm::LogicalResult checkLimits(const Division &division, const Target &target,
                                EmitError error, int64_t registers = 0);
/// `plan` with `division`, checked.
template <typename Plan>
llvm::FailureOr<Divided<Plan>> divided(Plan plan, const Division &division,
                                       const Target &target, EmitError error,
                                       int64_t registers = 0) {
  if (failed(checkLimits(division, target, error, registers)))
    return mlir::failure();
  return Divided<Plan>{plan, division};
}

/// Elements that fill the widest access, of 16 bytes, of the largest elements
/// there are.
int64_t widestVector(mlir::func::FuncOp kernel);

/// Makes several kernels of one on the GPU where each alone is computed better:
/// what is made for constants runs on the CPU.
mlir::LogicalResult prepareKernels(mlir::ModuleOp module);

/// Chooses plans for the kernel functions of a module at phase `kernels` that
/// run on the GPU and have none, and sets their attributes. With `remarks`,
/// says what was considered.
mlir::LogicalResult chooseStrategies(mlir::ModuleOp module,
                                     const Target &target, bool remarks);

/// Sets what follows from the plans of the kernel functions that run on the
/// GPU: their blocks, threads and shared memory; fails, with a message, if a
/// kernel or a chip does not allow its plan.
mlir::LogicalResult divideKernels(mlir::ModuleOp module);

/// Emits the gpu.func of `kernel`, which has a plan, into `module`.
mlir::FailureOr<mlir::gpu::GPUFuncOp> emitKernel(mlir::func::FuncOp kernel,
                                                 mlir::gpu::GPUModuleOp module,
                                                 const Target &target);

/// The target that the module's `graph.cuda` names.
mlir::FailureOr<Target> targetOf(mlir::ModuleOp module);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_STRATEGY_H
