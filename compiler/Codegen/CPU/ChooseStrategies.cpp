//===- ChooseStrategies.cpp - Strategies, chunks and packed weights -------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %y = graph.dispatch @matmul_0(%x, %w) : (tensor<64x1000xf32>,
//   tensor<1000x100xf32>) -> …
// becomes, where %w is constant,
//   %p = graph.dispatch @matmul_0_pack(%w) : (tensor<1000x100xf32>) ->
//   tensor<4x1000x32xf32> %y = graph.dispatch @matmul_0(%x, %p) :
//   (tensor<64x1000xf32>, tensor<4x1000x32xf32>) -> …
// and @matmul_0 begins by saying, in linalg, how the packed tensor holds the
// weights.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Strategy.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/SymbolTable.h"

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

static func::FuncOp makePackKernel(OpBuilder &b, func::FuncOp kernel,
                                   const Packing &p) {
  Location loc = kernel.getLoc();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(kernel);
  auto function =
      func::FuncOp::create(b, loc, (kernel.getName() + "_pack").str(),
                           b.getFunctionType(p.logical, p.packed));
  function.setPrivate();
  b.setInsertionPointToStart(function.addEntryBlock());
  Value columns = permute(b, loc, function.getArgument(0), p.toColumns);
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
  func::ReturnOp::create(b, loc, permute(b, loc, split, order));
  return function;
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
  argument.setType(p.packed);
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
  SmallVector<Type> inputs(kernel.getArgumentTypes());
  inputs[index] = p.packed;
  kernel.setFunctionType(b.getFunctionType(inputs, kernel.getResultTypes()));
}

/// Packs the weights of the contraction in `kernel` if they are constant.
static void tryPack(OpBuilder &b, func::FuncOp kernel,
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
  func::FuncOp pack = makePackKernel(b, kernel, packing);
  unpackInKernel(b, kernel, index, packing);
  b.setInsertionPoint(dispatch);
  auto packed = graph::DispatchOp::create(
      b, dispatch.getLoc(), TypeRange(packing.packed), pack.getName(),
      ValueRange(dispatch.getInputs()[index]));
  dispatch.getInputsMutable()[index].set(packed.getResult(0));
  kernel->setAttr(graph::names::kPacked, b.getI64IntegerAttr(index));
}

/// Whether the kernel reads `argument` only at the index that it writes.
static bool readsWhereItWrites(Value value, ArrayRef<int64_t> shape) {
  for (OpOperand &use : value.getUses()) {
    if (isa<func::ReturnOp>(use.getOwner()))
      continue;
    auto op = dyn_cast<linalg::GenericOp>(use.getOwner());
    if (!op || op.getNumReductionLoops() > 0 || op.getNumResults() != 1 ||
        !op.getMatchingIndexingMap(&use).isIdentity() ||
        cast<RankedTensorType>(op.getResultTypes()[0]).getShape() != shape ||
        !readsWhereItWrites(op.getResult(0), shape))
      return false;
  }
  return true;
}

static void setInplace(OpBuilder &b, func::FuncOp kernel) {
  SmallVector<Attribute> pairs;
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<RankedTensorType>(argument.getType());
    if (argument.use_empty() || !readsWhereItWrites(argument, type.getShape()))
      continue;
    for (auto [i, result] : llvm::enumerate(kernel.getResultTypes()))
      if (cast<RankedTensorType>(result).getShape() == type.getShape() &&
          graph::tensorSize(result) == graph::tensorSize(type) &&
          kernel.getNumResults() == 1)
        pairs.push_back(b.getDenseI64ArrayAttr(
            {argument.getArgNumber(), static_cast<int64_t>(i)}));
  }
  if (!pairs.empty())
    kernel->setAttr(graph::names::kInplace, b.getArrayAttr(pairs));
}

/// Whether packing the right-hand side for each chunk pays: enough rows read
/// it.
static bool worthPacking(const Contraction &c) {
  int64_t rows = 1;
  for (unsigned dim : c.m)
    rows *= c.extents[dim];
  return rows >= 8 && c.extents[c.n] >= 8;
}

LogicalResult chooseStrategies(ModuleOp module, const Target &target) {
  OpBuilder b(module.getContext());
  SymbolTable symbols(module);
  SmallVector<graph::DispatchOp> dispatches;
  module.walk([&](graph::DispatchOp op) { dispatches.push_back(op); });
  for (graph::DispatchOp dispatch : dispatches) {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    if (!kernel)
      return dispatch.emitOpError("names no kernel function");
    tryPack(b, kernel, dispatch, target);
  }
  for (auto kernel : module.getOps<func::FuncOp>()) {
    if (!kernel.isPrivate() || kernel.isExternal())
      continue;
    StringRef strategy = "rows";
    int64_t chunks, scratch;
    bool packed = kernel->hasAttr(graph::names::kPacked);
    auto contraction = matchContraction(kernel);
    if (contraction && (packed || worthPacking(*contraction))) {
      ContractionPlan plan = planContraction(*contraction, target, packed);
      strategy = "contraction";
      chunks = plan.chunks;
      scratch = plan.scratch;
    } else {
      RowsPlan plan = planRows(kernel);
      chunks = plan.chunks;
      scratch = plan.scratch;
    }
    kernel->setAttr(graph::names::kStrategy, b.getStringAttr(strategy));
    kernel->setAttr(graph::names::kChunks, b.getI64IntegerAttr(chunks));
    kernel->setAttr(graph::names::kScratch, b.getI64IntegerAttr(scratch));
    setInplace(b, kernel);
  }
  return success();
}

} // namespace tinh::cpu
