//===- FusionRoles.cpp - What part an op has in a kernel ------------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Transforms/Fusion/FusionRoles.h"

#include "compiler/Transforms/Constants/Constants.h"
#include "dialects/graph/OpFacts.h"

using namespace mlir;
using namespace tinh::graph;

namespace tinh::transforms {

bool isElementwise(Operation *op) { return op->hasTrait<ElementwiseOpTrait>(); }

bool isMovement(Operation *op) {
  const OpFacts *facts = findFacts(op->getName());
  return facts && (facts->fusionRole == FusionRole::Movement ||
                   facts->fusionRole == FusionRole::StridedMovement ||
                   facts->fusionRole == FusionRole::Lookup);
}

bool isAnchor(Operation *op) { return !isElementwise(op) && !isMovement(op); }

bool isContraction(Operation *op) { return isa<MatmulOp, ConvOp>(op); }

bool readsOnce(Operation *anchor) {
  auto disjoint = [](ArrayRef<int64_t> kernel, ArrayRef<int64_t> strides) {
    return llvm::all_of(llvm::zip_equal(kernel, strides), [](auto pair) {
      return std::get<0>(pair) <= std::get<1>(pair);
    });
  };
  if (auto pool = dyn_cast<MaxPoolOp>(anchor))
    return disjoint(pool.getKernel(), pool.getStrides());
  if (auto pool = dyn_cast<AvgPoolOp>(anchor)) {
    auto y = tensorType(pool.getY());
    bool first = pool.getLayout() == Layout::ChannelsFirst;
    ArrayRef<int64_t> spatial = first ? y.getShape().drop_front(2)
                                      : y.getShape().drop_front().drop_back();
    return llvm::all_of(spatial, [](int64_t extent) { return extent == 1; }) ||
           disjoint(pool.getKernel(), pool.getStrides());
  }
  if (auto conv = dyn_cast<ConvOp>(anchor))
    return llvm::all_of(tensorType(conv.getWeights()).getShape().drop_front(2),
                        [](int64_t extent) { return extent == 1; });
  const OpFacts *facts = findFacts(anchor->getName());
  return facts && facts->readsOnce;
}

bool isReadAtSeveralIndices(Operation *op) {
  return isElementwise(op) && !op->hasOneUse() &&
         llvm::any_of(op->getUsers(), [](Operation *user) {
           return isMovement(user) && !isa<BroadcastOp>(user);
         });
}

bool isCloned(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  return constant && isa<SplatElementsAttr>(constant.getValue());
}

} // namespace tinh::transforms
