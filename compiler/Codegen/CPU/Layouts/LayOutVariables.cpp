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
#include "compiler/Codegen/CPU/Layouts/Layouts.h"
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

/// The product that reads the value as weights. A convolution with a filter for
/// each channel is none: it loads its weights once for many outputs, so that no
/// layout would pay.
std::optional<WeightsReader> VariableLayouts::productOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  if (!dispatch || graph::isOnCuda(kernelOf(dispatch)))
    return std::nullopt;
  auto reader = findReader(dispatch, kernelOf(dispatch), target);
  if (!reader || reader->operand != use.getOperandNumber() ||
      ContractionStrategy::plans(reader->contraction, target).empty())
    return std::nullopt;
  PanelsAttr layout = reader->layout;
  bool canReshape =
      !layout.getShape() ||
      getReassociationIndicesForReshape(layout.getOf(), layout.getPlain());
  // Elements of which sums make others are packed anew each time.
  if (!canReshape || layout.getElement())
    return std::nullopt;
  return reader;
}

/// The dispatch that makes other floating-point numbers of those that it reads.
graph::DispatchOp VariableLayouts::castOf(OpOperand &use) {
  graph::DispatchOp dispatch = asMovement(symbols, use.getOwner());
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

SmallVector<WeightsReader, 0> VariableLayouts::candidates(StringAttr variable) {
  SmallVector<WeightsReader, 0> found;
  Type element = getElementTypeOrSelf(variables[variable].getType());
  auto add = [&](OpOperand &use) {
    auto product = productOf(use);
    if (!product)
      return;
    // Groups are made of what is cast: rows that change every step are stored
    // in the order in which products compute them.
    product->layout = product->layout.withElement(element).withGroup(1);
    auto isSame = [&](const WeightsReader &known) {
      return known.layout == product->layout;
    };
    if (llvm::none_of(found, isSame))
      found.push_back(*product);
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
    PanelsAttr layout = proposal.layoutOf(cast.getResult(0));
    auto wants = [&](OpOperand &reader) {
      auto product = productOf(reader);
      return product && product->canRegroup(layout);
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
static bool isPackable(Type type, PanelsAttr layout) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.getShape() == layout.getOf().getShape() &&
         isa<FloatType>(tensor.getElementType());
}

/// The operands that are read at the index of a result, and so packed if that
/// is.
llvm::SmallBitVector VariableLayouts::packedOperands(graph::DispatchOp update,
                                                     PanelsAttr layout) {
  func::FuncOp kernel = kernelOf(update);
  llvm::SmallBitVector operands(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments())
    if (isPackable(argument.getType(), layout) && isReadAtItsIndex(argument) &&
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
    if (!isPackable(type, proposal.layout) ||
        kernel.getResultAttr(i, graph::names::kStrides))
      return false;
  llvm::SmallBitVector operands = packedOperands(update, proposal.layout);
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  bool canPack = succeeded(packKernel(b, *trial, proposal.layout, operands)) &&
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
  if (variable && variables[variable].getType() == proposal.layout.getOf())
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

/// What `reader` has to do more than now if it finds what it reads in `layout`.
int64_t VariableLayouts::costOf(const WeightsReader &reader,
                                PanelsAttr layout) {
  const PanelsAttr &own = reader.layout;
  auto costFrom = [&](int64_t lane) {
    return own.getLane() == lane ? kMove : kTurn;
  };
  // Which dimension is contiguous.
  RankedTensorType plain = own.getPlain();
  int64_t last = plain.getRank() - 1;
  while (last > 0 && plain.getDimSize(last) == 1)
    --last;
  bool readsPlain = planContraction(reader.contraction, target,
                                    /*packed=*/false)
                        .right == RightAccess::InPlace;
  int64_t before = readsPlain ? 0 : costFrom(last);
  return reader.canRead(layout) ? -before : costFrom(layout.getLane()) - before;
}

/// Adds what the readers of a packed value save, or have to do.
void VariableLayouts::countReaders(Proposal &proposal, Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isReadPacked(proposal, use))
      continue;
    int64_t cost = kTurn;
    if (auto product = productOf(use))
      cost = costOf(*product, proposal.layoutOf(value));
    else if (auto movement = asMovement(symbols, use.getOwner())) {
      // A product that packs what has been moved moves elements at once.
      Value moved = movement.getResult(0);
      bool isPackedThen = moved.hasOneUse() && productOf(*moved.use_begin());
      cost = isPackedThen ? 0 : kTurn - kMove;
    }
    proposal.gain -= weightOf(value) * cost;
  }
}

std::optional<Proposal> VariableLayouts::propose(StringAttr variable,
                                                 const WeightsReader &reader) {
  if (variables[variable].getType() != reader.layout.getOf())
    return std::nullopt;
  Proposal proposal;
  proposal.layout = reader.layout;
  proposal.kernel = reader.kernel;
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
    for (const WeightsReader &reader : candidates(name)) {
      auto proposal = propose(name, reader);
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
