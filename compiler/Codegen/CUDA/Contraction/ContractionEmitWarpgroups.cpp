//===- ContractionEmitWarpgroups.cpp - Products of four warps ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// wgmma of sm_90a: four warps together, a warpgroup, multiply 64 rows by all
// columns of the tile. Both factors are read from shared memory, where they lie
// as for ldmatrix: lines of 64 bytes along the depth, or panels of 128 bytes
// across it, are the forms "64B" and "128B" of what descriptors can say.
//
// Products of a step are on their way while the next step's begin. So what is
// brought to shared memory takes the place of the step before the last one.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitTensorCores.h"
#include "compiler/Codegen/CUDA/Pointers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace tinh::cuda {

/// Threads of a warpgroup, rows of its product, and lines that are permuted
/// together.
static constexpr int64_t kWarpgroup = 128, kGroupRows = 64, kSwizzledLines = 8;

bool takesWarpgroups(const Product &p, const Tile &tile) {
  // A product of f32 would cut its factors where others round them.
  return !getElementTypeOrSelf(p.left.value).isF32() &&
         tile.threads() % kWarpgroup == 0 &&
         tile.rows % (kGroupRows * tile.threads() / kWarpgroup) == 0 &&
         (p.isOfBytes() || tile.columns * bytesOf(p) % kPanelBytes == 0);
}

namespace {

class WarpgroupEmitter final : public TensorCoreEmitter {
public:
  WarpgroupEmitter(EmittedKernel &kernel, const Product &p,
                   const TileCode &code, int64_t stages, OpBuilder &builder)
      : TensorCoreEmitter(kernel, p, code, builder, stages,
                          /*ahead=*/stages - 2,
                          /*warpRows=*/16 * blocksOf(code), code.tile.columns),
        blocks(blocksOf(code)) {}

private:
  void findThread() override;
  void barrier() override;
  Values multiply(Value base, ValueRange sums) override;
  FailureOr<Values> emitSums() override;
  /// A warp has 16 rows of each block of its warpgroup.
  int64_t rowOfLine(int64_t line) const override {
    return line / 2 * kGroupRows + line % 2 * 8;
  }

  Value descriptor(const SharedTile &shared, Value base, int64_t product);
  Values runAssembly(const llvm::Twine &text, ValueRange sums,
                     ValueRange operands);
  std::string productText() const;
  static int64_t blocksOf(const TileCode &code) {
    return code.tile.rows / kGroupRows / (code.tile.threads() / kWarpgroup);
  }

  int64_t blocks; // Of 64 rows, that a warpgroup has.
  Value groupRow; // Where they begin.
};

} // namespace

void WarpgroupEmitter::findThread() {
  TensorCoreEmitter::findThread();
  Value group = kernel.thread;
  Value warp = scalar.takeDigit(group, kWarpgroup);
  (void)scalar.takeDigit(warp, kWarp);
  groupRow = scalar.mul(group, kGroupRows * blocks);
  warpRow = scalar.add(groupRow, scalar.mul(warp, 16));
}

