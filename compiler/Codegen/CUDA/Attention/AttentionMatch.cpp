//===- AttentionMatch.cpp - Recognising attention ---------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The four reductions of a kernel say which part each of them may have. From
// the scores on, the place of each element is followed through transpositions
// and reshapes: so it is known which loops a dimension stands for, and that
// values that are combined belong together.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Attention/Attention.h"

#include "compiler/Codegen/Kernel/Split.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

#include <map>
#include <numeric>

using namespace mlir;

namespace tinh::cuda {

Indices Attention::indicesAt(Pull *pull, const Place &place,
                             const Indices &loops) const {
  Indices indices;
  for (const Loops &digits : place) {
    LaneIndex linear{pull ? pull->index(0) : Value(), 0, 1 << 20};
    for (unsigned loop : digits) {
      const LaneIndex &digit = loops[loop];
      Value base = linear.base;
      if (pull)
        base = pull->add(pull->mul(base, extents[loop]), digit.base);
      linear = {base, linear.stride * extents[loop] + digit.stride,
                std::gcd(linear.alignment * extents[loop], digit.alignment)};
    }
    indices.push_back(linear);
  }
  return indices;
}

namespace {

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// Follows what is computed from the scores.
class Tracker {
public:
  Tracker(linalg::GenericOp scores, linalg::GenericOp values)
      : extents(scores.getStaticLoopRanges()), scores(scores), values(values) {}

  /// False if some place cannot be told.
  bool follow(func::FuncOp kernel) {
    for (Operation &op : kernel.getBody().front().without_terminator())
      if (!followOp(&op))
        return false;
    return true;
  }
  /// The digits of these loops of a generic, one after the other.
  Loops digitsOf(linalg::GenericOp op, ArrayRef<unsigned> loops) const {
    Loops digits;
    for (unsigned loop : loops)
      digits.append(ofLoops.at(op)[loop]);
    return digits;
  }

  std::map<Operation *, Place> ofLoops; ///< Of generics.
  DenseMap<Value, Place> places;
  SmallVector<int64_t> extents; ///< Of loops: the scores', then new ones.

private:
  bool followOp(Operation *op);
  bool followGeneric(linalg::GenericOp op);
  bool followExpansion(tensor::ExpandShapeOp op);
  bool assign(linalg::GenericOp op, SmallVector<std::optional<Loops>> &loops);

  linalg::GenericOp scores, values;
};

} // namespace

bool Tracker::followOp(Operation *op) {
  bool reads = op == scores;
  op->walk([&](Operation *nested) {
    reads |= llvm::any_of(nested->getOperands(),
                          [&](Value v) { return places.contains(v); });
  });
  if (!reads)
    return true;
  if (auto generic = dyn_cast<linalg::GenericOp>(op))
    return followGeneric(generic);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return followExpansion(expand);
  auto collapse = dyn_cast<tensor::CollapseShapeOp>(op);
  if (!collapse)
    return false;
  Place place;
  for (ArrayRef<int64_t> group : collapse.getReassociationIndices()) {
    place.emplace_back();
    for (int64_t dim : group)
      place.back().append(places[collapse.getSrc()][dim]);
  }
  places[collapse.getResult()] = place;
  return true;
}

/// Each dimension takes as many digits as make up its extent.
bool Tracker::followExpansion(tensor::ExpandShapeOp op) {
  Place place, source = places[op.getSrc()];
  for (auto [group, digits] :
       llvm::zip_equal(op.getReassociationIndices(), source)) {
    size_t next = 0;
    for (int64_t dim : group) {
      place.emplace_back();
      int64_t extent = op.getResultType().getDimSize(dim), reached = 1;
      while (reached < extent && next < digits.size()) {
        reached *= extents[digits[next]];
        place.back().push_back(digits[next++]);
      }
      if (reached != extent)
        return false;
    }
  }
  places[op.getResult()] = place;
  return true;
}

/// Gives loops the places of what they index; false if these contradict.
bool Tracker::assign(linalg::GenericOp op,
                     SmallVector<std::optional<Loops>> &loops) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto found = places.find(input->get());
    if (found == places.end())
      continue;
    AffineMap map = op.getMatchingIndexingMap(input);
    for (auto [expr, digits] :
         llvm::zip_equal(map.getResults(), found->second)) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      if (!dim && !digits.empty())
        return false;
      if (!dim)
        continue;
      std::optional<Loops> &loop = loops[dim.getPosition()];
      if (loop && *loop != digits)
        return false;
      loop = digits;
    }
  }
  return true;
}

