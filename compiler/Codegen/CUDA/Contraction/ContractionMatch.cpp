//===- ContractionMatch.cpp - Recognising products --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CUDA/Contraction/ContractionEmitter.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/Matchers.h"

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

void Product::setDepth(Pull &pull, Value first, Value at, int64_t stepDepth,
                       int64_t lanes, Indices &dims) const {
  if (depth.empty() || extents[depth.back()] % stepDepth != 0)
    return setDigits(pull, depth, pull.add(first, at), lanes, dims);
  setDigits(pull, depth, first, 1, dims);
  LaneIndex &last = dims[depth.back()];
  last = {pull.add(last.base, at), lanes > 1 ? 1 : 0, lanes};
}

//===----------------------------------------------------------------------===//
// Where factors lie
//===----------------------------------------------------------------------===//

/// How the loops step through an argument with these strides.
static Access accessTo(AffineMap map, ArrayRef<int64_t> strides) {
  unsigned loops = map.getNumDims();
  Access access;
  access.steps.assign(loops, 0);
  SmallVector<AffineExpr> zeros(loops,
                                getAffineConstantExpr(0, map.getContext()));
  for (auto [expr, stride] : llvm::zip_equal(map.getResults(), strides)) {
    for (unsigned loop = 0; loop < loops; ++loop)
      access.steps[loop] += stride * loopCoefficient(expr, loop, loops);
    auto first = cast<AffineConstantExpr>(
        simplifyAffineExpr(expr.replaceDims(zeros), 0, 0));
    access.offset += stride * first.getValue();
  }
  return access;
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

AffineMap beforeExpansion(tensor::ExpandShapeOp op, AffineMap map) {
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

static std::optional<Access> accessOf(Value value, AffineMap map);

/// The same for what surrounds a tensor with zeros.
static std::optional<Access> accessOfPadded(tensor::PadOp pad, AffineMap map) {
  Value padding = pad.getConstantPaddingValue();
  SmallVector<AffineExpr> exprs;
  SmallVector<Access::Bound> bounds;
  for (auto [dim, expr] : llvm::enumerate(map.getResults())) {
    int64_t low = pad.getStaticLow()[dim];
    exprs.push_back(expr - low);
    if (low != 0 || pad.getStaticHigh()[dim] != 0)
      bounds.push_back({exprs.back(), pad.getSourceType().getDimSize(dim)});
  }
  auto access =
      accessOf(pad.getSource(),
               AffineMap::get(map.getNumDims(), 0, exprs, map.getContext()));
  if (!access)
    return std::nullopt;
  llvm::append_range(access->bounds, bounds);
  if (!padding || !matchPattern(padding, m_AnyZeroFloat()))
    access->argument = {};
  return access;
}

/// The same for a slice, such as the queries of a product that gave keys and
/// values, too.
static std::optional<Access> accessOfSlice(tensor::ExtractSliceOp slice,
                                           AffineMap map) {
  if (slice.getSourceType().getRank() != slice.getType().getRank())
    return std::nullopt;
  SmallVector<AffineExpr> exprs;
  for (auto [dim, expr] : llvm::enumerate(map.getResults()))
    exprs.push_back(expr * slice.getStaticStride(dim) +
                    slice.getStaticOffset(dim));
  return accessOf(slice.getSource(),
                  AffineMap::get(map.getNumDims(), 0, exprs, map.getContext()));
}

/// How loops that index `value` by `map` step through the memory that it is
/// computed from; nothing if that is not affine.
static std::optional<Access> accessOf(Value value, AffineMap map) {
  if (auto strides = stridesInArgument(value)) {
    Access access = accessTo(map, *strides);
    access.argument = reshapedArgument(value);
    return access;
  }
  Operation *op = value.getDefiningOp();
  if (!op) // An argument of a shape without strides.
    return std::nullopt;
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return accessOfPadded(pad, map);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op))
    return accessOfSlice(slice, map);
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
  auto access = accessOf(input->get(), generic.getMatchingIndexingMap(input)
                                           .compose(inversePermutation(output))
                                           .compose(map));
  // A transposition computes nothing.
  Value element = generic.getBody()->getTerminator()->getOperand(
      cast<OpResult>(value).getResultNumber());
  if (access && element != generic.getMatchingBlockArgument(input))
    access->argument = {};
  return access;
}

