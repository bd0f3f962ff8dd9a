//===- AttentionMatch.cpp - Recognising attention ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops say which part of attention they are (dialects/origin). What is found
// here is that they compute what these parts do, of each other's elements at
// the same index or of the same row, and which loops the dimensions of scores
// and results stand for.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/Attention.h"

#include "dialects/origin/Origin.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <map>

using namespace mlir;

namespace tinh::cuda {

Indices Attention::indicesAt(Pull &pull, const Place &place,
                             const Indices &loops) const {
  Indices indices;
  for (const Loops &digits : place) {
    LaneIndex linear = pull.constant(0);
    for (unsigned loop : digits)
      linear = pull.sum(pull.scale(linear, extents[loop]), loops[loop]);
    indices.push_back(linear);
  }
  return indices;
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

using origin::Part;
using Parts = std::map<Part, linalg::GenericOp>;

/// The parts of attention in `kernel`; nothing if one is missing, is there
/// twice, or something else is summed up.
static std::optional<Parts> findParts(func::FuncOp kernel) {
  Parts parts;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    auto origin = op->getAttrOfType<origin::AttentionAttr>(origin::kOp);
    if (origin ? !parts.try_emplace(origin.getPart(), op).second
               : op.getNumReductionLoops() > 0)
      return std::nullopt;
  }
  bool isWhole = parts.size() == origin::getMaxEnumValForPart() + 1;
  return isWhole ? std::optional(parts) : std::nullopt;
}

/// Whether `op` combines elements of f32 in this way, from what changes nothing
/// on.
static bool combines(linalg::GenericOp op, vector::CombiningKind kind) {
  auto combiner = matchCombiner(op);
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return combiner && combiner->kind == kind && fill &&
         getElementTypeOrSelf(op.getResult(0)).isF32() &&
         matchPattern(fill.getInputs()[0], kind == vector::CombiningKind::ADD
                                               ? m_AnyZeroFloat()
                                               : m_NegInfFloat());
}

/// Whether the body of `op` is these ops, each of what the one before gives.
template <typename... Ops> static bool computes(linalg::GenericOp op) {
  ValueRange values = op.getRegionInputArgs();
  auto next = op.getBody()->begin();
  auto follows = [&](bool isExpected) {
    bool reads = next->getOperands() == values;
    values = (next++)->getResults();
    return isExpected && reads;
  };
  return (follows(isa<Ops>(*next)) && ...);
}

/// Whether the parts between both products are a softmax of masked scores along
/// their last dimension, and nothing else reads any of them.
static bool isSoftmax(Parts &parts) {
  unsigned rank = parts[Part::Masked].getNumLoops();
  AffineMap all =
      AffineMap::getMultiDimIdentityMap(rank, parts[Part::Masked].getContext());
  AffineMap row = all.dropResult(rank - 1);
  auto reads = [&](Part part, ArrayRef<Part> inputs, ArrayRef<AffineMap> maps) {
    auto results = llvm::map_to_vector(
        inputs, [&](Part input) { return parts[input].getResult(0); });
    return llvm::equal(parts[part].getDpsInputs(), results) &&
           parts[part].getIndexingMapsArray() == maps;
  };
  return reads(Part::Largest, Part::Masked, {all, row}) &&
         combines(parts[Part::Largest], vector::CombiningKind::MAXIMUMF) &&
         reads(Part::Exponentials, {Part::Masked, Part::Largest},
               {all, row, all}) &&
         computes<arith::SubFOp, math::ExpOp, linalg::YieldOp>(
             parts[Part::Exponentials]) &&
         reads(Part::Sum, Part::Exponentials, {all, row}) &&
         combines(parts[Part::Sum], vector::CombiningKind::ADD) &&
         reads(Part::Weights, {Part::Exponentials, Part::Sum},
               {all, row, all}) &&
         computes<arith::DivFOp, linalg::YieldOp>(parts[Part::Weights]) &&
         parts[Part::Masked].getResult(0).hasNUses(2) &&
         parts[Part::Exponentials].getResult(0).hasNUses(2) &&
         parts[Part::Largest]->hasOneUse() && parts[Part::Sum]->hasOneUse() &&
         parts[Part::Weights]->hasOneUse();
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Goes from the result of a product to what it is merged to, heads that share
/// keys with their keys' heads, if it is; says which dimensions become one.
static SmallVector<ReassociationIndices> merge(Value &value) {
  SmallVector<ReassociationIndices> groups;
  if (value.hasOneUse())
    if (auto merged = dyn_cast<tensor::CollapseShapeOp>(*value.user_begin())) {
      value = merged.getResult();
      return merged.getReassociationIndices();
    }
  for (int64_t dim = 0; dim < cast<ShapedType>(value.getType()).getRank();
       ++dim)
    groups.push_back({dim});
  return groups;
}

/// The digits of these loops, each of which has those of `table`.
static Loops digitsOf(ArrayRef<Loops> table, ArrayRef<unsigned> loops) {
  Loops digits;
  for (unsigned loop : loops)
    digits.append(table[loop]);
  return digits;
}

/// The place of elements of a product whose dimensions are merged so.
static Place placeOf(AffineMap output, ArrayRef<ReassociationIndices> groups,
                     ArrayRef<Loops> table) {
  return llvm::map_to_vector(groups, [&](const ReassociationIndices &group) {
    return digitsOf(table, llvm::map_to_vector(group, [&](int64_t dim) {
                      return output.getDimPosition(dim);
                    }));
  });
}

/// The place in the kernel's result of elements that `value` has at `place`,
/// and from which that follows one by one; nothing if it does so otherwise.
static std::optional<Place> placeInResult(func::FuncOp kernel, Value value,
                                          const Place &place) {
  DenseMap<Value, Place> places{{value, place}};
  SmallVector<Value> worklist{value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    for (OpOperand &use : next.getUses()) {
      if (isa<func::ReturnOp>(use.getOwner()))
        continue;
      auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
      if (!op || !op.isDpsInput(&use) || op.getNumResults() != 1)
        return std::nullopt;
      AffineMap input = op.getMatchingIndexingMap(&use),
                output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
      if (!input.isPermutation() || !output.isPermutation())
        return std::nullopt;
      Place moved;
      for (AffineExpr expr : output.getResults())
        moved.push_back(places[next][*input.getResultPosition(expr)]);
      auto [known, isNew] = places.try_emplace(op.getResult(0), moved);
      if (known->second != moved)
        return std::nullopt; // Of elements of two places.
      if (isNew)
        worklist.push_back(op.getResult(0));
    }
  }
  auto found =
      places.find(kernel.getBody().front().getTerminator()->getOperand(0));
  return found == places.end() ? std::nullopt : std::optional(found->second);
}

/// How many keys after its own number a query sees, if all others of a row are
/// minus infinity: masked = key <= query + ahead ? … : -∞.
static std::optional<int64_t> findAhead(const Attention &a,
                                        linalg::GenericOp masked) {
  auto select = masked.getBody()
                    ->getTerminator()
                    ->getOperand(0)
                    .getDefiningOp<arith::SelectOp>();
  if (!select || a.scores.left.loops.empty() ||
      !matchPattern(select.getFalseValue(), m_NegInfFloat()))
    return std::nullopt;
  auto sees = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!sees || sees.getPredicate() != arith::CmpIPredicate::sle)
    return std::nullopt;
  Value last = sees.getRhs();
  APInt ahead(64, 0);
  if (auto add = last.getDefiningOp<arith::AddIOp>();
      add && matchPattern(add.getRhs(), m_ConstantInt(&ahead)))
    last = add.getLhs();
  auto indexes = [&](Value value, const Loops &loops) {
    auto index = value.getDefiningOp<linalg::IndexOp>();
    return index && a.maskedAt[index.getDim()] == loops;
  };
  bool isCausal = indexes(sees.getLhs(), a.scores.right.loops) &&
                  indexes(last, {a.scores.left.loops.back()});
  return isCausal ? std::optional(ahead.getSExtValue()) : std::nullopt;
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Whether both are products, scores are masked one by one, and weights are
/// split into heads again as scores were merged to `merged`.
static bool areJoined(Parts &parts, Value merged,
                      ArrayRef<ReassociationIndices> groups) {
  linalg::GenericOp scores = parts[Part::Scores], masked = parts[Part::Masked],
                    values = parts[Part::Values];
  for (linalg::GenericOp product : {scores, values})
    if (!isSumOfProducts(product) ||
        !getElementTypeOrSelf(product.getResult(0)).isF32())
      return false;
  Value weights = values.getDpsInputs()[0];
  auto split = weights.getDefiningOp<tensor::ExpandShapeOp>();
  OpOperand *use = merged.hasOneUse() ? &*merged.use_begin() : nullptr;
  return use && !groups.empty() && use->getOwner() == masked &&
         masked.isDpsInput(use) && masked.getNumResults() == 1 &&
         masked.getMatchingIndexingMap(use).isIdentity() &&
         masked.getIndexingMapsArray().back().isIdentity() &&
         (split ? split.getSrc() : weights) ==
             parts[Part::Weights].getResult(0) &&
         (!split || split.getReassociationIndices() == groups) &&
         cast<ShapedType>(weights.getType()).getShape() ==
             cast<ShapedType>(scores.getResultTypes()[0]).getShape();
}

/// Describes both products, if loops that index the same dimension of scores
/// and weights have the same part in both. The loops' digits in `ofValues` are
/// those of scores, and new ones of columns.
static bool describeProducts(Attention &a, Parts &parts,
                             SmallVectorImpl<Loops> &ofValues) {
  auto scores = describeProduct(parts[Part::Scores], /*right=*/1),
       values = describeProduct(parts[Part::Values], /*right=*/1);
  if (!scores || !values || !values->left.map.isProjectedPermutation())
    return false;
  a.scores = *scores;
  a.values = *values;
  a.extents = a.scores.extents;
  ofValues.resize(a.values.extents.size());
  for (auto [own, other] : llvm::zip_equal(a.values.left.map.getResults(),
                                           a.scores.output.getResults())) {
    unsigned loop = cast<AffineDimExpr>(other).getPosition();
    if (a.extents[loop] > 1)
      ofValues[cast<AffineDimExpr>(own).getPosition()] = {loop};
  }
  for (unsigned loop : a.values.right.loops) {
    a.columns.push_back(a.extents.size());
    ofValues[loop] = {a.columns.back()};
    a.extents.push_back(a.values.extents[loop]);
  }
  auto are = [&](const Loops &own, const Loops &others) {
    return own.size() == others.size() && digitsOf(ofValues, own) == others;
  };
  return are(a.values.batch, a.scores.batch) &&
         are(a.values.left.loops, a.scores.left.loops) &&
         are(a.values.depth, a.scores.right.loops);
}

Match<Attention> AttentionStrategy::match(func::FuncOp kernel) {
  auto parts = findParts(kernel);
  if (!parts || kernel.getNumResults() != 1)
    return NoMatch{"has not each part of attention once in 'origin.op', or "
                   "sums up or returns more"};
  Attention a;
  a.masked = (*parts)[Part::Masked].getResult(0);
  Value scores = (*parts)[Part::Scores].getResult(0),
        values = (*parts)[Part::Values].getResult(0);
  auto ofScores = merge(scores), ofResults = merge(values);
  SmallVector<Loops> digits;
  if (!areJoined(*parts, scores, ofScores))
    return NoMatch{"has parts of attention that are no products, or do not "
                   "mask scores one by one, or split weights otherwise"};
  if (!isSoftmax(*parts))
    return NoMatch{"has parts of attention that are no softmax of masked "
                   "scores"};
  if (!describeProducts(a, *parts, digits))
    return NoMatch{"has parts of attention that do not go through the same "
                   "heads, queries and keys"};
  SmallVector<Loops> own;
  for (auto [loop, extent] : llvm::enumerate(a.scores.extents))
    own.push_back(extent > 1 ? Loops{static_cast<unsigned>(loop)} : Loops());
  a.maskedAt = placeOf(a.scores.output, ofScores, own);
  auto resultAt = placeInResult(kernel, values,
                                placeOf(a.values.output, ofResults, digits));
  if (!resultAt || a.maskedAt.back() != a.scores.right.loops)
    return NoMatch{"has results that do not follow from one sum each, or keys "
                   "that are not the last dimension of scores"};
  a.resultAt = *resultAt;
  a.ahead = findAhead(a, (*parts)[Part::Masked]);
  return std::move(a);
}

} // namespace tinh::cuda
