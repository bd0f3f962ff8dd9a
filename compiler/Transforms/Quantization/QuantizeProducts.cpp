//===- QuantizeProducts.cpp - Products of quantised factors -----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %0 = graph.dequantize %q scale %s zero_point %z     // ui8
//   %1 = graph.dequantize %w scale %t                   // i8, t for each
//   column %2 = graph.matmul %0, %1
// becomes
//   %0 = graph.matmul %q, %w : …ui8, …i8 -> …i32
//   %1 = graph.sub %0, z · Σ_k w
//   %2 = graph.dequantize %1 scale s · t
//
// since Σ (q - z) (w - v) = Σ q w - z Σ w - v Σ q + K z v, which are integers.
// Sums of constant weights are constants. CPUs multiply unsigned left by signed
// right factors: others get their highest bit flipped, which moves their zero
// point by 128; what quantises them does so itself, if it can. GPUs multiply
// bytes of any sign, and get the same ones, since a model may be for both.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Quantization/Quantization.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;

namespace tinh::transforms {

#define GEN_PASS_DEF_QUANTIZEPRODUCTS
#include "compiler/Transforms/Passes.h.inc"

namespace {

using namespace graph;

Type byteType(MLIRContext *context, bool isUnsigned) {
  return IntegerType::get(
      context, 8, isUnsigned ? IntegerType::Unsigned : IntegerType::Signless);
}

bool isByte(Value value) {
  return tensorType(value).getElementType().isInteger(8);
}
bool isUnsigned(Value value) {
  return tensorType(value).getElementType().isUnsignedInteger();
}

//===----------------------------------------------------------------------===//
// Signs
//===----------------------------------------------------------------------===//

/// Bytes as the others with their highest bit flipped: 128 more or less.
Value flip(ImplicitLocOpBuilder &b, Value bytes) {
  bool wasUnsigned = isUnsigned(bytes);
  RankedTensorType type = tensorType(bytes);
  Value bit = createSplat(b, b.getLoc(), type.clone(ArrayRef<int64_t>()),
                          wasUnsigned ? 128 : -128);
  Value flipped = XorOp::create(b, bytes, bit);
  return CastOp::create(b, type.clone(byteType(b.getContext(), !wasUnsigned)),
                        flipped);
}

/// The zero point of the flipped; `zero` may be null.
Value flipZeroPoint(ImplicitLocOpBuilder &b, Value zero, bool toUnsigned) {
  auto scalar = RankedTensorType::get({}, byteType(b.getContext(), toUnsigned));
  std::optional<double> known = zero ? splatValue(zero) : 0;
  if (!known)
    return flip(b, zero);
  RankedTensorType type =
      zero ? tensorType(zero).clone(scalar.getElementType()) : scalar;
  return createSplat(b, b.getLoc(), type, *known + (toUnsigned ? 128 : -128));
}

/// Whether all that reads `value` is a product whose right factor it is.
bool isRightFactor(Value value) {
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    return isa<MatmulOp>(use.getOwner()) && use.getOperandNumber() == 1;
  });
}

