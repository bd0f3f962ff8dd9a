//===- DimensionSizes.cpp - Dimensions whose size the run decides ---------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What an importer knows of them while it builds: which dimensions have one,
// what it is, and how large what a model computes from sizes can be.
//
//===----------------------------------------------------------------------===//
#include "compiler/Graph/EvaluateConstants.h"
#include "compiler/Graph/GraphBuilder.h"
#include "dialects/graph/Dimensions.h"
#include "dialects/graph/OpFacts.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tinh {

bool GraphBuilder::isBounded(Value value, int64_t dimension) {
  auto it = bounded.find(value);
  return it != bounded.end() && it->second.test(dimension);
}

bool GraphBuilder::isBounded(Value value) { return bounded.contains(value); }

void GraphBuilder::markBounded(Value value,
                               const llvm::SmallBitVector &dimensions) {
  if (dimensions.any())
    bounded[value] = dimensions;
}

llvm::SmallBitVector GraphBuilder::boundedDimensions(Value value) {
  auto it = bounded.find(value);
  if (it != bounded.end())
    return it->second;
  return llvm::SmallBitVector(
      cast<RankedTensorType>(value.getType()).getRank());
}

/// Notes which dimensions of the result of a new op are bounded.
void GraphBuilder::propagateBounded(Operation *op) {
  auto set = dyn_cast<graph::SetDimensionSizeOp>(op);
  if (!set &&
      (bounded.empty() ||
       llvm::none_of(op->getOperands(), [&](Value x) { return isBounded(x); })))
    return;
  auto sources = graph::dimensionSources(op);
  if (!sources)
    return; // Which resolve-dimension-sizes will refuse.
  llvm::SmallBitVector dimensions(sources->size());
  for (auto [d, ofDimension] : llvm::enumerate(*sources))
    if (llvm::any_of(ofDimension, [&](const graph::DimensionSource &source) {
          return isBounded(op->getOperand(source.operand), source.dimension);
        }))
      dimensions.set(d);
  if (set)
    dimensions.set(set.getDimension());
  markBounded(op->getResult(0), dimensions);
}

Value GraphBuilder::dimensionSize(Value value, int64_t dimension) {
  while (isBounded(value, dimension)) {
    Operation *op = value.getDefiningOp();
    auto set = dyn_cast_or_null<graph::SetDimensionSizeOp>(op);
    if (set && static_cast<int64_t>(set.getDimension()) == dimension)
      return set.getSize();
    auto sources = op ? graph::dimensionSources(op) : std::nullopt;
    const graph::DimensionSource *same = nullptr;
    if (sources)
      for (const graph::DimensionSource &source : (*sources)[dimension])
        if (source.isSame &&
            isBounded(op->getOperand(source.operand), source.dimension))
          same = &source;
    if (!same)
      return create<graph::DimensionSizeOp>(
          {value}, {attribute("dimension", dimension)});
    value = op->getOperand(same->operand);
    dimension = same->dimension;
  }
  int64_t extent =
      cast<RankedTensorType>(value.getType()).getDimSize(dimension);
  return constant(DenseElementsAttr::get(graph::countType(context()), extent));
}

Value GraphBuilder::setDimensionSize(Value value, int64_t dimension,
                                     Value size) {
  if (!value || !size)
    return {};
  int64_t extent =
      cast<RankedTensorType>(value.getType()).getDimSize(dimension);
  auto known = constantOf(size);
  if (known && denseToInts(*known).front() == extent)
    return value;
  neverNegative[size] = true;
  return create<graph::SetDimensionSizeOp>({value, size},
                                           {attribute("dimension", dimension)});
}

/// Whether no element of a constant is negative.
static bool isNotNegative(const std::optional<DenseElementsAttr> &constant) {
  return constant && llvm::all_of(denseToDoubles(*constant),
                                  [](double x) { return x >= 0; });
}

static bool isPositive(const std::optional<DenseElementsAttr> &constant) {
  return constant && llvm::all_of(denseToDoubles(*constant),
                                  [](double x) { return x > 0; });
}

/// Whether a cast keeps numbers as large as sizes.
static bool keepsSizes(graph::CastOp op) {
  Type to = getElementTypeOrSelf(op.getType());
  return isa<FloatType>(to) || to.isInteger(64) || to.isInteger(32);
}

/// Whether what is made of sizes and constants has no negative number.
bool GraphBuilder::isNeverNegative(Value value, unsigned depth) {
  if (auto it = neverNegative.find(value); it != neverNegative.end())
    return it->second;
  bool result = findNeverNegative(value, depth);
  neverNegative[value] = result;
  return result;
}

