//===- VerifyPhases.cpp - What holds after each phase -----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the table of phases in docs/architecture.md says beyond what each op
// verifies of itself. Modules are checked when they are read and when a phase
// ends.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Devices.h"
#include "compiler/Pipelines/Kernels/KernelFacts.h"
#include "compiler/Pipelines/Phases.h"
#include "compiler/Pipelines/PlanArtifact.h"
#include "compiler/Pipelines/Verify/VerifyCpuFunctions.h"
#include "compiler/Pipelines/Verify/VerifyKernels.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tinh {

//===----------------------------------------------------------------------===//
// graph … kernels: functions
//===----------------------------------------------------------------------===//

namespace {
/// The names of arguments or results, and the variables that they are.
struct Signature {
  StringRef what;
  TypeRange types;
  llvm::function_ref<StringAttr(unsigned, StringRef)> attribute;
};
} // namespace

static LogicalResult verifySignature(func::FuncOp function,
                                     const Signature &signature) {
  auto [what, types, attribute] = signature;
  StringRef of = function.getName();
  llvm::StringSet<> names;
  for (auto [i, type] : llvm::enumerate(types)) {
    StringAttr name = attribute(i, graph::names::kName);
    auto fail = [&] {
      auto diagnostic = function.emitError();
      diagnostic << what << " " << i << " of @" << of;
      if (name)
        diagnostic << " (" << name << ")";
      return diagnostic;
    };
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() ||
        !tensor.getElementType().isIntOrFloat())
      return fail() << " is " << type
                    << ", not a tensor of numbers with a static shape";
    if (tensor.getRank() > TINH_MAX_RANK)
      return fail() << " has " << tensor.getRank() << " dimensions; at most "
                    << TINH_MAX_RANK << " are supported";
    if (attribute(i, graph::names::kVariable))
      continue;
    if (!name)
      return fail() << " has no " << graph::names::kName;
    if (!names.insert(name.getValue()).second)
      return function.emitError()
             << "two " << what << "s of @" << of << " are called " << name;
  }
  return success();
}

/// Arguments and results that are variables: what they are, once each, and of
/// what type the module says.
static LogicalResult verifyVariables(func::FuncOp function,
                                     const Signature &signature,
                                     const llvm::StringMap<Type> &declared,
                                     llvm::StringSet<> &found) {
  auto [what, types, attribute] = signature;
  for (auto [i, type] : llvm::enumerate(types)) {
    StringAttr name = attribute(i, graph::names::kVariable);
    if (!name)
      continue;
    auto fail = [&] {
      return function.emitError()
             << what << " " << i << " of @" << function.getName()
             << " is variable " << name << ", ";
    };
    Type expected = declared.lookup(name.getValue());
    if (!expected)
      return fail() << "which the module does not declare";
    if (expected != type)
      return fail() << "which is " << expected << ", not " << type;
    if (!found.insert(name.getValue()).second)
      return fail() << "as is another " << what;
  }
  return success();
}

/// That `sizes` of a result of `function` names results that are counts.
/// `typeOf` gives the type of a result by its name.
static LogicalResult verifySizes(Operation *function, ArrayAttr sizes,
                                 llvm::function_ref<Type(StringRef)> typeOf) {
  for (auto size : sizes.getAsValueRange<StringAttr>())
    if (!size.empty() &&
        typeOf(size) != graph::countType(function->getContext()))
      return function->emitError()
             << "the size of a dimension is said to be the result \"" << size
             << "\", which is no result of type tensor<i64>";
  return success();
}

static LogicalResult verifySizes(func::FuncOp function) {
  auto typeOf = [&](StringRef wanted) {
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      if (auto name =
              function.getResultAttrOfType<StringAttr>(i, graph::names::kName);
          name && name == wanted)
        return type;
    return Type();
  };
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (auto sizes =
            function.getResultAttrOfType<ArrayAttr>(i, graph::names::kSizes))
      if (failed(verifySizes(function, sizes, typeOf)))
        return failure();
  return success();
}

static LogicalResult verifySizes(plan::FunctionOp function) {
  auto typeOf = [&](StringRef wanted) {
    for (auto output : function.getOutputs().getAsRange<plan::TensorAttr>())
      if (!output.getVariable() && output.getName() == wanted)
        return Type(output.getType());
    return Type();
  };
  for (auto output : function.getOutputs().getAsRange<plan::TensorAttr>())
    if (output.getSizes() &&
        failed(verifySizes(function, output.getSizes(), typeOf)))
      return failure();
  return success();
}

