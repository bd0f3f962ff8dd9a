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
// There is one @init for all functions. What a variable begins with, if that is
// not zero, is a result of it, too.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Rewrites.h"
#include "compiler/Codegen/Passes.h"
#include "compiler/Support/ConstantBudget.h"
#include "compiler/Support/TensorName.h"
#include "dialects/graph/Graph.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_OUTLINECONSTANTS
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// "transpose_3" as "transpose".
StringRef withoutNumber(StringRef kernel) {
  StringRef base = kernel.rtrim("0123456789");
  return base.consume_back("_") ? base : kernel;
}

/// Compares ops of one block by what they compute.
struct SameComputation : DenseMapInfo<Operation *> {
  static unsigned getHashValue(const Operation *op) {
    return OperationEquivalence::computeHash(
        const_cast<Operation *>(op),
        /*hashOperands=*/OperationEquivalence::directHashValue,
        /*hashResults=*/OperationEquivalence::ignoreHashValue,
        OperationEquivalence::IgnoreLocations);
  }
  static bool isEqual(const Operation *a, const Operation *b) {
    if (a == b)
      return true;
    if (a == getTombstoneKey() || a == getEmptyKey() ||
        b == getTombstoneKey() || b == getEmptyKey())
      return false;
    return OperationEquivalence::isEquivalentTo(
        const_cast<Operation *>(a), const_cast<Operation *>(b),
        OperationEquivalence::IgnoreLocations);
  }
};

/// The bytes of the constants of all functions as they are stored.
uint64_t storedConstants(ModuleOp module) {
  llvm::SmallDenseSet<Attribute> seen;
  uint64_t bytes = 0;
  module.walk([&](graph::ConstantOp op) {
    if (!isa<SplatElementsAttr>(op.getValue()) &&
        seen.insert(op.getValue()).second)
      bytes += graph::tensorSize(op.getType());
  });
  return bytes;
}

/// The elements that the loops of a kernel's ops visit.
uint64_t operationsOf(Operation *kernel) {
  uint64_t sum = 0;
  kernel->walk([&](linalg::LinalgOp op) {
    uint64_t visited = 1;
    for (int64_t extent : op.getStaticLoopRanges())
      visited = llvm::SaturatingMultiply(visited, uint64_t(extent));
    sum = llvm::SaturatingAdd(sum, visited);
  });
  return sum;
}

class Outliner {
public:
  explicit Outliner(ModuleOp module)
      : module(module), builder(module),
        budget(storedConstants(module), ConstantBudget::kKept) {}

  /// Returns the number of dispatches in @init.
  int64_t run();

private:
  void createInit(func::FuncOp first);
  void outlineFrom(func::FuncOp function);
  void outlineInitialValues();
  Value argumentFor(TypedAttr value, Location location);
  void addWeight(Value initValue);
  bool isConstant(Operation &op);
  bool isAffordable(graph::DispatchOp op);
  Operation *copyForInit(Operation &op);
  void outline(Operation &op);
  bool isKept(Operation &op);
  void readWeights();
  Value weightFor(Value initValue);
  std::string weightName(Value initValue);
  std::string originName(Value initValue);
  void eraseOutlined();
  int64_t finishInit();

  ModuleOp module;
  func::FuncOp function, init;
  OpBuilder builder;
  /// Results of constant ops in the function as values in @init.
  DenseMap<Value, Value> inInit;
  /// The ops of the function that are in @init, in order.
  SmallVector<Operation *> outlined;
  DenseSet<Operation *> outlinedSet;
  /// Reshapes of constants that the function still needs: they are views of
  /// weights.
  DenseSet<Operation *> kept;
  /// Values of @init that the function reads, with the ops that read them.
  DenseMap<Value, Value> read;
  /// Arguments of @init by value, and its computations by what they compute.
  llvm::MapVector<Attribute, Value> arguments;
  DenseSet<Operation *, SameComputation> computations;
  /// The results of @init and their names.
  llvm::MapVector<Value, std::string> weights;
  llvm::StringSet<> taken;
  /// The last numbers that follow names that are taken.
  llvm::StringMap<int64_t> numbers;
  ConstantBudget budget;
};

