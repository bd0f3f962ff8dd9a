//===- AttentionEmit.cpp - Code of attention for each chip ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/AttentionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

LogicalResult AttentionStrategy::emit(EmittedKernel &kernel, const Attention &a,
                                      AttentionPlanAttr plan, const Target &) {
  // All registers there are: this code takes them.
  kernel.function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                           OpBuilder(kernel.function).getI32IntegerAttr(1));
  OpBuilder b = kernel.builder();
  AttentionCode scalar = scalarCode(a, plan);
  if (!plan.getTensorCores())
    return emitScalarAttention(kernel, a, scalar, b);
  Location loc = kernel.source.getLoc();
  Value chip = emitChip(b, kernel);
  Value level = arith::ConstantIntOp::create(b, loc, 800, 32);
  Value has =
      arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sge, chip, level);
  auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
  if (failed(emitTensorAttention(kernel, a, tensorCode(a, plan),
                                 branch.getThenBodyBuilder())))
    return failure();
  return emitScalarAttention(kernel, a, scalar, branch.getElseBodyBuilder());
}

} // namespace tinh::cuda
