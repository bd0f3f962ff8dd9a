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
#include "compiler/Codegen/Kernel/Rewrites.h"

#include "mlir/Dialect/Utils/IndexingUtils.h"
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
  BlockArgument argumentOf(OpOperand &use);
  bool isWeights(OpOperand &use);
  void absorbReshape(graph::ReshapeOp reshape);
  void absorbTranspose(graph::DispatchOp dispatch);
  void absorbTransposes(Value value);

  ModuleOp module;
  SymbolTable symbols;
  OpBuilder b;
};

} // namespace

/// The argument of a kernel of the CPU that `use` becomes; null if it becomes
/// none.
BlockArgument Absorber::argumentOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  if (!dispatch)
    return {};
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  return graph::isOnCuda(kernel) ? BlockArgument()
                                 : kernel.getArgument(use.getOperandNumber());
}

/// Whether a product reads `use` as weights, and nothing else does in its
/// kernel.
bool Absorber::isWeights(OpOperand &use) {
  BlockArgument argument = argumentOf(use);
  if (!argument || !packableArgument(argument))
    return false;
  auto c = ContractionStrategy::match(kernelOf(argument));
  return c && c->right.value == argument &&
         c->right.map.isProjectedPermutation();
}

/// Lets kernels that read the result read the operand.
void Absorber::absorbReshape(graph::ReshapeOp reshape) {
  auto from = cast<RankedTensorType>(reshape.getX().getType()),
       to = cast<RankedTensorType>(reshape.getType());
  auto groups = getReassociationIndicesForReshape(from, to);
  if (!groups)
    return;
  for (OpOperand &use : llvm::make_early_inc_range(reshape->getUses())) {
    BlockArgument argument = argumentOf(use);
    if (!argument || !(isMovement(kernelOf(argument)) || isWeights(use)))
      continue;
    changeArgument(b, argument, from, [&](Value value) -> Value {
      Location loc = kernelOf(argument).getLoc();
      if (from.getRank() < to.getRank())
        return tensor::ExpandShapeOp::create(b, loc, to, value, *groups);
      return tensor::CollapseShapeOp::create(b, loc, to, value, *groups);
    });
    use.set(reshape.getX());
  }
  if (reshape.use_empty())
    reshape.erase();
}

/// Lets products that read the result as weights read the operand.
void Absorber::absorbTranspose(graph::DispatchOp dispatch) {
  auto moved = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  Value result = moved.getBody().front().getTerminator()->getOperand(0);
  auto op = result.getDefiningOp<linalg::GenericOp>();
  if (!op || !isMovement(moved) || op.getDpsInputs()[0] != moved.getArgument(0))
    return;
  auto order = linalg::isaTransposeOpInterface(op);
  if (!order)
    return;
  // For each dimension of the operand that of the result.
  SmallVector<int64_t> back = invertPermutationVector(*order);
  Value source = dispatch.getInputs()[0];
  for (OpOperand &use :
       llvm::make_early_inc_range(dispatch.getResult(0).getUses()))
    if (isWeights(use)) {
      readInOrder(b, argumentOf(use), source.getType(), back);
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
