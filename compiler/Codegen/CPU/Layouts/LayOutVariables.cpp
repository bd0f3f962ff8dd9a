//===- LayOutVariables.cpp - Variables as products read them ----*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   graph.variable "w" = … : tensor<1000x100xf32> trainable
//   func.func @train_step(%x, %w: tensor<1000x100xf32> …) … {
//     %0 = graph.dispatch @matmul_0(%x, %w)
//     …
//     %9 = graph.dispatch @update_0(…, %w) : … -> tensor<1000x100xf32>
//     return %9
//
// becomes
//
//   graph.variable "w" = … : tensor<1000x100xf32> trainable
//       stored tensor<4x1000x32xf32> pack @matmul_0_pack unpack
//       @matmul_0_unpack
//   func.func @train_step(%x, %w: tensor<4x1000x32xf32> …) … {
//     %0 = graph.dispatch @matmul_0(%x, %w)
//     …
//     %9 = graph.dispatch @update_0(…, %w) : … -> tensor<4x1000x32xf32>
//     return %9
//
// so that no step packs what the one before it has left. What is updated
// together, as a parameter and its moments are, lies alike; what reads it in
// another way unpacks it before. A variable gets the layout with which the
// functions move least, and none if that is its own.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/CPU/Layouts/VariableLayouts.h"

#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;

namespace tinh::cpu {

/// How often elements are moved: in a function that changes variables, which
/// runs again and again, it counts more than in others.
constexpr int64_t kMutating = 8;
/// What moving elements costs: with vectors from and to memory, and if these
/// have to be turned.
constexpr int64_t kMove = 2, kTurn = 4;

//===----------------------------------------------------------------------===//
// What the functions do
//===----------------------------------------------------------------------===//

void VariableLayouts::collect() {
  for (auto variable : module.getOps<graph::VariableOp>())
    variables[variable.getNameAttr()] = variable;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(function))
      continue;
    functions.push_back(function);
    for (BlockArgument argument : function.getArguments())
      if (auto name = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), graph::names::kVariable)) {
        arguments[name].push_back(argument);
        variableOf[argument] = name;
      }
    Operation *end = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(end->getOperands()))
      if (auto name = function.getResultAttrOfType<StringAttr>(
              i, graph::names::kVariable))
        results[name].push_back(value);
  }
}

func::FuncOp VariableLayouts::kernelOf(graph::DispatchOp dispatch) {
  return symbols.lookup<func::FuncOp>(dispatch.getKernel());
}

/// The product that reads the value, and nothing else of it, as weights. A
/// convolution with a filter for each channel is none: it loads its weights
/// once for many outputs, so that no layout would pay.
std::optional<WeightsReader> VariableLayouts::productOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  if (!dispatch)
    return std::nullopt;
  func::FuncOp kernel = kernelOf(dispatch);
  BlockArgument argument = kernel.getArgument(use.getOperandNumber());
  auto c = matchContraction(kernel);
  if (!c || graph::isOnCuda(kernel) ||
      ContractionStrategy::plans(*c, target).empty() ||
      reshapedArgument(c->right.value) != argument || !argument.hasOneUse() ||
      !c->right.value.hasOneUse() || !c->right.map.isProjectedPermutation() ||
      kernel.getArgAttr(use.getOperandNumber(), graph::names::kStrides))
    return std::nullopt;
  Packing packing = packingOf(*c, panelWidth(*c, target));
  packing.logical = cast<RankedTensorType>(argument.getType());
  bool canReshape =
      packing.logical.getShape() == packing.plain.getShape() ||
      getReassociationIndicesForReshape(packing.logical, packing.plain);
  // Elements of which sums make others are packed anew each time.
  if (!canReshape ||
      packing.packed.getElementType() != packing.logical.getElementType())
    return std::nullopt;
  return WeightsReader{kernel, *c, packing};
}

/// The dispatch that reads the value and just moves elements.
graph::DispatchOp VariableLayouts::movementOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  bool moves = dispatch && isMovement(kernelOf(dispatch));
  return moves ? dispatch : graph::DispatchOp();
}

