//===- PlanMemory.cpp - From dispatches to steps over planned memory ------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   func.func @main(%x: tensor<8xf32> {graph.name = "x"})
//       -> (tensor<8xf32> {graph.name = "y"}) {
//     %w = graph.weight "w" : tensor<8xf32>
//     %0 = graph.dispatch @mul_0(%x, %w) : …
//     %1 = graph.dispatch @relu_0(%0) : …
//     return %1 : tensor<8xf32>
//   }
// becomes
//   plan.weight "w" at 0 : tensor<8xf32>
//   plan.function @main
//       inputs("x": tensor<8xf32>)
//       outputs("y": tensor<8xf32>)
//       arena 64 unplanned 64 lower_bound 64 {
//     %0 = plan.dispatch @mul_0 chunks 1 scratch 0
//         reads(input 0[0 to 32], weights[0 to 32]) writes(arena[0 to 32])
//     %1 = plan.dispatch @relu_0 after %0 chunks 1 scratch 0
//         reads(arena[0 to 32]) writes(output 0[0 to 32])
//   }
//
// compiler/Planning decides; FunctionPlanner.cpp translates the IR for it and
// this its answer.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"
#include "compiler/Codegen/Passes.h"
#include "tinh/artifact.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_PLANMEMORY
#include "compiler/Codegen/Passes.h.inc"

namespace {

plan::TensorAttr describe(StringAttr name, Location location, Type type,
                          StringAttr variable, TypedAttr value = {},
                          ArrayAttr sizes = {}) {
  if (variable)
    return plan::TensorAttr::get(variable, cast<RankedTensorType>(type), {},
                                 /*variable=*/true);
  if (auto node = dyn_cast<NameLoc>(location); node && !name)
    name = node.getName();
  return plan::TensorAttr::get(name ? name : StringAttr::get(type.getContext()),
                               cast<RankedTensorType>(type), value,
                               /*variable=*/false, sizes);
}

ArrayAttr describeInputs(func::FuncOp function) {
  SmallVector<Attribute> tensors;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    tensors.push_back(describe(
        function.getArgAttrOfType<StringAttr>(i, graph::names::kName),
        argument.getLoc(), argument.getType(), argumentVariable(function, i),
        function.getArgAttrOfType<TypedAttr>(i, graph::names::kSource)));
  }
  return ArrayAttr::get(function.getContext(), tensors);
}

ArrayAttr describeOutputs(func::FuncOp function) {
  SmallVector<Attribute> tensors;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    tensors.push_back(describe(
        function.getResultAttrOfType<StringAttr>(i, graph::names::kName),
        function.getLoc(), type, resultVariable(function, i), /*value=*/{},
        function.getResultAttrOfType<ArrayAttr>(i, graph::names::kSizes)));
  return ArrayAttr::get(function.getContext(), tensors);
}

/// Makes the function of steps and of where the plan has put their buffers.
class FunctionBuilder {
public:
  FunctionBuilder(func::FuncOp function, const FunctionPlanner &planner,
                  const planning::Plan &plan)
      : function(function), planner(planner), planned(plan), builder(function) {
  }
  void create();

private:
  plan::BufferAttr reference(const Operand &operand);
  void createStep(const PlannedStep &step, Value after);
  void createDispatch(const PlannedStep &step, Value after);

  func::FuncOp function;
  const FunctionPlanner &planner;
  const planning::Plan &planned;
  OpBuilder builder;
  SmallVector<Value> created; ///< By step.
};

plan::BufferAttr FunctionBuilder::reference(const Operand &operand) {
  const Place &place = operand.place;
  int64_t offset = place.offset;
  if (place.space == plan::Space::Arena || place.space == plan::Space::Device)
    offset += planned.offsets[place.buffer];
  const graph::Rows &rows = operand.rows;
  int64_t pitch = rows.count == 1 ? rows.run : rows.pitch;
  return plan::BufferAttr::get(builder.getContext(), place.space, place.index,
                               offset, rows.span(), rows.run, pitch)
      .withStrides(place.strides);
}