void Outliner::createInit(func::FuncOp first) {
  builder.setInsertionPoint(first);
  init = func::FuncOp::create(builder, first.getLoc(), graph::names::kInit,
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
  auto dispatch = dyn_cast<graph::DispatchOp>(op);
  return llvm::all_of(
             op.getOperands(),
             [&](Value operand) { return inInit.contains(operand); }) &&
         (!dispatch || isAffordable(dispatch));
}

/// Whether what a dispatch makes is kept, or is made in each run.
bool Outliner::isAffordable(graph::DispatchOp op) {
  Operation *copy = copyForInit(*op);
  bool isKnown = computations.contains(copy); // Of another function.
  copy->erase();
  if (isKnown)
    return true;
  uint64_t bytes = 0;
  for (Type type : op->getResultTypes())
    bytes += graph::tensorSize(type);
  return budget.take(bytes, operationsOf(SymbolTable::lookupNearestSymbolFrom(
                                op, op.getKernelAttr())));
}

Value Outliner::argumentFor(TypedAttr value, Location location) {
  Value &argument = arguments[value];
  if (!argument) // The function's type follows in the end.
    argument = init.getBody().addArgument(value.getType(), location);
  return argument;
}

/// Of values of @init, and in no block.
Operation *Outliner::copyForInit(Operation &op) {
  IRMapping mapping;
  for (Value operand : op.getOperands())
    mapping.map(operand, inInit.at(operand));
  return op.clone(mapping);
}

void Outliner::outline(Operation &op) {
  outlined.push_back(&op);
  outlinedSet.insert(&op);
  if (auto constant = dyn_cast<graph::ConstantOp>(op)) {
    inInit[constant.getResult()] =
        argumentFor(constant.getValue(), constant.getLoc());
    return;
  }
  Operation *copy = copyForInit(op);
  auto [same, isNew] = computations.insert(copy);
  if (isNew)
    init.getBody().front().push_back(copy);
  else
    copy->erase();
  for (auto [result, value] :
       llvm::zip_equal(op.getResults(), (*same)->getResults()))
    inInit[result] = value;
}

//===----------------------------------------------------------------------===//
// What the functions read
//===----------------------------------------------------------------------===//

/// Whether a constant op is needed in the function itself: a reshape, which
/// costs nothing there, that something not constant reads.
bool Outliner::isKept(Operation &op) {
  return isa<graph::ReshapeOp>(op) &&
         llvm::any_of(op.getUsers(), [&](Operation *user) {
           return !outlinedSet.contains(user) || kept.contains(user);
         });
}

/// The constant that a value is computed from, by way of the largest operands,
/// and the kernels that compute it: the last few if these are many.
std::string Outliner::originName(Value initValue) {
  constexpr size_t kMostKernels = 8;
  SmallVector<StringRef> kernels;
  while (Operation *op = initValue.getDefiningOp()) {
    Value largest;
    for (Value operand : op->getOperands())
      if (!largest || graph::tensorSize(operand.getType()) >
                          graph::tensorSize(largest.getType()))
        largest = operand;
    if (auto dispatch = dyn_cast<graph::DispatchOp>(op);
        dispatch && kernels.size() < kMostKernels)
      kernels.push_back(withoutNumber(dispatch.getKernel()));
    if (!largest)
      return "";
    initValue = largest;
  }
  std::string origin = graph::nodeName(initValue.getLoc()).str();
  if (!origin.empty())
    for (StringRef kernel : llvm::reverse(kernels))
      origin += "." + kernel.str();
  return origin;
}

std::string Outliner::weightName(Value initValue) {
  std::string base = originName(initValue);
  if (!isTensorName(base)) // They may come to lie in a file.
    base.clear();
  std::string name = base.empty() ? "w" + std::to_string(weights.size()) : base;
  while (!taken.insert(name).second) {
    StringRef stem = base.empty() ? "w" : StringRef(base);
    name = (stem + "." + Twine(++numbers[stem])).str();
  }
  return name;
}

void Outliner::addWeight(Value initValue) {
  if (!weights.contains(initValue))
    weights.insert({initValue, weightName(initValue)});
}

Value Outliner::weightFor(Value initValue) {
  Value &weight = read[initValue];
  if (!weight) {
    addWeight(initValue);
    weight = graph::WeightOp::create(builder, initValue.getLoc(),
                                     initValue.getType(),
                                     weights.find(initValue)->second);
  }
  return weight;
}

void Outliner::readWeights() {
  for (Operation *op : llvm::reverse(outlined))
    if (isKept(*op))
      kept.insert(op);
  builder.setInsertionPointToStart(&function.getBody().front());
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
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

/// Returns what the functions read, drops the rest, and counts dispatches.
int64_t Outliner::finishInit() {
  Block &body = init.getBody().front();
  SmallVector<Value> results;
  SmallVector<Type> types;
  SmallVector<Attribute> attributes;
  for (const auto &[value, name] : weights) {
    results.push_back(value);
    types.push_back(value.getType());
    attributes.push_back(builder.getDictionaryAttr(builder.getNamedAttr(
        graph::names::kName, builder.getStringAttr(name))));
  }
  builder.setInsertionPointToEnd(&body);
  func::ReturnOp::create(builder, init.getLoc(), results);
  eraseDead(body);
  SmallVector<Attribute> sources;
  for (const auto &[value, argument] : arguments)
    if (!argument.use_empty())
      sources.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(graph::names::kSource, value)));
  body.eraseArguments(
      [](BlockArgument argument) { return argument.use_empty(); });
  init.setType(builder.getFunctionType(body.getArgumentTypes(), types));
  init.setAllArgAttrs(sources);
  init.setAllResultAttrs(attributes);
  return llvm::range_size(body.getOps<graph::DispatchOp>());
}

