//===- Chips.cpp - Code that depends on the chip ----------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Chips.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

Value emitChip(OpBuilder &b, EmittedKernel &kernel) {
  constexpr StringLiteral kName = "cuda_arch_name";
  Location loc = kernel.source.getLoc();
  auto module = kernel.function->getParentOfType<gpu::GPUModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(kName);
  if (!global) {
    StringRef text("__CUDA_ARCH\0", 12);
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        outside, loc, LLVM::LLVMArrayType::get(b.getI8Type(), text.size()),
        /*isConstant=*/true, LLVM::Linkage::Internal, kName,
        b.getStringAttr(text));
  }
  Value name = LLVM::AddressOfOp::create(b, loc, global);
  return LLVM::CallIntrinsicOp::create(b, loc, b.getI32Type(),
                                       b.getStringAttr(kReflect),
                                       ValueRange(name))
      .getResult(0);
}

OpBuilder branchOnChip(OpBuilder &b, Value chip, arith::CmpIPredicate predicate,
                       int64_t number) {
  Location loc = chip.getLoc();
  Value level = arith::ConstantIntOp::create(b, loc, number, 32);
  Value has = arith::CmpIOp::create(b, loc, predicate, chip, level);
  auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
  b = branch.getElseBodyBuilder();
  return branch.getThenBodyBuilder();
}

} // namespace tinh::cuda
