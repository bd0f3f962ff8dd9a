//===- OutlineConstants.cpp - Work on constants moves to @init --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func @main(%x: …) {
//     %0 = graph.constant … loc("conv1.weight")
//     %1 = graph.dispatch @transpose_0(%0)
//     %2 = graph.dispatch @conv_0(%x, %1)
//     return %2
//   }
// becomes
//   func.func @init(%0: … {graph.source = …})
//       -> (… {graph.name = "conv1.weight.transpose"}) {
//     %1 = graph.dispatch @transpose_0(%0)
//     return %1
//   }
//   func.func @main(%x: …) {
//     %w = graph.weight "conv1.weight.transpose"
//     %2 = graph.dispatch @conv_0(%x, %w)
//     return %2
//   }
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_OUTLINECONSTANTS
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// The first name that a location mentions, or nothing.
std::string nameOf(Location location) {
  if (auto name = dyn_cast<NameLoc>(location))
    return name.getName().str();
  if (auto call = dyn_cast<CallSiteLoc>(location))
    return nameOf(call.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::string name = nameOf(part); !name.empty())
        return name;
  return {};
}

/// "transpose_3" as "transpose".
StringRef withoutNumber(StringRef kernel) {
  StringRef base = kernel.rtrim("0123456789");
  return base.consume_back("_") ? base : kernel;
}

class Outliner {
public:
  explicit Outliner(func::FuncOp main) : main(main), builder(main) {}

  /// Returns the number of dispatches in @init.
  int64_t run();

private:
  void createInit();
  bool isConstant(Operation &op);
  void outline(Operation &op);
  void outlineConstant(graph::ConstantOp op);
  bool isKept(Operation &op);
  void readWeights();
  Value weightFor(Value initValue);
  std::string weightName(Value initValue);
  std::string originName(Value initValue);
  void eraseOutlined();
  int64_t finishInit();

  func::FuncOp main, init;
  OpBuilder builder;
  /// Results of constant ops in @main as values in @init.
  DenseMap<Value, Value> inInit;
  /// The ops of @main that are in @init, in order.
  SmallVector<Operation *> outlined;
  DenseSet<Operation *> outlinedSet;
  /// Reshapes of constants that @main still needs: they are views of weights.
  DenseSet<Operation *> kept;
  /// Arguments of @init by value, and its computations by what they compute.
  DenseMap<Attribute, Value> arguments;
  SmallVector<Operation *> computations;
  /// Values of @init that @main reads, with the ops that read them.
  llvm::MapVector<Value, Value> weights;
  SmallVector<std::string> names;
  llvm::StringSet<> taken;
};

void Outliner::createInit() {
  init = func::FuncOp::create(builder, main.getLoc(), graph::names::kInit,
                              builder.getFunctionType({}, {}));
  init.addEntryBlock();
}

bool Outliner::isConstant(Operation &op) {
  if (isa<graph::ConstantOp>(op))
    return true;
  if (!isa<graph::DispatchOp, graph::ReshapeOp>(op))
    return false;
  // What lies in a concatenation is computed there.
  if (llvm::any_of(op.getUsers(), llvm::IsaPred<graph::ConcatOp>))
    return false;
  return llvm::all_of(op.getOperands(),
                      [&](Value operand) { return inInit.contains(operand); });
}

void Outliner::outlineConstant(graph::ConstantOp op) {
  Value &argument = arguments[op.getValue()];
  if (!argument) {
    auto attributes = builder.getDictionaryAttr(
        builder.getNamedAttr(graph::names::kSource, op.getValue()));
    unsigned position = init.getNumArguments();
    (void)init.insertArgument(position, op.getType(), attributes, op.getLoc());
    argument = init.getArgument(position);
  }
  inInit[op.getResult()] = argument;
}

void Outliner::outline(Operation &op) {
  outlined.push_back(&op);
  outlinedSet.insert(&op);
  if (auto constant = dyn_cast<graph::ConstantOp>(op))
    return outlineConstant(constant);
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, inInit.at(operand));
  Operation *copy = op.clone(mapping);
  Operation *same = nullptr;
  for (Operation *other : computations)
    if (OperationEquivalence::isEquivalentTo(
            copy, other, OperationEquivalence::IgnoreLocations)) {
      same = other;
      break;
    }
  if (same) {
    copy->erase();
  } else {
    same = copy;
    init.getBody().front().push_back(copy);
    computations.push_back(copy);
  }
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), same->getResults()))
    inInit[result] = value;
}

