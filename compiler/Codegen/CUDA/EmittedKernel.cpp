//===- EmittedKernel.cpp - Kernels while code is emitted --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/EmittedKernel.h"

#include "compiler/Codegen/CUDA/Machine.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tinh::cuda {

LogicalResult EmittedKernel::storeResults(Pull &pull, const Indices &at) {
  return storeResults(
      pull, at,
      llvm::to_vector(llvm::seq<unsigned>(0, source.getNumResults())));
}

Buffer EmittedKernel::sharedBuffer(OpBuilder &b, int64_t offset,
                                   ArrayRef<int64_t> shape, Type element) {
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  auto all = MemRefType::get({ShapedType::kDynamic}, b.getI8Type(),
                             MemRefLayoutAttrInterface(), space);
  Value memory = gpu::DynamicSharedMemoryOp::create(b, source.getLoc(), all);
  Buffer buffer = bufferIn(memory, b, offset, shape, element);
  buffer.alignment = 16;
  return buffer;
}

void EmittedKernel::barrier(OpBuilder &b) {
  gpu::BarrierOp::create(b, source.getLoc());
}

void EmittedKernel::preferRegisters() {
  constexpr int32_t kEnough = 512;
  auto gpuFunction = cast<gpu::GPUFuncOp>(*function);
  int32_t threads = (*gpuFunction.getKnownBlockSize())[0];
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                    Builder(function.getContext())
                        .getI32IntegerAttr(std::max(1, kEnough / threads)));
}

void EmittedKernel::takeRegisters() {
  function->setAttr(
      NVVM::NVVMDialect::getMaxnregAttrName(),
      Builder(function.getContext()).getI32IntegerAttr(kMostRegisters));
}

LogicalResult checkLimits(const Division &division, const Target &target,
                          EmitError error, int64_t registers) {
  Limits limits = limitsOf(target);
  if (division.scratch > limits.sharedBytes)
    return error() << "a block takes " << division.scratch
                   << " bytes of shared memory, of which " << limits.chip
                   << " has " << limits.sharedBytes;
  if (division.threads * registers > limits.registers)
    return error() << "a block has " << division.threads
                   << " threads that take up to " << registers
                   << " registers each, of which a multiprocessor has "
                   << limits.registers;
  if (division.chunks <= std::numeric_limits<int32_t>::max())
    return success();
  return error() << "a grid has 2147483647 blocks at most, found "
                 << division.chunks;
}

int64_t widestVector(func::FuncOp kernel) {
  constexpr int64_t kWidestAccess = 16;
  int64_t bytes = 2;
  for (Type type : llvm::concat<const Type>(kernel.getArgumentTypes(),
                                            kernel.getResultTypes()))
    bytes = std::max(bytes, graph::elementSize(getElementTypeOrSelf(type)));
  return kWidestAccess / bytes;
}

} // namespace tinh::cuda
