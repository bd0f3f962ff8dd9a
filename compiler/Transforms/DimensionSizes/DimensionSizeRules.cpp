//===- DimensionSizeRules.cpp - What ops make of padding --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rule for each family of ops that elements of different indices meet in: it
// keeps padding away from what is used, in place, and says the sizes of
// dimensions that are no operand's. All others go by graph::dimensionSources.
//
//   %y = graph.reduce sum %x axes [0]        of x, of which %n rows are used,
// becomes
//   %i = graph.iota start 0 step 1
//   %u = graph.compare less %i, %n
//   %m = graph.where %u, %x, %zero
//   %y = graph.reduce sum %m axes [0]
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/DimensionSizes/DimensionSizeRules.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh::transforms {

using namespace graph;

Attribute neutralValue(Neutral neutral, Type element) {
  bool isLowest = neutral == Neutral::Lowest;
  if (auto floats = dyn_cast<FloatType>(element)) {
    const llvm::fltSemantics &semantics = floats.getFloatSemantics();
    switch (neutral) {
    case Neutral::Zero:
      return FloatAttr::get(element, APFloat::getZero(semantics));
    case Neutral::One:
      return FloatAttr::get(element, APFloat(semantics, 1));
    default:
      return FloatAttr::get(element, APFloat::getInf(semantics, isLowest));
    }
  }
  unsigned bits = element.getIntOrFloatBitWidth();
  bool isSigned = !element.isUnsignedInteger() && bits > 1;
  switch (neutral) {
  case Neutral::Zero:
    return IntegerAttr::get(element, APInt::getZero(bits));
  case Neutral::One:
    return IntegerAttr::get(element, APInt(bits, 1));
  default:
    return IntegerAttr::get(element,
                            isSigned ? isLowest ? APInt::getSignedMinValue(bits)
                                                : APInt::getSignedMaxValue(bits)
                            : isLowest ? APInt::getZero(bits)
                                       : APInt::getMaxValue(bits));
  }
}

static Neutral neutralOf(ReduceKind kind) {
  switch (kind) {
  case ReduceKind::Sum:
  case ReduceKind::Mean:
    return Neutral::Zero;
  case ReduceKind::Prod:
    return Neutral::One;
  case ReduceKind::Max:
    return Neutral::Lowest;
  case ReduceKind::Min:
    return Neutral::Highest;
  }
  llvm_unreachable("unknown reduction");
}

LogicalResult SizeRules::fail(unsigned operand, int64_t d, const Twine &why) {
  return op->emitError() << op->getName() << ": the run decides the size of "
                         << "dimension " << d << " of operand " << operand
                         << " ("
                         << shapeToString(op->getOperand(operand).getType())
                         << "), " << why;
}

//===----------------------------------------------------------------------===//
// Along a dimension
//===----------------------------------------------------------------------===//

/// A mean is the sum divided by how many elements are used.
void SizeRules::apply(ReduceOp op) {
  Value elements;
  for (int64_t axis : op.getAxes()) {
    if (Value size = sizes.get(op.getX(), axis))
      elements = elements ? MulOp::create(b, elements, size) : size;
    mask(0, axis, neutralOf(op.getKind()));
  }
  if (op.getKind() != ReduceKind::Mean || !elements)
    return;
  int64_t whole = 1;
  for (int64_t axis : op.getAxes())
    whole *= sizes.get(op.getX(), axis) ? 1 : extent(op.getX(), axis);
  Value number = MulOp::create(b, elements, count(whole));
  // A count may be beyond floats of 16 bits.
  Type element = tensorType(op.getX()).getElementType();
  Type wide = element.getIntOrFloatBitWidth() < 32 ? b.getF32Type() : element;
  Value sum = ReduceOp::create(b, ReduceKind::Sum, castTo(op.getX(), wide),
                               op.getAxes(), op.getKeepdims());
  replacement = castTo(DivOp::create(b, sum, castTo(number, wide)), element);
}

/// The mean of the squared distances from the mean.
LogicalResult SizeRules::variance(VarianceOp op) {
  auto apply = [&](Value value) -> FailureOr<Value> {
    Operation *made = value.getDefiningOp();
    SizeRules rules(made, sizes);
    if (failed(rules.apply()))
      return failure();
    return rules.replacement ? rules.replacement : value;
  };
  auto mean = apply(ReduceOp::create(b, ReduceKind::Mean, op.getX(),
                                     op.getAxes(), /*keepdims=*/true));
  if (failed(mean))
    return failure();
  auto distance = apply(SubOp::create(b, op.getX(), *mean));
  if (failed(distance))
    return failure();
  auto square = apply(MulOp::create(b, *distance, *distance));
  if (failed(square))
    return failure();
  auto variance = apply(ReduceOp::create(b, ReduceKind::Mean, *square,
                                         op.getAxes(), op.getKeepdims()));
  if (failed(variance))
    return failure();
  for (int64_t axis : op.getAxes())
    handle(0, axis);
  replacement = *variance;
  return success();
}

/// Padding that is as extreme as what is used comes behind it: the last one of
/// equal elements is limited to what is used.
template <typename OpTy> void SizeRules::extreme(OpTy op, Neutral neutral) {
  int64_t axis = op.getAxis();
  Value size = sizes.get(op.getX(), axis);
  mask(0, axis, neutral);
  if (!size || !op.getSelectLastIndex())
    return;
  Value index = OpTy::create(b, op.getX(), op.getAxisAttr(),
                             op.getKeepdimsAttr(), op.getSelectLastIndexAttr());
  replacement = MinOp::create(b, index, SubOp::create(b, size, count(1)));
}

void SizeRules::apply(AlongAxisOpInterface op) {
  if (std::optional<Neutral> neutral = op.getRowPadding())
    mask(0, op.getAxis(), *neutral);
}

/// Both factors are masked: padding may be infinite or NaN.
void SizeRules::apply(MatmulOp op) {
  int64_t a = tensorType(op.getA()).getRank();
  int64_t c = tensorType(op.getB()).getRank();
  int64_t depthOfA = a - 1 - (op.getTransposeA() ? 1 : 0);
  int64_t depthOfB = c == 1 ? 0 : c - 2 + (op.getTransposeB() ? 1 : 0);
  Value depth = size(0, depthOfA) ? size(0, depthOfA) : size(1, depthOfB);
  mask(0, depthOfA, depth, Neutral::Zero);
  mask(1, depthOfB, depth, Neutral::Zero);
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

LogicalResult SizeRules::applyOwn() {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](VarianceOp op) { return variance(op); })
      .Case(
          [&](ArgmaxOp op) { return extreme(op, Neutral::Lowest), success(); })
      .Case(
          [&](ArgminOp op) { return extreme(op, Neutral::Highest), success(); })
      .Case<GatherOp, GatherElementsOp>(
          [&](auto op) { return gatherAlong(op), success(); })
      .Case<ScatterOp, ScatterElementsOp>(
          [&](auto op) { return scatterAlong(op), success(); })
      .Case<AlongAxisOpInterface, ReduceOp, MatmulOp, ReshapeOp, ConcatOp,
            SliceOp, PadOp, GatherNdOp, ScatterNdOp>(
          [&](auto op) { return apply(op), success(); })
      .Default([](Operation *) { return success(); });
}

