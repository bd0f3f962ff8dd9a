//===- LibraryEpilogue.cpp - What follows a product -------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Element-wise ops are followed from the result back to the product, through
// their bodies. A library adds in f32 and rounds once at the end, so where the
// result is of a narrower type, roundings to it on the way are looked through.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Library/LibraryEpilogue.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;

namespace tinh::cuda {

namespace {

class Matcher {
public:
  Matcher(Value product) : product(product) {}

  std::optional<LibraryEpilogue> match(Value result) {
    bool wide = getElementTypeOrSelf(result).isF32();
    if (!follow(result, /*last=*/true) || !seen || (wide && rounds))
      return std::nullopt;
    return std::move(found);
  }

private:
  /// Whether `value`, of the product's shape, is a sum of what can be added;
  /// the result itself may be an activation of one. Collects what is added.
  bool follow(Value value, bool last = false) {
    if (value == product)
      return !std::exchange(seen, true);
    auto op = value.getDefiningOp<linalg::GenericOp>();
    if (!op || op.getNumReductionLoops() != 0 || op.getNumResults() != 1 ||
        !codegen::outputMap(op).isIdentity())
      return false;
    Value scalar = op.getBody()->getTerminator()->getOperand(0);
    if (!last)
      return followScalar(op, scalar);
    Value before = beforeActivation(rounded(scalar));
    return followScalar(op, before ? before : scalar, !before);
  }

  /// The same for a scalar of the body of `op`.
  bool followScalar(linalg::GenericOp op, Value scalar, bool last = false) {
    scalar = rounded(scalar);
    if (auto sum = scalar.getDefiningOp<arith::AddFOp>())
      return followScalar(op, sum.getLhs()) && followScalar(op, sum.getRhs());
    auto argument = dyn_cast<BlockArgument>(scalar);
    if (!argument || argument.getArgNumber() >= op.getNumDpsInputs())
      return false;
    OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
    AffineMap map = op.getMatchingIndexingMap(input);
    if (codegen::stridesInArgument(input->get()))
      return add(input->get(), map);
    return map.isIdentity() && follow(input->get(), last);
  }

  /// What `scalar` is a rounding of, and may be after that.
  Value rounded(Value scalar) {
    for (;;) {
      if (auto narrow = scalar.getDefiningOp<arith::TruncFOp>()) {
        rounds = true;
        scalar = narrow.getIn();
      } else if (auto widen = scalar.getDefiningOp<arith::ExtFOp>()) {
        scalar = widen.getIn();
      } else {
        return scalar;
      }
    }
  }

  bool add(Value value, AffineMap map) {
    std::optional<SmallVector<int64_t>> strides =
        codegen::stridesInArgument(value);
    Value argument = value;
    while (Operation *reshape = argument.getDefiningOp())
      argument = reshape->getOperand(0);
    Addend addend{cast<BlockArgument>(argument).getArgNumber(),
                  SmallVector<int64_t>(map.getNumDims(), 0)};
    for (auto [expr, stride] : llvm::zip_equal(map.getResults(), *strides)) {
      auto constant = dyn_cast<AffineConstantExpr>(expr);
      if (constant && constant.getValue() == 0)
        continue;
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim)
        return false;
      addend.strides[dim.getPosition()] += stride;
    }
    found.addends.push_back(std::move(addend));
    return true;
  }

  /// What a known activation is computed from, the scalar being that; null if
  /// it is none.
  Value beforeActivation(Value scalar) {
    Value before = beforeRelu(scalar);
    if (before)
      found.activation = graph::Activation::Relu;
    else if ((before = beforeGeluTanh(scalar)))
      found.activation = graph::Activation::GeluTanh;
    return before;
  }

  static bool isConstant(Value scalar, double expected) {
    FloatAttr value;
    if (!matchPattern(scalar, m_Constant(&value)))
      return false;
    // It may have been rounded to its type.
    double precision = value.getType().isBF16()  ? 0x1p-8
                       : value.getType().isF16() ? 0x1p-11
                                                 : 0x1p-24;
    return std::abs(value.getValueAsDouble() - expected) <=
           precision * std::abs(expected);
  }

  /// x < 0 ? 0 : x
  static Value beforeRelu(Value scalar) {
    auto select = scalar.getDefiningOp<arith::SelectOp>();
    if (!select || !isConstant(select.getTrueValue(), 0))
      return {};
    auto less = select.getCondition().getDefiningOp<arith::CmpFOp>();
    Value x = select.getFalseValue();
    bool fits = less && less.getPredicate() == arith::CmpFPredicate::OLT &&
                less.getLhs() == x && isConstant(less.getRhs(), 0);
    return fits ? x : Value();
  }

  /// The factor of a product beside a constant; null if that is not `constant`.
  static Value besideFactor(Value scalar, double constant) {
    auto product = scalar.getDefiningOp<arith::MulFOp>();
    if (product && isConstant(product.getLhs(), constant))
      return product.getRhs();
    if (product && isConstant(product.getRhs(), constant))
      return product.getLhs();
    return {};
  }

  static bool isCube(Value scalar, Value x) {
    auto cube = scalar.getDefiningOp<arith::MulFOp>();
    if (!cube)
      return false;
    for (auto [square, other] : {std::pair(cube.getLhs(), cube.getRhs()),
                                 std::pair(cube.getRhs(), cube.getLhs())}) {
      auto product = square.getDefiningOp<arith::MulFOp>();
      if (other == x && product && product.getLhs() == x &&
          product.getRhs() == x)
        return true;
    }
    return false;
  }

  /// √(2/π) · (x + 0.044715 · x³)
  static bool isTanhOperand(Value scalar, Value x) {
    Value sum = besideFactor(scalar, M_2_SQRTPI * M_SQRT1_2);
    auto add = sum ? sum.getDefiningOp<arith::AddFOp>() : nullptr;
    if (!add)
      return false;
    Value other = add.getLhs() == x ? add.getRhs() : add.getLhs();
    Value cube = besideFactor(other, 0.044715);
    return (add.getLhs() == x || add.getRhs() == x) && cube && isCube(cube, x);
  }

  /// 0.5 · x · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))
  static Value beforeGeluTanh(Value scalar) {
    auto product = scalar.getDefiningOp<arith::MulFOp>();
    if (!product)
      return {};
    for (auto [half, factor] :
         {std::pair(product.getLhs(), product.getRhs()),
          std::pair(product.getRhs(), product.getLhs())}) {
      Value x = besideFactor(half, 0.5);
      auto sum = factor.getDefiningOp<arith::AddFOp>();
      if (!x || !sum)
        continue;
      Value other = isConstant(sum.getLhs(), 1) ? sum.getRhs() : sum.getLhs();
      auto tanh = other.getDefiningOp<math::TanhOp>();
      if (tanh &&
          (isConstant(sum.getLhs(), 1) || isConstant(sum.getRhs(), 1)) &&
          isTanhOperand(tanh.getOperand(), x))
        return x;
    }
    return {};
  }

  Value product;
  LibraryEpilogue found;
  bool seen = false, rounds = false;
};

} // namespace

std::optional<LibraryEpilogue> matchEpilogue(func::FuncOp kernel,
                                             Value product) {
  if (kernel.getNumResults() != 1)
    return std::nullopt;
  return Matcher(product).match(codegen::returnedValues(kernel)[0]);
}

} // namespace tinh::cuda
