//===- ContractionPlan.cpp - Recognising and dividing products --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/ContractionEmitter.h"

#include "dialects/graph/Graph.h"

#include <limits>

using namespace mlir;

namespace tinh::cuda {

int64_t Product::extentOf(const Loops &loops) const {
  int64_t product = 1;
  for (unsigned loop : loops)
    product *= extents[loop];
  return product;
}

bool Product::takesTensorCores(const Target &target) const {
  Type type = getElementTypeOrSelf(rows.value);
  return element().isF32() &&
         (type.isF16() || type.isBF16() || target.allowTf32) &&
         getElementTypeOrSelf(columns.value) == type;
}

void Product::setDigits(Pull &pull, const Loops &loops, Value linear,
                        int64_t lanes, Indices &dims) const {
  for (size_t i = loops.size(); i-- > 0;) {
    unsigned loop = loops[i];
    bool last = i + 1 == loops.size();
    Value digit = i == 0 ? linear : pull.peel(linear, extents[loop]);
    dims[loop] = {digit, last && lanes > 1 ? 1 : 0, last ? lanes : 1};
  }
}

//===----------------------------------------------------------------------===//
// Where factors lie
//===----------------------------------------------------------------------===//

namespace {

/// How far apart in memory the elements lie that one step of each loop parts.
struct Access {
  SmallVector<int64_t> steps; ///< Of the loops, in elements.
  bool shifted = false; ///< The first element need not be aligned as others.
};

} // namespace

/// How the loops step through an argument with these strides.
static SmallVector<int64_t> stepsOf(AffineMap map, ArrayRef<int64_t> strides) {
  SmallVector<int64_t> steps(map.getNumDims(), 0);
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides))
    for (unsigned loop = 0; loop < map.getNumDims(); ++loop)
      steps[loop] += stride * loopCoefficient(expr, loop, map.getNumDims());
  return steps;
}

/// The input of an element-wise op that has most elements.
static OpOperand *largestInput(linalg::GenericOp op) {
  OpOperand *largest = nullptr;
  int64_t most = -1;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto type = cast<RankedTensorType>(input->get().getType());
    if (type.getNumElements() > most) {
      largest = input;
      most = type.getNumElements();
    }
  }
  return largest;
}

/// How loops that index the result of `op` by `map` index its source.
static AffineMap beforeExpansion(tensor::ExpandShapeOp op, AffineMap map) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  SmallVector<AffineExpr> exprs;
  for (ArrayRef<int64_t> group : op.getReassociationIndices()) {
    AffineExpr linear = getAffineConstantExpr(0, map.getContext());
    for (int64_t dim : group)
      linear = linear * shape[dim] + map.getResult(dim);
    exprs.push_back(linear);
  }
  return AffineMap::get(map.getNumDims(), 0, exprs, map.getContext());
}

/// How loops that index `value` by `map` step through the memory that it is
/// computed from; nothing if that is not affine.
static std::optional<Access> accessOf(Value value, AffineMap map) {
  if (auto strides = stridesInArgument(value))
    return Access{stepsOf(map, *strides), false};
  Operation *op = value.getDefiningOp();
  if (!op) // An argument of a shape without strides.
    return std::nullopt;
  if (auto pad = dyn_cast<tensor::PadOp>(op)) {
    auto access = accessOf(pad.getSource(), map);
    if (access)
      access->shifted = true;
    return access;
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return accessOf(expand.getSrc(), beforeExpansion(expand, map));
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumDpsInputs() == 0)
    return std::nullopt;
  AffineMap output = generic.getMatchingIndexingMap(
      generic.getDpsInitOperand(cast<OpResult>(value).getResultNumber()));
  OpOperand *input = largestInput(generic);
  if (!output.isPermutation())
    return std::nullopt;
  return accessOf(input->get(), generic.getMatchingIndexingMap(input)
                                    .compose(inversePermutation(output))
                                    .compose(map));
}

/// Says how a factor is best loaded.
static void findContiguous(const Product &p, Factor &factor,
                           const Access &access) {
  auto follows = [&](const Loops &loops) {
    return !loops.empty() && access.steps[loops.back()] == 1;
  };
  factor.alongDepth = follows(p.depth) && !follows(factor.loops);
  factor.isScattered = !follows(p.depth) && !follows(factor.loops);
  const Loops &along = factor.alongDepth ? p.depth : factor.loops;
  if (!follows(along) || access.shifted || p.extents[along.back()] % 4 != 0)
    return;
  for (auto [loop, step] : llvm::enumerate(access.steps))
    if (loop != along.back() && p.extents[loop] > 1 && step % 4 != 0)
      return;
  factor.width = 4;
}

/// Sorts the loops of the depth as one of the factors has them in memory.
static void arrange(Product &p) {
  SmallVector<std::pair<Factor *, Access>> known;
  for (Factor *factor : {&p.rows, &p.columns})
    if (auto access = accessOf(factor->value, factor->map))
      known.push_back({factor, *access});
  for (auto &[factor, access] : known) {
    auto &steps = access.steps;
    if (llvm::none_of(p.depth, [&](unsigned loop) { return steps[loop] == 1; }))
      continue;
    llvm::sort(p.depth, [&](unsigned x, unsigned y) {
      return std::pair(-steps[x], x) < std::pair(-steps[y], y);
    });
    break;
  }
  for (auto &[factor, access] : known)
    findContiguous(p, *factor, access);
}

