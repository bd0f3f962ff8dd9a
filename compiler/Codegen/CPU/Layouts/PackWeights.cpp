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
#include "compiler/Codegen/CPU/Layouts/Packing.h"
#include "compiler/Codegen/CPU/Windows/Windows.h"

#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tinh::cpu {

bool isMovement(func::FuncOp kernel) {
  if (kernel.getNumArguments() != 1 || kernel.getNumResults() != 1 ||
      kernel.getArgAttr(0, graph::names::kStrides) ||
      kernel.getResultAttr(0, graph::names::kStrides))
    return false;
  return llvm::all_of(
      kernel.getBody().front().without_terminator(), [](Operation &op) {
        auto generic = dyn_cast<linalg::GenericOp>(op);
        return generic ? generic.getNumReductionLoops() == 0
                       : isa<arith::ConstantOp, tensor::EmptyOp,
                             tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                             tensor::ExtractSliceOp, tensor::PadOp>(op);
      });
}

/// The dispatch that moves what becomes `value`, if nobody else reads it: what
/// packs that does so as well.
static graph::DispatchOp findMovement(SymbolTable &symbols, Value value) {
  auto dispatch = value.getDefiningOp<graph::DispatchOp>();
  bool moves = dispatch && value.hasOneUse() &&
               isMovement(symbols.lookup<func::FuncOp>(dispatch.getKernel()));
  return moves ? dispatch : graph::DispatchOp();
}

/// Erases a dispatch whose result nobody reads, and its kernel if that was the
/// last one.
static void eraseDispatch(SymbolTable &symbols, graph::DispatchOp dispatch) {
  Operation *kernel = symbols.lookup(dispatch.getKernel());
  dispatch.erase();
  if (SymbolTable::symbolKnownUseEmpty(kernel, symbols.getOp()))
    symbols.erase(kernel);
}

/// What the kernel of `dispatch` gives for `source`.
static Value inlineKernel(OpBuilder &b, SymbolTable &symbols,
                          graph::DispatchOp dispatch, Value source) {
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  Block &body = kernel.getBody().front();
  IRMapping mapping;
  mapping.map(body.getArgument(0), source);
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookup(body.getTerminator()->getOperand(0));
}

/// Makes the argument of `kernel` that `weights` are a reshape of one of
/// `type`, of which `unpack` makes what the kernel reads.
static void changeArgument(OpBuilder &b, func::FuncOp kernel, Value weights,
                           Type type, function_ref<Value(Value)> unpack) {
  BlockArgument argument = reshapedArgument(weights);
  OpOperand &use = *weights.use_begin();
  b.setInsertionPointToStart(&kernel.getBody().front());
  argument.setType(type);
  use.set(unpack(argument));
  while (Operation *reshape = weights.getDefiningOp()) {
    weights = reshape->getOperand(0);
    reshape->erase();
  }
  kernel.setFunctionType(b.getFunctionType(kernel.getBody().getArgumentTypes(),
                                           kernel.getResultTypes()));
}

namespace {

/// Packs the weights that a dispatch hands to its kernel.
class WeightPacker {
public:
  WeightPacker(OpBuilder &b, SymbolTable &symbols, func::FuncOp kernel,
               graph::DispatchOp dispatch, const Target &target)
      : b(b), symbols(symbols), kernel(kernel), dispatch(dispatch),
        target(target), loc(kernel.getLoc()) {}

  void packContraction();
  void packWindows();

private:
  using Convert = function_ref<Value(Value)>;
  std::optional<unsigned> replace(Value weights, bool mayChange, Convert pack,
                                  Convert unpack);
  Value dispatchPacking(Value operand, Value weights,
                        graph::DispatchOp movement, Convert pack);

  OpBuilder &b;
  SymbolTable &symbols;
  func::FuncOp kernel;
  graph::DispatchOp dispatch;
  const Target &target;
  Location loc;
};

} // namespace

