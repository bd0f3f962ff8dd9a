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
#include "compiler/Codegen/CPU/Packing.h"

#include "dialects/graph/Graph.h"

#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace tinh::cpu {

namespace {

/// How often elements are moved: in a function that changes variables, which
/// runs again and again, it counts more than in others.
constexpr int64_t kMutating = 8;
/// What moving elements costs: with vectors from and to memory, and if these
/// have to be turned.
constexpr int64_t kMove = 2, kTurn = 4;

/// A layout, and the kernel of a product that wants it.
struct Candidate {
  Packing packing;
  func::FuncOp kernel;
};

/// What would follow from a layout of some variables.
struct Proposal {
  Packing packing;
  func::FuncOp kernel; // That wants it.
  llvm::SetVector<StringAttr> variables;
  /// Dispatches whose results are packed, and which operands of them are.
  llvm::MapVector<Operation *, llvm::SmallBitVector> updates;
  /// What is packed: arguments, and results of these dispatches.
  llvm::SetVector<Value> values;
  /// Results that are made plain and packed then.
  llvm::SetVector<Value> packedAfter;
  int64_t gain = 0;
};

class VariableLayouts {
public:
  VariableLayouts(ModuleOp module, const Target &target)
      : module(module), target(target), symbols(module),
        b(module.getContext()) {}
  /// Returns the number of variables that have got layouts.
  int64_t run();

private:
  // What the functions do.
  void collect();
  func::FuncOp kernelOf(graph::DispatchOp dispatch);
  std::optional<Contraction> productOf(OpOperand &use);
  SmallVector<Candidate> candidates(StringAttr variable);

  // What a layout would change.
  std::optional<Proposal> propose(StringAttr variable,
                                  const Candidate &candidate);
  bool isReadPacked(const Proposal &proposal, OpOperand &use);
  void addVariable(Proposal &proposal, StringAttr variable);
  void addResult(Proposal &proposal, Value value);
  bool addUpdate(Proposal &proposal, graph::DispatchOp update);
  llvm::SmallBitVector packedOperands(graph::DispatchOp update,
                                      const Packing &packing);
  void addOperand(Proposal &proposal, Value value);
  void countReaders(Proposal &proposal, Value value);
  int64_t weightOf(Value value);

  // The change.
  void apply(Proposal &proposal);
  void createKernels(Proposal &proposal);
  void changeReaders(Proposal &proposal, Value value);
  void changeUpdate(Operation *update, const llvm::SmallBitVector &operands,
                    Proposal &proposal);
  void packAfter(Proposal &proposal, Value value);
  void changeDeclarations(const Proposal &proposal);
  Value convert(Value value, StringRef kernel, Type type);

  ModuleOp module;
  const Target &target;
  SymbolTable symbols;
  OpBuilder b;
  SmallVector<func::FuncOp> functions;
  llvm::MapVector<StringAttr, graph::VariableOp> variables;
  DenseMap<StringAttr, SmallVector<Value>> arguments, results;
  DenseMap<Value, StringAttr> variableOf; // Of arguments.
  /// Of the layout that is being applied.
  func::FuncOp pack, unpack;
};

} // namespace

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

/// The product that reads the value, and nothing else of it, as weights.
std::optional<Contraction> VariableLayouts::productOf(OpOperand &use) {
  auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
  if (!dispatch)
    return std::nullopt;
  func::FuncOp kernel = kernelOf(dispatch);
  BlockArgument argument = kernel.getArgument(use.getOperandNumber());
  auto c = matchContraction(kernel);
  if (!c || c->weights != argument || !argument.hasOneUse() ||
      !c->weightsMap.isProjectedPermutation() || !isWorthTiling(*c) ||
      kernel.getArgAttr(use.getOperandNumber(), graph::names::kStrides) ||
      getElementTypeOrSelf(argument) != c->element())
    return std::nullopt;
  return c;
}

