//===- ContractionPlan.cpp - Recognising and cutting products ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tinh::cpu {

//===----------------------------------------------------------------------===//
// Recognition
//===----------------------------------------------------------------------===//

/// The argument of a body that `value` is, or is converted from.
static Value convertedArgument(Value value) {
  auto convert = value.getDefiningOp<arith::ExtFOp>();
  return convert ? convert.getIn() : value;
}

/// Whether the body is acc + a · b in f32 or f64, to which a and b may be
/// converted.
static bool isMultiplyAdd(linalg::GenericOp op) {
  if (op.getNumDpsInputs() != 2 || op.getNumDpsInits() != 1)
    return false;
  Block *body = op.getBody();
  auto sum =
      body->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  if (!sum || (!sum.getType().isF32() && !sum.getType().isF64()))
    return false;
  Value accumulator = body->getArgument(2);
  Value other = sum.getLhs() == accumulator   ? sum.getRhs()
                : sum.getRhs() == accumulator ? sum.getLhs()
                                              : Value();
  auto product = other ? other.getDefiningOp<arith::MulFOp>() : nullptr;
  if (!product)
    return false;
  Value a = body->getArgument(0), b = body->getArgument(1);
  Value lhs = convertedArgument(product.getLhs()),
        rhs = convertedArgument(product.getRhs());
  return (lhs == a && rhs == b) || (lhs == b && rhs == a);
}

static bool startsFromZero(linalg::GenericOp op) {
  auto fill = op.getDpsInits()[0].getDefiningOp<linalg::FillOp>();
  return fill && matchPattern(fill.getInputs()[0], m_AnyZeroFloat());
}

bool isSumOfProducts(linalg::GenericOp op) {
  return isMultiplyAdd(op) && startsFromZero(op);
}

Value mergedResult(linalg::GenericOp op) {
  Value result = op.getResult(0);
  if (result.hasOneUse())
    if (auto merged = dyn_cast<tensor::CollapseShapeOp>(*result.user_begin()))
      return merged.getResult();
  return result;
}

static bool usesDim(AffineMap map, unsigned dim) {
  return map.isFunctionOfDim(dim);
}

/// Fills in the loops' roles with operand `w` as the weights.
static std::optional<Contraction> assignRoles(linalg::GenericOp op,
                                              unsigned w) {
  OpOperand *weights = op.getDpsInputOperand(w);
  OpOperand *input = op.getDpsInputOperand(1 - w);
  Contraction c{op,
                op.getResult(0),
                input->get(),
                op.getMatchingIndexingMap(input),
                weights->get(),
                op.getMatchingIndexingMap(weights),
                0,
                {},
                {},
                {},
                op.getStaticLoopRanges()};
  AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
  if (llvm::is_contained(c.extents, 0)) // Nothing to cut into tiles.
    return std::nullopt;
  if (!output.isProjectedPermutation() || output.getNumResults() < 2 ||
      !c.weightsMap.isProjectedPermutation(/*allowZeroInResults=*/true))
    return std::nullopt;
  c.n = output.getDimPosition(output.getNumResults() - 1);
  if (!usesDim(c.weightsMap, c.n) || usesDim(c.inputMap, c.n))
    return std::nullopt;
  for (unsigned i = 0; i + 1 < output.getNumResults(); ++i) {
    unsigned dim = output.getDimPosition(i);
    if (!usesDim(c.weightsMap, dim))
      c.m.push_back(dim);
    else if (usesDim(c.inputMap, dim))
      c.batch.push_back(dim);
    else
      return std::nullopt;
  }
  if (c.m.empty())
    return std::nullopt;
  // Rows of a tile lie along the last of these: one that has some.
  auto isUnit = [&](unsigned dim) { return c.extents[dim] == 1; };
  unsigned last = c.m.back();
  llvm::erase_if(c.m, isUnit);
  if (c.m.empty())
    c.m = {last};
  op.getReductionDims(c.k);
  for (unsigned dim : c.k)
    if (!usesDim(c.weightsMap, dim) || !usesDim(c.inputMap, dim))
      return std::nullopt;
  return c;
}

std::optional<Contraction> matchContraction(func::FuncOp kernel) {
  return matchProducts<Contraction>(kernel, 1, assignRoles);
}

//===----------------------------------------------------------------------===//
// Planning
//===----------------------------------------------------------------------===//