/// Lets a dispatch apply `movement`, if there is one, the reshapes of `weights`
/// and `pack` to `operand`.
Value WeightPacker::dispatchPacking(Value operand, Value weights,
                                    graph::DispatchOp movement, Convert pack) {
  auto function = func::FuncOp::create(
      loc, (kernel.getName() + "_pack").str(),
      b.getFunctionType(operand.getType(), operand.getType()));
  function.setPrivate();
  symbols.insert(function, Block::iterator(kernel));
  b.setInsertionPointToStart(function.addEntryBlock());
  Value source = function.getArgument(0);
  if (movement)
    source = inlineKernel(b, symbols, movement, source);
  Value packed = pack(reshapeLike(b, weights, source));
  func::ReturnOp::create(b, loc, packed);
  function.setFunctionType(
      b.getFunctionType(operand.getType(), packed.getType()));
  b.setInsertionPoint(dispatch);
  return graph::DispatchOp::create(b, dispatch.getLoc(),
                                   TypeRange(packed.getType()),
                                   function.getName(), ValueRange(operand))
      .getResult(0);
}

/// If `weights` are an argument, which may be reshaped, and constant unless
/// they `mayChange`: lets a dispatch apply `pack` to them, and the kernel read
/// what `unpack` makes of the result. Returns the argument's number.
std::optional<unsigned> WeightPacker::replace(Value weights, bool mayChange,
                                              Convert pack, Convert unpack) {
  BlockArgument argument = reshapedArgument(weights);
  if (!argument || !argument.hasOneUse() || !weights.hasOneUse())
    return std::nullopt;
  unsigned index = argument.getArgNumber();
  Value operand = dispatch.getInputs()[index];
  bool isPart = bool(kernel.getArgAttr(index, graph::names::kStrides));
  if (!isOfConstants(operand) && (!mayChange || isPart))
    return std::nullopt;
  graph::DispatchOp movement;
  if (!isOfConstants(operand))
    movement = findMovement(symbols, operand);
  if (movement)
    operand = movement.getInputs()[0];
  Value packed = dispatchPacking(operand, weights, movement, pack);
  changeArgument(b, kernel, weights, packed.getType(), unpack);
  dispatch.getInputsMutable()[index].set(packed);
  if (movement)
    eraseDispatch(symbols, movement);
  return index;
}

/// Packs the weights of the contraction in the kernel.
void WeightPacker::packContraction() {
  auto c = matchContraction(kernel);
  if (!c || !c->right.map.isProjectedPermutation())
    return;
  Packing packing = packingOf(*c, panelWidth(*c, target));
  BlockArgument argument = reshapedArgument(c->right.value);
  // What moves them, if anything does, packs them, too.
  bool mayChange =
      isWorthPackingBefore(*c, target) ||
      (argument && isWorthTiling(*c) &&
       findMovement(symbols, dispatch.getInputs()[argument.getArgNumber()]));
  auto index = replace(
      c->right.value, mayChange,
      [&](Value weights) { return packPanels(b, loc, weights, packing); },
      [&](Value packed) { return unpackPanels(b, loc, packed, packing); });
  if (index)
    kernel->setAttr(graph::names::kPacked, b.getI64IntegerAttr(*index));
}

/// Moves the channels of constant weights under a window to the end, where the
/// lanes want them: [C, kernel…] becomes [kernel…, C].
void WeightPacker::packWindows() {
  auto w = matchWindows(kernel);
  if (!w || WindowsStrategy::plans(*w, target).empty())
    return;
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
    replace(
        operand->get(), /*mayChange=*/false,
        [&](Value weights) { return permute(b, loc, weights, order); },
        [&](Value packed) { return permute(b, loc, packed, back); });
  }
}

void packWeights(OpBuilder &b, SymbolTable &symbols, func::FuncOp kernel,
                 graph::DispatchOp dispatch, Attribute plan,
                 const Target &target) {
  WeightPacker packer(b, symbols, kernel, dispatch, target);
  // Outer products read both factors where they lie.
  if (!isa<OuterProductsPlanAttr>(plan))
    packer.packContraction();
  packer.packWindows();
}

void readPacked(OpBuilder &b, func::FuncOp kernel, const Contraction &c,
                const Packing &packing) {
  unsigned index = reshapedArgument(c.right.value).getArgNumber();
  Location loc = kernel.getLoc();
  Packing own = packing;
  own.logical = own.plain;
  changeArgument(b, kernel, c.right.value, packing.packed, [&](Value packed) {
    return unpackPanels(b, loc, packed, own);
  });
  kernel->setAttr(graph::names::kPacked, b.getI64IntegerAttr(index));
}

} // namespace tinh::cpu
