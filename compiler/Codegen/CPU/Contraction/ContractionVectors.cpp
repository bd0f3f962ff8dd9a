//===- ContractionVectors.cpp - Products that have vectors ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Contraction.h"

using namespace mlir;

namespace tinh::cpu {

bool canPackColumns(const Contraction &c, VectorCheck &check, int64_t lanes) {
  LaneSteps dims(c.extents.size());
  dims[c.n] = {1, lanes};
  auto at = VectorCheck::apply(c.weightsMap, dims);
  return at && check.canPull(c.weights, *at);
}

bool canStage(const Contraction &c, VectorCheck &check, int64_t lanes) {
  int64_t rank = cast<RankedTensorType>(c.input.getType()).getRank();
  LaneSteps at(rank);
  if (rank > 0)
    at.back() = {1, lanes};
  return check.canPull(c.input, at);
}

bool hasVectors(const Contraction &c, const ContractionPlan &plan,
                int64_t lanes) {
  VectorCheck check(lanes);
  if (plan.left == LeftAccess::Staged && !canStage(c, check, lanes))
    return false;
  if (plan.right == RightAccess::Copied && !canPackColumns(c, check, lanes))
    return false;
  check.know(c.result);
  LaneSteps at(cast<RankedTensorType>(c.result.getType()).getRank());
  at.back() = {1, lanes};
  auto kernel = c.op->getParentOfType<func::FuncOp>();
  return llvm::all_of(kernel.getBody().front().getTerminator()->getOperands(),
                      [&](Value result) { return check.canPull(result, at); });
}

} // namespace tinh::cpu
