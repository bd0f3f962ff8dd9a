//===- ContractionEmitPipeline.cpp - Factors on their way -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitPipeline.h"

#include "compiler/Codegen/CUDA/Pointers.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tinh::cuda {

int64_t bytesOf(const Product &p) {
  return graph::elementSize(getElementTypeOrSelf(p.right.value));
}

int64_t pipelineShared(const Tile &tile, int64_t stages) {
  return stages * (tile.rows + tile.columns) * kStepBytes;
}

//===----------------------------------------------------------------------===//
// Shared memory
//===----------------------------------------------------------------------===//

/// What the chunks of a line are permuted with.
Value PipelinedEmitter::phaseOf(const SharedTile &shared, Value line) {
  constexpr int64_t kBanks = 8; // As wide as chunks.
  int64_t chunks = lineElements(shared) / chunkElements();
  int64_t phases = std::min(chunks, kBanks);
  Value phase = line;
  if (isReadInWords(shared))
    phase = scalar.mul(line, 2);
  else if (phases < kBanks)
    phase = b.createOrFold<arith::ShRUIOp>(
        loc, line, scalar.index(llvm::Log2_64(kBanks / phases)));
  return b.createOrFold<arith::AndIOp>(loc, phase, scalar.index(phases - 1));
}

Value PipelinedEmitter::chunkAt(const SharedTile &shared, Value line,
                                Value chunk, int64_t fixedLine,
                                int64_t fixedChunk) {
  int64_t lineSize = lineElements(shared), chunks = lineSize / chunkElements();
  Value panel = chunk;
  Value place = b.createOrFold<arith::XOrIOp>(
      loc, scalar.takeDigit(panel, chunks), phaseOf(shared, line));
  place = b.createOrFold<arith::XOrIOp>(loc, place,
                                        scalar.index(fixedChunk % chunks));
  Value at = scalar.add(scalar.mul(line, lineSize),
                        scalar.mul(place, chunkElements()));
  int64_t panelSize = stepDepth * lineSize;
  if (lineSize < shared.elements && !isInLines(shared))
    at = scalar.add(at, scalar.mul(panel, panelSize));
  return scalar.add(
      at, scalar.index(fixedLine * lineSize + fixedChunk / chunks * panelSize));
}

/// Where a unit's first element lies in the factor's part of a step.
Value PipelinedEmitter::placeOf(const SharedTile &shared, const Unit &unit) {
  bool inLines = isInLines(shared);
  Value line = inLines ? unit.row : unit.depth;
  Value chunk = inLines ? unit.depth : unit.row;
  Value within = scalar.takeDigit(chunk, chunkElements());
  return scalar.add(chunkAt(shared, line, chunk), within);
}

void PipelinedEmitter::storeUnit(const SharedTile &shared, const Unit &unit,
                                 Value value, Value base) {
  auto vector = dyn_cast<VectorType>(value.getType());
  if (vector && isInLines(shared) != shared.factor.alongDepth) {
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Unit one{scalar.add(unit.row, scalar.index(i)), unit.depth};
      storeUnit(shared, one, vector::ExtractOp::create(b, loc, value, i), base);
    }
    return;
  }
  Value at = scalar.add(scalar.add(base, scalar.index(shared.offset)),
                        placeOf(shared, unit));
  if (!vector) {
    memref::StoreOp::create(b, loc, value, memory, at);
    return;
  }
  vector::StoreOp::create(
      b, loc, value, memory, at, /*nontemporal=*/false,
      llvm::MaybeAlign(vector.getNumElements() * bytesOf(p)));
}

//===----------------------------------------------------------------------===//
// Asynchronous copies
//===----------------------------------------------------------------------===//

int64_t PipelinedEmitter::copyBytes(const SharedTile &shared) {
  if (cuda::copyBytes(shared.factor) == 0)
    return 0;
  int64_t bytes = shared.lanes * bytesOf(p);
  unsigned argument = shared.factor.access->argument.getArgNumber();
  int64_t alignment = std::max(kernel.operand(argument).alignment, bytesOf(p));
  bytes = llvm::MinAlign(bytes, alignment);
  return bytes < 4 ? 0 : bytes;
}

bool PipelinedEmitter::hasCopies() {
  return copyBytes(rows) != 0 || copyBytes(columns) != 0;
}

/// Whether both hold; null if that is always so.
Value PipelinedEmitter::both(Value x, Value y) {
  return x && y ? b.createOrFold<arith::AndIOp>(loc, x, y) : x ? x : y;
}

/// Where the element at `dims` lies in memory. What depends on the depth comes
/// last, so that the rest is computed before the loop.
Value PipelinedEmitter::sourceIndex(const MemoryAccess &access,
                                    const Indices &dims) {
  Value at = scalar.index(access.offset);
  for (bool ofDepth : {false, true}) {
    Value part = scalar.index(0);
    for (auto [loop, step] : llvm::enumerate(access.steps))
      if (step != 0 && llvm::is_contained(p.depth, loop) == ofDepth)
        part = scalar.add(part, scalar.mul(dims[loop].base, step));
    at = scalar.add(at, part);
  }
  return at;
}