/// Lets `op` give the integers that those want who read it, where these make
/// floats of them again.
void chooseSign(QuantizeOp op) {
  SmallVector<DequantizeOp> readers;
  for (Operation *user : op->getUsers()) {
    auto reader = dyn_cast<DequantizeOp>(user);
    if (!reader)
      return;
    readers.push_back(reader);
  }
  bool wantsSigned = llvm::all_of(readers, [](DequantizeOp reader) {
    return isRightFactor(reader.getY());
  });
  if (!isByte(op.getY()) || readers.empty() ||
      isUnsigned(op.getY()) == !wantsSigned)
    return;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  Value zero = flipZeroPoint(b, op.getZeroPoint(), !wantsSigned);
  op.getZeroPointMutable().assign(zero);
  op.getY().setType(
      tensorType(op.getY()).clone(byteType(op.getContext(), !wantsSigned)));
  for (DequantizeOp reader : readers) {
    b.setInsertionPoint(reader);
    reader.getZeroPointMutable().assign(
        flipZeroPoint(b, reader.getZeroPoint(), !wantsSigned));
  }
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

/// Bytes that stand for (integers - zero point) · scale; the zero point and the
/// scale may be null.
struct Factor {
  Value integers, zeroPoint, scale;
};

Value bytesUnderCast(Value value) {
  auto cast = value.getDefiningOp<CastOp>();
  return cast && isByte(cast.getX()) ? cast.getX() : Value();
}

/// A dequantised factor, or bytes as i32 without their zero point.
std::optional<Factor> factorOf(Value value) {
  if (auto op = value.getDefiningOp<DequantizeOp>())
    return isByte(op.getX()) && tensorType(op.getY()).getElementType().isF32()
               ? std::optional(
                     Factor{op.getX(), op.getZeroPoint(), op.getScale()})
               : std::nullopt;
  if (!tensorType(value).getElementType().isInteger(32))
    return std::nullopt;
  if (Value bytes = bytesUnderCast(value))
    return Factor{bytes, {}, {}};
  auto difference = value.getDefiningOp<SubOp>();
  Value bytes = difference ? bytesUnderCast(difference.getA()) : Value();
  Value zero = difference ? bytesUnderCast(difference.getB()) : Value();
  if (!bytes || !zero ||
      bytes.getType() !=
          tensorType(bytes).clone(tensorType(zero).getElementType()) ||
      tensorType(bytes).getShape() != tensorType(value).getShape())
    return std::nullopt;
  return Factor{bytes, zero, {}};
}

void makeSign(ImplicitLocOpBuilder &b, Factor &factor, bool toUnsigned) {
  if (isUnsigned(factor.integers) == toUnsigned)
    return;
  factor.integers = flip(b, factor.integers);
  factor.zeroPoint = flipZeroPoint(b, factor.zeroPoint, toUnsigned);
}

bool isZero(Value zeroPoint) { return !zeroPoint || isSplatOf(zeroPoint, 0); }

/// Whether parameters are one for all, or differ along dimension `axis` of
/// `rank` alone.
bool variesAlong(Value parameter, int64_t axis) {
  if (!parameter)
    return true;
  ArrayRef<int64_t> shape = tensorType(parameter).getShape();
  for (auto [i, extent] : llvm::enumerate(llvm::reverse(shape)))
    if (extent != 1 && static_cast<int64_t>(i) + 1 != -axis)
      return false;
  return true;
}

Value asI32(ImplicitLocOpBuilder &b, Value value) {
  return CastOp::create(b, tensorType(value).clone(b.getI32Type()), value);
}

/// The sums of `bytes` along axes.
Value sumOver(ImplicitLocOpBuilder &b, Value bytes, ArrayRef<int64_t> axes) {
  return ReduceOp::create(b, ReduceKind::Sum, asI32(b, bytes), axes,
                          /*keepdims=*/true);
}

/// What a product of bytes becomes: without what zero points add to it, in
/// units of both scales.
void replaceProduct(ImplicitLocOpBuilder &b, Operation *op, Value product,
                    ArrayRef<Value> zeroTerms, Value leftScale,
                    Value rightScale) {
  for (Value term : zeroTerms)
    product = SubOp::create(b, product, term);
  if (leftScale)
    product =
        DequantizeOp::create(b, op->getResult(0).getType(), product,
                             MulOp::create(b, leftScale, rightScale), Value());
  op->getResult(0).replaceAllUsesWith(product);
  op->erase();
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// Columns of b, which may lie as rows, as the last dimension.
Value alongColumns(ImplicitLocOpBuilder &b, Value value, bool isTransposed) {
  if (!value || !isTransposed || tensorType(value).getRank() < 2)
    return value;
  SmallVector<int64_t> shape(tensorType(value).getShape());
  std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return reshapeTo(b, b.getLoc(), value, shape);
}

bool quantizeFactors(MatmulOp op) {
  auto left = factorOf(op.getA()), right = factorOf(op.getB());
  int64_t rows = tensorType(op.getA()).getRank(),
          columns = tensorType(op.getB()).getRank();
  if (!left || !right || !left->scale != !right->scale || op.getTransposeA() ||
      rows < 2 || columns < 2)
    return false;
  int64_t column = op.getTransposeB() ? -2 : -1;
  for (Value parameter : {left->scale, left->zeroPoint})
    if (!variesAlong(parameter, -2))
      return false;
  for (Value parameter : {right->scale, right->zeroPoint})
    if (!variesAlong(parameter, column))
      return false;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  makeSign(b, *left, /*toUnsigned=*/true);
  makeSign(b, *right, /*toUnsigned=*/false);
  bool isTransposed = op.getTransposeB();
  Value product = MatmulOp::create(b, left->integers, right->integers,
                                   /*transpose_a=*/false, isTransposed);
  SmallVector<Value> terms;
  Value rightZero =
      right->zeroPoint
          ? alongColumns(b, asI32(b, right->zeroPoint), isTransposed)
          : Value();
  if (!isZero(left->zeroPoint)) {
    Value sums = alongColumns(
        b, sumOver(b, right->integers, {columns + (isTransposed ? -1 : -2)}),
        isTransposed);
    if (!isZero(right->zeroPoint)) {
      double depth = tensorType(op.getA()).getShape().back();
      Value all = createSplat(b, b.getLoc(),
                              RankedTensorType::get({}, b.getI32Type()), depth);
      sums = SubOp::create(b, sums, MulOp::create(b, rightZero, all));
    }
    terms.push_back(MulOp::create(b, sums, asI32(b, left->zeroPoint)));
  }
  if (!isZero(right->zeroPoint))
    terms.push_back(
        MulOp::create(b, sumOver(b, left->integers, {rows - 1}), rightZero));
  replaceProduct(b, op, product, terms, left->scale,
                 alongColumns(b, right->scale, isTransposed));
  return true;
}

/// A value for each output channel, as it broadcasts to the result.
Value alongChannels(ImplicitLocOpBuilder &b, Value value, ConvOp op) {
  if (!value || tensorType(value).getNumElements() == 1)
    return value ? reshapeTo(b, b.getLoc(), value, {}) : value;
  int64_t spatial = tensorType(op.getX()).getRank() - 2;
  SmallVector<int64_t> shape(1, tensorType(value).getNumElements());
  if (op.getLayout() == Layout::ChannelsFirst)
    shape.append(spatial, 1);
  return reshapeTo(b, b.getLoc(), value, shape);
}

bool quantizeFactors(ConvOp op) {
  auto x = factorOf(op.getX()), weights = factorOf(op.getWeights());
  int64_t rank = tensorType(op.getX()).getRank();
  if (!x || !weights || !x->scale != !weights->scale)
    return false;
  for (Value parameter : {x->scale, x->zeroPoint})
    if (parameter && tensorType(parameter).getNumElements() != 1)
      return false;
  for (Value parameter : {weights->scale, weights->zeroPoint})
    if (!variesAlong(parameter, -rank))
      return false;
  bool isPadded =
      llvm::any_of(op.getPadding(), [](int64_t amount) { return amount > 0; });
  std::optional<double> padding = x->zeroPoint ? splatValue(x->zeroPoint) : 0;
  if (isPadded && !padding)
    return false;
  // A weight's zero point would need the sums of windows.
  double centre = isUnsigned(weights->integers) ? 128 : 0;
  if (weights->zeroPoint ? !isSplatOf(weights->zeroPoint, centre) : centre != 0)
    return false;
  ImplicitLocOpBuilder b(op.getLoc(), op);
  if (!isUnsigned(x->integers))
    padding = padding.value_or(0) + 128;
  makeSign(b, *x, /*toUnsigned=*/true);
  makeSign(b, *weights, /*toUnsigned=*/false);
  auto copy = ConvOp::create(b, x->integers, weights->integers, op.getStrides(),
                             op.getPadding(), op.getDilations(), op.getGroups(),
                             op.getLayout(),
                             isPadded ? static_cast<int64_t>(*padding) : 0);
  SmallVector<Value> terms;
  if (!isZero(x->zeroPoint)) {
    auto axes = llvm::to_vector(llvm::seq<int64_t>(1, rank));
    Value sums = alongChannels(b, sumOver(b, weights->integers, axes), op);
    Value zero = reshapeTo(b, b.getLoc(), asI32(b, x->zeroPoint), {});
    terms.push_back(MulOp::create(b, sums, zero));
  }
  Value scale = x->scale ? reshapeTo(b, b.getLoc(), x->scale, {}) : Value();
  replaceProduct(b, op, copy, terms, scale,
                 alongChannels(b, weights->scale, op));
  return true;
}

struct QuantizeProductsPass : impl::QuantizeProductsBase<QuantizeProductsPass> {
  void runOnOperation() override {
    func::FuncOp function = getOperation();
    function.walk([](QuantizeOp op) { chooseSign(op); });
    function.walk([&](MatmulOp op) { numProducts += quantizeFactors(op); });
    function.walk([&](ConvOp op) { numProducts += quantizeFactors(op); });
  }
};

} // namespace
} // namespace tinh::transforms