/// Gives the result the sizes of what its dimensions are made of, and looks for
/// dimensions of operands that nobody has dealt with.
LogicalResult SizeRules::propagate() {
  Value result = replacement ? replacement : op->getResult(0);
  auto sources = dimensionSources(op);
  if (!sources)
    sources.emplace();
  for (auto [d, ofDimension] : llvm::enumerate(*sources)) {
    Value known = sizes.get(result, d);
    for (const DimensionSource &source : ofDimension) {
      Value size = source.isSame ? this->size(source.operand, source.dimension)
                                 : Value();
      if (!size)
        continue;
      handle(source.operand, source.dimension);
      if (known && !isSameSize(known, size))
        return fail(source.operand, source.dimension,
                    "and another size is that of another operand: whether they "
                    "are the same is not known");
      sizes.set(result, d, known = size);
    }
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    for (int64_t d = 0; d < tensorType(operand).getRank(); ++d)
      if (sizes.get(operand, d) && !handled.contains({i, d}))
        return fail(i, d,
                    "and it has no rule for that: only what keeps dimensions "
                    "apart, or is reduced, moved or looked up along one, has");
  return success();
}

LogicalResult SizeRules::apply() {
  if (failed(applyOwn()) || failed(propagate()))
    return failure();
  if (!replacement)
    return success();
  op->replaceAllUsesWith(ValueRange(replacement));
  sizes.forget(op);
  op->erase();
  return success();
}

bool isSameSize(Value a, Value b) {
  if (a == b)
    return true;
  Operation *x = a.getDefiningOp(), *y = b.getDefiningOp();
  return x && y && x->getName() == y->getName() && x->getNumRegions() == 0 &&
         x->getNumResults() == 1 && y->getNumResults() == 1 &&
         a.getType() == b.getType() &&
         x->getAttrDictionary() == y->getAttrDictionary() &&
         llvm::equal(x->getOperands(), y->getOperands(), isSameSize);
}

LogicalResult applySizeRule(Operation *op, DimensionSizes &sizes) {
  return SizeRules(op, sizes).apply();
}

} // namespace tinh::transforms
