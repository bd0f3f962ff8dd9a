//===- EmittedKernel.h - Kernels while code is emitted ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CUDA_EMITTEDKERNEL_H
#define TINH_CODEGEN_CUDA_EMITTEDKERNEL_H

#include "compiler/Codegen/CUDA/Target.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Strategy.h"
#include "dialects/cuda/Cuda.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace tinh::cuda {

using namespace codegen; // What all devices have in common.

/// Threads of a block, where nothing asks for another number.
inline constexpr int64_t kThreads = 256;
/// Registers that a thread may take, of 255.
inline constexpr int64_t kMostRegisters = 240;
/// Shared memory that a block may have on any chip without asking for more.
inline constexpr int64_t kMostShared = 48 << 10;

/// Its code is that of one thread of a block, whose numbers are given.
struct EmittedKernel : codegen::EmittedKernel {
  mlir::Value block, thread;

  using codegen::EmittedKernel::storeResults;
  /// Stores all results at `at`.
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

template <typename Form, typename Plan, typename Expanded = Divided<Plan>,
          typename Given = Plan>
using Functions =
    StrategyFunctions<Target, EmittedKernel, Form, Plan, Expanded, Given>;

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

} // namespace tinh::cuda

#endif // TINH_CODEGEN_CUDA_EMITTEDKERNEL_H