int64_t panelWidth(const Contraction &c, const Target &target) {
  int64_t lanes = c.lanes(target), n = c.extents[c.n];
  int64_t rows = c.extentOf(c.m);
  // Few rows have too few accumulators to hide the latency of the FMAs.
  int64_t vectors = rows <= 3 ? 4 : 2;
  while (vectors > 1 && (vectors - 1) * lanes >= n)
    --vectors;
  return vectors * lanes;
}

/// Rows of a register tile: the number, up to what registers hold, with which
/// all tiles of `extent` rows take the least time.
static int64_t chooseTileRows(int64_t extent, int64_t vectors,
                              const Target &target) {
  int64_t most =
      std::min(extent, (target.vectorRegisters - vectors - 1) / vectors);
  most = std::min<int64_t>(std::max<int64_t>(most, 1), 14);
  auto cost = [&](int64_t rows) {
    // Under four accumulators a unit waits for the latency of its FMAs.
    return std::max<int64_t>(rows * vectors, 8) + vectors;
  };
  int64_t best = 1, least = INT64_MAX;
  for (int64_t rows = 1; rows <= most; ++rows) {
    int64_t total = extent / rows * cost(rows);
    if (extent % rows)
      total += cost(extent % rows);
    if (total <= least) {
      least = total;
      best = rows;
    }
  }
  return best;
}

int64_t loopCoefficient(AffineExpr expr, unsigned dim, size_t numLoops) {
  SmallVector<AffineExpr> at(numLoops,
                             getAffineConstantExpr(0, expr.getContext()));
  auto value = [&] {
    return cast<AffineConstantExpr>(
               simplifyAffineExpr(expr.replaceDims(at), 0, 0))
        .getValue();
  };
  int64_t zero = value();
  at[dim] = getAffineConstantExpr(1, expr.getContext());
  return value() - zero;
}

/// The part of the input that a block of lines reads, at `columns` of each.
static SmallVector<int64_t> slabShape(const Contraction &c,
                                      int64_t linesPerBlock, int64_t columns) {
  SmallVector<int64_t> shape;
  for (AffineExpr expr : c.inputMap.getResults()) {
    int64_t extent = 1;
    for (unsigned dim = 0; dim < c.extents.size(); ++dim) {
      int64_t range = c.extents[dim];
      if (llvm::is_contained(c.batch, dim))
        range = 1;
      else if (dim == c.m.back())
        range = columns;
      else if (llvm::is_contained(c.m, dim))
        range = dim == c.m[c.m.size() - 2] ? linesPerBlock : 1;
      extent += loopCoefficient(expr, dim, c.extents.size()) * (range - 1);
    }
    shape.push_back(extent);
  }
  return shape;
}

static int64_t slabBytes(const Contraction &c, ArrayRef<int64_t> slab) {
  return ShapedType::getNumElements(slab) * c.elementBytes();
}

