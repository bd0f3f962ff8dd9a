//===- LaneAnalysis.cpp - What can be pulled in vectors ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/LaneAnalysis.h"

#include "compiler/Codegen/Kernel/Analysis.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

#include <numeric>

using namespace mlir;

namespace tinh::codegen {

LaneAnalysis::LaneAnalysis(func::FuncOp kernel, int64_t lanes)
    : kernel(kernel), lanes(lanes) {
  for (BlockArgument argument : kernel.getArguments())
    buffers[argument] = operandStrides(kernel, argument.getArgNumber());
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

static std::optional<LaneIndex> evaluate(AffineExpr expr, const Indices &dims) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    int64_t value = constant.getValue();
    return LaneAnalysis::same(value ? std::abs(value) : kOfZero);
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  auto lhs = binary ? evaluate(binary.getLHS(), dims) : std::nullopt;
  if (!lhs)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Mul) {
    auto factor = dyn_cast<AffineConstantExpr>(binary.getRHS());
    if (!factor)
      return std::nullopt;
    int64_t by = factor.getValue();
    return LaneIndex{{},
                     lhs->stride * by,
                     std::max<int64_t>(1, lhs->alignment * std::abs(by))};
  }
  auto rhs = evaluate(binary.getRHS(), dims);
  if (!rhs || expr.getKind() != AffineExprKind::Add)
    return std::nullopt;
  return LaneIndex{
      {}, lhs->stride + rhs->stride, std::gcd(lhs->alignment, rhs->alignment)};
}

std::optional<Indices> LaneAnalysis::apply(AffineMap map,
                                           const Indices &dims) const {
  Indices result;
  for (AffineExpr expr : map.getResults()) {
    auto lane = evaluate(expr, dims);
    if (!lane)
      return std::nullopt;
    result.push_back(*lane);
  }
  return result;
}

std::optional<Indices> LaneAnalysis::loopIndices(linalg::GenericOp op,
                                                 const Indices &output) const {
  AffineMap map = outputMap(op);
  Indices dims(op.getNumLoops());
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim)
      return std::nullopt;
    dims[dim.getPosition()] = output[i];
  }
  return dims;
}

Indices LaneAnalysis::merge(const Indices &indices, ArrayRef<int64_t> shape,
                            ArrayRef<ReassociationIndices> groups) const {
  Indices merged;
  for (ArrayRef<int64_t> group : groups) {
    LaneIndex linear = same(kOfZero);
    for (int64_t dim : group) {
      if (shape[dim] == 1)
        continue;
      linear.stride = linear.stride * shape[dim] + indices[dim].stride;
      linear.alignment =
          std::gcd(linear.alignment * shape[dim], indices[dim].alignment);
    }
    merged.push_back(linear);
  }
  return merged;
}

