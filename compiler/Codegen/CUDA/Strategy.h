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

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/SymbolTable.h"

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
  /// For code that loads much ahead: says that 512 threads on a multiprocessor
  /// are enough. Told only how many a block has, ptxas rather spills registers
  /// than that fewer blocks are there.
  void preferRegisters();
  /// For products: lets a thread have nearly all registers there are. Given all
  /// of them, ptxas loads ahead until they are full, and spills some.
  void takeRegisters();
};

//===----------------------------------------------------------------------===//
// threads: every kernel. A thread computes a few elements of each result that
// lie side by side, from the kernel's operands alone.
//===----------------------------------------------------------------------===//

Division divideThreads(mlir::func::FuncOp kernel);
mlir::LogicalResult emitThreads(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// contraction: matrix products and dense convolutions. A block computes a tile
// of the result from tiles of both factors in shared memory.
//===----------------------------------------------------------------------===//

/// Whether tiles pay for the product in `kernel`, if there is one.
bool isWorthTiling(mlir::func::FuncOp kernel);
/// Lets a dispatch of its own compute what a large product of `kernel` reads of
/// other reductions, or the product itself; null if it changed nothing.
graph::DispatchOp splitChain(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                             mlir::func::FuncOp kernel,
                             graph::DispatchOp dispatch);
std::optional<Division> divideContraction(mlir::func::FuncOp kernel,
                                          const Target &target);
mlir::LogicalResult emitContraction(EmittedKernel &kernel,
                                    const Target &target);

//===----------------------------------------------------------------------===//
// attention: products, a softmax and products in one (Attention.h). A block has
// a tile of queries and goes through all keys.
//===----------------------------------------------------------------------===//

/// Whether blocks of queries compute the attention in `kernel` better than
/// teams, or kernels one after the other, if there is one.
bool isWorthBlocks(mlir::func::FuncOp kernel, const Target &target);
std::optional<Division> divideAttention(mlir::func::FuncOp kernel,
                                        const Target &target);
mlir::LogicalResult emitAttention(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// rows: kernels with reductions (Rows.h). Teams of threads compute rows.
//===----------------------------------------------------------------------===//

std::optional<Division> divideRows(mlir::func::FuncOp kernel);
mlir::LogicalResult emitRows(EmittedKernel &kernel, const Target &target);

/// Lets a dispatch of its own compute a reduction, or parts of one, of
/// `kernel`, where few blocks would have much work; null if it changed nothing.
graph::DispatchOp splitRows(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
                            mlir::func::FuncOp kernel,
                            graph::DispatchOp dispatch);

//===----------------------------------------------------------------------===//
// transpose: kernels that move the last dimension, by way of shared memory.
//===----------------------------------------------------------------------===//

std::optional<Division> divideTranspose(mlir::func::FuncOp kernel);
mlir::LogicalResult emitTranspose(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// scan: running sums. A block has a row, or a thread has a column.
//===----------------------------------------------------------------------===//

std::optional<Division> divideScan(mlir::func::FuncOp kernel);
mlir::LogicalResult emitScan(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// scatter: elements combined with updates whose positions are computed. The
// block that owns a position looks for its updates.
//===----------------------------------------------------------------------===//

std::optional<Division> divideScatter(mlir::func::FuncOp kernel);
mlir::LogicalResult emitScatter(EmittedKernel &kernel, const Target &target);

//===----------------------------------------------------------------------===//
// windows: pooling and depthwise convolutions. A thread computes a vector of a
// few results whose windows overlap.
//===----------------------------------------------------------------------===//

std::optional<Division> divideWindows(mlir::func::FuncOp kernel);
mlir::LogicalResult emitWindows(EmittedKernel &kernel, const Target &target);

/// Lets dispatches copy weights of windows to where their vectors lie side by
/// side.
void packTaps(mlir::OpBuilder &b, mlir::SymbolTable &symbols,
              mlir::func::FuncOp kernel, graph::DispatchOp dispatch);

//===----------------------------------------------------------------------===//

/// Elements that fill the widest access, of 16 bytes, of the largest elements
/// there are.
int64_t widestVector(mlir::func::FuncOp kernel);

/// Whether `emit` succeeds for `kernel`; what it emits is thrown away.
bool canEmit(mlir::func::FuncOp kernel,
             llvm::function_ref<mlir::LogicalResult(EmittedKernel &)> emit);

/// How `strategy` divides `kernel`; nothing if it cannot compute it.
std::optional<Division> divideKernel(mlir::func::FuncOp kernel,
                                     llvm::StringRef strategy,
                                     const Target &target);

/// Makes several kernels of one on the GPU where each alone is computed better:
/// what is made for constants runs on the CPU.
mlir::LogicalResult prepareKernels(mlir::ModuleOp module);

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