bool Tracker::followGeneric(linalg::GenericOp op) {
  auto isTracked = [&](Value value) { return places.contains(value); };
  auto readsInside = op.getBody()->walk([&](Operation *nested) {
    return llvm::any_of(nested->getOperands(), isTracked)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  if (readsInside.wasInterrupted() || llvm::any_of(op.getDpsInits(), isTracked))
    return false;
  SmallVector<std::optional<Loops>> loops(op.getNumLoops());
  if (!assign(op, loops))
    return false;
  Place place;
  for (auto [i, loop] : llvm::enumerate(loops)) {
    int64_t extent = op.getStaticLoopRanges()[i];
    if (!loop && extent > 1) {
      if (op == scores) {
        loop = Loops{static_cast<unsigned>(i)};
      } else if (op == values) {
        loop = Loops{static_cast<unsigned>(extents.size())};
        extents.push_back(extent);
      } else {
        return false; // The result has elements of no place.
      }
    }
    place.push_back(loop.value_or(Loops()));
  }
  ofLoops[op] = place;
  for (OpResult result : op->getResults()) {
    AffineMap map = op.getMatchingIndexingMap(
        op.getDpsInitOperand(result.getResultNumber()));
    if (!map.isProjectedPermutation())
      return false;
    for (unsigned i = 0; i < map.getNumResults(); ++i)
      places[result].push_back(place[map.getDimPosition(i)]);
  }
  return true;
}

//===----------------------------------------------------------------------===//
// What elements are computed by
//===----------------------------------------------------------------------===//

static Operation *producerOf(Value tensor);

/// What computes a value of a generic's body: a scalar op, or the reduction
/// whose result it is; null for anything else.
static Operation *scalarProducer(Value scalar) {
  if (Operation *op = scalar.getDefiningOp())
    return op;
  auto argument = cast<BlockArgument>(scalar);
  auto generic = cast<linalg::GenericOp>(argument.getOwner()->getParentOp());
  return producerOf(generic->getOperand(argument.getArgNumber()));
}

/// The same of the elements of a tensor.
static Operation *producerOf(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  while (isa_and_nonnull<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(op)) {
    tensor = op->getOperand(0);
    op = tensor.getDefiningOp();
  }
  auto generic = dyn_cast_or_null<linalg::GenericOp>(op);
  if (!generic || generic.getNumReductionLoops() > 0)
    return generic;
  unsigned number = cast<OpResult>(tensor).getResultNumber();
  return scalarProducer(generic.getBody()->getTerminator()->getOperand(number));
}

/// Whether `op` is exp(masked - largest).
static bool isExponential(Operation *op, const Attention &a) {
  auto exp = dyn_cast_or_null<math::ExpOp>(op);
  if (!exp)
    return false;
  auto sub = dyn_cast_or_null<arith::SubFOp>(scalarProducer(exp.getOperand()));
  return sub && scalarProducer(sub.getRhs()) == a.largest &&
         scalarProducer(sub.getLhs()) == producerOf(a.masked);
}

/// Whether the second product multiplies exponentials, as they are or divided
/// by their sum; which of both, `a` is told.
static bool hasWeights(Value weights, Operation *exponential, Attention &a) {
  Operation *op = producerOf(weights);
  while (isa_and_nonnull<arith::TruncFOp, arith::ExtFOp>(op))
    op = scalarProducer(op->getOperand(0));
  auto div = dyn_cast_or_null<arith::DivFOp>(op);
  a.isDivided = static_cast<bool>(div);
  return div ? scalarProducer(div.getLhs()) == exponential &&
                   scalarProducer(div.getRhs()) == a.sum
             : op == exponential;
}

//===----------------------------------------------------------------------===//
// What queries see
//===----------------------------------------------------------------------===//

/// The loop that `value`, of a generic's body, is the index of.
static std::optional<unsigned> indexedLoop(Value value) {
  auto index = value.getDefiningOp<linalg::IndexOp>();
  return index ? std::optional<unsigned>(index.getDim()) : std::nullopt;
}

/// How many keys after its own number a query sees, if all others of a row are
/// minus infinity: masked = key <= query + ahead ? … : -∞.
static std::optional<int64_t> findAhead(const Attention &a,
                                        const Tracker &tracker) {
  auto select = dyn_cast_or_null<arith::SelectOp>(producerOf(a.masked));
  FloatAttr hidden;
  if (!select || a.scores.left.loops.empty() ||
      !matchPattern(select.getFalseValue(), m_Constant(&hidden)) ||
      !hidden.getValue().isInfinity() || !hidden.getValue().isNegative())
    return std::nullopt;
  auto sees = select.getCondition().getDefiningOp<arith::CmpIOp>();
  if (!sees || sees.getPredicate() != arith::CmpIPredicate::sle)
    return std::nullopt;
  Value last = sees.getRhs();
  APInt ahead(64, 0);
  if (auto add = last.getDefiningOp<arith::AddIOp>();
      add && matchPattern(add.getRhs(), m_ConstantInt(&ahead)))
    last = add.getLhs();
  auto key = indexedLoop(sees.getLhs()), query = indexedLoop(last);
  auto generic = cast<linalg::GenericOp>(select->getParentOp());
  if (!key || !query ||
      tracker.digitsOf(generic, *key) != a.scores.right.loops ||
      tracker.digitsOf(generic, *query) != Loops{a.scores.left.loops.back()})
    return std::nullopt;
  return ahead.getSExtValue();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Whether `op` combines its one input's elements of f32 in this way, from what
/// changes nothing on.
static bool combines(linalg::GenericOp op, vector::CombiningKind kind) {
  auto combiner = matchCombiner(op);
  if (!combiner || combiner->kind != kind || op.getNumDpsInputs() != 1 ||
      !getElementTypeOrSelf(op.getResult(0)).isF32())
    return false;
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  FloatAttr start;
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&start)))
    return false;
  return kind == vector::CombiningKind::ADD
             ? start.getValue().isZero()
             : start.getValue().isInfinity() && start.getValue().isNegative();
}