std::optional<Indices> LaneAnalysis::collapse(tensor::CollapseShapeOp op,
                                              const Indices &indices) const {
  ArrayRef<int64_t> shape = op.getSrcType().getShape();
  Indices source(shape.size());
  for (auto [g, group] : llvm::enumerate(op.getReassociationIndices())) {
    LaneIndex rest = indices[g];
    for (size_t k = group.size(); k-- > 0;) {
      int64_t dim = group[k], extent = shape[dim];
      bool first = llvm::all_of(ArrayRef(group).take_front(k),
                                [&](int64_t d) { return shape[d] == 1; });
      if (first || extent == 1) {
        source[dim] = first ? rest : same(kOfZero);
        if (first)
          rest = same(kOfZero);
        continue;
      }
      // The lanes must stay within one run of this dimension.
      if (lanes > 1 && rest.stride != 0 &&
          !(rest.stride == 1 && extent % lanes == 0 &&
            rest.alignment % lanes == 0))
        return std::nullopt;
      source[dim] = {{}, rest.stride, std::gcd(rest.alignment, extent)};
      rest = same(rest.alignment % extent == 0 ? rest.alignment / extent : 1);
    }
  }
  return source;
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

std::optional<LaneForm> LaneAnalysis::at(Value tensor, const Indices &indices) {
  if (auto found = registers.find(tensor); found != registers.end())
    return found->second;
  if (auto buffer = buffers.find(tensor); buffer != buffers.end()) {
    int64_t stride = 0;
    for (auto [lane, step] : llvm::zip_equal(indices, buffer->second))
      stride += lane.stride * step;
    return LaneForm{lanes == 1 || stride == 0, {}};
  }
  if (tensor.hasOneUse())
    return compute(tensor, indices);
  auto sameIndex = [](const LaneIndex &x, const LaneIndex &y) {
    return x.stride == y.stride && x.alignment == y.alignment;
  };
  for (const Known &each : known[tensor])
    if (llvm::equal(each.indices, indices, sameIndex))
      return each.form;
  auto form = compute(tensor, indices);
  known[tensor].push_back({indices, form});
  return form;
}

std::optional<LaneForm> LaneAnalysis::compute(Value tensor,
                                              const Indices &indices) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return std::nullopt;
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return scalar(fill.getInputs()[0]);
  if (isa<tensor::EmptyOp>(op))
    return LaneForm{true, {}};
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue())
               ? std::optional(LaneForm{true, {}})
               : std::nullopt;
  if (auto computed = dyn_cast<linalg::GenericOp>(op))
    return generic(computed, cast<OpResult>(tensor).getResultNumber(), indices);
  if (auto padding = dyn_cast<tensor::PadOp>(op))
    return pad(padding, indices);
  if (auto pieces = dyn_cast<tensor::ConcatOp>(op))
    return concat(pieces, indices);
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return at(cast.getSource(), indices);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    if (slice.getSourceType().getRank() != slice.getType().getRank())
      return std::nullopt;
    Indices source;
    for (auto [i, lane] : llvm::enumerate(indices)) {
      int64_t offset = slice.getStaticOffset(i),
              step = slice.getStaticStride(i);
      int64_t alignment = lane.alignment * step;
      source.push_back({{},
                        lane.stride * step,
                        offset ? std::gcd(alignment, offset) : alignment});
    }
    return at(slice.getSource(), source);
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return at(expand.getSrc(), merge(indices, expand.getResultType().getShape(),
                                     expand.getReassociationIndices()));
  if (auto collapsed = dyn_cast<tensor::CollapseShapeOp>(op)) {
    auto source = collapse(collapsed, indices);
    return source ? at(collapsed.getSrc(), *source) : std::nullopt;
  }
  return std::nullopt;
}

std::optional<LaneForm> LaneAnalysis::scalar(Value value) {
  Operation *op = value.getDefiningOp();
  if (auto extract = dyn_cast_or_null<tensor::ExtractOp>(op)) {
    bool known = llvm::all_of(extract.getIndices(), [&](Value index) {
      return scalar(index).has_value();
    });
    return known ? at(extract.getTensor(),
                      Indices(extract.getIndices().size(), same()))
                 : std::nullopt;
  }
  if (!op || !matchPattern(op, m_Constant()))
    return std::nullopt;
  return LaneForm{true, {}};
}

std::optional<LaneForm> LaneAnalysis::pad(tensor::PadOp op,
                                          const Indices &indices) {
  Value constant = op.getConstantPaddingValue();
  if (!constant || !scalar(constant))
    return std::nullopt;
  bool chooses = false, choosesLanes = false;
  Indices source;
  for (auto [i, lane] : llvm::enumerate(indices)) {
    bool padded = op.getStaticLow()[i] != 0 || op.getStaticHigh()[i] != 0;
    source.push_back(padded ? LaneIndex{{}, lane.stride, 1} : lane);
    bool alongLanes = lane.stride != 0 && lanes > 1;
    choosesLanes |= padded && alongLanes;
    chooses |= padded && !alongLanes;
  }
  auto element = at(op.getSource(), source);
  if (!element)
    return std::nullopt;
  if (chooses)
    return inRegisters();
  return choosesLanes ? LaneForm{} : *element;
}

std::optional<LaneForm> LaneAnalysis::concat(tensor::ConcatOp op,
                                             const Indices &indices) {
  int64_t axis = op.getDim(), start = 0;
  const LaneIndex lane = indices[axis];
  std::optional<LaneForm> form;
  for (auto [i, piece] : llvm::enumerate(op.getInputs())) {
    int64_t end =
        start + cast<RankedTensorType>(piece.getType()).getDimSize(axis);
    // A vector must not lie across the border.
    if (i + 1 < op.getInputs().size() && lanes > 1 && lane.stride != 0 &&
        !(lane.stride == 1 && lane.alignment % lanes == 0 && end % lanes == 0))
      return std::nullopt;
    Indices source = indices;
    source[axis] = {{},
                    lane.stride,
                    start ? std::gcd(lane.alignment, start) : lane.alignment};
    form = at(piece, source);
    if (!form)
      return std::nullopt;
    start = end;
  }
  return op.getInputs().size() == 1 ? form : inRegisters();
}