bool GraphBuilder::findNeverNegative(Value value, unsigned depth) {
  constexpr unsigned kMaxDepth = 64;
  if (auto constant = constantOf(value))
    return isNotNegative(constant);
  Operation *op = value.getDefiningOp();
  if (!op || depth > kMaxDepth)
    return false;
  if (isa<graph::DimensionSizeOp>(op))
    return true;
  if (auto cast = dyn_cast<graph::CastOp>(op); cast && !keepsSizes(cast))
    return false;
  auto isOf = [&](Value operand) {
    return isNeverNegative(operand, depth + 1);
  };
  if (isa<graph::MaxOp>(op))
    return llvm::any_of(op->getOperands(), isOf);
  if (graph::hasRole(op, graph::FusionRole::Lookup))
    return isOf(op->getOperand(0));
  return (isa<graph::ReshapeOp, graph::BroadcastOp, graph::ConcatOp,
              graph::SliceOp, graph::TransposeOp, graph::CastOp, graph::FloorOp,
              graph::CeilOp, graph::SqrtOp, graph::AddOp, graph::MulOp,
              graph::DivOp, graph::MinOp, graph::ReduceOp>(op) ||
          op->hasTrait<graph::CumulativeOpTrait>()) &&
         llvm::all_of(op->getOperands(), isOf);
}

/// Whether the largest operands give the largest result of an op. Which
/// operands are constants is known.
bool GraphBuilder::isMonotone(Operation *op) {
  auto areNeverNegative = [&] {
    return llvm::all_of(op->getOperands(),
                        [&](Value value) { return isNeverNegative(value, 0); });
  };
  auto constantOperand = [&](unsigned i) {
    return constantOf(op->getOperand(i));
  };
  if (op->hasTrait<graph::CumulativeOpTrait>())
    return areNeverNegative();
  if (graph::hasRole(op, graph::FusionRole::Lookup))
    return constantOperand(1).has_value();
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<graph::ReshapeOp, graph::BroadcastOp, graph::ConcatOp,
            graph::SliceOp, graph::TransposeOp, graph::FloorOp, graph::CeilOp,
            graph::SqrtOp, graph::AddOp, graph::MaxOp, graph::MinOp>(
          [](auto) { return true; })
      .Case([](graph::CastOp op) { return keepsSizes(op); })
      .Case<graph::ReduceOp, graph::MulOp>(
          [&](auto) { return areNeverNegative(); })
      .Case([&](graph::DivOp) {
        return isPositive(constantOperand(1)) && areNeverNegative();
      })
      .Case([&](graph::SubOp) { return constantOperand(1).has_value(); })
      .Default([](Operation *) { return false; });
}

std::optional<DenseElementsAttr> GraphBuilder::boundOf(Value value) {
  return boundOf(value, 0);
}

std::optional<DenseElementsAttr> GraphBuilder::boundOf(Value value,
                                                       unsigned depth) {
  constexpr unsigned kMaxDepth = 64;
  if (auto constant = constantOf(value))
    return constant;
  Operation *op = value.getDefiningOp();
  auto type = cast<RankedTensorType>(value.getType());
  if (!op || depth > kMaxDepth || type.getNumElements() > kMaxFoldedElements)
    return std::nullopt;
  if (auto size = dyn_cast<graph::DimensionSizeOp>(op))
    return DenseElementsAttr::get(
        graph::countType(context()),
        cast<RankedTensorType>(size.getX().getType())
            .getDimSize(static_cast<unsigned>(size.getDimension())));
  if (auto it = bounds.find(value); it != bounds.end())
    return it->second;
  // What is chosen is one or the other.
  bool isChoice = isa<graph::WhereOp>(op);
  if (!isChoice && !isMonotone(op))
    return std::nullopt;
  SmallVector<DenseElementsAttr> operands;
  for (Value operand : op->getOperands().drop_front(isChoice)) {
    auto bound = boundOf(operand, depth + 1);
    if (!bound || bound->getNumElements() > kMaxFoldedElements)
      return std::nullopt;
    operands.push_back(*bound);
  }
  if (!isChoice) {
    auto result = evaluateConstant(op, operands);
    if (result)
      bounds[value] = *result;
    return result;
  }
  OpBuilder detached(context());
  auto larger =
      graph::MaxOp::create(detached, loc, op->getOperand(1), op->getOperand(2));
  std::optional<DenseElementsAttr> result;
  if (larger.getType() == type)
    result = evaluateConstant(larger, operands);
  larger->destroy();
  if (result)
    bounds[value] = *result;
  return result;
}

void GraphBuilder::setBound(Value value, int64_t bound) {
  neverNegative[value] = true;
  bounds[value] = DenseElementsAttr::get(graph::countType(context()), bound);
}

} // namespace tinh
