//===- ContractionPlan.cpp - Dividing products into blocks ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How many blocks and threads a product gets, and which code they run on which
// chips.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

namespace {

/// A tile, and how much of its peak a multiprocessor reaches with it: the
/// larger one is, the fewer loads a product costs.
struct Choice {
  Tile tile;
  double efficiency;
};

} // namespace

static ArrayRef<Choice> choicesFor(const Product &p, const Target &target) {
  static constexpr Choice kScalar[] = {
      {{128, 128, 8, 8}, 1.0}, {{64, 64, 4, 4}, 0.7}, {{32, 32, 4, 4}, 0.35}};
  // Sums of 64 × 64 of a warp reuse most of what it reads. They leave no
  // registers for what is on its way to shared memory.
  static constexpr Choice kCopied[] = {
      {{128, 128, 16, 8}, 1.0}, {{64, 64, 8, 4}, 0.7}, {{32, 32, 4, 4}, 0.35}};
  if (p.element().isF64())
    return ArrayRef(kScalar).drop_front(); // Too many registers.
  bool copied = p.rows.copyBytes() && p.columns.copyBytes();
  return copied && p.takesTensorCores(target) ? ArrayRef(kCopied)
                                              : ArrayRef(kScalar);
}

ContractionPlan planContraction(const Product &p, const Target &target) {
  int64_t rows = p.extentOf(p.rows.loops),
          columns = p.extentOf(p.columns.loops);
  ContractionPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (auto [tile, efficiency] : choicesFor(p, target)) {
    auto tiles = [](int64_t extent, int64_t each) {
      return static_cast<int64_t>(llvm::divideCeil(extent, each));
    };
    ContractionPlan plan{tile, tiles(rows, tile.rows),
                         tiles(columns, tile.columns), p.extentOf(p.batch)};
    double waves = llvm::divideCeil(plan.blocks(), kMultiprocessors);
    double cost = waves * tile.rows * tile.columns / efficiency;
    if (cost < least) {
      least = cost;
      best = plan;
    }
  }
  return best;
}

bool isWorthTiling(func::FuncOp kernel) {
  // With less a thread for each sum reads hardly more than a tile would.
  constexpr int64_t kLeast = 8, kLong = 32;
  auto p = matchProduct(kernel);
  if (!p || p->extentOf(p->depth) < kLeast)
    return false;
  int64_t rows = p->extentOf(p->rows.loops);
  int64_t columns = p->extentOf(p->columns.loops);
  if (rows >= kLeast && columns >= kLeast)
    return true;
  // Teams of threads add up along the depth; where the large factor lies along
  // its own loops, only tiles read neighbours together.
  const Factor &large = rows > columns ? p->rows : p->columns;
  return std::max(rows, columns) >= kLong && p->extentOf(p->depth) >= kLong &&
         !large.alongDepth && !large.isScattered;
}

static bool usesWarpgroups(const Product &p, const ContractionPlan &plan,
                           const Target &target) {
  return target.usesWarpgroups() && p.takesTensorCores(target) &&
         takesWarpgroups(p, plan.tile);
}

std::optional<Division> divideContraction(func::FuncOp kernel,
                                          const Target &target) {
  auto p = matchProduct(kernel);
  if (!p)
    return std::nullopt;
  ContractionPlan plan = planContraction(*p, target);
  int64_t bytes = scalarShared(*p, plan.tile);
  if (p->takesTensorCores(target))
    bytes = std::max(bytes, tensorCoreShared(*p, plan.tile));
  if (usesWarpgroups(*p, plan, target))
    bytes = std::max(bytes, warpgroupShared(plan.tile));
  return Division{plan.blocks(), plan.tile.threads(), bytes};
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

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

/// The code of the newest level that has all the kernel needs, for chips that
/// have it; then for the others.
static LogicalResult emitForChips(EmittedKernel &kernel, const Product &p,
                                  const ContractionPlan &plan,
                                  const Target &target, OpBuilder b) {
  if (!p.takesTensorCores(target))
    return emitScalar(kernel, p, plan, b);
  Location loc = kernel.source.getLoc();
  Value chip = emitChip(b, kernel);
  auto branchOn = [&](arith::CmpIPredicate predicate, int64_t number) {
    Value level = arith::ConstantIntOp::create(b, loc, number, 32);
    Value has = arith::CmpIOp::create(b, loc, predicate, chip, level);
    auto branch = scf::IfOp::create(b, loc, has, /*withElseRegion=*/true);
    b = branch.getElseBodyBuilder();
    return branch.getThenBodyBuilder();
  };
  // Not those after it: sm_90a alone has them.
  if (usesWarpgroups(p, plan, target) &&
      failed(emitWithWarpgroups(kernel, p, plan,
                                branchOn(arith::CmpIPredicate::eq, 900))))
    return failure();
  if (failed(emitWithTensorCores(kernel, p, plan,
                                 branchOn(arith::CmpIPredicate::sge, 800))))
    return failure();
  return emitScalar(kernel, p, plan, b);
}

LogicalResult emitContraction(EmittedKernel &kernel, const Target &target) {
  auto p = matchProduct(kernel.source);
  if (!p)
    return failure();
  kernel.takeRegisters();
  OpBuilder b(kernel.function.getBody().front().getTerminator());
  return emitForChips(kernel, *p, planContraction(*p, target), target, b);
}

} // namespace tinh::cuda