void FunctionBuilder::createDispatch(const PlannedStep &step, Value after) {
  SmallVector<Attribute> reads, writes;
  for (const Operand &operand : step.reads)
    reads.push_back(reference(operand));
  for (const Operand &operand : step.writes)
    writes.push_back(reference(operand));
  func::FuncOp kernel = step.kernel;
  SmallVector<int64_t> inplace(writes.size(), -1);
  for (auto [input, result] : inplacePairs(kernel)) {
    auto read = cast<plan::BufferAttr>(reads[input]);
    auto written = cast<plan::BufferAttr>(writes[result]);
    if (read.getStrides() == written.getStrides() && read.overlaps(written))
      inplace[result] = input;
  }
  auto integer = [&](StringRef name) {
    return kernel->getAttrOfType<IntegerAttr>(name).getInt();
  };
  IntegerAttr threads;
  if (graph::isOnCuda(kernel))
    threads = kernel->getAttrOfType<IntegerAttr>(graph::names::kThreads);
  plan::DispatchOp::create(
      builder, step.location, builder.getType<plan::StepType>(),
      kernel.getName(), after, integer(graph::names::kChunks), threads,
      integer(graph::names::kScratch), builder.getArrayAttr(reads),
      builder.getArrayAttr(writes), inplace);
}

void FunctionBuilder::createStep(const PlannedStep &step, Value after) {
  using Kind = PlannedStep::Kind;
  auto create = [&](auto op, auto... operands) {
    decltype(op)::create(builder, step.location,
                         builder.getType<plan::StepType>(), operands...);
  };
  auto read = [&] { return reference(step.reads[0]); };
  auto written = [&] { return reference(step.writes[0]); };
  switch (step.kind) {
  case Kind::Dispatch:
    return createDispatch(step, after);
  case Kind::Copy:
    return create(plan::CopyOp(), after, read(), written());
  case Kind::Zero:
    return create(plan::ZeroOp(), after, written());
  case Kind::Start:
    return create(plan::StartOp(), after, step.collective, read(), written());
  case Kind::Await:
    return create(plan::AwaitOp(), created[step.start], after);
  case Kind::If:
    return create(plan::IfOp(), after, read());
  case Kind::Else:
    return create(plan::ElseOp());
  case Kind::EndIf:
    return create(plan::EndIfOp());
  case Kind::Loop:
    return create(plan::LoopOp(), after,
                  step.length ? builder.getI64IntegerAttr(*step.length)
                              : IntegerAttr(),
                  step.reads.empty() ? plan::BufferAttr() : read(), step.alone);
  case Kind::Leave:
    return create(plan::LeaveOp(), after, read());
  case Kind::EndLoop:
    return create(plan::EndLoopOp());
  }
}

void FunctionBuilder::create() {
  auto result = plan::FunctionOp::create(
      builder, function.getLoc(), function.getName(), describeInputs(function),
      describeOutputs(function));
  if (Attribute other = function->getAttr(graph::names::kInsteadOf))
    result->setAttr(graph::names::kInsteadOf, other);
  const planning::ArenaSizes &host = planned.arenas[kHostArena];
  result.setArena(host.arenaSize);
  result.setUnplanned(host.unplannedSize);
  result.setLowerBound(host.lowerBoundSize);
  const planning::ArenaSizes &device = planned.arenas[kDeviceArena];
  result.setDeviceArena(device.arenaSize);
  result.setDeviceUnplanned(device.unplannedSize);
  result.setDeviceLowerBound(device.lowerBoundSize);
  Block &body = result.getBody().front();
  builder.setInsertionPointToStart(&body);
  int32_t wait = -1;
  for (auto [i, step] : llvm::enumerate(planner.steps)) {
    wait = std::max(wait, planned.waits[i]);
    createStep(step, wait < 0 ? Value() : created[wait]);
    created.push_back(body.back().getResult(0));
    // What waits for nothing itself leaves that to the next step.
    if (!isa<plan::ElseOp, plan::EndIfOp, plan::EndLoopOp>(body.back()))
      wait = -1;
  }
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

/// Each variable has one argument and at most one result, of one type.
LogicalResult checkVariables(func::FuncOp function) {
  llvm::SmallDenseMap<StringAttr, Type> arguments, results;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    if (StringAttr name = argumentVariable(function, i);
        name && !arguments.try_emplace(name, type).second)
      return function.emitError() << "two arguments of @" << function.getName()
                                  << " are variable " << name;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    StringAttr name = resultVariable(function, i);
    if (!name)
      continue;
    if (arguments.lookup(name) != type)
      return function.emitError()
             << "result " << i << " of @" << function.getName()
             << " is variable " << name << ", but no argument of its type is";
    if (!results.try_emplace(name, type).second)
      return function.emitError() << "two results of @" << function.getName()
                                  << " are variable " << name;
  }
  return success();
}

