//===- Constants.cpp - Questions about constant values ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What passes ask of constants: inline ones by their elements, those in files
// only whether they are constant.
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Constants/Constants.h"

#include "compiler/Support/ConstantBudget.h"
#include "compiler/Transforms/Constants/SpreadConstants.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tinh::transforms {

bool isConstantExpression(Value value) {
  // Patterns ask this of each op, and each would look at all ops before it.
  // Constants and views are many where experts are put side by side.
  constexpr size_t kMostOps = 64, kMostValues = 1024;
  SmallVector<Value> pending = {value};
  llvm::SmallDenseSet<Value, 16> seen;
  size_t count = 0;
  while (!pending.empty()) {
    Value next = pending.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    Operation *op = next.getDefiningOp();
    count += !isa_and_nonnull<graph::ConstantOp, graph::ReshapeOp>(op);
    if (count > kMostOps || seen.size() > kMostValues)
      return false;
    if (!op || op->getNumRegions() != 0 || graph::isCollective(op) ||
        (op->getNumOperands() == 0 &&
         !isa<graph::ConstantOp, graph::IotaOp>(op)))
      return false;
    llvm::append_range(pending, op->getOperands());
  }
  return true;
}

/// The bytes that it takes to have an op's results, and those of its operands
/// in `spread` that are not yet: constants with one value, which others need
/// in memory.
static uint64_t bytesToCompute(Operation *op,
                               const DenseSet<Operation *> &spread) {
  uint64_t bytes = 0;
  if (!isa<graph::ReshapeOp>(op)) // A view.
    for (Type type : op->getResultTypes())
      bytes += graph::tensorSize(type);
  for (Value operand : op->getOperands()) {
    auto constant = operand.getDefiningOp<graph::ConstantOp>();
    if (constant && isa<SplatElementsAttr>(constant.getValue()) &&
        !spread.contains(constant))
      bytes += graph::tensorSize(operand.getType());
  }
  return bytes;
}

DenseSet<Operation *> findConstantOps(func::FuncOp function,
                                      const DenseSet<Operation *> &inRuns) {
  DenseSet<Operation *> constants, spread;
  ConstantBudget budget(storedConstants(function), ConstantBudget::kComputed);
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto isConstant = [&](Value operand) {
      return constants.contains(operand.getDefiningOp());
    };
    if (op->getNumRegions() != 0 || op->getNumResults() == 0 ||
        graph::isCollective(op) || inRuns.contains(op) ||
        !llvm::all_of(op->getOperands(), isConstant))
      return;
    if (isa<graph::ConstantOp>(op)) {
      constants.insert(op);
    } else if (budget.take(bytesToCompute(op, spread))) {
      constants.insert(op);
      for (Value operand : op->getOperands())
        spread.insert(operand.getDefiningOp());
    }
  });
  return constants;
}

static double toDouble(const APFloat &value) {
  APFloat copy(value);
  bool lost;
  copy.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lost);
  return copy.convertToDouble();
}

std::optional<double> splatValue(Value value) {
  Operation *op = value.getDefiningOp();
  while (op && isa<graph::BroadcastOp, graph::ReshapeOp, graph::TransposeOp,
                   graph::SliceOp>(op))
    op = op->getOperand(0).getDefiningOp();
  auto constant = dyn_cast_or_null<graph::ConstantOp>(op);
  if (!constant)
    return std::nullopt;
  auto splat = dyn_cast<SplatElementsAttr>(constant.getValue());
  if (!splat)
    return std::nullopt;
  Type element = splat.getElementType();
  if (isa<FloatType>(element))
    return toDouble(splat.getSplatValue<APFloat>());
  APInt bits = splat.getSplatValue<APInt>();
  bool isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
  return isUnsigned ? static_cast<double>(bits.getZExtValue())
                    : static_cast<double>(bits.getSExtValue());
}

bool isSplatOf(Value value, double expected, double tolerance) {
  std::optional<double> found = splatValue(value);
  return found && std::abs(*found - expected) <= tolerance * std::abs(expected);
}

bool isSameParameter(Value a, Value b) {
  if (a == b)
    return true;
  if (!a || !b || a.getType() != b.getType())
    return false;
  auto x = a.getDefiningOp<graph::ConstantOp>();
  auto y = b.getDefiningOp<graph::ConstantOp>();
  if (x && y)
    return x.getValue() == y.getValue();
  auto from = a.getDefiningOp<graph::ReshapeOp>();
  auto to = b.getDefiningOp<graph::ReshapeOp>();
  return from && to && isSameParameter(from.getX(), to.getX());
}

Value createSplat(OpBuilder &builder, Location location, RankedTensorType type,
                  double value) {
  TypedAttr element;
  if (auto floating = dyn_cast<FloatType>(type.getElementType()))
    element = FloatAttr::get(floating, value);
  else
    element =
        IntegerAttr::get(type.getElementType(), static_cast<int64_t>(value));
  auto elements = DenseElementsAttr::get(type, Attribute(element));
  return graph::ConstantOp::create(builder, location, type, elements);
}

bool isOfBytes(Operation *op) {
  auto dequantize = dyn_cast<graph::DequantizeOp>(op);
  return dequantize && graph::elementSize(getElementTypeOrSelf(
                           dequantize.getX().getType())) == 1;
}

bool isWidening(graph::CastOp cast) {
  auto from = dyn_cast<FloatType>(tensorType(cast.getX()).getElementType());
  auto to = dyn_cast<FloatType>(tensorType(cast.getY()).getElementType());
  return from && to && from.getWidth() < to.getWidth() &&
         APFloat::isRepresentableBy(from.getFloatSemantics(),
                                    to.getFloatSemantics());
}

Value reshapeTo(OpBuilder &builder, Location location, Value value,
                ArrayRef<int64_t> shape) {
  RankedTensorType type = tensorType(value);
  if (type.getShape() == shape)
    return value;
  return graph::ReshapeOp::create(
      builder, location, RankedTensorType::get(shape, type.getElementType()),
      value);
}

} // namespace tinh::transforms