static LogicalResult verifyEntry(func::FuncOp function,
                                 const llvm::StringMap<Type> &variables) {
  if (!function.getBody().hasOneBlock())
    return function.emitError()
           << "@" << function.getName() << " must have a body of one block";
  auto ofArgument = [&](unsigned i, StringRef name) {
    return function.getArgAttrOfType<StringAttr>(i, name);
  };
  auto ofResult = [&](unsigned i, StringRef name) {
    return function.getResultAttrOfType<StringAttr>(i, name);
  };
  Signature arguments{"argument", function.getArgumentTypes(), ofArgument};
  Signature results{"result", function.getResultTypes(), ofResult};
  llvm::StringSet<> read, written;
  if (failed(verifySignature(function, arguments)) ||
      failed(verifySignature(function, results)) ||
      failed(verifyVariables(function, arguments, variables, read)) ||
      failed(verifyVariables(function, results, variables, written)) ||
      failed(verifySizes(function)))
    return failure();
  for (const auto &name : written)
    if (!read.contains(name.getKey()))
      return function.emitError()
             << "a result of @" << function.getName() << " is variable \""
             << name.getKey() << "\", but no argument is";
  return success();
}

/// The functions that users call, at least one, with the variables that they
/// have in common.
static FailureOr<SmallVector<func::FuncOp>> verifyEntries(ModuleOp module) {
  llvm::StringMap<Type> variables;
  for (auto variable : module.getOps<graph::VariableOp>())
    if (!variables.try_emplace(variable.getName(), variable.getStoredType())
             .second)
      return variable.emitError()
             << "variable " << variable.getNameAttr() << " is declared twice";
  SmallVector<func::FuncOp> entries;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (!graph::isEntry(function))
      continue;
    if (failed(verifyEntry(function, variables)))
      return failure();
    entries.push_back(function);
  }
  if (entries.empty())
    return module.emitError("the module has no function to run, such as @main");
  return entries;
}

/// Whether `op` may stand in a function body of `phase`.
static bool belongs(Operation &op, Phase phase) {
  switch (phase) {
  case Phase::Normalised:
    return belongs(op, Phase::Graph) &&
           !isa<graph::SetDimensionSizeOp, graph::DimensionSizeOp>(op);
  case Phase::Differentiated:
    return belongs(op, Phase::Normalised) && !isa<graph::DropoutOp>(op);
  case Phase::Optimised:
    return belongs(op, Phase::Differentiated) &&
           !isa<graph::ConvTransposeOp, graph::VarianceOp,
                graph::StopGradientOp, graph::CustomGradientOp>(op);
  case Phase::Fused:
    return isa<graph::ConstantOp, graph::ReshapeOp, graph::KernelOp>(op) ||
           graph::isCollective(&op);
  case Phase::Kernels:
    return isa<graph::WeightOp, graph::ReshapeOp, graph::SliceOp,
               graph::ConcatOp, graph::DispatchOp, graph::TransferOp>(op) ||
           graph::isCollective(&op);
  default:
    return isa_and_present<graph::GraphDialect>(op.getDialect()) &&
           !isa<graph::KernelOp, graph::DispatchOp, graph::WeightOp,
                graph::TransferOp>(op);
  }
}

/// Branches and loops belong in all these phases, with regions of what does.
static LogicalResult verifyBody(Block &block, StringRef function, Phase phase) {
  for (Operation &op : block.without_terminator()) {
    if (!graph::isControlFlow(&op) && !belongs(op, phase))
      return op.emitError()
             << "'" << op.getName() << "' does not belong in @" << function
             << " in phase '" << phaseName(phase) << "'";
    if (graph::isControlFlow(&op) || isa<graph::CustomGradientOp>(op))
      for (Region &region : op.getRegions())
        if (failed(verifyBody(region.front(), function, phase)))
          return failure();
  }
  return success();
}

static LogicalResult verifyBody(func::FuncOp function, Phase phase) {
  return verifyBody(function.getBody().front(), function.getName(), phase);
}

//===----------------------------------------------------------------------===//
// plan, llvm: schedules
//===----------------------------------------------------------------------===//

