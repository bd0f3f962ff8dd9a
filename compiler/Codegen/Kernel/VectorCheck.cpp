//===- VectorCheck.cpp - What can be computed in vectors --------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/VectorCheck.h"

#include "compiler/Codegen/Kernel/Pull.h"

#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

/// A multiple of anything.
constexpr int64_t kAligned = 1 << 20;

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static std::optional<LaneStep> evaluate(AffineExpr expr,
                                        const LaneSteps &dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return LaneStep{0, constant.getValue() ? std::abs(constant.getValue())
                                           : kAligned};
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto left = binary ? evaluate(binary.getLHS(), dims) : std::nullopt;
  if (!left)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul) {
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!factor)
      return std::nullopt;
    int64_t by = factor.getValue();
    return LaneStep{left->stride * by,
                    std::max<int64_t>(1, left->alignment * std::abs(by))};
  }
  auto right = evaluate(binary.getRHS(), dims);
  if (!right || expr.getKind() != AffineExprKind::Add)
    return std::nullopt;
  return LaneStep{left->stride + right->stride,
                  std::gcd(left->alignment, right->alignment)};
}

std::optional<LaneSteps> VectorCheck::apply(AffineMap map,
                                            const LaneSteps &dims) {
  LaneSteps steps;
  for (AffineExpr expr : map.getResults()) {
    auto step = evaluate(expr, dims);
    if (!step)
      return std::nullopt;
    steps.push_back(*step);
  }
  return steps;
}

std::optional<LaneSteps> VectorCheck::loopSteps(linalg::GenericOp op,
                                                const LaneSteps &at) {
  LaneSteps dims(op.getNumLoops());
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    dims[dim.getPosition()] = at[i];
  }
  return dims;
}

static LaneSteps beforeSlice(tensor::ExtractSliceOp op, const LaneSteps &at) {
  LaneSteps source;
  for (auto [i, step] : llvm::enumerate(at)) {
    int64_t offset = op.getStaticOffset(i), by = op.getStaticStride(i);
    int64_t alignment = step.alignment * by;
    source.push_back(
        {step.stride * by, offset ? std::gcd(alignment, offset) : alignment});
  }
  return source;
}

static LaneSteps beforeExpansion(tensor::ExpandShapeOp op,
                                 const LaneSteps &at) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  LaneSteps source;
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    LaneStep linear{0, kAligned};
    for (int64_t dim : group)
      if (shape[dim] != 1)
        linear = {linear.stride * shape[dim] + at[dim].stride,
                  std::gcd(linear.alignment * shape[dim], at[dim].alignment)};
    source.push_back(linear);
  }
  return source;
}

std::optional<LaneSteps> VectorCheck::collapse(tensor::CollapseShapeOp op,
                                               const LaneSteps &at) {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  LaneSteps source(shape.size(), {0, kAligned});
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    LaneStep rest = at[g];
    for (size_t k = group.size(); k-- > 0;) {
      int64_t dim = group[k], extent = shape[dim];
      bool first = llvm::all_of(ArrayRef(group).take_front(k),
                                [&](int64_t d) { return shape[d] == 1; });
      if (first) {
        source[dim] = rest;
        break;
      }
      if (extent == 1)
        continue;
      if (!fitsRun(rest, extent))
        return std::nullopt;
      source[dim] = {rest.stride, std::gcd(rest.alignment, extent)};
      rest = {0, rest.alignment % extent == 0 ? rest.alignment / extent : 1};
    }
  }
  return source;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static bool isUniform(const LaneSteps &at) {
  return llvm::all_of(at,
                      [](const LaneStep &step) { return step.stride == 0; });
}

std::optional<VectorCheck::Lanes> VectorCheck::pull(Value tensor,
                                                    const LaneSteps &at) {
  Operation *op = tensor.getDefiningOp();
  if (!op || known.contains(tensor))
    return Lanes{isUniform(at), {}};
  if (isa<linalg::FillOp, tensor::EmptyOp>(op))
    return Lanes{true, {}};
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (isa<SplatElementsAttr>(constant.getValue()))
      return Lanes{true, {}};
    return std::nullopt;
  }
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return pullGeneric(generic, cast<OpResult>(tensor).getResultNumber(), at);
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return pullPad(pad, at);
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return pullConcat(concat, at);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return pull(cast.getSource(), at);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (slice.getSourceType().getRank() != slice.getType().getRank())
      return std::nullopt;
    return pull(slice.getSource(), beforeSlice(slice, at));
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return pull(expand.getSrc(), beforeExpansion(expand, at));
  if (auto collapsed = dyn_cast<tensor::CollapseShapeOp>(op))
    if (auto source = collapse(collapsed, at))
      return pull(collapsed.getSrc(), *source);
  return std::nullopt;
}

