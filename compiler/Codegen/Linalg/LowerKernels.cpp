//===- LowerKernels.cpp - Kernels become functions over linalg --*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   %y = graph.kernel (%a = %x, %b = %w) : (tensor<2x4xf32>, tensor<4x3xf32>)
//       -> tensor<2x3xf32> {
//     %0 = graph.matmul %a, %b : …
//     %1 = graph.relu %0 : …
//     graph.yield %1 : …
//   }
// becomes
//   %y = graph.dispatch @matmul_relu_0(%x, %w) : …
//   func.func private @matmul_relu_0(%a: tensor<2x4xf32>, %b: tensor<4x3xf32>)
//       -> tensor<2x3xf32> {
//     linalg.fill, linalg.generic (m, n, k), linalg.generic (m, n)
//   }
//
// Single numbers that are constant become part of the code. Where that would
// make many kernels of what is one but for its numbers, these are operands.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Kernel/Rewrites.h"
#include "compiler/Codegen/Linalg/LowerToLinalg.h"
#include "compiler/Codegen/Passes.h"

#include "llvm/ADT/SetVector.h"

#include <map>
#include <set>

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_LOWERKERNELS
#include "compiler/Codegen/Passes.h.inc"

namespace {

using graph::ConstantOp;
using graph::KernelOp;

/// The names of a kernel's ops, joined: what its function is called.
std::string kernelName(KernelOp kernel) {
  constexpr int maximum = 6;
  std::string name;
  int count = 0;
  for (Operation &op : kernel.getBody().front().without_terminator()) {
    if (isa<ConstantOp>(op) || count == maximum)
      continue;
    name += (count++ ? "_" : "") + op.getName().stripDialect().str();
  }
  return count ? name : "copy";
}

bool isSplat(ConstantOp constant) {
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements && elements.isSplat();
}

bool isNumber(ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getType());
  return type.getNumElements() == 1 && isSplat(constant);
}

/// Whether scalar formulas alone read `value`, whose code is the same whatever
/// it is: not a power or a bound, and no scale or zero point.
bool isReadByFormulas(Value value) {
  return llvm::all_of(value.getUsers(), [](Operation *user) {
    return user->hasTrait<graph::ElementwiseOpTrait>() &&
           !isa<graph::PowOp, graph::MaxOp, graph::MinOp, graph::QuantizeOp,
                graph::DequantizeOp>(user);
  });
}

/// Whether `value`, an argument of a kernel, may be the constant `outer` in the
/// function's code: one element that scalar formulas read.
bool isInlined(BlockArgument value, ConstantOp outer) {
  if (!outer || !isNumber(outer))
    return false;
  return llvm::all_of(value.getUses(), [](OpOperand &use) {
    Operation *user = use.getOwner();
    return user->hasTrait<graph::ElementwiseOpTrait>() ||
           (isa<graph::PadOp>(user) && use.getOperandNumber() == 1);
  });
}

/// Whether `constant`, in a kernel, may as well be an operand of it.
bool isNumberOfFormulas(ConstantOp constant) {
  return isNumber(constant) && isReadByFormulas(constant.getResult());
}

/// What a kernel computes, whatever the numbers in it are, and these numbers;
/// nothing if it has none that may be operands.
struct Form {
  llvm::hash_code ops, numbers;
};

std::optional<Form> formOf(KernelOp kernel) {
  Form form{llvm::hash_combine(kernel->getAttr(graph::names::kDevice)),
            llvm::hash_code(0)};
  bool hasNumbers = false;
  auto addNumber = [&](ConstantOp constant) {
    form.numbers = llvm::hash_combine(form.numbers, constant.getValue());
    hasNumbers = true;
  };
  DenseMap<Value, unsigned> numbering;
  auto add = [&](Value value) {
    numbering.try_emplace(value, numbering.size());
    form.ops = llvm::hash_combine(form.ops, value.getType());
  };
  Block &block = kernel.getBody().front();
  for (BlockArgument argument : block.getArguments()) {
    Value outer = kernel.getInputs()[argument.getArgNumber()];
    auto constant = outer.getDefiningOp<ConstantOp>();
    if (isInlined(argument, constant) && isReadByFormulas(argument))
      addNumber(constant);
    add(argument);
  }
  for (Operation &op : block) {
    auto constant = dyn_cast<ConstantOp>(op);
    bool isFree = constant && isNumberOfFormulas(constant);
    if (isFree)
      addNumber(constant);
    form.ops = llvm::hash_combine(form.ops, op.getName(),
                                  op.getDiscardableAttrDictionary());
    if (!isFree)
      form.ops = llvm::hash_combine(form.ops, op.hashProperties());
    for (Value operand : op.getOperands())
      form.ops = llvm::hash_combine(form.ops, numbering.lookup(operand));
    llvm::for_each(op.getResults(), add);
  }
  return hasNumbers ? std::optional(form) : std::nullopt;
}

