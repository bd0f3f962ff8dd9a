//===- Strategies.h - How kernels for GPUs are computed ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The table of the GPU's strategies. Each decides, for a kernel function over
// linalg, how its work is cut into blocks and threads and what code each of
// them runs. The plan that costs least is the kernel's; from then on its
// attribute `graph.plan` says all about its code.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_STRATEGIES_H
#define TINH_CODEGEN_CUDA_STRATEGIES_H

#include "compiler/Codegen/CUDA/EmittedKernel.h"

namespace tinh::cuda {

struct Device {
  using Target = cuda::Target;
  using EmittedKernel = cuda::EmittedKernel;
  static constexpr llvm::StringLiteral kName = "a GPU";
  /// Plans count the waves of blocks that multiprocessors go through.
  static double idleCycles(double, const Division &) { return 0; }
};

/// Threads compute every kernel.
StrategyTable<Device> strategies();

/// Whether tiles of a product or blocks of queries pay for `kernel`. The rules
/// that say so are older than the model of machines (Machine.h), and nobody has
/// measured either: they have the last word before what threads alone would do.
bool isForTiles(mlir::func::FuncOp kernel, const Target &target);

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

#endif // TINH_CODEGEN_CUDA_STRATEGIES_H
