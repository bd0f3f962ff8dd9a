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
// compiler/Planning decides; this translates between it and the IR.
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/Passes.h"
#include "compiler/Planning/MemoryPlan.h"
#include "dialects/graph/Graph.h"
#include "dialects/plan/Plan.h"
#include "tinh/artifact.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh::codegen {

#define GEN_PASS_DEF_PLANMEMORY
#include "compiler/Codegen/Passes.h.inc"

namespace {

/// Where a value lies, and its buffer in the problem (-1: never changes).
struct Place {
  plan::Space space = plan::Space::Arena;
  uint32_t index = 0;
  int64_t offset = 0;
  int64_t buffer = -1;
};

/// A value and where a step finds it.
struct Operand {
  Place place;
  int64_t size = 0;
};

/// A step before its memory is planned; no kernel: a copy.
struct Step {
  Location location;
  func::FuncOp kernel;
  SmallVector<Operand> reads, writes;
};

Value root(Value value) {
  while (auto view = value.getDefiningOp<graph::ReshapeOp>())
    value = view.getX();
  return value;
}

/// Pairs (input, result) of `kernel` that may share memory.
SmallVector<std::pair<int64_t, int64_t>> inplacePairs(func::FuncOp kernel) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  if (auto list = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace))
    for (auto pair : list.getAsRange<DenseI64ArrayAttr>())
      pairs.push_back({pair[0], pair[1]});
  return pairs;
}

//===----------------------------------------------------------------------===//
// From the function to a problem of planning
//===----------------------------------------------------------------------===//

/// Makes the steps of one function.
class FunctionPlanner {
public:
  explicit FunctionPlanner(func::FuncOp function)
      : function(function), module(function->getParentOfType<ModuleOp>()),
        symbols(module), builder(function) {
    for (auto weight : module.getOps<plan::WeightOp>())
      weights[weight.getName()] = weight;
  }
  FailureOr<plan::FunctionOp> run();

private:
  uint32_t addBuffer(Type type, bool external);
  void placeArguments();
  void placeOutputs();
  LogicalResult addOp(Operation &op);
  LogicalResult addWeight(graph::WeightOp weight);
  LogicalResult addDispatch(graph::DispatchOp dispatch);
  void addStep(Step step);
  void copyOutputs();

  plan::BufferAttr reference(const Operand &operand);
  void createStep(const Step &step, Value after);
  plan::FunctionOp createFunction();

  func::FuncOp function;
  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  llvm::StringMap<plan::WeightOp> weights;
  DenseMap<Value, Place> places;
  /// What no dispatch writes to its output.
  SmallVector<std::pair<Value, Place>> copies;
  SmallVector<Step> steps;
  planning::Problem problem;
  planning::Plan planned;
};

uint32_t FunctionPlanner::addBuffer(Type type, bool external) {
  planning::Buffer buffer;
  buffer.size = graph::tensorSize(type);
  buffer.external = external;
  problem.buffers.push_back(buffer);
  return problem.buffers.size() - 1;
}

void FunctionPlanner::placeArguments() {
  for (BlockArgument argument : function.getArguments())
    places[argument] = {plan::Space::Input, argument.getArgNumber(), 0,
                        addBuffer(argument.getType(), true)};
}

/// A dispatch writes what is returned to the output itself.
void FunctionPlanner::placeOutputs() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    Value source = root(value);
    bool direct =
        source.getDefiningOp<graph::DispatchOp>() && !places.contains(source);
    Place place{plan::Space::Output, static_cast<uint32_t>(i), 0,
                addBuffer(value.getType(), true)};
    if (direct)
      places[source] = place;
    else
      copies.push_back({source, place});
  }
}

LogicalResult FunctionPlanner::addOp(Operation &op) {
  if (isa<graph::ReshapeOp>(op))
    return success();
  if (auto weight = dyn_cast<graph::WeightOp>(op))
    return addWeight(weight);
  if (auto dispatch = dyn_cast<graph::DispatchOp>(op))
    return addDispatch(dispatch);
  return op.emitError() << "'" << op.getName()
                        << "' cannot be scheduled: it lies in no kernel";
}

