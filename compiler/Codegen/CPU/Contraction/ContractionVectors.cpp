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

bool hasVectors(const Factor &factor, unsigned loop) {
  return factor.access->steps[loop] == 1;
}

bool isInPlace(const Contraction &c, const Factor &factor) {
  unsigned last = c.depth.back();
  return stridesInArgument(factor.value) &&
         getElementTypeOrSelf(factor.value) == c.factorElement() &&
         (c.group() == 1 ||
          (c.extents[last] % c.group() == 0 && hasVectors(factor, last)));
}

bool hasVectorsInPlace(const Contraction &c) {
  return c.right.map.isProjectedPermutation() && c.group() == 1 &&
         isInPlace(c, c.right) && hasVectors(c.right, c.column());
}

bool hasTilesFor(const Contraction &c, const Target &target) {
  return c.group() > 1 &&
         (c.isOfBytes() ? target.hasByteTiles() : target.hasBf16Tiles());
}

bool canPackColumns(const Contraction &c, LaneAnalysis &analysis) {
  return analysis.computes(c.right.value, c.right.map,
                           analysis.indicesAlong(c.extents.size(), c.column()));
}

/// Indices of `value` with lanes along its last dimension.
static Indices alongLast(Value value, const LaneAnalysis &analysis) {
  int64_t rank = cast<RankedTensorType>(value.getType()).getRank();
  return rank == 0 ? Indices() : analysis.indicesAlong(rank, rank - 1);
}

bool canStage(const Contraction &c, LaneAnalysis &analysis) {
  return analysis.computes(c.left.value, alongLast(c.left.value, analysis));
}

bool hasVectors(const Contraction &c, const ContractionPlan &plan,
                int64_t lanes) {
  LaneAnalysis analysis(c.kernel(), lanes);
  if (plan.stages() && !canStage(c, analysis))
    return false;
  if (plan.right == RightAccess::Copied && !c.isUnpacked() &&
      !canPackColumns(c, analysis))
    return false;
  analysis.registers[c.result] = analysis.inRegisters();
  return analysis.computesResults(alongLast(c.result, analysis));
}

} // namespace tinh::cpu