void Outliner::outlineFrom(func::FuncOp from) {
  function = from;
  inInit.clear();
  outlined.clear();
  outlinedSet.clear();
  kept.clear();
  read.clear();
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isConstant(*op))
      outline(*op);
  });
  readWeights();
  eraseOutlined();
}

void Outliner::outlineInitialValues() {
  builder.setInsertionPointToEnd(&init.getBody().front());
  for (auto variable : module.getOps<graph::VariableOp>()) {
    if (variable.isInitiallyZero())
      continue;
    Location location = NameLoc::get(variable.getNameAttr(), variable.getLoc());
    Value value = argumentFor(variable.getValue(), location);
    if (variable.getStored())
      value = graph::DispatchOp::create(builder, location,
                                        TypeRange(variable.getStoredType()),
                                        *variable.getPack(), ValueRange(value))
                  .getResult(0);
    addWeight(value);
  }
}

int64_t Outliner::run() {
  SmallVector<func::FuncOp> entries;
  for (auto candidate : module.getOps<func::FuncOp>())
    if (graph::isEntry(candidate))
      entries.push_back(candidate);
  createInit(entries.front());
  llvm::for_each(entries, [&](func::FuncOp entry) { outlineFrom(entry); });
  outlineInitialValues();
  if (weights.empty()) {
    init.erase();
    return 0;
  }
  return finishInit();
}

/// Constants are taken from functions, and once.
LogicalResult checkModule(ModuleOp module) {
  if (llvm::none_of(module.getOps<func::FuncOp>(), graph::isEntry))
    return module.emitError("has no function to take constants from");
  if (Operation *init = module.lookupSymbol(graph::names::kInit))
    return init->emitError("@init exists already; constants are outlined once");
  return success();
}

struct OutlineConstants : impl::OutlineConstantsBase<OutlineConstants> {
  void runOnOperation() override {
    if (failed(checkModule(getOperation())))
      return signalPassFailure();
    numMoved += Outliner(getOperation()).run();
  }
};

} // namespace
} // namespace tinh::codegen
