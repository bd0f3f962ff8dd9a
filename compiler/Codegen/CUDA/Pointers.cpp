//===- Pointers.cpp - Addresses for instructions on them --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Pointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tinh::cuda {

static LLVM::LLVMPointerType pointerType(OpBuilder &b, unsigned space) {
  return LLVM::LLVMPointerType::get(b.getContext(), space);
}

static Value castMemref(OpBuilder &b, Location loc, Value memref,
                        unsigned space) {
  return UnrealizedConversionCastOp::create(b, loc, pointerType(b, space),
                                            memref)
      .getResult(0);
}

static Value elementAt(OpBuilder &b, Location loc, Value pointer, Value memref,
                       Value index, Type indexType) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value at = arith::IndexCastOp::create(b, loc, indexType, index);
  return LLVM::GEPOp::create(b, loc, pointer.getType(), element, pointer, at);
}

Value globalPointer(OpBuilder &b, Location loc, Value memref, Value index) {
  Value generic = castMemref(b, loc, memref, 0);
  auto type =
      pointerType(b, static_cast<unsigned>(NVVM::NVVMMemorySpace::Global));
  Value pointer = LLVM::AddrSpaceCastOp::create(b, loc, type, generic);
  return elementAt(b, loc, pointer, memref, index, b.getI64Type());
}

Value sharedPointer(OpBuilder &b, Location loc, Value memref, Value index) {
  Value pointer = castMemref(
      b, loc, memref, static_cast<unsigned>(NVVM::NVVMMemorySpace::Shared));
  return elementAt(b, loc, pointer, memref, index, b.getI32Type());
}

void resolvePointers(Operation *module) {
  SmallVector<UnrealizedConversionCastOp> casts;
  module->walk([&](UnrealizedConversionCastOp op) {
    if (op->getNumResults() == 1 &&
        isa<LLVM::LLVMPointerType>(op.getResult(0).getType()))
      casts.push_back(op);
  });
  for (UnrealizedConversionCastOp op : casts) {
    auto memref = op.getInputs()[0].getDefiningOp<UnrealizedConversionCastOp>();
    constexpr int64_t kAligned = 1; // Of a memref's fields, where it begins.
    OpBuilder b(op);
    Value pointer = LLVM::ExtractValueOp::create(
        b, op.getLoc(), memref.getInputs()[0], kAligned);
    op.getResult(0).replaceAllUsesWith(pointer);
    op.erase();
    if (memref.use_empty())
      memref.erase();
  }
}

} // namespace tinh::cuda
