//===- RowFunction.cpp - What a function of a row consists of ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Sized/RowFunction.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tinh::cpu {

bool isRow(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank() == 1;
}

static bool isTranscendental(Operation &op) {
  return isa<math::MathDialect>(op.getDialect()) &&
         !isa<math::AbsFOp, math::SqrtOp, math::FloorOp, math::CeilOp,
              math::RoundEvenOp>(op);
}

static int64_t bytesOf(Type type) {
  return type.isIndex()
             ? 8
             : std::max<int64_t>(type.getIntOrFloatBitWidth() / 8, 1);
}

/// The first reduction that reads `value`, an element-wise result that others
/// read as well and that is dear to compute.
static linalg::GenericOp keeper(Value value) {
  auto op = value.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumReductionLoops() > 0 || value.hasOneUse() ||
      llvm::none_of(op.getBody()->getOperations(), isTranscendental))
    return {};
  linalg::GenericOp first;
  for (Operation *user : value.getUsers()) {
    auto reduction = dyn_cast<linalg::GenericOp>(user);
    if (reduction && reduction.getNumReductionLoops() > 0 &&
        (!first || reduction->isBeforeInBlock(first)))
      first = reduction;
  }
  return first;
}

RowFunction::RowFunction(func::FuncOp function)
    : terminator(function.getBody().front().getTerminator()),
      results(terminator->getOperands()) {
  function.walk([&](linalg::GenericOp op) {
    if (op.getNumReductionLoops() > 0)
      reductions.push_back(op);
    for (Value result : op.getResults())
      if (linalg::GenericOp by = isRow(result) ? keeper(result) : nullptr)
        kept.push_back({result, by});
    for (Type type : op.getBody()->getArgumentTypes())
      widestBytes = std::max(widestBytes, bytesOf(type));
    for (Operation &inner : op.getBody()->without_terminator())
      for (Type type : inner.getResultTypes())
        widestBytes = std::max(widestBytes, bytesOf(type));
  });
}

bool RowFunction::doesLittle(Operation *pass) const {
  constexpr int64_t kFewOperations = 8;
  int64_t operations = 0;
  SmallVector<Operation *> worklist{pass};
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    if (auto generic = dyn_cast<linalg::GenericOp>(op))
      for (Operation &inner : generic.getBody()->without_terminator())
        operations += isTranscendental(inner) ? kFewOperations : 1;
    for (Value operand : op->getOperands()) {
      auto from = operand.getDefiningOp<linalg::GenericOp>();
      // What an earlier pass has left is only read.
      bool isThere = !from || from.getNumReductionLoops() > 0;
      for (auto [value, by] : kept)
        isThere |= value == operand && by != pass;
      if (!isThere)
        worklist.push_back(from);
    }
  }
  return operations < kFewOperations;
}

} // namespace tinh::cpu
