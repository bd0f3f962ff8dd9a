//===- EmittedKernel.h - Kernels while code is emitted ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_CODEGEN_CPU_EMITTEDKERNEL_H
#define TINH_CODEGEN_CPU_EMITTEDKERNEL_H

#include "compiler/Codegen/CPU/Target.h"
#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/EmittedKernel.h"
#include "compiler/Codegen/Kernel/Strategy.h"
#include "dialects/cpu/Cpu.h"

namespace tinh::cpu {

using namespace codegen; // What all devices have in common.

/// The worker's scratch memory and the chunks to compute are given, too.
struct EmittedKernel : codegen::EmittedKernel {
  /// A function in `module` that returns at once. Its operands have the given
  /// types, of which the last three are of scratch memory and the chunks.
  EmittedKernel(mlir::func::FuncOp source, mlir::TypeRange types,
                mlir::ModuleOp module);

  mlir::Value scratch, begin, end;

  /// A buffer of `shape` at `offset` bytes of the scratch memory.
  Buffer scratchBuffer(mlir::OpBuilder &b, int64_t offset,
                       llvm::ArrayRef<int64_t> shape, mlir::Type element) {
    return bufferIn(scratch, b, offset, shape, element);
  }
  /// Emits the loop over the units of the chunks to compute, `perChunk` of
  /// `units` in each, and leaves `b` in it. Returns the unit's number.
  mlir::Value loopOverUnits(mlir::OpBuilder &b, int64_t units,
                            int64_t perChunk);
  /// Stores all results at `at`, each before the next is computed: registers
  /// are few.
  mlir::LogicalResult storeResults(Pull &pull, const Indices &at);
};

/// Emits the code of a plan by an emitter of its chunks, one for each unit.
template <typename Emitter, typename Form, typename Plan>
mlir::LogicalResult emitChunks(EmittedKernel &kernel, const Form &form,
                               const Plan &plan, const Target &target) {
  mlir::OpBuilder b = kernel.builder();
  mlir::Value chunk = kernel.loopOverUnits(b, plan.chunks, 1);
  auto inputs = kernel.inputs();
  return Emitter(kernel, form, plan, target, b, inputs).emitChunk(chunk);
}

template <typename Form, typename Plan, typename Expanded>
using Functions = StrategyFunctions<Target, EmittedKernel, Form, Plan, Expanded,
                                    const Expanded &>;

/// Rounds up to the alignment of buffers.
inline int64_t alignBytes(int64_t bytes) { return (bytes + 63) & ~63; }

/// So many units of work in chunks of `perChunk`, of which there is at least
/// one.
inline int64_t countChunks(int64_t units, int64_t perChunk) {
  return std::max<int64_t>(1, llvm::divideCeil(units, perChunk));
}

/// How many units of work a chunk gets if some `wanted` chunks of them are
/// made.
inline int64_t unitsForChunks(int64_t units, int64_t wanted) {
  return std::max<int64_t>(1, llvm::divideCeil(units, wanted));
}

/// Whether so many columns of a plan are whole vectors.
mlir::LogicalResult checkColumns(EmitError emitError, llvm::StringRef name,
                                 int64_t columns, int64_t lanes,
                                 const Target &target);

} // namespace tinh::cpu

#endif // TINH_CODEGEN_CPU_EMITTEDKERNEL_H