/// Kernels of which there are many that differ in their numbers alone.
DenseSet<Operation *> findAlike(ArrayRef<KernelOp> kernels) {
  constexpr size_t kMostAlike = 256; // Networks have fewer layers.
  struct Group {
    SmallVector<Operation *, 1> kernels;
    std::set<size_t> numbers;
  };
  std::map<size_t, Group> groups;
  for (KernelOp kernel : kernels)
    if (auto form = formOf(kernel)) {
      Group &group = groups[form->ops];
      group.kernels.push_back(kernel);
      group.numbers.insert(form->numbers);
    }
  DenseSet<Operation *> alike;
  for (auto &[_, group] : groups)
    if (group.numbers.size() > kMostAlike)
      alike.insert_range(group.kernels);
  return alike;
}

/// One kernel on its way to a function. It `inlines` single numbers, or takes
/// them as operands.
class KernelFunction {
public:
  KernelFunction(KernelOp kernel, StringRef name, bool inlines)
      : kernel(kernel), block(kernel.getBody().front()), inlines(inlines) {
    collectInputs();
    collectOutputs();
    build(name);
  }

  /// Fills the function; afterwards the kernel may be replaced.
  LogicalResult lowerBody();
  /// Puts a dispatch in the kernel's place.
  Location placeOfAll();
  void replaceKernel(StringRef name);

  func::FuncOp function;

private:
  void collectInputs();
  void collectOutputs();
  void build(StringRef name);
  LogicalResult inlineConstants(OpBuilder &builder);

  KernelOp kernel;
  Block &block;
  bool inlines;
  /// What the dispatch passes, each value once.
  llvm::SetVector<Value> inputs;
  /// Values of the kernel's block and the inputs that they are.
  SmallVector<std::pair<Value, Value>> bindings;
  /// Arguments of the kernel that are constants of the function.
  SmallVector<std::pair<Value, ConstantOp>> inlined;
  /// What the kernel yields and somebody uses, each value once.
  llvm::SetVector<Value> outputs;
  /// Values of the kernel's block as those of the function.
  DenseMap<Value, Value> values;
};

void KernelFunction::collectInputs() {
  for (BlockArgument argument : block.getArguments()) {
    Value outer = kernel.getInputs()[argument.getArgNumber()];
    auto constant = outer.getDefiningOp<ConstantOp>();
    if (argument.use_empty())
      continue;
    if (isInlined(argument, constant) &&
        (inlines || !isReadByFormulas(argument))) {
      inlined.emplace_back(argument, constant);
      continue;
    }
    inputs.insert(outer);
    bindings.emplace_back(argument, outer);
  }
  OpBuilder before(kernel);
  for (auto constant : block.getOps<ConstantOp>()) {
    if (isSplat(constant) && (inlines || !isNumberOfFormulas(constant)))
      continue;
    auto outside = cast<ConstantOp>(before.clone(*constant));
    inputs.insert(outside.getResult());
    bindings.emplace_back(constant.getResult(), outside.getResult());
  }
}

void KernelFunction::collectOutputs() {
  Operation *yield = block.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(kernel.getResults(), yield->getOperands()))
    if (!result.use_empty())
      outputs.insert(value);
}

void KernelFunction::build(StringRef name) {
  auto types = [](auto &&values) {
    return llvm::map_to_vector(
        values, [](Value value) { return storageType(value.getType()); });
  };
  OpBuilder builder(kernel.getContext());
  function = func::FuncOp::create(
      builder, kernel.getLoc(), name,
      builder.getFunctionType(types(inputs.getArrayRef()),
                              types(outputs.getArrayRef())));
  function.setPrivate();
  if (Attribute device = kernel->getAttr(graph::names::kDevice))
    function->setAttr(graph::names::kDevice, device);
  Block *body = function.addEntryBlock();
  for (auto [inner, outer] : bindings) {
    auto position = llvm::find(inputs, outer) - inputs.begin();
    values[inner] = body->getArgument(position);
  }
}

