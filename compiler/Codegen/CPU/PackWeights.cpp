//===- PackWeights.cpp - Weights as kernels want them -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where %w is constant,
//
//   %y = graph.dispatch @matmul_0(%x, %w)
//       : (tensor<64x1000xf32>, tensor<1000x100xf32>) -> …
//
// becomes
//
//   %p = graph.dispatch @matmul_0_pack(%w)
//       : (tensor<1000x100xf32>) -> tensor<4x1000x32xf32>
//   %y = graph.dispatch @matmul_0(%x, %p)
//       : (tensor<64x1000xf32>, tensor<4x1000x32xf32>) -> …
//
// and @matmul_0 begins by saying, in linalg, how the packed tensor holds the
// weights. What packs constants moves to @init in the end. Other weights are
// packed each time, where several chunks would have to pack them or would find
// no vectors to load in them.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/WindowReduction.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace tinh::cpu {

/// Whether `value` depends on constants alone.
static bool isConstant(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (isa<graph::ConstantOp, graph::WeightOp>(op))
    return true;
  return isa<graph::DispatchOp, graph::ReshapeOp>(op) &&
         op->getNumOperands() > 0 &&
         llvm::all_of(op->getOperands(), isConstant);
}

/// A generic over `source`, whose dimension i is `exprs[i]`, with a body that
/// makes an element of type `element` of one of the source's.
static Value mapElements(OpBuilder &b, Location loc, Value source,
                         ArrayRef<int64_t> shape, ArrayRef<AffineExpr> exprs,
                         Type element,
                         function_ref<Value(OpBuilder &, Value)> body) {
  Value empty = tensor::EmptyOp::create(b, loc, shape, element);
  AffineMap maps[] = {
      AffineMap::get(shape.size(), 0, exprs, b.getContext()),
      AffineMap::getMultiDimIdentityMap(shape.size(), b.getContext())};
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), source, empty, maps, iterators,
             [&](OpBuilder &b, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(b, loc, body(b, arguments[0]));
             })
      .getResult(0);
}

/// `source` with its dimensions in another order.
static Value permute(OpBuilder &b, Location loc, Value source,
                     ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    exprs[from] = b.getAffineDimExpr(i);
  }
  return mapElements(b, loc, source, shape, exprs, type.getElementType(),
                     [](OpBuilder &, Value x) { return x; });
}

/// `source` with elements of another floating-point type.
static Value convert(OpBuilder &b, Location loc, Value source, Type element) {
  auto type = cast<RankedTensorType>(source.getType());
  if (type.getElementType() == element)
    return source;
  SmallVector<AffineExpr> exprs;
  for (int64_t i = 0; i < type.getRank(); ++i)
    exprs.push_back(b.getAffineDimExpr(i));
  bool wider = element.getIntOrFloatBitWidth() >
               type.getElementType().getIntOrFloatBitWidth();
  return mapElements(b, loc, source, type.getShape(), exprs, element,
                     [&](OpBuilder &b, Value x) -> Value {
                       if (wider)
                         return arith::ExtFOp::create(b, loc, element, x);
                       return arith::TruncFOp::create(b, loc, element, x);
                     });
}

/// The reshapes by which `value` follows from an argument, of `source`.
static Value reshapeLike(OpBuilder &b, Value value, Value source) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return source;
  IRMapping mapping;
  mapping.map(op->getOperand(0), reshapeLike(b, op->getOperand(0), source));
  return b.clone(*op, mapping)->getResult(0);
}

/// The dispatch that `value` is the one result of, if nobody else reads it and
/// its kernel makes each element of one: what packs them does that as well.
static graph::DispatchOp findMovement(Value value) {
  auto dispatch = value.getDefiningOp<graph::DispatchOp>();
  if (!dispatch || !value.hasOneUse() || dispatch->getNumResults() != 1 ||
      dispatch->getNumOperands() != 1)
    return {};
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      dispatch, dispatch.getKernelAttr());
  if (!kernel || kernel.getArgAttr(0, graph::names::kStrides) ||
      kernel.getResultAttr(0, graph::names::kStrides))
    return {};
  bool moves = llvm::all_of(
      kernel.getBody().front().without_terminator(), [](Operation &op) {
        auto generic = dyn_cast<linalg::GenericOp>(op);
        return generic ? generic.getNumReductionLoops() == 0
                       : isa<arith::ConstantOp, tensor::EmptyOp,
                             tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                             tensor::ExtractSliceOp, tensor::PadOp>(op);
      });
  return moves ? dispatch : graph::DispatchOp();
}

/// Erases a dispatch whose result nobody reads, and its kernel if that was the
/// last one.
static void eraseDispatch(graph::DispatchOp dispatch) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      dispatch, dispatch.getKernelAttr());
  auto module = dispatch->getParentOfType<ModuleOp>();
  dispatch.erase();
  if (SymbolTable::symbolKnownUseEmpty(kernel, module))
    kernel.erase();
}

