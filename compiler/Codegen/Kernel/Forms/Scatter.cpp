//===- Scatter.cpp - Scatters among reductions ------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Forms/Scatter.h"

#include "compiler/Codegen/Kernel/Analysis.h"
#include "compiler/Codegen/Kernel/Forms/IndexRanges.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tinh::codegen {

/// Adds what `hit` compares: positions with the loops' own indices.
static bool collectPositions(Value hit, Scatter &scatter) {
  if (auto both = hit.getDefiningOp<arith::AndIOp>())
    return collectPositions(both.getLhs(), scatter) &&
           collectPositions(both.getRhs(), scatter);
  auto same = hit.getDefiningOp<arith::CmpIOp>();
  if (!same || same.getPredicate() != arith::CmpIPredicate::eq)
    return false;
  auto position = dyn_cast<BlockArgument>(same.getLhs());
  auto cast = same.getRhs().getDefiningOp<arith::IndexCastOp>();
  auto here =
      cast ? cast.getIn().getDefiningOp<linalg::IndexOp>() : linalg::IndexOp();
  if (!position || !here || here.getDim() >= scatter.rank ||
      position.getArgNumber() + 1 >= scatter.op.getNumDpsInputs())
    return false;
  scatter.positions.push_back(
      scatter.op.getDpsInputOperand(position.getArgNumber()));
  scatter.targets.push_back(here.getDim());
  return true;
}

/// Whether code may write where `positions` say: they are indices of a
/// dimension of `extent`, or negative where they are padded.
static bool areWithin(const IndexRanges &ranges, Value positions,
                      int64_t extent) {
  if (auto pad = positions.getDefiningOp<tensor::PadOp>()) {
    Value padding = pad.getConstantPaddingValue();
    if (!padding || !ranges.of(padding).smax().slt(extent))
      return false;
    positions = pad.getSource();
  }
  while (auto *op = positions.getDefiningOp()) {
    if (!isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op))
      break;
    positions = op->getOperand(0);
  }
  auto generic = positions.getDefiningOp<linalg::GenericOp>();
  return generic &&
         ranges.isWithin(generic.getBody()->getTerminator()->getOperand(
                             cast<OpResult>(positions).getResultNumber()),
                         extent);
}

std::optional<Scatter> matchScatter(func::FuncOp kernel) {
  if (kernel.getNumResults() != 1)
    return std::nullopt;
  auto op = returnedValues(kernel)[0].getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() == 0 || op.getNumResults() != 1 ||
      op.getNumDpsInputs() < 2)
    return std::nullopt;
  Scatter scatter;
  scatter.op = op;
  scatter.initial = op.getDpsInits()[0];
  scatter.extents = op.getStaticLoopRanges();
  scatter.rank = cast<RankedTensorType>(op.getResult(0).getType()).getRank();
  AffineMap output = outputMap(op);
  for (auto [i, expr] : llvm::enumerate(output.getResults()))
    if (expr != getAffineDimExpr(i, op.getContext()))
      return std::nullopt;
  auto chosen = op.getBody()->getTerminator()->getOperand(0);
  auto select = chosen.getDefiningOp<arith::SelectOp>();
  Value old = op.getMatchingBlockArgument(op.getDpsInitOperand(0));
  if (!select || select.getFalseValue() != old ||
      !collectPositions(select.getCondition(), scatter))
    return std::nullopt;
  IndexRanges ranges(kernel);
  for (auto [position, target] :
       llvm::zip_equal(scatter.positions, scatter.targets))
    if (!areWithin(ranges, position->get(), scatter.extents[target]))
      return std::nullopt;
  return scatter;
}

bool isScatteredInto(func::FuncOp kernel, BlockArgument argument) {
  auto scatter = matchScatter(kernel);
  return scatter && scatter->initial == argument && argument.hasOneUse();
}

LogicalResult Scatter::storeInitial(Pull &pull, const Buffer &result,
                                    const Indices &dims) const {
  auto value = pull.at(initial, place(dims));
  return failed(value) ? failure() : pull.store(*value, result, place(dims));
}

LogicalResult Scatter::update(Pull &pull, const Buffer &result,
                              const Indices &dims) const {
  linalg::GenericOp generic = op;
  Type element = getElementTypeOrSelf(generic.getResult(0));
  LaneValue old = pull.load(result, element, place(dims));
  auto updated = pull.reduceStep(generic, dims, pull.asVector(old));
  if (failed(updated))
    return failure();
  return pull.store(pull.inRegisters(updated->front()), result, place(dims));
}

} // namespace tinh::codegen
