//===- AbsorbMovements.cpp - Variables without detours ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %r = graph.reshape %w : tensor<1x64x32xf32> to tensor<64x32xf32>
//   %t = graph.dispatch @transpose_0(%r) : … -> tensor<32x64xf32>
//   %y = graph.dispatch @matmul_0(%x, %t)
//
// becomes
//
//   %y = graph.dispatch @matmul_0(%x, %w)
//
// where %w is a variable, so that it may lie as the product wants it. What is
// in another order before is read in that order, by the maps of the product; a
// reshape becomes one within the kernel.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/VariableLayouts.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

class Absorber {
public:
  explicit Absorber(ModuleOp module)
      : module(module), symbols(module), b(module.getContext()) {}

  void run();

private:
  func::FuncOp kernelOf(OpOperand &use);
  bool isWeights(OpOperand &use);
  void absorbReshape(graph::ReshapeOp reshape);
  void absorbTranspose(graph::DispatchOp dispatch);
  void absorbTransposes(Value value);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder b;
};

} // namespace

/// The kernel, of the CPU, that reads `use` as a whole; null if none does.
func::FuncOp Absorber::kernelOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  if (!dispatch)
    return {};
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  bool isPart =
      bool(kernel.getArgAttr(use.getOperandNumber(), graph::names::kStrides));
  return isPart || graph::isOnCuda(kernel) ? func::FuncOp() : kernel;
}

/// Whether a product reads `use` as weights, and nothing else does in its
/// kernel.
bool Absorber::isWeights(OpOperand &use) {
  func::FuncOp kernel = kernelOf(use);
  if (!kernel)
    return false;
  BlockArgument argument = kernel.getArgument(use.getOperandNumber());
  auto c = matchContraction(kernel);
  return c && c->weights == argument && argument.hasOneUse() &&
         c->weightsMap.isProjectedPermutation();
}

/// Lets kernels that read the result read the operand.
void Absorber::absorbReshape(graph::ReshapeOp reshape) {
  auto from = cast<RankedTensorType>(reshape.getX().getType()),
       to = cast<RankedTensorType>(reshape.getType());
  auto groups = getReassociationIndicesForReshape(from, to);
  if (!groups)
    return;
  for (OpOperand &use : llvm::make_early_inc_range(reshape->getUses())) {
    func::FuncOp kernel = kernelOf(use);
    if (!kernel || !(isMovement(kernel) || isWeights(use)))
      continue;
    BlockArgument argument = kernel.getArgument(use.getOperandNumber());
    changeArgument(b, argument, from, [&](Value value) -> Value {
      Location loc = kernel.getLoc();
      if (from.getRank() < to.getRank())
        return tensor::ExpandShapeOp::create(b, loc, to, value, *groups);
      return tensor::CollapseShapeOp::create(b, loc, to, value, *groups);
    });
    use.set(reshape.getX());
  }
  if (reshape.use_empty())
    reshape.erase();
}

/// For each dimension of the operand that of the kernel's result, if the kernel
/// does nothing but change their order.
static std::optional<SmallVector<unsigned>> matchOrder(func::FuncOp kernel) {
  Value result = kernel.getBody().front().getTerminator()->getOperand(0);
  auto op = result.getDefiningOp<linalg::GenericOp>();
  if (!op || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() > 0 ||
      op.getDpsInputs()[0] != kernel.getArgument(0) ||
      op.getBody()->getTerminator()->getOperand(0) !=
          op.getBody()->getArgument(0))
    return std::nullopt;
  AffineMap map = op.getMatchingIndexingMap(op.getDpsInputOperand(0));
  if (!map.isPermutation() ||
      !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return std::nullopt;
  SmallVector<unsigned> order;
  for (unsigned i = 0; i < map.getNumResults(); ++i)
    order.push_back(map.getDimPosition(i));
  return order;
}

/// Lets products that read the result as weights read the operand.
void Absorber::absorbTranspose(graph::DispatchOp dispatch) {
  auto moved = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  if (!isMovement(moved))
    return;
  auto order = matchOrder(moved);
  if (!order)
    return;
  Value source = dispatch.getInputs()[0];
  for (OpOperand &use :
       llvm::make_early_inc_range(dispatch.getResult(0).getUses())) {
    if (!isWeights(use))
      continue;
    func::FuncOp kernel = kernelOf(use);
    BlockArgument argument = kernel.getArgument(use.getOperandNumber());
    OpOperand &weights = *argument.use_begin();
    auto product = cast<linalg::GenericOp>(weights.getOwner());
    AffineMap map = product.getMatchingIndexingMap(&weights);
    SmallVector<AffineExpr> exprs;
    for (unsigned dim : *order)
      exprs.push_back(map.getResult(dim));
    SmallVector<AffineMap> maps = product.getIndexingMapsArray();
    maps[weights.getOperandNumber()] =
        AffineMap::get(map.getNumDims(), 0, exprs, b.getContext());
    product.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
    changeArgument(b, argument, source.getType(), [](Value x) { return x; });
    use.set(source);
  }
  if (dispatch.use_empty())
    eraseDispatch(symbols, dispatch);
}

/// Lets products read `value` that read it in another order.
void Absorber::absorbTransposes(Value value) {
  for (Operation *user : llvm::make_early_inc_range(value.getUsers()))
    if (auto dispatch = dyn_cast<graph::DispatchOp>(user))
      absorbTranspose(dispatch);
}

void Absorber::run() {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(function))
      continue;
    for (BlockArgument argument : function.getArguments()) {
      if (!function.getArgAttr(argument.getArgNumber(),
                               graph::names::kVariable))
        continue;
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers()))
        if (auto reshape = dyn_cast<graph::ReshapeOp>(user)) {
          absorbTransposes(reshape.getResult());
          absorbReshape(reshape);
        }
      absorbTransposes(argument);
    }
  }
}

void absorbMovements(ModuleOp module) { Absorber(module).run(); }

} // namespace tinh::cpu