LogicalResult FunctionPlanner::addWeight(graph::WeightOp weight) {
  plan::WeightOp known = weights.lookup(weight.getName());
  if (!known)
    return weight.emitError()
           << "there is no weight '" << weight.getName() << "'";
  if (known.getType() != weight.getType())
    return weight.emitError()
           << "weight '" << weight.getName() << "' is " << known.getType()
           << ", not " << weight.getType();
  places[weight.getY()] = {plan::Space::Weights, 0,
                           static_cast<int64_t>(known.getOffset()), -1};
  return success();
}

LogicalResult FunctionPlanner::addDispatch(graph::DispatchOp dispatch) {
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  if (!kernel)
    return dispatch.emitError()
           << "there is no kernel function '" << dispatch.getKernel() << "'";
  for (StringRef name : {graph::names::kChunks, graph::names::kScratch})
    if (!kernel->hasAttr(name))
      return dispatch.emitError()
             << "kernel '" << dispatch.getKernel() << "' has no " << name
             << ": choose strategies before planning memory";
  Step step{dispatch.getLoc(), kernel, {}, {}};
  for (Value input : dispatch.getInputs())
    step.reads.push_back(
        {places.at(root(input)), graph::tensorSize(input.getType())});
  for (Value output : dispatch.getOutputs()) {
    Place &place = places[output];
    if (place.buffer < 0)
      place.buffer = addBuffer(output.getType(), false);
    step.writes.push_back({place, graph::tensorSize(output.getType())});
  }
  addStep(std::move(step));
  return success();
}

void FunctionPlanner::addStep(Step step) {
  planning::Step &accesses = problem.steps.emplace_back();
  for (const Operand &operand : step.reads)
    if (operand.place.buffer >= 0)
      accesses.reads.push_back(operand.place.buffer);
  for (const Operand &operand : step.writes)
    accesses.writes.push_back(operand.place.buffer);
  if (step.kernel)
    for (auto [input, result] : inplacePairs(step.kernel))
      if (int64_t read = step.reads[input].place.buffer; read >= 0)
        accesses.inplace.push_back({read, step.writes[result].place.buffer});
  steps.push_back(std::move(step));
}

void FunctionPlanner::copyOutputs() {
  Location location = function.getBody().front().getTerminator()->getLoc();
  for (auto &[source, to] : copies) {
    int64_t size = graph::tensorSize(source.getType());
    addStep({location, {}, {{places.at(source), size}}, {{to, size}}});
  }
}

//===----------------------------------------------------------------------===//
// From the plan to a function
//===----------------------------------------------------------------------===//

plan::BufferAttr FunctionPlanner::reference(const Operand &operand) {
  const Place &place = operand.place;
  int64_t offset = place.space == plan::Space::Arena
                       ? planned.offsets[place.buffer]
                       : place.offset;
  return plan::BufferAttr::get(builder.getContext(), place.space, place.index,
                               offset, operand.size);
}

void FunctionPlanner::createStep(const Step &step, Value after) {
  SmallVector<Attribute> reads, writes;
  for (const Operand &operand : step.reads)
    reads.push_back(reference(operand));
  for (const Operand &operand : step.writes)
    writes.push_back(reference(operand));
  if (!step.kernel) {
    plan::CopyOp::create(
        builder, step.location, builder.getType<plan::StepType>(), after,
        cast<plan::BufferAttr>(reads[0]), cast<plan::BufferAttr>(writes[0]));
    return;
  }
  func::FuncOp kernel = step.kernel;
  SmallVector<int64_t> inplace(writes.size(), -1);
  for (auto [input, result] : inplacePairs(kernel))
    if (cast<plan::BufferAttr>(reads[input])
            .overlaps(cast<plan::BufferAttr>(writes[result])))
      inplace[result] = input;
  auto integer = [&](StringRef name) {
    return kernel->getAttrOfType<IntegerAttr>(name).getInt();
  };
  plan::DispatchOp::create(
      builder, step.location, builder.getType<plan::StepType>(),
      kernel.getName(), after, integer(graph::names::kChunks),
      integer(graph::names::kScratch), builder.getArrayAttr(reads),
      builder.getArrayAttr(writes), inplace);
}

