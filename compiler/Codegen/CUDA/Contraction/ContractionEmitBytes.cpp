//===- ContractionEmitBytes.cpp - Products of bytes by dp4a -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmit.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace tinh::cuda {

/// Bytes that one instruction multiplies: a word.
static constexpr int64_t kWordBytes = 4;

int64_t ByteEmitter::depthOfProduct() const { return kWordBytes; }

/// Word `number` of a vector of bytes, as a vector of these.
Value ByteEmitter::wordOf(Value bytes, int64_t number) {
  int64_t count = cast<VectorType>(bytes.getType()).getNumElements();
  auto words = VectorType::get({count / kWordBytes}, b.getI32Type());
  Value word = vector::ExtractOp::create(
      b, loc, vector::BitCastOp::create(b, loc, words, bytes), number);
  return LLVM::BitcastOp::create(
      b, loc, VectorType::get({kWordBytes}, b.getI8Type()), word);
}

/// Words of rows lie side by side, and those of the depth as far apart as lines
/// are. A vector along the depth has a part of a word, or several.
void ByteEmitter::storeUnit(const SharedTile &shared, const Unit &unit,
                            Value value, Value base) {
  int64_t lanes = shared.lanes;
  int64_t line = pitch(shared.elements) * kWordBytes;
  Value word = unit.depth;
  Value at = scalar.takeDigit(word, kWordBytes);
  at = scalar.add(at, scalar.mul(word, line));
  at = scalar.add(at, scalar.mul(unit.row, kWordBytes));
  at = scalar.add(scalar.add(base, scalar.index(shared.offset)), at);
  auto storeByte = [&](Value byte, int64_t offset) {
    memref::StoreOp::create(b, loc, byte, memory,
                            scalar.add(at, scalar.index(offset)));
  };
  auto storeWord = [&](Value bytes, int64_t offset) {
    vector::StoreOp::create(
        b, loc, bytes, memory, scalar.add(at, scalar.index(offset)),
        /*nontemporal=*/false, llvm::MaybeAlign(std::min(lanes, kWordBytes)));
  };
  if (lanes == 1)
    return storeByte(value, 0);
  if (!shared.factor.alongDepth) {
    for (int64_t i = 0; i < lanes; ++i)
      storeByte(vector::ExtractOp::create(b, loc, value, i), i * kWordBytes);
    return;
  }
  if (lanes < kWordBytes)
    return storeWord(value, 0);
  for (int64_t i = 0; i < lanes / kWordBytes; ++i)
    storeWord(wordOf(value, i), i * line);
}

Value ByteEmitter::sharedVector(const SharedTile &shared, Value base,
                                int64_t depth, Value thread, int64_t group,
                                int64_t groups) {
  constexpr int64_t kBytes = kGroup * kWordBytes;
  int64_t offset = shared.offset + depth * pitch(shared.elements) +
                   group * (shared.elements / groups) * kWordBytes;
  Value at = scalar.add(base, scalar.mul(thread, kBytes));
  return vector::LoadOp::create(b, loc, VectorType::get({kBytes}, storedType()),
                                memory, scalar.add(at, scalar.index(offset)),
                                /*nontemporal=*/false,
                                llvm::MaybeAlign(kBytes));
}

Value ByteEmitter::multiplyGroup(Value ofRows, int64_t row, Value ofColumns,
                                 Value sums) {
  auto typeOf = [&](const Factor &factor) {
    return isUnsignedInput(p.op, factor.input)
               ? NVVM::DotAccumulateType::UNSIGNED
               : NVVM::DotAccumulateType::SIGNED;
  };
  Values after;
  for (int64_t i = 0; i < kGroup; ++i)
    after.push_back(NVVM::DotAccumulate4WayOp::create(
        b, loc, b.getI32Type(), wordOf(ofRows, row), typeOf(p.left),
        wordOf(ofColumns, i), typeOf(p.right),
        vector::ExtractOp::create(b, loc, sums, i)));
  return vector::FromElementsOp::create(b, loc, vectorType(kGroup), after);
}

} // namespace tinh::cuda
