//===- PlaceKernels.cpp - Which device runs a kernel ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   module attributes {graph.cuda = ["sm_80"], graph.place = ["gather=cpu"]} {
//     func.func @main(%x: …, %i: …) {
//       %0 = graph.kernel (%a = %x, %b = %i) … { graph.gather … }
//       %1 = graph.kernel (%a = %0, %b = %x) … { graph.add … }
//       return %1
//
// becomes
//
//     func.func @main(%x: …, %i: …) {
//       %2 = graph.transfer %x to "cuda"
//       %0 = graph.kernel (%a = %x, %b = %i) … { graph.gather … }
//       %3 = graph.transfer %0 to "cuda"
//       %1 = graph.kernel (%a = %3, %b = %2) …
//           attributes {graph.device = "cuda"} { graph.add … }
//       %4 = graph.transfer %1 to "cpu"
//       return %4
//
// Kernels are on the GPU unless a rule says otherwise, and collectives on the
// CPU unless NCCL is to do them (graph.collectives); kernels on constants alone
// stay on the CPU, where @init runs them, and so do counters and conditions of
// loops (PlaceNumbers.cpp). A value is transferred once, as soon as it is
// there: arguments before anything else, so that no copy waits for a kernel
// that it does not depend on. In the end what waits for the other device comes
// behind what does not (OrderByCrossings.cpp).
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/PlaceKernels.h"
#include "compiler/Codegen/Devices.h"
#include "compiler/Codegen/Passes.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_PLACEKERNELS
#include "compiler/Codegen/Passes.h.inc"

namespace {

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// PATTERN=DEVICE.
struct Rule {
  StringRef text;
  llvm::GlobPattern pattern;
  bool toCuda;
  bool fitsSome = false;
};

FailureOr<Rule> parseRule(StringRef text, ModuleOp module) {
  auto fail = [&](const Twine &what) {
    return emitError(UnknownLoc::get(module.getContext()))
           << "the place \"" << text << "\" is malformed: " << what;
  };
  auto [pattern, device] = text.rsplit('=');
  if (pattern.empty() ||
      (device != graph::names::kOnCpu && device != graph::names::kOnCuda))
    return fail("expected PATTERN=cpu or PATTERN=cuda, with a pattern, such as "
                "conv*, of names of ops or of the model's nodes");
  auto glob = llvm::GlobPattern::create(pattern);
  if (!glob)
    return fail(llvm::toString(glob.takeError()));
  return Rule{text, std::move(*glob), device == graph::names::kOnCuda};
}

FailureOr<SmallVector<Rule>> parseRules(ModuleOp module) {
  SmallVector<Rule> rules;
  if (auto list = module->getAttrOfType<ArrayAttr>(graph::names::kPlace))
    for (auto text : list.getAsRange<StringAttr>()) {
      auto rule = parseRule(text, module);
      if (failed(rule))
        return failure();
      rules.push_back(std::move(*rule));
    }
  return rules;
}

/// The names of a kernel's ops and of the model's nodes that it computes.
llvm::StringSet<> namesOf(graph::KernelOp kernel) {
  llvm::StringSet<> names;
  for (Operation &op : kernel.getBody().front().without_terminator())
    if (!isa<graph::ConstantOp>(op))
      names.insert_range(graph::namesOf(&op).keys());
  return names;
}

/// The last rule that fits decides, if there is one.
std::optional<bool> isToCuda(graph::KernelOp kernel,
                             MutableArrayRef<Rule> rules) {
  std::optional<bool> toCuda;
  if (rules.empty())
    return toCuda;
  llvm::StringSet<> names = namesOf(kernel);
  for (Rule &rule : rules)
    if (llvm::any_of(names.keys(), [&](StringRef name) {
          return rule.pattern.match(name);
        })) {
      rule.fitsSome = true;
      toCuda = rule.toCuda;
    }
  return toCuda;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

/// Brings values to where they are needed.
class Transfers {
public:
  explicit Transfers(const Devices &devices) : devices(devices) {}

  void run(func::FuncOp function);
  int64_t count = 0;

private:
  Value onOther(Value value, bool toCuda);
  void insertBehind(OpBuilder &builder, Value value);

  const Devices &devices;
  /// Values on the device where they do not lie.
  DenseMap<Value, Value> others;
  /// By block: the last transfer of its arguments.
  DenseMap<Block *, Operation *> lastOfArguments;
};

void Transfers::insertBehind(OpBuilder &builder, Value value) {
  if (Operation *op = value.getDefiningOp())
    return builder.setInsertionPointAfter(op);
  Block *block = value.getParentBlock();
  if (Operation *last = lastOfArguments.lookup(block))
    return builder.setInsertionPointAfter(last);
  builder.setInsertionPointToStart(block);
}

Value Transfers::onOther(Value value, bool toCuda) {
  if (Value known = others.lookup(value))
    return known;
  OpBuilder builder(value.getContext());
  Operation *made;
  if (auto reshape = value.getDefiningOp<graph::ReshapeOp>()) {
    Value source = onOther(reshape.getX(), toCuda);
    builder.setInsertionPointAfter(reshape);
    made = builder.clone(*reshape);
    made->setOperand(0, source);
  } else {
    insertBehind(builder, value);
    StringRef device = toCuda ? graph::names::kOnCuda : graph::names::kOnCpu;
    made = graph::TransferOp::create(builder, value.getLoc(), value, device);
    if (isa<BlockArgument>(value))
      lastOfArguments[value.getParentBlock()] = made;
    ++count;
  }
  return others[value] = made->getResult(0);
}

void Transfers::run(func::FuncOp function) {
  SmallVector<std::pair<OpOperand *, bool>> moved;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (OpOperand &use : op->getOpOperands())
      if (std::optional<bool> toCuda = devices.needsCuda(use);
          toCuda && *toCuda != devices.isOnCuda(use.get()))
        moved.push_back({&use, *toCuda});
    return isa<graph::KernelOp>(op) ? WalkResult::skip()
                                    : WalkResult::advance();
  });
  for (auto [use, toCuda] : moved)
    use->set(onOther(use->get(), toCuda));
}