/// The kernel's reductions: both products in their order, maximum and sum.
static bool findReductions(func::FuncOp kernel, Attention &a,
                           SmallVectorImpl<linalg::GenericOp> &products) {
  bool others = false;
  for (auto op : kernel.getOps<linalg::GenericOp>()) {
    if (op.getNumReductionLoops() == 0)
      continue;
    if (isSumOfProducts(op) && getElementTypeOrSelf(op.getResult(0)).isF32())
      products.push_back(op);
    else if (!a.largest && combines(op, vector::CombiningKind::MAXIMUMF))
      a.largest = op;
    else if (!a.sum && combines(op, vector::CombiningKind::ADD))
      a.sum = op;
    else
      others = true;
  }
  return !others && products.size() == 2 && a.largest && a.sum;
}

/// The input of `op` that has a place.
static std::optional<unsigned> trackedInput(linalg::GenericOp op,
                                            const Tracker &tracker) {
  std::optional<unsigned> found;
  for (OpOperand *input : op.getDpsInputOperands()) {
    if (!tracker.places.contains(input->get()))
      continue;
    if (found)
      return std::nullopt;
    found = input->getOperandNumber();
  }
  return found;
}

static bool sameLoops(Loops x, Loops y) {
  llvm::sort(x);
  llvm::sort(y);
  return x == y;
}

/// Describes both products, of which `values` has the weights as this input,
/// if the same loops have the same parts in both.
static bool describeProducts(Attention &a, linalg::GenericOp scores,
                             linalg::GenericOp values, unsigned weights,
                             const Tracker &tracker) {
  auto reduced = [&](linalg::GenericOp op) {
    SmallVector<unsigned> loops;
    op.getReductionDims(loops);
    return tracker.digitsOf(op, loops);
  };
  Loops keys = reduced(a.largest);
  auto hasKeys = [&](unsigned input) {
    AffineMap map =
        scores.getMatchingIndexingMap(scores.getDpsInputOperand(input));
    return llvm::any_of(keys,
                        [&](unsigned k) { return map.isFunctionOfDim(k); });
  };
  auto ofScores = describeProduct(scores, /*columnsFirst=*/hasKeys(0)),
       ofValues = describeProduct(values, /*columnsFirst=*/weights == 1);
  if (!ofScores || !ofValues || !sameLoops(reduced(a.sum), keys) ||
      !sameLoops(ofScores->right.loops, keys))
    return false;
  a.scores = *ofScores;
  a.values = *ofValues;
  auto digits = [&](const Loops &loops) {
    return tracker.digitsOf(values, loops);
  };
  a.columns = digits(a.values.right.loops);
  return digits(a.values.batch) == a.scores.batch &&
         digits(a.values.left.loops) == a.scores.left.loops &&
         digits(a.values.depth) == a.scores.right.loops;
}

Match<Attention> matchAttention(func::FuncOp kernel) {
  constexpr NoMatch kNoSoftmax{"has no softmax between two products"};
  Attention a;
  SmallVector<linalg::GenericOp> products;
  if (kernel.getNumResults() != 1 || !findReductions(kernel, a, products))
    return kNoSoftmax;
  Tracker tracker(products[0], products[1]);
  if (!tracker.follow(kernel))
    return NoMatch{"moves scores to where no loop of theirs leads"};
  auto weights = trackedInput(products[1], tracker);
  a.masked = a.largest.getDpsInputs()[0];
  Operation *exponential = producerOf(a.sum.getDpsInputs()[0]);
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  if (!weights || !tracker.places.contains(a.masked) ||
      !tracker.places.contains(result) || !isExponential(exponential, a) ||
      !hasWeights(products[1].getDpsInputs()[*weights], exponential, a) ||
      !describeProducts(a, products[0], products[1], *weights, tracker))
    return kNoSoftmax;
  a.extents = tracker.extents;
  a.maskedAt = tracker.places[a.masked];
  a.resultAt = tracker.places[result];
  a.ahead = findAhead(a, tracker);
  // Each sum has one place in the result.
  Loops all, written;
  for (const Loops *loops : {&a.scores.batch, &a.scores.left.loops, &a.columns})
    all.append(*loops);
  for (const Loops &digits : a.resultAt)
    written.append(digits);
  if (!sameLoops(all, written))
    return NoMatch{"has results that no sum alone belongs to"};
  return std::move(a);
}

} // namespace tinh::cuda