//===----------------------------------------------------------------------===//
// Bodies and reductions
//===----------------------------------------------------------------------===//

std::optional<LaneForm> LaneAnalysis::generic(linalg::GenericOp op,
                                              unsigned result,
                                              const Indices &indices) {
  auto dims = loopIndices(op, indices);
  if (!dims)
    return std::nullopt;
  if (op.getNumReductionLoops() > 0) {
    bool starts = llvm::all_of(op.getDpsInits(), [&](Value init) {
      return at(init, indices).has_value();
    });
    return starts && reducesStep(op, *dims) ? std::optional(inRegisters())
                                            : std::nullopt;
  }
  auto yielded = body(op, op->getNumOperands(), *dims);
  return yielded ? std::optional((*yielded)[result]) : std::nullopt;
}

bool LaneAnalysis::computesResults(const Indices &indices) {
  return llvm::all_of(returnedValues(kernel), [&](Value result) {
    return at(result, indices).has_value();
  });
}

bool LaneAnalysis::reducesStep(linalg::GenericOp op, const Indices &dims) {
  return body(op, op.getNumDpsInputs(), dims).has_value();
}

bool LaneAnalysis::reducesAlongLanes(linalg::GenericOp op,
                                     const Indices &output) {
  auto dims = loopIndices(op, output);
  if (!dims || !matchCombiner(op) || lanes == 1)
    return false;
  SmallVector<unsigned> reduced;
  op.getReductionDims(reduced);
  (*dims)[reduced.back()] = along();
  return reducesStep(op, *dims);
}

/// What a generic's body yields; its operands beyond the first ones are in
/// registers.
std::optional<SmallVector<LaneForm>> LaneAnalysis::body(linalg::GenericOp op,
                                                        unsigned operands,
                                                        const Indices &dims) {
  DenseMap<Value, LaneForm> values;
  for (OpOperand &operand : op->getOpOperands()) {
    BlockArgument argument = op.getMatchingBlockArgument(&operand);
    values[argument] = inRegisters();
    if (argument.use_empty() || operand.getOperandNumber() >= operands)
      continue;
    auto source = apply(op.getMatchingIndexingMap(&operand), dims);
    auto form = source ? at(operand.get(), *source) : std::nullopt;
    if (!form)
      return std::nullopt;
    values[argument] = *form;
  }
  for (Operation &inner : op.getBody()->without_terminator()) {
    auto form = bodyOp(&inner, dims, values);
    if (!form)
      return std::nullopt;
    values[inner.getResult(0)] = *form;
  }
  SmallVector<LaneForm> results;
  for (Value yielded : op.getBody()->getTerminator()->getOperands()) {
    auto found = values.find(yielded);
    auto form = found != values.end() ? found->second : scalar(yielded);
    if (!form)
      return std::nullopt;
    results.push_back(*form);
  }
  return results;
}

std::optional<LaneForm>
LaneAnalysis::bodyOp(Operation *op, const Indices &dims,
                     DenseMap<Value, LaneForm> &values) {
  if (auto iv = dyn_cast<linalg::IndexOp>(op)) {
    const LaneIndex &lane = dims[iv.getDim()];
    return LaneForm{lane.stride == 0 || lanes == 1, lane};
  }
  if (op->getNumResults() != 1 || op->getNumRegions() != 0)
    return std::nullopt;
  for (Value operand : op->getOperands())
    if (!values.contains(operand) &&
        !isa<RankedTensorType>(operand.getType())) {
      auto outside = scalar(operand);
      if (!outside)
        return std::nullopt;
      values[operand] = *outside;
    }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    Indices source;
    for (Value position : extract.getIndices()) {
      LaneForm form = values.lookup(position);
      if (!form.affine && !form.uniform)
        return std::nullopt;
      source.push_back(form.affine ? *form.affine : same());
    }
    return at(extract.getTensor(), source);
  }
  bool uniform = llvm::all_of(op->getOperands(), [&](Value operand) {
    return values.lookup(operand).uniform;
  });
  return LaneForm{uniform || lanes == 1, {}};
}

} // namespace tinh::codegen