struct PlaceKernels : impl::PlaceKernelsBase<PlaceKernels> {
  void runOnOperation() override;
};

/// Marks the kernels that are to run on the GPU, constant or not.
LogicalResult markKernels(ModuleOp module) {
  auto rules = parseRules(module);
  if (failed(rules))
    return failure();
  auto device = StringAttr::get(module.getContext(), graph::names::kOnCuda);
  SmallVector<graph::KernelOp> withoutRule;
  module.walk([&](graph::KernelOp kernel) {
    auto function = kernel->getParentOfType<func::FuncOp>();
    bool isForCpu = function->hasAttr(graph::names::kInsteadOf);
    std::optional<bool> toCuda = isToCuda(kernel, *rules);
    if (isForCpu || !toCuda.value_or(true)) {
      kernel->removeAttr(graph::names::kDevice);
      return;
    }
    kernel->setAttr(graph::names::kDevice, device);
    if (!toCuda)
      withoutRule.push_back(kernel);
  });
  for (const Rule &rule : *rules)
    if (!rule.fitsSome)
      return emitError(UnknownLoc::get(module.getContext()))
             << "no op and no node of the model fits the place \"" << rule.text
             << "\"";
  module->removeAttr(graph::names::kPlace);
  placeNumbers(module, withoutRule);
  return success();
}

/// Why NCCL does not do `op` as it is meant; empty if it does.
StringRef whyNotNccl(Operation *op) {
  Type element = getElementTypeOrSelf(op->getOperand(0).getType());
  auto find = [&](auto reduce) -> StringRef {
    if (reduce.getCommunicationDtype())
      return "NCCL sends elements as they are, and not as another type; leave "
             "out --communication-dtype, or compile with --collectives=mpi";
    if (reduce.getKind() == graph::ReduceKind::Max && isa<FloatType>(element))
      return "the maximum of floats loses NaN in NCCL; compile with "
             "--collectives=mpi";
    return "";
  };
  if (auto reduce = dyn_cast<graph::AllReduceOp>(op))
    return find(reduce);
  if (auto scatter = dyn_cast<graph::ReduceScatterOp>(op))
    return find(scatter);
  return "";
}

/// Marks the collectives that GPUs do: all that are theirs, or none.
LogicalResult markCollectives(ModuleOp module) {
  if (!module->removeAttr(graph::names::kCollectives))
    return success();
  auto device = StringAttr::get(module.getContext(), graph::names::kOnCuda);
  auto mark = [&](Operation *op) -> WalkResult {
    auto function = op->getParentOfType<func::FuncOp>();
    if (!graph::isCollective(op) ||
        (function && function->hasAttr(graph::names::kInsteadOf)))
      return WalkResult::advance();
    if (StringRef why = whyNotNccl(op); !why.empty())
      return op->emitError(why);
    op->setAttr(graph::names::kDevice, device);
    return WalkResult::advance();
  };
  return success(!module.walk(mark).wasInterrupted());
}

} // namespace

void PlaceKernels::runOnOperation() {
  ModuleOp module = getOperation();
  if (!module->hasAttr(graph::names::kCuda))
    return;
  if (failed(markKernels(module)) || failed(markCollectives(module)))
    return signalPassFailure();
  Devices devices(module, Devices::Variables::Open);
  module.walk([&](graph::KernelOp kernel) {
    if (llvm::all_of(kernel.getResults(),
                     [&](Value value) { return devices.isOnBoth(value); }))
      kernel->removeAttr(graph::names::kDevice);
  });
  auto device = StringAttr::get(module.getContext(), graph::names::kOnCuda);
  for (auto variable : module.getOps<graph::VariableOp>())
    if (devices.isOnCuda(variable.getNameAttr()))
      variable.setDeviceAttr(device);
  Transfers transfers(devices);
  for (auto function : module.getOps<func::FuncOp>())
    if (graph::isEntry(function)) {
      transfers.run(function);
      orderByCrossings(function);
    }
  numTransfers += transfers.count;
}

} // namespace tinh::codegen
