//===- ContractionStrategy.cpp - Plans of products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Contraction/Contraction.h"
#include "compiler/Codegen/CPU/Contraction/Tile.h"

#include "compiler/Codegen/CPU/OuterProducts/OuterProducts.h"

using namespace mlir;

namespace tinh::cpu {

ContractionPlanAttr planContractionStage(const Contraction &c,
                                         const Target &target) {
  ContractionPlan plan = planContraction(c, target, /*packed=*/false);
  plan.linesPerBlock = plan.lines;
  plan.tilesPerBlock = plan.tiles;
  plan.panelsPerGroup = plan.panels;
  plan.left = LeftAccess::Staged;
  plan.right = RightAccess::Copied;
  plan.depthPerBlock = c.extents[c.depth.front()];
  return plan.attribute(c.op->getContext());
}

/// Whether the product is for each of several taps of a window over one of the
/// factors: outer products stage that once for all of them.
static bool hasTaps(const Contraction &c) {
  auto products = OuterProductsStrategy::match(c.kernel());
  return products && !products->taps.empty();
}

SmallVector<ContractionPlanAttr>
ContractionStrategy::plans(const Contraction &c, const Target &target) {
  if ((!c.packed && !isWorthTiling(c)) || hasTaps(c))
    return {};
  ContractionPlan plan = planContraction(c, target, c.packed.has_value());
  int64_t lanes = c.lanes(target);
  if (!hasVectors(c, plan, lanes) || !hasWholeVectors(c.result, lanes))
    return {};
  return {plan.attribute(c.op->getContext())};
}

FailureOr<ContractionPlan>
ContractionStrategy::expand(const Contraction &c, ContractionPlanAttr attribute,
                            const Target &target, EmitError emitError) {
  auto plan = expandPlan(c, attribute, emitError);
  int64_t lanes = c.lanes(target);
  if (failed(plan) ||
      failed(checkColumns(c, plan->panelWidth, target, emitError)))
    return failure();
  if (!hasVectors(c, *plan, lanes))
    return emitError() << "some element is not found at a step from its "
                          "neighbour, so that there are no vectors";
  return plan;
}

} // namespace tinh::cpu