/// A body of one block over tensors that can be laid out.
LogicalResult checkFunction(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return function.emitError()
           << "@" << function.getName() << " must have a body of one block";
  auto check = [&](StringRef what, TypeRange types) -> LogicalResult {
    for (auto [i, type] : llvm::enumerate(types)) {
      auto tensor = dyn_cast<RankedTensorType>(type);
      if (!tensor || !tensor.hasStaticShape() ||
          !tensor.getElementType().isIntOrFloat())
        return function.emitError()
               << what << " " << i << " of @" << function.getName() << " is "
               << type << ", not a tensor of numbers with a static shape";
    }
    return success();
  };
  return success(succeeded(check("argument", function.getArgumentTypes())) &&
                 succeeded(check("result", function.getResultTypes())) &&
                 succeeded(checkVariables(function)));
}

LogicalResult checkInit(func::FuncOp init) {
  if (failed(checkFunction(init)))
    return failure();
  for (unsigned i = 0; i < init.getNumArguments(); ++i)
    if (!init.getArgAttr(i, graph::names::kSource))
      return init.emitError() << "argument " << i << " of @init has no "
                              << graph::names::kSource << " with its value";
  if (!init.getOps<graph::TransferOp>().empty())
    return init.emitError("@init runs on the CPU, where the artifact is "
                          "written, and transfers nothing to a GPU");
  llvm::StringSet<> names;
  for (unsigned i = 0; i < init.getNumResults(); ++i) {
    auto name = init.getResultAttrOfType<StringAttr>(i, graph::names::kName);
    if (!name || !names.insert(name.getValue()).second)
      return init.emitError() << "result " << i << " of @init has no "
                              << graph::names::kName << " of its own";
  }
  return success();
}

struct PlanMemory : impl::PlanMemoryBase<PlanMemory> {
  void runOnOperation() override;
};

} // namespace

static LogicalResult planFunction(func::FuncOp function,
                                  const Devices &devices) {
  if (failed(checkFunction(function)))
    return failure();
  hoistUpdates(function);
  FunctionPlanner planner(function, devices);
  if (failed(planner.run()))
    return failure();
  planner.gatherLoops();
  planning::Plan planned = planning::planMemory(planner.problem);
  FunctionBuilder(function, planner, planned).create();
  function.erase();
  return success();
}

/// @init and the weights that it writes, if there is one.
static LogicalResult planInit(ModuleOp module) {
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  if (!init)
    return success();
  if (failed(checkInit(init)))
    return failure();
  auto builder = OpBuilder::atBlockBegin(module.getBody());
  uint64_t end = 0;
  for (auto [i, type] : llvm::enumerate(init.getResultTypes())) {
    uint64_t offset = llvm::alignTo(end, TINH_BUFFER_ALIGNMENT);
    plan::WeightOp::create(
        builder, init.getLoc(),
        init.getResultAttrOfType<StringAttr>(i, graph::names::kName),
        builder.getI64IntegerAttr(offset), TypeAttr::get(type));
    end = offset + graph::tensorSize(type);
  }
  return success();
}

/// Whether `value`, of @init, is what `variable` begins with, as it is stored.
static bool isInitialValue(Value value, func::FuncOp init,
                           graph::VariableOp variable) {
  if (variable.getStored()) {
    auto packing = value.getDefiningOp<graph::DispatchOp>();
    if (!packing || packing.getKernelAttr() != variable.getPackAttr())
      return false;
    value = packing.getInputs()[0];
  }
  auto argument = dyn_cast<BlockArgument>(value);
  return argument &&
         init.getArgAttr(argument.getArgNumber(), graph::names::kSource) ==
             variable.getValue();
}