/// Whether vectors of `width` elements along loop `along` lie at multiples of
/// their size, all of a vector or nothing in memory.
static bool hasVectors(const Product &p, const Access &access, unsigned along,
                       int64_t width) {
  if (p.extents[along] % width != 0 || access.offset % width != 0)
    return false;
  for (const Access::Bound &bound : access.bounds)
    if (loopCoefficient(bound.index, along, p.extents.size()) != 0)
      return false;
  for (auto [loop, step] : llvm::enumerate(access.steps))
    if (loop != along && p.extents[loop] > 1 && step % width != 0)
      return false;
  return true;
}

/// Says how a factor is best loaded.
static void findContiguous(const Product &p, Factor &factor) {
  const Access &access = *factor.access;
  auto follows = [&](const Loops &loops) {
    return !loops.empty() && access.steps[loops.back()] == 1;
  };
  factor.alongDepth = follows(p.depth) && !follows(factor.loops);
  factor.isScattered = !follows(p.depth) && !follows(factor.loops);
  if (factor.isScattered)
    return;
  unsigned along = (factor.alongDepth ? p.depth : factor.loops).back();
  int64_t widest = std::max<int64_t>(
      4, 16 / graph::elementSize(getElementTypeOrSelf(factor.value)));
  for (int64_t width = widest; width > 1 && factor.width == 1; width /= 2)
    if (hasVectors(p, access, along, width))
      factor.width = width;
}

int64_t Factor::copyBytes() const {
  int64_t bytes = width * graph::elementSize(getElementTypeOrSelf(value));
  return access && access->argument && bytes >= 4 ? bytes : 0;
}

/// Sorts the loops of the depth as one of the factors has them in memory.
static void arrange(Product &p) {
  SmallVector<Factor *> known;
  for (Factor *factor : {&p.rows, &p.columns}) {
    factor->access = accessOf(factor->value, factor->map);
    if (factor->access)
      known.push_back(factor);
  }
  for (Factor *factor : known) {
    auto &steps = factor->access->steps;
    if (llvm::none_of(p.depth, [&](unsigned loop) { return steps[loop] == 1; }))
      continue;
    llvm::sort(p.depth, [&](unsigned x, unsigned y) {
      return std::pair(-steps[x], x) < std::pair(-steps[y], y);
    });
    break;
  }
  for (Factor *factor : known)
    findContiguous(p, *factor);
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
static bool hasColumnsFirst(linalg::GenericOp op) {
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  SmallVector<int64_t> extents = op.getStaticLoopRanges();
  for (unsigned i = output.getNumResults(); i-- > 0;) {
    unsigned loop = output.getDimPosition(i);
    if (extents[loop] == 1)
      continue;
    auto indexes = [&](unsigned input) {
      return op.getMatchingIndexingMap(op.getDpsInputOperand(input))
          .isFunctionOfDim(loop);
    };
    return indexes(0) && !indexes(1);
  }
  return false;
}

/// Fills in the loops of `p`; says whether each has a role.
static bool assignRoles(linalg::GenericOp op, bool columnsFirst, Product &p) {
  auto isLong = [&](unsigned loop) { return p.extents[loop] > 1; };
  Loops parallel, reduced;
  for (unsigned i = 0; i < p.output.getNumResults(); ++i)
    parallel.push_back(p.output.getDimPosition(i));
  llvm::erase_if(parallel, [&](unsigned loop) { return !isLong(loop); });
  op.getReductionDims(reduced);
  llvm::copy_if(reduced, std::back_inserter(p.depth), isLong);
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

std::optional<Product> describeProduct(linalg::GenericOp op,
                                       bool columnsFirst) {
  Product p;
  p.kernel = op->getParentOfType<func::FuncOp>();
  p.result = op.getResult(0);
  p.output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  p.extents = op.getStaticLoopRanges();
  if (!p.output.isProjectedPermutation() || llvm::is_contained(p.extents, 0) ||
      !assignRoles(op, columnsFirst, p))
    return std::nullopt;
  arrange(p);
  return p;
}

Match<Product> matchProduct(func::FuncOp kernel) {
  linalg::GenericOp op = onlyReduction(kernel);
  if (!op)
    return NoMatch{"has not one reduction alone"};
  if (!isSumOfProducts(op) ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0))
           .isProjectedPermutation())
    return NoMatch{"sums up no products of two factors"};
  if (!resultsFollowElementwise(kernel, mergedResult(op)))
    return NoMatch{"computes results from other than one sum each"};
  auto p = describeProduct(op, hasColumnsFirst(op));
  if (!p)
    return NoMatch{"has a sum that depends on neither factor, or none at all"};
  p->result = mergedResult(op);
  return std::move(*p);
}

} // namespace tinh::cuda