/// Whether what is at `dims` is no padding; null if it never is.
Value PipelinedEmitter::isInBounds(const MemoryAccess &access,
                                   const Indices &dims) {
  Value all;
  for (const MemoryAccess::Bound &bound : access.bounds) {
    auto map = AffineMap::get(dims.size(), 0, bound.index);
    auto index = scalar.apply(map, dims);
    assert(succeeded(index) && "bounds are affine");
    Value inside = isBelow(index->front().base, bound.size);
    all = both(all, inside);
  }
  return all;
}

/// Where a copy's worth of a factor's padding lies in global memory.
Value PipelinedEmitter::paddingAddress(IntegerAttr padding) {
  constexpr unsigned kGlobal =
      static_cast<unsigned>(NVVM::NVVMMemorySpace::Global);
  std::string name =
      "padding_" + std::to_string(padding.getValue().getZExtValue());
  auto module = kernel.function->getParentOfType<gpu::GPUModuleOp>();
  auto global = module.lookupSymbol<LLVM::GlobalOp>(name);
  if (!global) {
    std::string bytes(kChunkBytes, static_cast<char>(padding.getInt()));
    OpBuilder outside = OpBuilder::atBlockBegin(module.getBody());
    global = LLVM::GlobalOp::create(
        outside, loc, LLVM::LLVMArrayType::get(b.getI8Type(), kChunkBytes),
        /*isConstant=*/true, LLVM::Linkage::Internal, name,
        b.getStringAttr(bytes), /*alignment=*/kChunkBytes, kGlobal);
  }
  return LLVM::AddressOfOp::create(b, loc, global);
}

void PipelinedEmitter::copyUnit(const SharedTile &shared, const Unit &unit,
                                int64_t bytes, Value first, Value base) {
  const MemoryAccess &access = *shared.factor.access;
  Pull pull(b, loc, bytes / bytesOf(p));
  Indices dims = indicesOf(pull, shared, unit, first);
  Value inside = isInside(unit, first), inBounds = isInBounds(access, dims);
  if (!access.padding)
    inside = both(inside, inBounds);
  Value read;
  if (inside) {
    Value all = arith::ConstantIntOp::create(b, loc, bytes, 32);
    Value none = arith::ConstantIntOp::create(b, loc, 0, 32);
    read = arith::SelectOp::create(b, loc, inside, all, none);
  }
  unsigned argument = access.argument.getArgNumber();
  Value from = globalPointer(b, loc, kernel.operand(argument).memref,
                             sourceIndex(access, dims));
  if (inBounds && access.padding)
    from = arith::SelectOp::create(b, loc, inBounds, from,
                                   paddingAddress(access.padding));
  Value at = scalar.add(scalar.add(base, scalar.index(shared.offset)),
                        placeOf(shared, unit));
  auto cache = bytes == kChunkBytes ? NVVM::LoadCacheModifierKind::CG
                                    : NVVM::LoadCacheModifierKind::CA;
  NVVM::CpAsyncOp::create(b, loc, sharedPointer(b, loc, memory, at), from,
                          bytes, cache, read);
}

void PipelinedEmitter::copyTile(const SharedTile &shared, Value first,
                                Value base) {
  int64_t bytes = copyBytes(shared);
  if (bytes == 0)
    return;
  int64_t lanes = bytes / bytesOf(p);
  int64_t units = shared.elements * stepDepth / (lanes * tile.threads());
  for (int64_t i = 0; i < units; ++i)
    copyUnit(shared, unitOf(shared, i, lanes), bytes, first, base);
}

LogicalResult PipelinedEmitter::bringTile(const SharedTile &shared, Value first,
                                          Value base) {
  if (copyBytes(shared) != 0) {
    copyTile(shared, first, base);
    return success();
  }
  auto values = loadTile(shared, first);
  if (failed(values))
    return failure();
  storeTile(shared, *values, base);
  return success();
}

void PipelinedEmitter::commit() {
  if (hasCopies())
    NVVM::CpAsyncCommitGroupOp::create(b, loc);
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

FailureOr<PipelinedEmitter::Staged> PipelinedEmitter::fetch(Value step,
                                                            bool isKnown) {
  if (hasCopies()) {
    Value first = scalar.mul(step, stepDepth);
    OpBuilder::InsertionGuard guard(b);
    if (!isKnown) {
      auto branch = scf::IfOp::create(b, loc, isBelow(step, steps()));
      b.setInsertionPointToStart(branch.thenBlock());
    }
    for (const SharedTile *shared : {&rows, &columns})
      copyTile(*shared, first, baseOf(step));
  }
  auto staged = ContractionEmitter::fetch(step, isKnown);
  commit();
  return staged;
}

void PipelinedEmitter::awaitStep() {
  if (hasCopies())
    NVVM::CpAsyncWaitGroupOp::create(b, loc, ahead - 1);
  barrier();
}

} // namespace tinh::cuda