static LogicalResult verifyWeights(ModuleOp module) {
  auto init = module.lookupSymbol<plan::FunctionOp>(graph::names::kInit);
  ArrayRef<Attribute> outputs;
  if (init)
    outputs = init.getOutputs().getValue();
  int64_t end = 0;
  for (auto weight : module.getOps<plan::WeightOp>()) {
    if (weight.getOffset() % TINH_BUFFER_ALIGNMENT)
      return weight.emitError()
             << "lies at " << weight.getOffset() << ", not at a multiple of "
             << TINH_BUFFER_ALIGNMENT;
    if (static_cast<int64_t>(weight.getOffset()) < end)
      return weight.emitError("overlaps the weight before it");
    end = weight.getBuffer().getEnd();
    auto output = outputs.empty() ? plan::TensorAttr()
                                  : cast<plan::TensorAttr>(outputs.front());
    if (!output || output.getName() != weight.getNameAttr() ||
        output.getType() != weight.getType())
      return weight.emitError()
             << "is not what @init has as an output in its place";
    outputs = outputs.drop_front();
  }
  if (!outputs.empty())
    return init.emitError() << "has " << outputs.size()
                            << " outputs more than there are weights";
  if (init && llvm::any_of(init.getOps<plan::DispatchOp>(),
                           [](auto op) { return op.getThreads(); }))
    return init.emitError("@init runs on the CPU, where the artifact is "
                          "written, but has kernels for the GPU");
  for (Attribute input :
       init ? init.getInputs().getValue() : ArrayRef<Attribute>())
    if (!cast<plan::TensorAttr>(input).getValue())
      return init.emitError()
             << "input " << cast<plan::TensorAttr>(input).getName()
             << " of @init has no value";
  return success();
}

/// The variables' first values are weights, and functions have them by their
/// types.
static LogicalResult verifyPlannedVariables(ModuleOp module) {
  llvm::DenseSet<Attribute> weights;
  for (auto weight : module.getOps<plan::WeightOp>())
    weights.insert(weight.getBuffer());
  llvm::StringMap<Type> variables;
  for (auto variable : module.getOps<plan::VariableOp>()) {
    if (!variables.try_emplace(variable.getName(), variable.getStoredType())
             .second)
      return variable.emitError()
             << "variable " << variable.getNameAttr() << " is declared twice";
    if (variable.getInitial() && !weights.contains(*variable.getInitial()))
      return variable.emitError()
             << "begins as " << plan::toString(*variable.getInitial())
             << ", which is no weight";
  }
  for (auto function : module.getOps<plan::FunctionOp>())
    for (Attribute input : function.getInputs()) {
      auto tensor = cast<plan::TensorAttr>(input);
      if (tensor.getVariable() &&
          variables.lookup(tensor.getName().getValue()) != tensor.getType())
        return function.emitError()
               << "has variable " << tensor.getName() << " of "
               << tensor.getType() << " as an input, which the module does "
               << "not declare";
    }
  return success();
}

/// Whether it is known how far elements lie apart, as an artifact says it.
static bool isStridedMemory(Type type) {
  auto memory = dyn_cast<MemRefType>(type);
  if (!memory || !memory.hasStaticShape() ||
      !memory.getElementType().isIntOrFloat())
    return false;
  SmallVector<int64_t> strides;
  int64_t offset;
  return succeeded(memory.getStridesAndOffset(strides, offset)) &&
         llvm::all_of(strides, [](int64_t stride) {
           return !ShapedType::isDynamic(stride) && stride >= 0;
         });
}

/// A kernel of phase `llvm`, as `user` needs it: a module with a function of
/// its own name and the runtime's signature.
static LogicalResult verifyLowered(Operation *user, StringRef name,
                                   Operation *found, size_t numReads,
                                   size_t numWrites) {
  auto kernel = dyn_cast_if_present<ModuleOp>(found);
  if (!kernel)
    return user->emitError()
           << "kernel '" << name << "' is no module of LLVM functions";
  auto function = kernel.lookupSymbol<FunctionOpInterface>(name);
  bool onCuda = graph::isOnCuda(kernel);
  size_t arguments = onCuda ? numReads + numWrites : 4;
  if (!function || function.isExternal() ||
      function.getNumArguments() != arguments)
    return kernel.emitError()
           << "has no function '" << name << "' of "
           << (onCuda ? "the addresses of its operands"
                      : "(buffers, scratch, first chunk, last chunk)");
  auto operands = kernel->getAttrOfType<TypeAttr>(kOperands);
  auto types = operands ? dyn_cast<FunctionType>(operands.getValue()) : nullptr;
  if (!types || types.getNumInputs() != numReads ||
      types.getNumResults() != numWrites ||
      !llvm::all_of(
          llvm::concat<const Type>(types.getInputs(), types.getResults()),
          isStridedMemory))
    return kernel.emitError()
           << "does not say in '" << kOperands
           << "' what memory its operands are: the function type (memref<…>, "
              "…) -> (memref<…>, …) of the "
           << numReads << " that it reads and the " << numWrites
           << " that it writes, with constant strides";
  if (Attribute work = kernel->getAttr(kWork);
      work && !isa<plan::WorkAttr>(work))
    return kernel.emitError()
           << "'" << kWork << "' must be a #plan.work<…>, found " << work;
  return success();
}