//===----------------------------------------------------------------------===//
// Roles of loops
//===----------------------------------------------------------------------===//

/// A reshape in which the groups of a convolution are merged with their
/// channels, or the result itself.
static Value mergedResult(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (!result.hasOneUse())
    return result;
  auto merged = dyn_cast<tensor::CollapseShapeOp>(*result.user_begin());
  return merged ? merged.getResult() : result;
}

/// Whether the first factor alone is indexed by the last of these loops: it has
/// the columns then, so that stores are contiguous along these.
static bool hasColumnsFirst(linalg::GenericOp op, const Loops &parallel) {
  auto indexes = [&](unsigned input) {
    return op.getMatchingIndexingMap(op.getDpsInputOperand(input))
        .isFunctionOfDim(parallel.back());
  };
  return !parallel.empty() && indexes(0) && !indexes(1);
}

/// Fills in the loops of `p`; says whether each has a role.
static bool assignRoles(linalg::GenericOp op, Product &p) {
  auto isLong = [&](unsigned loop) { return p.extents[loop] > 1; };
  Loops parallel, reduced;
  for (unsigned i = 0; i < p.output.getNumResults(); ++i)
    parallel.push_back(p.output.getDimPosition(i));
  llvm::erase_if(parallel, [&](unsigned loop) { return !isLong(loop); });
  op.getReductionDims(reduced);
  llvm::copy_if(reduced, std::back_inserter(p.depth), isLong);
  bool columnsFirst = hasColumnsFirst(op, parallel);
  for (auto [factor, input] : {std::pair(&p.rows, columnsFirst ? 1 : 0),
                               std::pair(&p.columns, columnsFirst ? 0 : 1)}) {
    OpOperand *operand = op.getDpsInputOperand(input);
    factor->value = operand->get();
    factor->map = op.getMatchingIndexingMap(operand);
  }
  for (unsigned loop : parallel) {
    bool ofRows = p.rows.map.isFunctionOfDim(loop);
    bool ofColumns = p.columns.map.isFunctionOfDim(loop);
    if (!ofRows && !ofColumns)
      return false;
    Loops &loops = ofRows && ofColumns ? p.batch
                   : ofRows            ? p.rows.loops
                                       : p.columns.loops;
    loops.push_back(loop);
  }
  return true;
}

std::optional<Product> matchProduct(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op || !isSumOfProducts(op))
    return std::nullopt;
  Product p;
  p.result = mergedResult(op);
  p.output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  p.extents = op.getStaticLoopRanges();
  if (!p.output.isProjectedPermutation() || llvm::is_contained(p.extents, 0) ||
      !resultsFollowElementwise(kernel, p.result) || !assignRoles(op, p))
    return std::nullopt;
  arrange(p);
  return p;
}

//===----------------------------------------------------------------------===//
// Division
//===----------------------------------------------------------------------===//

ContractionPlan planContraction(const Product &p) {
  // How much of its peak a multiprocessor reaches with the tile: the larger
  // one is, the fewer loads a product costs.
  struct Choice {
    Tile tile;
    double efficiency;
  };
  static constexpr Choice kChoices[] = {{{128, 128, 8, 8, 8}, 1.0},
                                        {{64, 64, 16, 4, 4}, 0.7},
                                        {{32, 32, 16, 4, 4}, 0.35}};
  int64_t rows = p.extentOf(p.rows.loops),
          columns = p.extentOf(p.columns.loops);
  ContractionPlan best;
  double least = std::numeric_limits<double>::infinity();
  for (auto [tile, efficiency] : kChoices) {
    if (tile.threadRows > 4 && p.element().isF64())
      continue; // Too many registers.
    auto tiles = [](int64_t extent, int64_t each) {
      return static_cast<int64_t>(llvm::divideCeil(extent, each));
    };
    ContractionPlan plan{tile, tiles(rows, tile.rows),
                         tiles(columns, tile.columns), p.extentOf(p.batch)};
    double waves = llvm::divideCeil(plan.blocks(), kMultiprocessors);
    double cost = waves * tile.rows * tile.columns / efficiency;
    if (cost < least) {
      least = cost;
      best = plan;
    }
  }
  return best;
}

bool isWorthTiling(func::FuncOp kernel) {
  // With less a thread for each sum reads hardly more than a tile would.
  constexpr int64_t kLeast = 8, kLong = 32;
  auto p = matchProduct(kernel);
  if (!p || p->extentOf(p->depth) < kLeast)
    return false;
  int64_t rows = p->extentOf(p->rows.loops);
  int64_t columns = p->extentOf(p->columns.loops);
  if (rows >= kLeast && columns >= kLeast)
    return true;
  // Teams of threads add up along the depth; where the large factor lies along
  // its own loops, only tiles read neighbours together.
  const Factor &large = rows > columns ? p->rows : p->columns;
  return std::max(rows, columns) >= kLong && p->extentOf(p->depth) >= kLong &&
         !large.alongDepth && !large.isScattered;
}

std::optional<Division> divideContraction(func::FuncOp kernel,
                                          const Target &target) {
  auto p = matchProduct(kernel);
  if (!p)
    return std::nullopt;
  ContractionPlan plan = planContraction(*p);
  int64_t bytes =
      2 * plan.tile.stepElements() * graph::elementSize(p->element());
  if (p->takesTensorCores(target))
    bytes = std::max(bytes, tensorCoreShared(plan.tile));
  return Division{plan.blocks(), plan.tile.threads(), bytes};
}

} // namespace tinh::cuda
