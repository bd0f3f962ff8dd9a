//===- PackWeights.cpp - Constant weights as kernels want them --*- C++ -*-===//
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
// weights.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/WindowReduction.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

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

/// `source` with its dimensions in another order, in linalg.
static Value permute(OpBuilder &b, Location loc, Value source,
                     ArrayRef<int64_t> permutation) {
  auto type = cast<RankedTensorType>(source.getType());
  SmallVector<int64_t> shape;
  SmallVector<AffineExpr> exprs(permutation.size());
  for (auto [i, from] : llvm::enumerate(permutation)) {
    shape.push_back(type.getDimSize(from));
    exprs[from] = b.getAffineDimExpr(i);
  }
  Value empty = tensor::EmptyOp::create(b, loc, shape, type.getElementType());
  AffineMap maps[] = {
      AffineMap::get(shape.size(), 0, exprs, b.getContext()),
      AffineMap::getMultiDimIdentityMap(shape.size(), b.getContext())};
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return linalg::GenericOp::create(
             b, loc, empty.getType(), source, empty, maps, iterators,
             [](OpBuilder &b, Location loc, ValueRange arguments) {
               linalg::YieldOp::create(b, loc, arguments[0]);
             })
      .getResult(0);
}

static void setArgumentType(OpBuilder &b, func::FuncOp kernel, unsigned index,
                            Type type) {
  kernel.getArgument(index).setType(type);
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs[index] = type;
  kernel.setFunctionType(b.getFunctionType(inputs, kernel.getResultTypes()));
}

/// How packed weights relate to those of the contraction.
namespace {
struct Packing {
  RankedTensorType logical, packed;
  int64_t n, panels, width;
  SmallVector<int64_t> toColumns; // Logical dimensions in the order k…, n.
};
} // namespace

static Packing planPacking(const Contraction &c, const Target &target) {
  Packing p;
  p.logical = cast<RankedTensorType>(c.weights.getType());
  p.n = c.extents[c.n];
  p.width = panelWidth(c, target);
  p.panels = (p.n + p.width - 1) / p.width;
  SmallVector<int64_t> shape = {p.panels};
  auto position = [&](unsigned dim) {
    for (unsigned i = 0; i < c.weightsMap.getNumResults(); ++i)
      if (c.weightsMap.getDimPosition(i) == dim)
        return static_cast<int64_t>(i);
    return int64_t(-1);
  };
  for (unsigned dim : c.k) {
    p.toColumns.push_back(position(dim));
    shape.push_back(c.extents[dim]);
  }
  p.toColumns.push_back(position(c.n));
  shape.push_back(p.width);
  p.packed = RankedTensorType::get(shape, p.logical.getElementType());
  return p;
}

/// [k…, n] merged with, or split from, panels: groups of a reshape between
/// [k…, panels · width] and [k…, panels, width].
static SmallVector<ReassociationIndices> panelGroups(const Packing &p) {
  SmallVector<ReassociationIndices> groups;
  int64_t k = p.toColumns.size() - 1;
  for (int64_t i = 0; i < k; ++i)
    groups.push_back({i});
  groups.push_back({k, k + 1});
  return groups;
}

/// A function from weights as the model has them to what `pack` makes of them.
static func::FuncOp makePackKernel(OpBuilder &b, func::FuncOp kernel,
                                   RankedTensorType weights,
                                   function_ref<Value(Value)> pack) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  auto function = func::FuncOp::create(b, kernel.getLoc(),
                                       (kernel.getName() + "_pack").str(),
                                       b.getFunctionType(weights, weights));
  function.setPrivate();
  b.setInsertionPointToStart(function.addEntryBlock());
  Value packed = pack(function.getArgument(0));
  func::ReturnOp::create(b, kernel.getLoc(), packed);
  function.setFunctionType(b.getFunctionType(weights, packed.getType()));
  return function;
}

/// Weights as `packing` says, from those of the model.
static Value packPanels(OpBuilder &b, Location loc, Value weights,
                        const Packing &p) {
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
  SmallVector<int64_t> order = {k};
  llvm::append_range(order, llvm::seq<int64_t>(0, k));
  order.push_back(k + 1);
  return permute(b, loc, split, order);
}

/// Replaces the kernel's argument by packed weights and what unpacks them.
static void unpackInKernel(OpBuilder &b, func::FuncOp kernel, unsigned index,
                           const Packing &p) {
  Location loc = kernel.getLoc();
  BlockArgument argument = kernel.getArgument(index);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&kernel.getBody().front());
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : argument.getUses())
    uses.push_back(&use);
  setArgumentType(b, kernel, index, p.packed);
  int64_t k = p.toColumns.size() - 1;
  SmallVector<int64_t> order;
  llvm::append_range(order, llvm::seq<int64_t>(1, k + 1));
  order.push_back(0);
  order.push_back(k + 1);
  Value value = permute(b, loc, argument, order);
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
  value = permute(b, loc, value, back);
  for (OpOperand *use : uses)
    use->set(value);
}