/// The kernel that a step or a variable names, in the form of `phase`.
static LogicalResult verifyKernel(Operation *user, StringRef name,
                                  const SymbolTable &symbols, size_t numReads,
                                  size_t numWrites, Phase phase) {
  Operation *kernel = symbols.lookup(name);
  if (phase == Phase::LLVM)
    return verifyLowered(user, name, kernel, numReads, numWrites);
  if (isa_and_present<func::FuncOp>(kernel))
    return success();
  return user->emitError() << "kernel '" << name
                           << "' is no function over linalg";
}

/// Those of steps, and those that variables in layouts of their own go through.
static LogicalResult verifyKernels(ModuleOp module, Phase phase) {
  SymbolTable symbols(module);
  for (auto function : module.getOps<plan::FunctionOp>())
    for (auto dispatch : function.getOps<plan::DispatchOp>())
      if (failed(verifyKernel(dispatch, dispatch.getKernel(), symbols,
                              dispatch.getReads().size(),
                              dispatch.getWrites().size(), phase)))
        return failure();
  for (auto variable : module.getOps<plan::VariableOp>())
    if (std::optional<plan::LayoutAttr> layout = variable.getLayout())
      for (FlatSymbolRefAttr kernel : {layout->getPack(), layout->getUnpack()})
        if (failed(verifyKernel(variable, kernel.getValue(), symbols,
                                /*numReads=*/1, /*numWrites=*/1, phase)))
          return failure();
  return success();
}

/// Kernels for GPUs are compiled for those that the module names.
static LogicalResult verifyChips(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (graph::isOnCuda(&op) && !module->hasAttr(graph::names::kCuda))
      return op.emitError()
             << "kernel '" << SymbolTable::getSymbolName(&op).getValue()
             << "' is for the GPU, but the module does not say in '"
             << graph::names::kCuda << "' for which";
  return success();
}

static LogicalResult verifyPlan(ModuleOp module, Phase phase) {
  if (llvm::all_of(module.getOps<plan::FunctionOp>(), [](auto function) {
        return function.getSymName() == graph::names::kInit;
      }))
    return module.emitError("the module has no plan.function to run");
  for (auto function : module.getOps<plan::FunctionOp>())
    if (failed(verifySizes(function)))
      return failure();
  return success(succeeded(verifyChips(module)) &&
                 succeeded(verifyKernels(module, phase)) &&
                 succeeded(verifyWeights(module)) &&
                 succeeded(verifyPlannedVariables(module)) &&
                 succeeded(verifyCpuFunctions(module)) &&
                 (phase >= Phase::LLVM ||
                  succeeded(verifyKernelFunctions(module, phase))));
}

/// Functions that no user calls: passes go through them like through entries.
static LogicalResult verifyOthers(ModuleOp module, Phase phase) {
  for (auto function : module.getOps<func::FuncOp>()) {
    if (graph::isEntry(function) || function.isExternal())
      continue;
    if (!function.getBody().hasOneBlock())
      return function.emitError()
             << "@" << function.getName() << " must have a body of one block";
    if (failed(verifyBody(function, phase)))
      return failure();
  }
  return success();
}

LogicalResult verifyPhase(ModuleOp module, Phase phase) {
  if (phase >= Phase::Plan)
    return verifyPlan(module, phase);
  auto entries = verifyEntries(module);
  if (failed(entries))
    return failure();
  for (func::FuncOp function : *entries)
    if (failed(verifyBody(function, phase)))
      return failure();
  if (failed(verifyCpuFunctions(module)))
    return failure();
  if (phase < Phase::Kernels)
    return verifyOthers(module, phase);
  codegen::Devices devices(module, codegen::Devices::Variables::Chosen);
  if (failed(verifyChips(module)) || failed(devices.verify()))
    return failure();
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  if (init && !init.getBody().hasOneBlock())
    return init.emitError("@init must have a body of one block");
  if (init && failed(verifyBody(init, phase)))
    return failure();
  return verifyKernelFunctions(module, phase);
}

} // namespace tinh