ContractionPlan planContraction(const Contraction &c, const Target &target,
                                bool packed) {
  ContractionPlan p;
  p.panelWidth = panelWidth(c, target);
  int64_t n = c.extents[c.n];
  p.panels = llvm::divideCeil(n, p.panelWidth);
  int64_t inner = c.extents[c.m.back()];
  p.tileRows = chooseTileRows(inner, p.panelWidth / c.lanes(target), target);
  p.tiles = llvm::divideCeil(inner, p.tileRows);
  p.lines = c.m.size() > 1 ? c.extents[c.m[c.m.size() - 2]] : 1;
  ArrayRef<unsigned> outer = c.m;
  p.outer = c.extentOf(c.batch) *
            c.extentOf(outer.drop_back(std::min<size_t>(2, outer.size())));

  int64_t depth = c.extentOf(c.k);
  double work = 2.0 * p.outer * p.lines * inner * n * depth;
  // Chunks of at least a million operations, some 32 of them.
  int64_t wanted = std::clamp<int64_t>(work / 1e6, 1, 32);
  p.staged = !stridesInArgument(c.input) ||
             getElementTypeOrSelf(c.input) != c.element();

  int64_t lineBlocks = 1, tileBlocks = 1, groups = 1;
  auto split = [&](int64_t &blocks, int64_t available) {
    int64_t have = p.outer * lineBlocks * tileBlocks * groups;
    int64_t more = llvm::divideCeil(wanted, have);
    blocks = std::clamp<int64_t>(more, 1, available);
  };
  // Large weights are read once if the panels are divided among the chunks,
  // small ones stay in the cache whatever is divided.
  bool largeWeights = depth * n * c.elementBytes() > (1 << 20) || !packed;
  if (largeWeights)
    split(groups, p.panels);
  // What a chunk has packed should serve many rows.
  if (packed || p.lines > 8)
    split(lineBlocks, packed ? p.lines : p.lines / 8);
  // Tiles of one line share a slab, unless that makes no more sense.
  bool splitsLine =
      packed && (!p.staged ||
                 (p.lines == 1 &&
                  !c.inputMap.getResults().back().isFunctionOfDim(c.m.back())));
  if (splitsLine)
    split(tileBlocks, p.tiles);
  if (!largeWeights)
    split(groups, p.panels);

  p.linesPerBlock = llvm::divideCeil(p.lines, lineBlocks);
  p.tilesPerBlock = llvm::divideCeil(p.tiles, tileBlocks);
  // The slab has to stay in the second-level cache.
  constexpr int64_t kMostSlab = 512 << 10;
  auto slab = [&] {
    return slabShape(c, p.linesPerBlock,
                     std::min(p.tilesPerBlock * p.tileRows, inner));
  };
  while (p.staged && p.linesPerBlock > 1 && slabBytes(c, slab()) > kMostSlab)
    p.linesPerBlock = (p.linesPerBlock + 1) / 2;
  while (p.staged && splitsLine && p.tilesPerBlock > 1 &&
         slabBytes(c, slab()) > kMostSlab)
    p.tilesPerBlock = (p.tilesPerBlock + 1) / 2;
  p.panelsPerGroup = llvm::divideCeil(p.panels, groups);
  p.scratch = 0;
  if (p.staged) {
    p.slab = slab();
    p.scratch = alignBytes(slabBytes(c, p.slab));
  }
  p.weightsOffset = p.scratch;
  if (!packed)
    p.scratch +=
        alignBytes(p.panelsPerGroup * depth * p.panelWidth * c.elementBytes());
  p.chunks = p.outer * llvm::divideCeil(p.lines, p.linesPerBlock) *
             llvm::divideCeil(p.tiles, p.tilesPerBlock) *
             llvm::divideCeil(p.panels, p.panelsPerGroup);
  return p;
}

//===----------------------------------------------------------------------===//
// Products within a kernel of rows
//===----------------------------------------------------------------------===//

std::optional<Contraction> matchContractionStage(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || !isSumOfProducts(op))
    return std::nullopt;
  for (unsigned w : {1u, 0u}) {
    auto c = assignRoles(op, w);
    if (!c || c->m.size() > 2 || c->extents[c->n] < 8 ||
        c->extents[c->m.back()] < 8)
      continue;
    // The rows have to follow the batch dimensions.
    AffineMap output = op.getMatchingIndexingMap(op.getDpsInitOperand(0));
    bool ordered = true;
    for (unsigned i = 0; i < c->batch.size(); ++i)
      ordered &= output.getDimPosition(i) == c->batch[i];
    if (ordered)
      return c;
  }
  return std::nullopt;
}

int64_t contractionStageScratch(const Contraction &c) {
  int64_t depth = c.extentOf(c.k);
  // Panels of any CPU are at most 64 wide.
  int64_t lines = c.m.size() > 1 ? c.extents[c.m[c.m.size() - 2]] : 1;
  int64_t slab = slabBytes(c, slabShape(c, lines, c.extents[c.m.back()]));
  return alignBytes(slab) +
         llvm::alignTo(c.extents[c.n], 64) * depth * c.elementBytes();
}

ContractionPlan planContractionStage(const Contraction &c, const Target &target,
                                     int64_t scratchOffset) {
  ContractionPlan plan = planContraction(c, target, /*packed=*/false);
  plan.outer = 1;
  plan.linesPerBlock = plan.lines;
  plan.tilesPerBlock = plan.tiles;
  plan.panelsPerGroup = plan.panels;
  plan.staged = true;
  plan.slab = slabShape(c, plan.lines, c.extents[c.m.back()]);
  plan.slabOffset = scratchOffset;
  plan.weightsOffset = scratchOffset + alignBytes(slabBytes(c, plan.slab));
  return plan;
}

} // namespace tinh::cpu