/// The dispatch that makes other floating-point numbers of those that it reads.
graph::DispatchOp VariableLayouts::castOf(OpOperand &use) {
  graph::DispatchOp dispatch = movementOf(use);
  if (!dispatch)
    return {};
  func::FuncOp kernel = kernelOf(dispatch);
  auto from = cast<RankedTensorType>(kernel.getArgumentTypes()[0]),
       to = cast<RankedTensorType>(kernel.getResultTypes()[0]);
  bool casts = from.getElementType() != to.getElementType() &&
               isa<FloatType>(from.getElementType()) &&
               isa<FloatType>(to.getElementType()) &&
               from.getShape() == to.getShape() &&
               isReadAtItsIndex(kernel.getArgument(0));
  return casts ? dispatch : graph::DispatchOp();
}

SmallVector<Candidate> VariableLayouts::candidates(StringAttr variable) {
  SmallVector<Candidate> found;
  Type element = getElementTypeOrSelf(variables[variable].getType());
  auto add = [&](OpOperand &use) {
    auto product = productOf(use);
    if (!product)
      return;
    Packing packing = product->packing.of(element);
    auto isSame = [&](const Candidate &known) {
      return known.packing == packing;
    };
    if (llvm::none_of(found, isSame))
      found.push_back({packing, product->kernel});
  };
  for (Value argument : arguments.lookup(variable))
    for (OpOperand &use : argument.getUses()) {
      add(use);
      if (graph::DispatchOp cast = castOf(use))
        for (OpOperand &reader : cast.getResult(0).getUses())
          add(reader);
    }
  return found;
}

//===----------------------------------------------------------------------===//
// What a layout would change
//===----------------------------------------------------------------------===//

int64_t VariableLayouts::weightOf(Value value) {
  auto function = value.getParentRegion()->getParentOfType<func::FuncOp>();
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (function.getResultAttr(i, graph::names::kVariable))
      return kMutating;
  return 1;
}

void VariableLayouts::addVariable(Proposal &proposal, StringAttr variable) {
  if (!proposal.variables.insert(variable))
    return;
  for (Value argument : arguments.lookup(variable))
    addValue(proposal, argument);
  for (Value result : results.lookup(variable))
    addResult(proposal, result);
}

/// `value` is packed. So is what is cast for a product that wants it so.
void VariableLayouts::addValue(Proposal &proposal, Value value) {
  if (!proposal.values.insert(value))
    return;
  for (OpOperand &use : value.getUses()) {
    graph::DispatchOp cast = castOf(use);
    if (!cast)
      continue;
    Packing packing = proposal.packingOf(cast.getResult(0));
    auto wants = [&](OpOperand &reader) {
      auto product = productOf(reader);
      return product && product->packing == packing;
    };
    if (!llvm::any_of(cast.getResult(0).getUses(), wants) ||
        !addUpdate(proposal, cast))
      continue;
    if (cast.getResult(0).hasOneUse()) // Else that would cast and pack at once.
      proposal.gain -= weightOf(value) * kMove;
  }
}

/// `value` is to be packed, whether it is made so or packed afterwards.
void VariableLayouts::addResult(Proposal &proposal, Value value) {
  if (proposal.values.contains(value) || proposal.packedAfter.contains(value))
    return;
  auto update = value.getDefiningOp<graph::DispatchOp>();
  if (update && addUpdate(proposal, update))
    return;
  proposal.packedAfter.insert(value);
  proposal.gain -= weightOf(value) * kTurn;
}

/// Whether tensors of `type` can be packed as others are.
static bool isPackable(Type type, const Packing &packing) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getShape() == packing.logical.getShape() &&
         isa<FloatType>(tensor.getElementType());
}

/// The operands that are read at the index of a result, and so packed if that
/// is.
llvm::SmallBitVector VariableLayouts::packedOperands(graph::DispatchOp update,
                                                     const Packing &packing) {
  func::FuncOp kernel = kernelOf(update);
  llvm::SmallBitVector operands(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments())
    if (isPackable(argument.getType(), packing) && isReadAtItsIndex(argument) &&
        !kernel.getArgAttr(argument.getArgNumber(), graph::names::kStrides))
      operands.set(argument.getArgNumber());
  return operands;
}

/// Whether `packed`, what has become of `kernel`, is computed as well: a
/// product in tiles still, or row by row still, or at hardly more cost.
static bool isComputedAsWell(func::FuncOp kernel, func::FuncOp packed,
                             const Target &target) {
  constexpr double kHardly = 1.25;
  auto before = *strategies().cheapest(kernel, target),
       after = *strategies().cheapest(packed, target);
  return isa<RowsPlanAttr>(before.plan) == isa<RowsPlanAttr>(after.plan) ||
         after.cost() <= kHardly * before.cost();
}