/// Lets the dispatch hand over what `pack` makes of its input `index`.
static void packInput(OpBuilder &b, graph::DispatchOp dispatch, unsigned index,
                      func::FuncOp pack) {
  b.setInsertionPoint(dispatch);
  auto packed = graph::DispatchOp::create(
      b, dispatch.getLoc(), pack.getResultTypes(), pack.getName(),
      ValueRange(dispatch.getInputs()[index]));
  dispatch.getInputsMutable()[index].set(packed.getResult(0));
}

/// Packs the weights of the contraction in `kernel` if they are constant.
static void packContraction(OpBuilder &b, func::FuncOp kernel,
                            graph::DispatchOp dispatch, const Target &target) {
  auto c = matchContraction(kernel);
  if (!c)
    return;
  auto argument = dyn_cast<BlockArgument>(c->weights);
  if (!argument || !argument.hasOneUse() || !c->batch.empty() ||
      !c->weightsMap.isProjectedPermutation() ||
      !isConstant(dispatch.getInputs()[argument.getArgNumber()]))
    return;
  unsigned index = argument.getArgNumber();
  Packing packing = planPacking(*c, target);
  func::FuncOp pack = makePackKernel(b, kernel, packing.logical, [&](Value x) {
    return packPanels(b, kernel.getLoc(), x, packing);
  });
  unpackInKernel(b, kernel, index, packing);
  packInput(b, dispatch, index, pack);
  kernel->setAttr(graph::names::kPacked, b.getI64IntegerAttr(index));
}

/// The kernel's argument that `weights` is, maybe reshaped, and which of its
/// dimensions is dimension `dim` of `weights`.
static std::optional<std::pair<BlockArgument, int64_t>>
argumentDimension(Value weights, int64_t dim) {
  if (auto collapse = weights.getDefiningOp<tensor::CollapseShapeOp>()) {
    ArrayRef<int64_t> shape = collapse.getSrcType().getShape();
    ReassociationIndices group = collapse.getReassociationIndices()[dim];
    llvm::erase_if(group, [&](int64_t d) { return shape[d] == 1; });
    if (group.size() != 1 || !weights.hasOneUse())
      return std::nullopt;
    weights = collapse.getSrc();
    dim = group[0];
  }
  auto argument = dyn_cast<BlockArgument>(weights);
  if (!argument || !argument.hasOneUse())
    return std::nullopt;
  return std::pair(argument, dim);
}

/// Moves the channels of constant weights under a window to the end, where the
/// lanes want them: [C, 1, kernel…] becomes [1, kernel…, C].
static void packWindows(OpBuilder &b, func::FuncOp kernel,
                        graph::DispatchOp dispatch) {
  auto w = matchWindows(kernel);
  if (!w)
    return;
  for (OpOperand *operand : w->op.getDpsInputOperands()) {
    AffineMap map = w->op.getMatchingIndexingMap(operand);
    auto position = map.getResultPosition(b.getAffineDimExpr(w->lane));
    if (operand->getOperandNumber() == w->input || !position)
      continue;
    auto found = argumentDimension(operand->get(), *position);
    if (!found ||
        !isConstant(dispatch.getInputs()[found->first.getArgNumber()]))
      continue;
    auto [argument, channels] = *found;
    auto type = cast<RankedTensorType>(argument.getType());
    if (channels == type.getRank() - 1)
      continue;
    SmallVector<int64_t> order, back(type.getRank());
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (dim != channels)
        order.push_back(dim);
    order.push_back(channels);
    for (auto [i, dim] : llvm::enumerate(order))
      back[dim] = i;
    Location loc = kernel.getLoc();
    func::FuncOp pack = makePackKernel(
        b, kernel, type, [&](Value x) { return permute(b, loc, x, order); });
    OpOperand &use = *argument.use_begin();
    setArgumentType(b, kernel, argument.getArgNumber(),
                    pack.getResultTypes()[0]);
    b.setInsertionPointToStart(&kernel.getBody().front());
    use.set(permute(b, loc, argument, back));
    packInput(b, dispatch, argument.getArgNumber(), pack);
  }
}

void packWeights(OpBuilder &b, func::FuncOp kernel, graph::DispatchOp dispatch,
                 const Target &target) {
  packContraction(b, kernel, dispatch, target);
  packWindows(b, kernel, dispatch);
}

} // namespace tinh::cpu