/// What the kernel of `dispatch` gives for `source`.
static Value inlineKernel(OpBuilder &b, graph::DispatchOp dispatch,
                          Value source) {
  auto kernel = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(
      dispatch, dispatch.getKernelAttr());
  Block &body = kernel.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), source);
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookup(body.getTerminator()->getOperand(0));
}

/// If `weights` are an argument, which may be reshaped, and constant unless
/// they `mayChange`: lets a dispatch apply `pack` to them, and the kernel read
/// what `unpack` makes of the result. Returns the argument's number.
static std::optional<unsigned>
replaceWeights(OpBuilder &b, func::FuncOp kernel, graph::DispatchOp dispatch,
               Value weights, bool mayChange, function_ref<Value(Value)> pack,
               function_ref<Value(Value)> unpack) {
  BlockArgument argument = reshapedArgument(weights);
  if (!argument || !argument.hasOneUse() || !weights.hasOneUse())
    return std::nullopt;
  unsigned index = argument.getArgNumber();
  Value operand = dispatch.getInputs()[index];
  bool isPart = bool(kernel.getArgAttr(index, graph::names::kStrides));
  if (!isConstant(operand) && (!mayChange || isPart))
    return std::nullopt;

  Location loc = kernel.getLoc();
  graph::DispatchOp movement;
  if (!isConstant(operand))
    movement = findMovement(operand);
  if (movement)
    operand = movement.getInputs()[0];
  b.setInsertionPoint(kernel);
  auto function = func::FuncOp::create(
      b, loc, (kernel.getName() + "_pack").str(),
      b.getFunctionType(operand.getType(), argument.getType()));
  function.setPrivate();
  b.setInsertionPointToStart(function.addEntryBlock());
  Value source = function.getArgument(0);
  if (movement)
    source = inlineKernel(b, movement, source);
  Value packed = pack(reshapeLike(b, weights, source));
  func::ReturnOp::create(b, loc, packed);
  function.setFunctionType(
      b.getFunctionType(operand.getType(), packed.getType()));

  OpOperand &use = *weights.use_begin();
  b.setInsertionPointToStart(&kernel.getBody().front());
  argument.setType(packed.getType());
  use.set(unpack(argument));
  while (Operation *reshape = weights.getDefiningOp()) {
    weights = reshape->getOperand(0);
    reshape->erase();
  }
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs[index] = packed.getType();
  kernel.setFunctionType(b.getFunctionType(inputs, kernel.getResultTypes()));

  b.setInsertionPoint(dispatch);
  auto packing = graph::DispatchOp::create(
      b, dispatch.getLoc(), TypeRange(packed.getType()), function.getName(),
      ValueRange(operand));
  dispatch.getInputsMutable()[index].set(packing.getResult(0));
  if (movement)
    eraseDispatch(movement);
  return index;
}

/// How packed weights, [batch…, panels, k…, width], relate to those of the
/// contraction.
namespace {
struct Packing {
  int64_t batch, n, panels, width;
  Type element;
  SmallVector<int64_t> toColumns; // Dimensions in the order batch…, k…, n.
};
} // namespace

static Packing planPacking(const Contraction &c, const Target &target) {
  Packing p;
  p.element = c.element();
  p.batch = c.batch.size();
  p.n = c.extents[c.n];
  p.width = panelWidth(c, target);
  p.panels = llvm::divideCeil(p.n, p.width);
  SmallVector<unsigned> loops(c.batch);
  llvm::append_range(loops, c.k);
  loops.push_back(c.n);
  for (unsigned dim : loops)
    p.toColumns.push_back(*c.weightsMap.getResultPosition(
        getAffineDimExpr(dim, c.weightsMap.getContext())));
  return p;
}

/// [batch…, k…, n] merged with, or split from, panels: groups of a reshape
/// between […, panels · width] and […, panels, width].
static SmallVector<ReassociationIndices> panelGroups(const Packing &p) {
  SmallVector<ReassociationIndices> groups;
  int64_t k = p.toColumns.size() - 1;
  for (int64_t i = 0; i < k; ++i)
    groups.push_back({i});
  groups.push_back({k, k + 1});
  return groups;
}

/// Packed weights, as the sums have them, from those of the contraction.
static Value packPanels(OpBuilder &b, Location loc, Value weights,
                        const Packing &p) {
  weights = convert(b, loc, weights, p.element);
  Value columns = permute(b, loc, weights, p.toColumns);
  auto type = cast<RankedTensorType>(columns.getType());
  SmallVector<int64_t> shape(type.getShape());
  if (p.panels * p.width != p.n) {
    SmallVector<OpFoldResult> low(shape.size(), b.getIndexAttr(0)), high = low;
    high.back() = b.getIndexAttr(p.panels * p.width - p.n);
    shape.back() = p.panels * p.width;
    Value zero =
        arith::ConstantOp::create(b, loc, b.getZeroAttr(type.getElementType()));
    columns = tensor::PadOp::create(
        b, loc, RankedTensorType::get(shape, type.getElementType()), columns,
        low, high, zero);
  }
  shape.back() = p.panels;
  shape.push_back(p.width);
  Value split = tensor::ExpandShapeOp::create(
      b, loc, RankedTensorType::get(shape, type.getElementType()), columns,
      panelGroups(p));
  int64_t k = shape.size() - 2;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, p.batch));
  order.push_back(k);
  llvm::append_range(order, llvm::seq<int64_t>(p.batch, k));
  order.push_back(k + 1);
  return permute(b, loc, split, order);
}