//===----------------------------------------------------------------------===//
// What @main reads
//===----------------------------------------------------------------------===//

/// Whether a constant op is needed in @main itself: a reshape, which costs
/// nothing there, that something not constant reads.
bool Outliner::isKept(Operation &op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::any_of(op.getUsers(), [&](Operation *user) {
           return !outlinedSet.contains(user) || kept.contains(user);
         });
}

std::string Outliner::originName(Value initValue) {
  Operation *op = initValue.getDefiningOp();
  if (!op)
    return nameOf(initValue.getLoc());
  Value largest;
  for (Value operand : op->getOperands())
    if (!largest || graph::tensorSize(operand.getType()) >
                        graph::tensorSize(largest.getType()))
      largest = operand;
  std::string origin = largest ? originName(largest) : "";
  auto dispatch = dyn_cast<graph::DispatchOp>(op);
  if (origin.empty() || !dispatch)
    return origin;
  return origin + "." + withoutNumber(dispatch.getKernel()).str();
}

std::string Outliner::weightName(Value initValue) {
  std::string base = originName(initValue);
  std::string name = base.empty() ? "w" + std::to_string(weights.size()) : base;
  for (int64_t i = 1; !taken.insert(name).second; ++i)
    name = (base.empty() ? "w" : base) + "." + std::to_string(i);
  return name;
}

Value Outliner::weightFor(Value initValue) {
  auto found = weights.find(initValue);
  if (found != weights.end())
    return found->second;
  names.push_back(weightName(initValue));
  Value weight = graph::WeightOp::create(builder, initValue.getLoc(),
                                         initValue.getType(), names.back());
  weights.insert({initValue, weight});
  return weight;
}

void Outliner::readWeights() {
  for (Operation *op : llvm::reverse(outlined))
    if (isKept(*op))
      kept.insert(op);
  builder.setInsertionPointToStart(&main.getBody().front());
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (outlinedSet.contains(op) && !kept.contains(op))
      return;
    for (OpOperand &operand : op->getOpOperands()) {
      auto found = inInit.find(operand.get());
      if (found == inInit.end())
        continue;
      Operation *source = operand.get().getDefiningOp();
      if (!kept.contains(source))
        operand.set(weightFor(found->second));
    }
  });
}

void Outliner::eraseOutlined() {
  for (Operation *op : llvm::reverse(outlined))
    if (!kept.contains(op))
      op->erase();
}

/// Returns what @main reads, drops the rest, and counts dispatches.
int64_t Outliner::finishInit() {
  Block &body = init.getBody().front();
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (auto [index, entry] : llvm::enumerate(weights)) {
    results.push_back(entry.first);
    types.push_back(entry.first.getType());
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        graph::names::kName, builder.getStringAttr(names[index]))));
  }
  builder.setInsertionPointToEnd(&body);
  func::ReturnOp::create(builder, init.getLoc(), results);
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
    if (isOpTriviallyDead(&op))
      op.erase();
  BitVector unused(body.getNumArguments());
  for (BlockArgument argument : body.getArguments())
    if (argument.use_empty())
      unused.set(argument.getArgNumber());
  (void)init.eraseArguments(unused);
  init.setType(builder.getFunctionType(body.getArgumentTypes(), types));
  init.setAllResultAttrs(attributes);
  return llvm::range_size(body.getOps<graph::DispatchOp>());
}

int64_t Outliner::run() {
  createInit();
  main.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isConstant(*op))
      outline(*op);
  });
  readWeights();
  eraseOutlined();
  if (weights.empty()) {
    init.erase();
    return 0;
  }
  return finishInit();
}

struct OutlineConstantsPass : impl::OutlineConstantsBase<OutlineConstantsPass> {
  void runOnOperation() override {
    int64_t count = 0;
    if (failed(outlineConstants(getOperation(), &count)))
      signalPassFailure();
    numMoved += count;
  }
};

} // namespace

LogicalResult outlineConstants(ModuleOp module, int64_t *numMoved) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main || main.isExternal())
    return module.emitError("has no function @main to take constants from");
  if (Operation *init = module.lookupSymbol(graph::names::kInit))
    return init->emitError("@init exists already; constants are outlined once");
  *numMoved += Outliner(main).run();
  return success();
}

} // namespace tinh::codegen