plan::TensorAttr describe(StringAttr name, Location location, Type type,
                          TypedAttr value = {}) {
  if (auto node = dyn_cast<NameLoc>(location); node && !name)
    name = node.getName();
  return plan::TensorAttr::get(name ? name : StringAttr::get(type.getContext()),
                               cast<RankedTensorType>(type), value);
}

ArrayAttr describeInputs(func::FuncOp function) {
  SmallVector<Attribute> tensors;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    tensors.push_back(describe(
        function.getArgAttrOfType<StringAttr>(i, graph::names::kName),
        argument.getLoc(), argument.getType(),
        function.getArgAttrOfType<TypedAttr>(i, graph::names::kSource)));
  }
  return ArrayAttr::get(function.getContext(), tensors);
}

ArrayAttr describeOutputs(func::FuncOp function) {
  SmallVector<Attribute> tensors;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    tensors.push_back(describe(
        function.getResultAttrOfType<StringAttr>(i, graph::names::kName),
        function.getLoc(), type));
  return ArrayAttr::get(function.getContext(), tensors);
}

plan::FunctionOp FunctionPlanner::createFunction() {
  auto result = plan::FunctionOp::create(
      builder, function.getLoc(), function.getName(), describeInputs(function),
      describeOutputs(function));
  result.setArena(planned.arenaSize);
  result.setUnplanned(planned.unplannedSize);
  result.setLowerBound(planned.lowerBoundSize);
  builder.setInsertionPointToStart(&result.getBody().front());
  for (auto [i, step] : llvm::enumerate(steps)) {
    int32_t wait = planned.waits[i];
    createStep(
        step,
        wait < 0
            ? Value()
            : std::next(result.getBody().front().begin(), wait)->getResult(0));
  }
  return result;
}

FailureOr<plan::FunctionOp> FunctionPlanner::run() {
  placeArguments();
  placeOutputs();
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(addOp(op)))
      return failure();
  copyOutputs();
  planned = planning::planMemory(problem);
  plan::FunctionOp result = createFunction();
  function.erase();
  return result;
}

//===----------------------------------------------------------------------===//
// The module
//===----------------------------------------------------------------------===//

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
                 succeeded(check("result", function.getResultTypes())));
}

LogicalResult checkInit(func::FuncOp init) {
  if (failed(checkFunction(init)))
    return failure();
  for (unsigned i = 0; i < init.getNumArguments(); ++i)
    if (!init.getArgAttr(i, graph::names::kSource))
      return init.emitError() << "argument " << i << " of @init has no "
                              << graph::names::kSource << " with its value";
  llvm::StringSet<> names;
  for (unsigned i = 0; i < init.getNumResults(); ++i) {
    auto name = init.getResultAttrOfType<StringAttr>(i, graph::names::kName);
    if (!name || !names.insert(name.getValue()).second)
      return init.emitError() << "result " << i << " of @init has no "
                              << graph::names::kName << " of its own";
  }
  return success();
}

struct PlanMemoryPass : impl::PlanMemoryBase<PlanMemoryPass> {
  void runOnOperation() override {
    if (failed(planMemory(getOperation())))
      signalPassFailure();
  }
};

} // namespace

FailureOr<plan::FunctionOp> planFunction(func::FuncOp function) {
  if (failed(checkFunction(function)))
    return failure();
  return FunctionPlanner(function).run();
}

LogicalResult planInit(ModuleOp module) {
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
  return planFunction(init);
}

LogicalResult planMemory(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>(graph::names::kMain);
  if (!main)
    return module.emitError("the module has no function @main");
  // @main reads the weights that @init writes.
  if (failed(planInit(module)))
    return failure();
  return planFunction(main);
}

} // namespace tinh::codegen