std::optional<VectorCheck::Lanes> VectorCheck::pullPad(tensor::PadOp op,
                                                       const LaneSteps &at) {
  LaneSteps source(at);
  bool isPadded = false;
  for (auto [i, step] : llvm::enumerate(source))
    if (op.getStaticLow()[i] != 0 || op.getStaticHigh()[i] != 0) {
      step.alignment = 1;
      isPadded = true;
    }
  auto element = pull(op.getSource(), source);
  if (element && isPadded)
    return Lanes{};
  return element;
}

std::optional<VectorCheck::Lanes> VectorCheck::pullConcat(tensor::ConcatOp op,
                                                          const LaneSteps &at) {
  int64_t axis = op.getDim(), start = 0;
  std::optional<Lanes> element;
  for (auto [i, piece] : llvm::enumerate(op.getInputs())) {
    LaneSteps source(at);
    if (start)
      source[axis].alignment = std::gcd(at[axis].alignment, start);
    element = pull(piece, source);
    start += cast<RankedTensorType>(piece.getType()).getDimSize(axis);
    bool isLast = i + 1 == op.getInputs().size();
    if (!element || (!isLast && !fitsRun(at[axis], start)))
      return std::nullopt;
  }
  if (op.getInputs().size() > 1)
    return Lanes{};
  return element;
}

//===----------------------------------------------------------------------===//
// Generics
//===----------------------------------------------------------------------===//

std::optional<VectorCheck::Lanes>
VectorCheck::pullGeneric(linalg::GenericOp op, unsigned result,
                         const LaneSteps &at) {
  auto dims = loopSteps(op, at);
  if (!dims)
    return std::nullopt;
  if (op.getNumReductionLoops() > 0) {
    for (Value init : op.getDpsInits())
      if (!pull(init, at))
        return std::nullopt;
    if (canReduce(op, *dims))
      return Lanes{};
    return std::nullopt;
  }
  auto arguments = operands(op, op->getNumOperands(), *dims);
  auto yielded = arguments ? body(op, *dims, *arguments) : std::nullopt;
  if (!yielded)
    return std::nullopt;
  return (*yielded)[result];
}

bool VectorCheck::canReduce(linalg::GenericOp op, const LaneSteps &dims) {
  auto arguments = operands(op, op.getNumDpsInputs(), dims);
  if (!arguments)
    return false;
  arguments->append(op.getNumDpsInits(), Lanes{});
  return body(op, dims, *arguments).has_value();
}

bool VectorCheck::canReduceAlongLanes(linalg::GenericOp op,
                                      const LaneSteps &at) {
  auto dims = loopSteps(op, at);
  if (!dims || !matchCombiner(op))
    return false;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  (*dims)[reduced.back()] = {1, lanes};
  return canReduce(op, *dims);
}

std::optional<SmallVector<VectorCheck::Lanes>>
VectorCheck::operands(linalg::GenericOp op, unsigned count,
                      const LaneSteps &dims) {
  SmallVector<Lanes> values;
  for (OpOperand &operand : op->getOpOperands().take_front(count)) {
    Lanes &value = values.emplace_back();
    if (op.getMatchingBlockArgument(&operand).use_empty())
      continue;
    auto source = apply(op.getMatchingIndexingMap(&operand), dims);
    auto element = source ? pull(operand.get(), *source) : std::nullopt;
    if (!element)
      return std::nullopt;
    value = *element;
  }
  return values;
}

std::optional<SmallVector<VectorCheck::Lanes>>
VectorCheck::body(linalg::GenericOp op, const LaneSteps &dims,
                  ArrayRef<Lanes> arguments) {
  llvm::DenseMap<Value, Lanes> values;
  for (auto [argument, value] :
       llvm::zip(op.getRegion().getArguments(), arguments))
    values[argument] = value;
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto value = bodyOp(&inner, dims, values);
    if (!value)
      return std::nullopt;
    values[inner.getResult(0)] = *value;
  }
  SmallVector<Lanes> results;
  for (Value yielded : op.getBody()->getTerminator()->getOperands()) {
    auto value = values.find(yielded);
    results.push_back(value != values.end() ? value->second : Lanes{true, {}});
  }
  return results;
}

std::optional<VectorCheck::Lanes>
VectorCheck::bodyOp(Operation *op, const LaneSteps &dims,
                    llvm::DenseMap<Value, Lanes> &values) {
  if (auto iv = dyn_cast<linalg::IndexOp>(op)) {
    LaneStep step = dims[iv.getDim()];
    return Lanes{step.stride == 0, step};
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return std::nullopt;
  // What is not computed in the body is the same for all lanes.
  auto lookup = [&](Value value) {
    auto inside = values.find(value);
    return inside != values.end() ? inside->second : Lanes{true, {}};
  };
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    LaneSteps source;
    for (Value position : extract.getIndices()) {
      Lanes value = lookup(position);
      if (!value.step && !value.uniform)
        return std::nullopt;
      source.push_back(value.step.value_or(LaneStep{}));
    }
    return pull(extract.getTensor(), source);
  }
  return Lanes{llvm::all_of(op->getOperands(),
                            [&](Value x) { return lookup(x).uniform; }),
               {}};
}

} // namespace tinh::codegen
