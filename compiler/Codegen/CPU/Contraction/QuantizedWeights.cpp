//===- QuantizedWeights.cpp - Weights that products dequantise --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/QuantizedWeights.h"

#include "compiler/Codegen/Kernel/Conversions.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

static bool isNumber(Value value, int64_t expected) {
  APInt found;
  return matchPattern(value, m_ConstantInt(&found)) &&
         found.getSExtValue() == expected;
}

/// What the body of `op` yields if an op of this kind makes it.
template <typename Op> static Op yielded(linalg::GenericOp op) {
  return op.getBody()->getTerminator()->getOperand(0).getDefiningOp<Op>();
}

/// The operand of `op` that its body extends to `value`; null if there is none.
static OpOperand *extendedOperand(linalg::GenericOp op, Value value) {
  Operation *extension = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension))
    return nullptr;
  auto argument = dyn_cast<BlockArgument>(extension->getOperand(0));
  bool isInput = argument && argument.getOwner() == op.getBody() &&
                 argument.getArgNumber() < op.getNumDpsInputs();
  return isInput ? &op->getOpOperand(argument.getArgNumber()) : nullptr;
}

/// The number that a body extends.
static std::optional<int64_t> extendedConstant(Value value) {
  APInt number;
  Operation *extension = value.getDefiningOp();
  if (!isa_and_nonnull<arith::ExtSIOp, arith::ExtUIOp>(extension) ||
      !matchPattern(extension->getOperand(0), m_ConstantInt(&number)))
    return std::nullopt;
  return isa<arith::ExtUIOp>(extension) ? int64_t(number.getZExtValue())
                                        : number.getSExtValue();
}

/// Takes f(byte) · scale apart, where other things than the byte are constants.
static std::optional<QuantizedWeights> matchDecode(linalg::GenericOp op,
                                                   BlockArgument scale) {
  if (op.getNumDpsInputs() != 2 || !scale.hasOneUse() ||
      scale.getArgNumber() > 1)
    return std::nullopt;
  BlockArgument byte = op.getBody()->getArgument(1 - scale.getArgNumber()),
                init = op.getBody()->getArgument(2);
  bool isOfByte =
      byte.getType().isInteger(8) && init.use_empty() &&
      llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
        return isa<arith::ArithDialect>(inner.getDialect());
      });
  if (!isOfByte)
    return std::nullopt;
  OpOperand *q = &op->getOpOperand(byte.getArgNumber());
  return QuantizedWeights{op,
                          q->get(),
                          8,
                          /*isUnsigned=*/true,
                          &op->getOpOperand(scale.getArgNumber()),
                          nullptr,
                          0,
                          byte};
}

/// Takes (q - zero point) · scale apart.
static std::optional<QuantizedWeights> matchDequantize(linalg::GenericOp op) {
  auto product = yielded<arith::MulFOp>(op);
  auto floats =
      product ? product.getLhs().getDefiningOp<arith::SIToFPOp>() : nullptr;
  auto scale =
      product ? dyn_cast<BlockArgument>(product.getRhs()) : BlockArgument();
  if (!scale || scale.getOwner() != op.getBody())
    return std::nullopt;
  if (!floats)
    return matchDecode(op, scale);
  QuantizedWeights w{op, {}, 8, false, nullptr, nullptr, 0, {}};
  w.scale = &op->getOpOperand(scale.getArgNumber());
  Value integer = floats.getIn();
  if (auto difference = integer.getDefiningOp<arith::SubIOp>()) {
    std::optional<int64_t> constant = extendedConstant(difference.getRhs());
    w.zeroPoint = extendedOperand(op, difference.getRhs());
    if (!constant && !w.zeroPoint)
      return std::nullopt;
    w.constantZero = constant.value_or(0);
    integer = difference.getLhs();
  }
  OpOperand *q = extendedOperand(op, integer);
  if (!q || !getElementTypeOrSelf(q->get()).isInteger(8))
    return std::nullopt;
  w.isUnsigned = isa<arith::ExtUIOp>(integer.getDefiningOp());
  w.bytes = q->get();
  return w;
}