SmallVector<Candidate> VariableLayouts::candidates(StringAttr variable) {
  SmallVector<Candidate> found;
  for (Value argument : arguments.lookup(variable))
    for (OpOperand &use : argument.getUses()) {
      auto dispatch = dyn_cast<graph::DispatchOp>(use.getOwner());
      auto product = productOf(use);
      if (!product)
        continue;
      Packing packing = planPacking(*product, target);
      auto isSame = [&](const Candidate &known) {
        return known.packing == packing;
      };
      if (llvm::none_of(found, isSame))
        found.push_back({packing, kernelOf(dispatch)});
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
    proposal.values.insert(argument);
  for (Value result : results.lookup(variable))
    addResult(proposal, result);
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

/// The operands that are read at the index of a result, and so packed if that
/// is.
llvm::SmallBitVector VariableLayouts::packedOperands(graph::DispatchOp update,
                                                     const Packing &packing) {
  func::FuncOp kernel = kernelOf(update);
  llvm::SmallBitVector operands(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments())
    if (argument.getType() == packing.plain && isReadAtItsIndex(argument) &&
        !kernel.getArgAttr(argument.getArgNumber(), graph::names::kStrides))
      operands.set(argument.getArgNumber());
  return operands;
}

/// Whether `packed`, what has become of `kernel`, is computed as that was.
static bool keepsStrategy(func::FuncOp kernel, func::FuncOp packed,
                          const Target &target) {
  StringRef strategy = chooseStrategy(kernel);
  return strategy != "outer-products" && strategy == chooseStrategy(packed) &&
         divideKernel(packed, strategy, target);
}

/// Lets `update` make packed results, if its kernel can.
bool VariableLayouts::addUpdate(Proposal &proposal, graph::DispatchOp update) {
  func::FuncOp kernel = kernelOf(update);
  for (auto [i, type] : llvm::enumerate(kernel.getResultTypes()))
    if (type != proposal.packing.plain ||
        kernel.getResultAttr(i, graph::names::kStrides))
      return false;
  llvm::SmallBitVector operands = packedOperands(update, proposal.packing);
  OwningOpRef<func::FuncOp> trial = kernel.clone();
  bool canPack = succeeded(packKernel(b, *trial, proposal.packing, operands)) &&
                 keepsStrategy(kernel, *trial, target);
  if (!canPack)
    return false;
  proposal.updates[update] = operands;
  for (Value result : update.getResults())
    proposal.values.insert(result);
  for (unsigned i : operands.set_bits())
    addOperand(proposal, update.getInputs()[i]);
  return true;
}

/// What is read packed by an update.
void VariableLayouts::addOperand(Proposal &proposal, Value value) {
  StringAttr variable = variableOf.lookup(value);
  if (variable && variables[variable].getType() == proposal.packing.plain)
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

/// Adds what the readers of a packed value save, or have to do.
void VariableLayouts::countReaders(Proposal &proposal, Value value) {
  for (OpOperand &use : value.getUses()) {
    if (isReadPacked(proposal, use))
      continue;
    int64_t cost = kTurn;
    if (auto product = productOf(use)) {
      Packing own = planPacking(*product, target);
      auto costFrom = [&](int64_t lane) {
        return own.lane() == lane ? kMove : kTurn;
      };
      bool readsPlain =
          planContraction(*product, target, /*packed=*/false).readsWeights;
      int64_t before = readsPlain ? 0 : costFrom(own.plain.getRank() - 1);
      cost = own == proposal.packing
                 ? -before
                 : costFrom(proposal.packing.lane()) - before;
    }
    proposal.gain -= weightOf(value) * cost;
  }
}

std::optional<Proposal> VariableLayouts::propose(StringAttr variable,
                                                 const Candidate &candidate) {
  if (variables[variable].getType() != candidate.packing.plain)
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
// The change
//===----------------------------------------------------------------------===//

/// Kernels from the plain type to the packed one and back.
void VariableLayouts::createKernels(Proposal &proposal) {
  const Packing &packing = proposal.packing;
  Location loc = proposal.kernel.getLoc();
  auto create = [&](StringRef suffix, Type from, Type to, auto convert) {
    std::string name = (proposal.kernel.getName() + suffix).str();
    auto kernel = func::FuncOp::create(loc, name, b.getFunctionType(from, to));
    kernel.setPrivate();
    symbols.insert(kernel);
    b.setInsertionPointToStart(kernel.addEntryBlock());
    Value result = convert(b, loc, kernel.getArgument(0), packing);
    func::ReturnOp::create(b, loc, result);
    return kernel;
  };
  pack = create("_pack", packing.plain, packing.packed, packPanels);
  unpack = create("_unpack", packing.packed, packing.plain, unpackPanels);
}

Value VariableLayouts::convert(Value value, StringRef kernel, Type type) {
  return graph::DispatchOp::create(b, value.getLoc(), TypeRange(type), kernel,
                                   ValueRange(value))
      .getResult(0);
}

/// Lets what reads `value`, which becomes packed, find it so.
void VariableLayouts::changeReaders(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (!isReadPacked(proposal, use))
      uses.push_back(&use);
  for (OpOperand *use : uses) {
    auto product = productOf(*use);
    if (product && planPacking(*product, target) == proposal.packing) {
      auto dispatch = cast<graph::DispatchOp>(use->getOwner());
      readPacked(b, kernelOf(dispatch), *product, proposal.packing);
      continue;
    }
    // Each has what it reads for itself: what packs that in another way does
    // both at once.
    Block &block = *value.getParentBlock();
    b.setInsertionPoint(block.findAncestorOpInBlock(*use->getOwner()));
    use->set(convert(value, unpack.getName(), proposal.packing.plain));
  }
}

void VariableLayouts::changeUpdate(Operation *update,
                                   const llvm::SmallBitVector &operands,
                                   Proposal &proposal) {
  auto dispatch = cast<graph::DispatchOp>(update);
  func::FuncOp kernel = kernelOf(dispatch);
  (void)packKernel(b, kernel, proposal.packing, operands); // As it was tried.
  for (auto [result, type] :
       llvm::zip_equal(dispatch.getResults(), kernel.getResultTypes()))
    result.setType(type);
}

/// Lets the updates read packed what they make plain themselves.
void VariableLayouts::packAfter(Proposal &proposal, Value value) {
  SmallVector<OpOperand *> uses;
  for (OpOperand &use : value.getUses())
    if (isReadPacked(proposal, use))
      uses.push_back(&use);
  b.setInsertionPointAfterValue(value);
  Value packed = convert(value, pack.getName(), proposal.packing.packed);
  for (OpOperand *use : uses)
    use->set(packed);
}

void VariableLayouts::changeDeclarations(const Proposal &proposal) {
  for (StringAttr name : proposal.variables) {
    graph::VariableOp variable = variables[name];
    variable.setStored(proposal.packing.packed);
    variable.setPack(pack.getName());
    variable.setUnpack(unpack.getName());
    for (Value argument : arguments.lookup(name))
      argument.setType(proposal.packing.packed);
  }
  for (func::FuncOp function : functions) {
    Block &body = function.getBody().front();
    function.setFunctionType(b.getFunctionType(
        body.getArgumentTypes(), body.getTerminator()->getOperandTypes()));
  }
}

void VariableLayouts::apply(Proposal &proposal) {
  createKernels(proposal);
  for (Value value : proposal.values)
    changeReaders(proposal, value);
  for (Value value : proposal.packedAfter)
    if (!proposal.values.contains(value))
      packAfter(proposal, value);
  for (auto &[update, operands] : proposal.updates)
    changeUpdate(update, operands, proposal);
  changeDeclarations(proposal);
}

int64_t VariableLayouts::run() {
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
