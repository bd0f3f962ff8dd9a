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
  if (lineSize < shared.elements && !shared.factor.alongDepth)
    at = scalar.add(at, scalar.mul(panel, panelSize));
  return scalar.add(
      at, scalar.index(fixedLine * lineSize + fixedChunk / chunks * panelSize));
}

/// Where a unit's first element lies in the factor's part of a step.
Value PipelinedEmitter::placeOf(const SharedTile &shared, const Unit &unit) {
  bool alongDepth = shared.factor.alongDepth;
  Value line = alongDepth ? unit.row : unit.depth;
  Value chunk = alongDepth ? unit.depth : unit.row;
  Value within = scalar.takeDigit(chunk, chunkElements());
  return scalar.add(chunkAt(shared, line, chunk), within);
}

void PipelinedEmitter::storeUnit(const SharedTile &shared, const Unit &unit,
                                 Value value, Value base) {
  Value at = scalar.add(scalar.add(base, scalar.index(shared.offset)),
                        placeOf(shared, unit));
  auto vector = dyn_cast<VectorType>(value.getType());
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

/// Whether a unit is neither beyond the depth nor padding; null if it never is.
Value PipelinedEmitter::isInMemory(const SharedTile &shared, const Unit &unit,
                                   Value first, const Indices &dims) {
  Value all = isInside(unit, first);
  for (const MemoryAccess::Bound &bound : shared.factor.access->bounds) {
    auto map = AffineMap::get(dims.size(), 0, bound.index);
    auto index = scalar.apply(map, dims);
    assert(succeeded(index) && "bounds are affine");
    Value inside = isBelow(index->front().base, bound.size);
    all = all ? b.createOrFold<arith::AndIOp>(loc, all, inside) : inside;
  }
  return all;
}

void PipelinedEmitter::copyUnit(const SharedTile &shared, const Unit &unit,
                                int64_t bytes, Value first, Value base) {
  const MemoryAccess &access = *shared.factor.access;
  Pull pull(b, loc, bytes / bytesOf(p));
  Indices dims = indicesOf(pull, shared, unit, first);
  Value read;
  if (Value inside = isInMemory(shared, unit, first, dims)) {
    Value all = arith::ConstantIntOp::create(b, loc, bytes, 32);
    Value none = arith::ConstantIntOp::create(b, loc, 0, 32);
    read = arith::SelectOp::create(b, loc, inside, all, none);
  }
  unsigned argument = access.argument.getArgNumber();
  Value from = globalPointer(b, loc, kernel.operand(argument).memref,
                             sourceIndex(access, dims));
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