/// The place of a number in its byte, four times the last index but one.
static bool isPlaceOfHalf(Value value, unsigned dim) {
  auto place = value.getDefiningOp<arith::MulIOp>();
  auto half =
      place ? place.getLhs().getDefiningOp<arith::IndexCastOp>() : nullptr;
  auto index = half ? half.getIn().getDefiningOp<linalg::IndexOp>() : nullptr;
  return index && index.getDim() == dim && isNumber(place.getRhs(), 4);
}

/// Whether `op` gives the halves of bytes, with this sign, along the last
/// dimension but one.
static bool unpacksHalves(linalg::GenericOp op, bool isUnsigned) {
  unsigned half = op.getNumLoops() - 2;
  if (isUnsigned) {
    auto low = yielded<arith::AndIOp>(op);
    auto bits = low ? low.getLhs().getDefiningOp<arith::ShRUIOp>() : nullptr;
    return bits && isNumber(low.getRhs(), 15) &&
           isa<BlockArgument>(bits.getLhs()) &&
           isPlaceOfHalf(bits.getRhs(), half);
  }
  auto right = yielded<arith::ShRSIOp>(op);
  auto left = right ? right.getLhs().getDefiningOp<arith::ShLIOp>() : nullptr;
  auto place = left ? left.getRhs().getDefiningOp<arith::SubIOp>() : nullptr;
  return place && isNumber(right.getRhs(), 4) && isNumber(place.getLhs(), 4) &&
         isa<BlockArgument>(left.getLhs()) &&
         isPlaceOfHalf(place.getRhs(), half);
}

/// Goes back to the bytes that numbers of four bits are unpacked from.
static void matchUnpack(QuantizedWeights &w) {
  auto numbers = w.bytes.getDefiningOp<tensor::CollapseShapeOp>();
  auto halves =
      numbers ? numbers.getSrc().getDefiningOp<linalg::GenericOp>() : nullptr;
  if (!halves || halves.getNumDpsInputs() != 1 ||
      halves.getNumReductionLoops() > 0 || halves.getNumLoops() < 3)
    return;
  int64_t rank = halves.getNumLoops();
  SmallVector<AffineExpr> bytes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != rank - 2)
      bytes.push_back(getAffineDimExpr(i, halves->getContext()));
  OpOperand *input = halves.getDpsInputOperand(0);
  bool inOrder =
      halves.getMatchingIndexingMap(input).getResults() == ArrayRef(bytes) &&
      numbers.getReassociationIndices() == splitGroups(rank - 1, rank - 3);
  if (!inOrder || !unpacksHalves(halves, w.isUnsigned))
    return;
  w.bytes = input->get();
  w.bits = 4;
}

/// Whether a parameter is the same for all of a block.
static bool isOfBlocks(linalg::GenericOp op, OpOperand *parameter) {
  return !parameter || !op.getMatchingIndexingMap(parameter).isFunctionOfDim(
                           op.getNumLoops() - 2);
}

std::optional<QuantizedWeights> findQuantizedWeights(const Product &p) {
  auto op = p.right.value.getDefiningOp<linalg::GenericOp>();
  size_t rank = p.depth.size() + 1;
  if (!op || op.getNumReductionLoops() > 0 || !p.batch.empty() ||
      p.right.loops.size() != 1 || p.right.map.getNumResults() != rank ||
      !p.element().isF32() || rank > 3)
    return std::nullopt;
  Loops order = p.depth;
  order.push_back(p.right.loops.front());
  for (auto [i, expr] : llvm::enumerate(p.right.map.getResults()))
    if (expr != getAffineDimExpr(order[i], op->getContext()))
      return std::nullopt;
  auto w = matchDequantize(op);
  if (!w || !isOfBlocks(op, w->scale) || !isOfBlocks(op, w->zeroPoint))
    return std::nullopt;
  if (!w->decoded)
    matchUnpack(*w);
  return p.extents[p.depth.back()] % w->perWord() == 0 ? w : std::nullopt;
}

PanelsAttr QuantizedWeights::panels(int64_t width) const {
  auto type = cast<RankedTensorType>(bytes.getType());
  auto order = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank()));
  MLIRContext *context = type.getContext();
  return PanelsAttr::get(context, type, {},
                         DenseI64ArrayAttr::get(context, order), /*batch=*/0,
                         width, Type(), /*group=*/4);
}

} // namespace tinh::cpu