LogicalResult KernelFunction::inlineConstants(OpBuilder &builder) {
  for (auto [argument, constant] : inlined) {
    // One may be that of several arguments.
    if (!values.contains(constant.getResult()) &&
        failed(lowerOp(*constant, builder, values)))
      return failure();
    values[argument] = values.at(constant.getResult());
  }
  return success();
}

LogicalResult KernelFunction::lowerBody() {
  auto builder = OpBuilder::atBlockBegin(&function.getBody().front());
  if (failed(inlineConstants(builder)))
    return failure();
  for (Operation &op : block.without_terminator()) {
    bool isOperand = isa<ConstantOp>(op) && values.contains(op.getResult(0));
    if (!isOperand && failed(lowerOp(op, builder, values)))
      return failure();
  }
  SmallVector<Value> results = llvm::map_to_vector(
      outputs, [&](Value value) { return values.at(value); });
  func::ReturnOp::create(builder, kernel.getLoc(), results);
  // A formula takes a constant into its body and leaves the tensor behind.
  eraseDead(function.getBody().front());
  return success();
}

/// The places in the model of all that the kernel computes.
Location KernelFunction::placeOfAll() {
  SmallVector<Location> places;
  for (Operation &op : block.without_terminator())
    if (!isa<ConstantOp>(op))
      places.push_back(op.getLoc());
  return places.empty() ? kernel.getLoc()
                        : FusedLoc::get(kernel.getContext(), places);
}

void KernelFunction::replaceKernel(StringRef name) {
  OpBuilder builder(kernel);
  auto types =
      llvm::map_to_vector(outputs, [](Value value) { return value.getType(); });
  auto dispatch = graph::DispatchOp::create(builder, placeOfAll(), types, name,
                                            inputs.getArrayRef());
  Operation *yield = block.getTerminator();
  for (auto [result, value] :
       llvm::zip_equal(kernel.getResults(), yield->getOperands()))
    if (!result.use_empty())
      result.replaceAllUsesWith(
          dispatch.getResult(llvm::find(outputs, value) - outputs.begin()));
  kernel.erase();
}

/// Everything in `block` that computes must be a kernel by now.
LogicalResult checkFused(Block &block) {
  for (Operation &op : block) {
    if (graph::isControlFlow(&op)) {
      for (Region &region : op.getRegions())
        if (failed(checkFused(region.front())))
          return failure();
      continue;
    }
    if (!isa<ConstantOp, graph::ReshapeOp, KernelOp, graph::DispatchOp,
             graph::WeightOp, graph::TransferOp>(op) &&
        !graph::isCollective(&op) && !op.hasTrait<OpTrait::IsTerminator>())
      return op.emitOpError("lies outside of a graph.kernel; form kernels "
                            "before lowering them");
  }
  return success();
}

struct LowerKernels : impl::LowerKernelsBase<LowerKernels> {
  void runOnOperation() override;
};

} // namespace

void LowerKernels::runOnOperation() {
  ModuleOp module = getOperation();
  SmallVector<KernelOp> kernels;
  for (auto function : module.getOps<func::FuncOp>()) {
    function.walk([&](KernelOp kernel) { kernels.push_back(kernel); });
    if (!function.isExternal() && !function.isPrivate() &&
        failed(checkFused(function.getBody().front())))
      return signalPassFailure();
  }
  SymbolTable symbols(module);
  DenseSet<Operation *> alike = findAlike(kernels);
  llvm::StringMap<int64_t> counts;
  for (KernelOp kernel : kernels) {
    if (kernel.use_empty()) {
      kernel.erase();
      continue;
    }
    std::string base = kernelName(kernel);
    std::string name;
    do
      name = base + "_" + std::to_string(counts[base]++);
    while (symbols.lookup(name));
    KernelFunction lowered(kernel, name, !alike.contains(kernel));
    symbols.insert(lowered.function);
    if (failed(lowered.lowerBody()))
      return signalPassFailure();
    lowered.replaceKernel(name);
    ++numKernels;
  }
}

} // namespace tinh::codegen