/// Lets `update` make packed results, if its kernel can.
bool VariableLayouts::addUpdate(Proposal &proposal, graph::DispatchOp update) {
  func::FuncOp kernel = kernelOf(update);
  if (graph::isOnCuda(kernel))
    return false;
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    if (!isPackable(type, proposal.packing) ||
        kernel.getResultAttr(i, graph::names::kStrides))
      return false;
  llvm::SmallBitVector operands = packedOperands(update, proposal.packing);
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  bool canPack = succeeded(packKernel(b, *trial, proposal.packing, operands)) &&
                 isComputedAsWell(kernel, *trial, target);
  if (!canPack)
    return false;
  proposal.updates[update] = operands;
  for (Value result : update.getResults())
    addValue(proposal, result);
  for (unsigned i : operands.set_bits())
    addOperand(proposal, update.getInputs()[i]);
  return true;
}

/// What is read packed by an update.
void VariableLayouts::addOperand(Proposal &proposal, Value value) {
  StringAttr variable = variableOf.lookup(value);
  if (variable && variables[variable].getType() == proposal.packing.logical)
    return addVariable(proposal, variable);
  addResult(proposal, value);
}

/// Whether what uses a packed value is made to read it so.
bool VariableLayouts::isReadPacked(const Proposal &proposal, OpOperand &use) {
  auto update = proposal.updates.find(use.getOwner());
  if (update != proposal.updates.end())
    return update->second.test(use.getOperandNumber());
  auto function = dyn_cast<func::FuncOp>(use.getOwner()->getParentOp());
  if (!function || !isa<func::ReturnOp>(use.getOwner()))
    return false;
  auto variable = function.getResultAttrOfType<StringAttr>(
      use.getOperandNumber(), graph::names::kVariable);
  return variable && proposal.variables.contains(variable);
}

/// What `reader` has to do more than now if it finds what it reads as `packing`
/// says.
int64_t VariableLayouts::costOf(const WeightsReader &reader,
                                const Packing &packing) {
  const Packing &own = reader.packing;
  auto costFrom = [&](int64_t lane) {
    return own.lane() == lane ? kMove : kTurn;
  };
  // Which dimension is contiguous.
  int64_t last = own.plain.getRank() - 1;
  while (last > 0 && own.plain.getDimSize(last) == 1)
    --last;
  bool readsPlain = planContraction(reader.contraction, target,
                                    /*packed=*/false)
                        .right == RightAccess::InPlace;
  int64_t before = readsPlain ? 0 : costFrom(last);
  return own == packing ? -before : costFrom(packing.lane()) - before;
}

/// Whether a product packs `value`, and moves elements at once.
bool VariableLayouts::isPackedThen(Value value) {
  return value.hasOneUse() && productOf(*value.use_begin());
}

/// Adds what the readers of a packed value save, or have to do.
void VariableLayouts::countReaders(Proposal &proposal, Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isReadPacked(proposal, use))
      continue;
    int64_t cost = kTurn;
    if (auto product = productOf(use))
      cost = costOf(*product, proposal.packingOf(value));
    else if (graph::DispatchOp movement = movementOf(use))
      cost = isPackedThen(movement.getResult(0)) ? 0 : kTurn - kMove;
    proposal.gain -= weightOf(value) * cost;
  }
}

std::optional<Proposal> VariableLayouts::propose(StringAttr variable,
                                                 const Candidate &candidate) {
  if (variables[variable].getType() != candidate.packing.logical)
    return std::nullopt;
  Proposal proposal;
  proposal.packing = candidate.packing;
  proposal.kernel = candidate.kernel;
  addVariable(proposal, variable);
  for (StringAttr other : proposal.variables)
    if (variables[other].getStored())
      return std::nullopt;
  for (Value value : proposal.values)
    countReaders(proposal, value);
  return proposal;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

int64_t VariableLayouts::run() {
  absorbMovements(module);
  collect();
  int64_t count = 0;
  for (auto &[name, variable] : variables) {
    if (variable.getStored())
      continue;
    std::optional<Proposal> best;
    for (const Candidate &candidate : candidates(name)) {
      auto proposal = propose(name, candidate);
      if (proposal && proposal->gain > (best ? best->gain : 0))
        best = std::move(proposal);
    }
    if (!best)
      continue;
    apply(*best);
    count += best->variables.size();
  }
  return count;
}

int64_t layOutVariables(ModuleOp module, const Target &target) {
  return VariableLayouts(module, target).run();
}

} // namespace tinh::cpu
