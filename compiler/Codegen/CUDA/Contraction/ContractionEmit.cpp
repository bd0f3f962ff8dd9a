//===- ContractionEmit.cpp - Code of products for each chip -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionPipeline.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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

/// The code of the newest level that the plan has code for, for chips that have
/// it; then for the others.
LogicalResult ContractionStrategy::emit(EmittedKernel &kernel, const Product &p,
                                        Plan plan, const Target &) {
  kernel.takeRegisters();
  OpBuilder b = kernel.builder();
  Tiles tiles = tilesOf(p, plan);
  Tile tile{plan.getTileRows(), plan.getTileColumns(), plan.getThread()[0],
            plan.getThread()[1]};
  auto code = [&](int64_t depth, ArrayRef<int64_t> loads, int64_t stores) {
    return TileCode{tile,  tiles.rows,           tiles.columns,
                    depth, {loads[0], loads[1]}, stores};
  };
  if (TensorCoresAttr tensor = plan.getTensorCores()) {
    Location loc = kernel.source.getLoc();
    Value chip = emitChip(b, kernel);
    auto branchOn = [&](arith::CmpIPredicate predicate, int64_t number) {
      Value level = arith::ConstantIntOp::create(b, loc, number, 32);
      Value has = arith::CmpIOp::create(b, loc, predicate, chip, level);
      auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
      b = branch.getElseBodyBuilder();
      return branch.getThenBodyBuilder();
    };
    int64_t depth = kStepBytes / bytesOf(p);
    // Not those after it: sm_90a alone has them.
    if (WarpgroupsAttr groups = plan.getWarpgroups())
      if (failed(emitWithWarpgroups(
              kernel, p, code(depth, tensor.getLoads(), groups.getStores()),
              groups, branchOn(arith::CmpIPredicate::eq, 900))))
        return failure();
    if (failed(emitWithTensorCores(
            kernel, p, code(depth, tensor.getLoads(), tensor.getStores()),
            tensor, branchOn(arith::CmpIPredicate::sge, 800))))
      return failure();
  }
  return emitScalar(
      kernel, p, code(plan.getDepth(), plan.getLoads(), plan.getStores()), b);
}

} // namespace tinh::cuda