/// The contraction's weights, of type `element`, from packed ones.
static Value unpackPanels(OpBuilder &b, Location loc, Value packed,
                          const Packing &p, Type element) {
  int64_t k = p.toColumns.size() - 1;
  SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, p.batch));
  llvm::append_range(order, llvm::seq<int64_t>(p.batch + 1, k + 1));
  order.push_back(p.batch);
  order.push_back(k + 1);
  Value value = permute(b, loc, packed, order);
  value = tensor::CollapseShapeOp::create(b, loc, value, panelGroups(p));
  auto type = cast<RankedTensorType>(value.getType());
  if (p.panels * p.width != p.n) {
    SmallVector<OpFoldResult> offsets(k + 1, b.getIndexAttr(0)),
        steps(k + 1, b.getIndexAttr(1)), sizes;
    for (int64_t extent : type.getShape().drop_back())
      sizes.push_back(b.getIndexAttr(extent));
    sizes.push_back(b.getIndexAttr(p.n));
    value =
        tensor::ExtractSliceOp::create(b, loc, value, offsets, sizes, steps);
  }
  SmallVector<int64_t> back(p.toColumns.size());
  for (auto [i, dim] : llvm::enumerate(p.toColumns))
    back[dim] = i;
  return convert(b, loc, permute(b, loc, value, back), element);
}

/// Whether weights that are no constants are better packed once before than by
/// each chunk.
static bool isWorthPackingBefore(const Contraction &c, const Target &target) {
  ContractionPlan plan = planContraction(c, target, /*packed=*/false);
  if (c.extentOf(c.m) < 8 || c.extents[c.n] < 8)
    return false;
  int64_t packings =
      c.extentOf(c.batch) * llvm::divideCeil(plan.panels, plan.panelsPerGroup);
  auto last = dyn_cast<AffineDimExpr>(c.weightsMap.getResults().back());
  bool hasVectors = last && last.getPosition() == c.n;
  return plan.chunks > packings || !hasVectors;
}

/// Packs the weights of the contraction in `kernel`.
static void packContraction(OpBuilder &b, func::FuncOp kernel,
                            graph::DispatchOp dispatch, const Target &target) {
  auto c = matchContraction(kernel);
  if (!c || !c->weightsMap.isProjectedPermutation())
    return;
  Packing packing = planPacking(*c, target);
  Location loc = kernel.getLoc();
  Type element = getElementTypeOrSelf(c->weights);
  auto index = replaceWeights(
      b, kernel, dispatch, c->weights, isWorthPackingBefore(*c, target),
      [&](Value weights) { return packPanels(b, loc, weights, packing); },
      [&](Value packed) {
        return unpackPanels(b, loc, packed, packing, element);
      });
  if (index)
    kernel->setAttr(graph::names::kPacked, b.getI64IntegerAttr(*index));
}

/// Moves the channels of constant weights under a window to the end, where the
/// lanes want them: [C, kernel…] becomes [kernel…, C].
static void packWindows(OpBuilder &b, func::FuncOp kernel,
                        graph::DispatchOp dispatch) {
  auto w = matchWindows(kernel);
  if (!w)
    return;
  Location loc = kernel.getLoc();
  for (OpOperand *operand : w->op.getDpsInputOperands()) {
    AffineMap map = w->op.getMatchingIndexingMap(operand);
    auto channels = map.getResultPosition(b.getAffineDimExpr(w->lane));
    unsigned rank = map.getNumResults();
    if (operand->getOperandNumber() == w->input || !channels ||
        *channels == rank - 1)
      continue;
    SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
    SmallVector<int64_t> back(rank);
    order.erase(order.begin() + *channels);
    order.push_back(*channels);
    for (auto [i, dim] : llvm::enumerate(order))
      back[dim] = i;
    replaceWeights(
        b, kernel, dispatch, operand->get(), /*mayChange=*/false,
        [&](Value weights) { return permute(b, loc, weights, order); },
        [&](Value packed) { return permute(b, loc, packed, back); });
  }
}

RankedTensorType packedType(const Contraction &c, const Target &target) {
  Packing p = planPacking(c, target);
  SmallVector<int64_t> shape;
  for (unsigned dim : c.batch)
    shape.push_back(c.extents[dim]);
  shape.push_back(p.panels);
  for (unsigned dim : c.k)
    shape.push_back(c.extents[dim]);
  shape.push_back(p.width);
  return RankedTensorType::get(shape, p.element);
}

void packWeights(OpBuilder &b, func::FuncOp kernel, graph::DispatchOp dispatch,
                 const Target &target) {
  packContraction(b, kernel, dispatch, target);
  packWindows(b, kernel, dispatch);
}

} // namespace tinh::cpu