/// Products read shared memory by another way than stores and copies write it:
/// each thread makes what it has written visible there.
void WarpgroupEmitter::barrier() {
  NVVM::FenceProxyOp::create(
      b, loc, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
  kernel.barrier(b);
}

/// What says where a factor of product `product` of the step at `base` lies:
/// addresses and distances in units of 16 bytes.
Value WarpgroupEmitter::descriptor(const SharedTile &shared, Value base,
                                   int64_t product) {
  constexpr uint64_t kPanels = 1, kSteps = 2; // 128 and 64 bytes.
  int64_t size = bytesOf(p), line = lineElements(shared);
  bool inLines = isInLines(shared);
  bool isOfRows = &shared == &rows;
  // A product's depth is two chunks of each line, or as many lines.
  int64_t depth = 2 * chunkElements();
  int64_t offset = shared.offset + product * depth * (inLines ? 1 : line);
  Value at = scalar.add(base, scalar.index(offset));
  if (isOfRows) // From one row to the next, if these are whole panels.
    at = scalar.add(at, scalar.mul(groupRow, stepDepth));
  auto units = [&](int64_t elements) {
    return static_cast<uint64_t>(elements * size / kChunkBytes);
  };
  uint64_t fixed = (inLines ? kSteps : kPanels) << 62 |
                   units(kSwizzledLines * line) << 32 |
                   (inLines ? 1 : units(stepDepth * line)) << 16;
  Value address = LLVM::PtrToIntOp::create(b, loc, b.getI32Type(),
                                           sharedPointer(b, loc, memory, at));
  address = arith::ShRUIOp::create(b, loc, address,
                                   arith::ConstantIntOp::create(b, loc, 4, 32));
  address = arith::AndIOp::create(
      b, loc, address, arith::ConstantIntOp::create(b, loc, 0x3fff, 32));
  Value wide = arith::ExtUIOp::create(b, loc, b.getI64Type(), address);
  return arith::OrIOp::create(
      b, loc, wide,
      arith::ConstantIntOp::create(b, loc, static_cast<int64_t>(fixed), 64));
}

/// An instruction that changes sums in their registers, $0 and so on; its other
/// operands follow twice as many, since each is an input and an output.
Values WarpgroupEmitter::runAssembly(const llvm::Twine &text, ValueRange sums,
                                     ValueRange operands) {
  Values inputs;
  std::string outputs, same;
  for (Value sum : sums)
    for (int64_t i = 0; i < 4; ++i) {
      outputs += p.isOfBytes() ? "=r," : "=f,";
      same += std::to_string(inputs.size()) + ",";
      inputs.push_back(vector::ExtractOp::create(b, loc, sum, i));
    }
  SmallVector<Type> types(inputs.size(), p.element());
  std::string constraints = outputs + same;
  for (Value operand : operands) {
    constraints += "l,";
    inputs.push_back(operand);
  }
  constraints += "~{memory}";
  auto type = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  auto assembly = LLVM::InlineAsmOp::create(
      b, loc, type, inputs, text.str(), constraints,
      /*has_side_effects=*/true, /*is_align_stack=*/false,
      LLVM::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  Values after;
  for (size_t i = 0; i < types.size(); i += 4) {
    Values four;
    for (size_t j = i; j < i + 4; ++j)
      four.push_back(
          LLVM::ExtractValueOp::create(b, loc, assembly.getRes(), j));
    after.push_back(
        vector::FromElementsOp::create(b, loc, vectorType(4), four));
  }
  return after;
}

/// Sums that are added to, two descriptors, and, unless they are of bytes,
/// which factor lies across the depth.
std::string WarpgroupEmitter::productText() const {
  int64_t registers = tile.columns / 2;
  std::string types = p.isOfBytes() ? "k32.s32" : "k16.f32", sums, flags;
  for (const SharedTile *factor : {&rows, &columns}) {
    types += "." + NVVM::stringifyMMATypes(typeOf(factor->factor)).str();
    flags += factor->factor.alongDepth ? ", 0" : ", 1";
  }
  for (int64_t i = 0; i < registers; ++i)
    sums += (i ? ",$" : "$") + std::to_string(i);
  return "{\n.reg .pred added;\nsetp.eq.b32 added, 1, 1;\n"
         "wgmma.mma_async.sync.aligned.m64n" +
         std::to_string(tile.columns) + types + " {" + sums + "}, $" +
         std::to_string(2 * registers) + ", $" +
         std::to_string(2 * registers + 1) + ", added" +
         (p.isOfBytes() ? "" : ", 1, 1" + flags) + ";\n}";
}

Values WarpgroupEmitter::multiply(Value base, ValueRange before) {
  NVVM::WgmmaFenceAlignedOp::create(b, loc);
  Values sums(before);
  int64_t across = tile.columns / 8;
  for (int64_t product = 0; product < kStepBytes / (2 * kChunkBytes);
       ++product) {
    Value ofRows = descriptor(rows, base, product);
    Value ofColumns = descriptor(columns, base, product);
    for (int64_t i = 0; i < blocks; ++i) {
      // 64 rows further on, in units of 16 bytes.
      Value next = arith::ConstantIntOp::create(
          b, loc, i * kGroupRows * kStepBytes / kChunkBytes, 64);
      Values after =
          runAssembly(productText(), ArrayRef(sums).slice(i * across, across),
                      {arith::AddIOp::create(b, loc, ofRows, next), ofColumns});
      llvm::copy(after, sums.begin() + i * across);
    }
  }
  NVVM::WgmmaGroupSyncAlignedOp::create(b, loc);
  // Those of the step before are done.
  NVVM::WgmmaWaitGroupSyncOp::create(b, loc, 1);
  return sums;
}

FailureOr<Values> WarpgroupEmitter::emitSums() {
  auto sums = PipelinedEmitter::emitSums();
  if (failed(sums))
    return failure();
  // All sums pass this, so that nothing reads them before.
  return runAssembly("wgmma.wait_group.sync.aligned 0;", *sums, {});
}

LogicalResult emitWithWarpgroups(EmittedKernel &kernel, const Product &p,
                                 const TileCode &code, WarpgroupsAttr plan,
                                 OpBuilder builder) {
  return WarpgroupEmitter(kernel, p, code, plan.getStages(), builder).emit();
}

} // namespace tinh::cuda
