//===- AttentionEmit.cpp - Code of attention for each chip ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmit.h"
#include "compiler/Codegen/CUDA/Chips.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tinh::cuda {

LogicalResult AttentionStrategy::emit(EmittedKernel &kernel, const Attention &a,
                                      AttentionPlanAttr plan, const Target &) {
  // All registers there are: this code takes them.
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                           OpBuilder(kernel.function).getI32IntegerAttr(1));
  OpBuilder b = kernel.builder();
  if (plan.getTensorCores()) {
    Value chip = emitChip(b, kernel);
    if (failed(emitTensorAttention(
            kernel, a, tensorCode(a, plan),
            branchOnChip(b, chip, arith::CmpIPredicate::sge, 800))))
      return failure();
  }
  return emitScalarAttention(kernel, a, scalarCode(a, plan), b);
}

} // namespace tinh::cuda