/// The weight that @init gives the value of `variable`.
static plan::WeightOp findInitial(ModuleOp module, func::FuncOp init,
                                  graph::VariableOp variable) {
  if (!init)
    return {};
  ValueRange results = init.getBody().front().getTerminator()->getOperands();
  for (auto [result, weight] :
       llvm::zip_equal(results, module.getOps<plan::WeightOp>()))
    if (isInitialValue(result, init, variable))
      return weight;
  return {};
}

/// The chunks of a kernel that packs or unpacks `variable`; nothing, with an
/// error, if no strategy has been chosen for it that needs no scratch memory.
static std::optional<int64_t> conversionChunks(graph::VariableOp variable,
                                               FlatSymbolRefAttr name) {
  Operation *kernel = SymbolTable::lookupNearestSymbolFrom(variable, name);
  auto chunks = kernel->getAttrOfType<IntegerAttr>(graph::names::kChunks);
  auto scratch = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);
  if (chunks && scratch && scratch.getInt() == 0)
    return chunks.getInt();
  variable.emitError() << "kernel '" << name.getValue() << "', which variable "
                       << variable.getNameAttr() << " goes through, must have "
                       << graph::names::kChunks << " and "
                       << graph::names::kScratch << " = 0";
  return std::nullopt;
}

/// The layout of a variable: null if it is stored in its own type.
static FailureOr<plan::LayoutAttr> describeLayout(graph::VariableOp variable) {
  if (!variable.getStored())
    return plan::LayoutAttr();
  auto pack = conversionChunks(variable, variable.getPackAttr());
  auto unpack = conversionChunks(variable, variable.getUnpackAttr());
  if (!pack || !unpack)
    return failure();
  return plan::LayoutAttr::get(variable.getContext(), variable.getStoredType(),
                               variable.getPackAttr(), *pack,
                               variable.getUnpackAttr(), *unpack);
}

/// Variables begin as weights, or as zeros.
static LogicalResult planVariables(ModuleOp module) {
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  for (auto variable :
       llvm::make_early_inc_range(module.getOps<graph::VariableOp>())) {
    plan::BufferAttr initial;
    if (!variable.isInitiallyZero()) {
      plan::WeightOp weight = findInitial(module, init, variable);
      if (!weight)
        return variable.emitError()
               << "@init does not give the value that variable "
               << variable.getNameAttr() << " begins with";
      initial = weight.getBuffer();
    }
    FailureOr<plan::LayoutAttr> layout = describeLayout(variable);
    if (failed(layout))
      return failure();
    OpBuilder builder(variable);
    auto planned = plan::VariableOp::create(
        builder, variable.getLoc(), variable.getNameAttr(), initial,
        TypeAttr::get(variable.getType()), variable.getTrainableAttr(),
        variable.isOnCuda() ? builder.getUnitAttr() : UnitAttr(), *layout);
    if (Attribute other = variable->getAttr(graph::names::kInsteadOf))
      planned->setAttr(graph::names::kInsteadOf, other);
    variable.erase();
  }
  return success();
}

void PlanMemory::runOnOperation() {
  ModuleOp module = getOperation();
  if (llvm::none_of(module.getOps<func::FuncOp>(), graph::isEntry)) {
    module.emitError("the module has no function to run, such as @main");
    return signalPassFailure();
  }
  Devices devices(module, Devices::Variables::Chosen);
  // The functions read the weights that @init writes.
  if (failed(devices.verify()) || failed(planInit(module)) ||
      failed(planVariables(module)))
    return signalPassFailure();
  SmallVector<func::FuncOp> functions;
  for (auto function : module.getOps<func::FuncOp>())
    if (function.isPublic())
      functions.push_back(function);
  for (func::FuncOp function : functions)
    if (failed(planFunction(function, devices)))
      return signalPassFailure();
}

} // namespace tinh::codegen
