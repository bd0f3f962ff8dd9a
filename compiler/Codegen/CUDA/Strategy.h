//===- Strategy.h - How the code of a kernel for GPUs is made ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A strategy decides, for a kernel function over linalg, how its work is cut
// into blocks and threads and what code each of them runs. `chooseStrategies`
// records the decisions in the functions' attributes; `emitKernel` follows
// them.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_STRATEGY_H
#define TINH_CODEGEN_CUDA_STRATEGY_H

#include "compiler/Codegen/CUDA/Target.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tinh::cuda {

using namespace codegen; // What all devices have in common.

/// Threads that run in step.
inline constexpr int64_t kWarp = 32;

/// How a kernel is launched: a grid of one dimension of so many blocks, each
/// with its threads and bytes of dynamic shared memory.
struct Division {
  int64_t blocks, threads, shared = 0;
  bool operator==(const Division &) const = default;
};

/// A kernel function while code for it is being emitted.
struct EmittedKernel {
  mlir::func::FuncOp source;
  mlir::gpu::GPUFuncOp function;
  mlir::Value block, thread; ///< Their numbers.

  /// Memory of the kernel's operand `i`: its inputs, then its results.
  Buffer operand(unsigned i);
  /// Lets `pull` see the kernel's inputs.
  void bindInputs(Pull &pull);
  /// A buffer of `shape` at `offset` bytes, a multiple of 16, of the block's
  /// shared memory.
  Buffer sharedBuffer(mlir::OpBuilder &b, int64_t offset,
                      llvm::ArrayRef<int64_t> shape, mlir::Type element);
  /// All threads of the block wait for each other here and see in shared and
  /// global memory what the others have written before.
  void barrier(mlir::OpBuilder &b);
};

//===----------------------------------------------------------------------===//
// threads: every kernel. A thread computes a few elements of each result that
// lie side by side, from the kernel's operands alone.
//===----------------------------------------------------------------------===//

Division divideThreads(mlir::func::FuncOp kernel);
mlir::LogicalResult emitThreads(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//

/// How `strategy` divides `kernel`; nothing if it cannot compute it.
std::optional<Division> divideKernel(mlir::func::FuncOp kernel,
                                     llvm::StringRef strategy,
                                     const Target &target);

/// Chooses strategies for the kernel functions of a module at phase `kernels`
/// that run on the GPU and sets their attributes.
mlir::LogicalResult chooseStrategies(mlir::ModuleOp module,
                                     const Target &target);

/// Emits the gpu.func of `kernel`, whose strategy has been chosen, into
/// `module`.
mlir::FailureOr<mlir::gpu::GPUFuncOp> emitKernel(mlir::func::FuncOp kernel,
                                                 mlir::gpu::GPUModuleOp module,
                                                 const Target &target);

/// The target that the module's `graph.cuda` names.
mlir::FailureOr<Target> targetOf(mlir::ModuleOp module);

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_STRATEGY_H
