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
#include "compiler/Codegen/Layouts.h"
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
  /// In the space; of the arena in the buffer.
  int64_t offset = 0;
  int64_t buffer = -1;
};

/// Where a step finds the bytes of a value.
struct Operand {
  Place place;
  graph::Rows rows;
};

/// A step before its memory is planned; no kernel: a copy.
struct Step {
  Location location;
  func::FuncOp kernel;
  SmallVector<Operand> reads, writes;
};

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
  LogicalResult findLayouts();
  int64_t bufferOf(Value value);
  Operand operandOf(Value value);
  void placeArguments();
  void placeOutputs();
  LogicalResult addOp(Operation &op);
  LogicalResult addWeight(graph::WeightOp weight);
  LogicalResult addDispatch(graph::DispatchOp dispatch);
  LogicalResult checkStrides(graph::DispatchOp dispatch, func::FuncOp kernel);
  void addStep(Step step);
  LogicalResult copyOutputs();

  plan::BufferAttr reference(const Operand &operand);
  void createStep(const Step &step, Value after);
  plan::FunctionOp createFunction();

  func::FuncOp function;
  ModuleOp module;
  SymbolTable symbols;
  OpBuilder builder;
  llvm::StringMap<plan::WeightOp> weights;
  Layouts layouts;
  /// Of the values that lie in no other one, and the buffers of all.
  DenseMap<Value, Place> places;
  DenseMap<Value, int64_t> buffers;
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

LogicalResult FunctionPlanner::findLayouts() {
  for (auto concat : function.getOps<graph::ConcatOp>())
    for (unsigned i = 0; i < concat.getInputs().size(); ++i)
      if (!layouts.place(concat, i))
        return concat.emitError()
               << "operand " << i << " cannot lie in the concatenation: it is "
               << "no result of a dispatch that lies nowhere else";
  for (Operation &op : function.getBody().front().without_terminator())
    for (Value value : op.getResults())
      if (!layouts.of(value))
        return op.emitError()
               << "the result does not lie in rows in the tensor that it is a "
                  "part of";
  return success();
}

/// The buffer of a value that is no view of another one.
int64_t FunctionPlanner::bufferOf(Value value) {
  auto known = buffers.find(value);
  if (known != buffers.end())
    return known->second;
  int64_t buffer = addBuffer(value.getType(), false);
  buffers[value] = buffer;
  if (Value whole = layouts.placedIn(value)) {
    int64_t partOf = bufferOf(whole);
    problem.buffers[buffer].partOf = partOf;
  }
  return buffer;
}

Operand FunctionPlanner::operandOf(Value value) {
  Layout layout = *layouts.of(value);
  auto type = cast<RankedTensorType>(value.getType());
  Place place = places.lookup(layout.whole); // The arena's, if it has none.
  place.offset += layout.offset * graph::elementSize(type.getElementType());
  place.buffer = bufferOf(withoutViews(value));
  return {place, *graph::rowsOf(type, layout.strides)};
}

void FunctionPlanner::placeArguments() {
  for (BlockArgument argument : function.getArguments()) {
    places[argument] = {plan::Space::Input, argument.getArgNumber()};
    buffers[argument] = addBuffer(argument.getType(), true);
  }
}

/// A dispatch writes what is returned to the output itself.
void FunctionPlanner::placeOutputs() {
  Operation *terminator = function.getBody().front().getTerminator();
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    Value source = withoutReshapes(value);
    bool direct = isa_and_nonnull<graph::DispatchOp, graph::ConcatOp>(
                      source.getDefiningOp()) &&
                  !layouts.placedIn(source) && !places.contains(source);
    Place place{plan::Space::Output, static_cast<uint32_t>(i), 0,
                addBuffer(value.getType(), true)};
    if (direct) {
      places[source] = place;
      buffers[source] = place.buffer;
    } else {
      copies.push_back({value, place});
    }
  }
}

LogicalResult FunctionPlanner::addOp(Operation &op) {
  if (isa<graph::ReshapeOp, graph::SliceOp, graph::ConcatOp>(op))
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
                           static_cast<int64_t>(known.getOffset())};
  buffers[weight.getY()] = -1;
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
  if (failed(checkStrides(dispatch, kernel)))
    return failure();
  Step step{dispatch.getLoc(), kernel, {}, {}};
  for (Value input : dispatch.getInputs())
    step.reads.push_back(operandOf(input));
  for (Value output : dispatch.getOutputs())
    step.writes.push_back(operandOf(output));
  addStep(std::move(step));
  return success();
}

/// A kernel has to find its operands where they lie.
LogicalResult FunctionPlanner::checkStrides(graph::DispatchOp dispatch,
                                            func::FuncOp kernel) {
  auto check = [&](StringRef what, unsigned i, Value value,
                   ArrayRef<int64_t> strides) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> lies = layouts.of(value)->strides;
    for (int64_t dim = 0; dim < type.getRank(); ++dim)
      if (type.getDimSize(dim) > 1 && strides[dim] != lies[dim])
        return dispatch.emitError()
               << what << " " << i << " lies with strides ["
               << ArrayRef<int64_t>(lies) << "], but kernel '"
               << dispatch.getKernel() << "' has [" << strides << "]";
    return success();
  };
  for (auto [i, input] : llvm::enumerate(dispatch.getInputs()))
    if (failed(check("operand", i, input, graph::argumentStrides(kernel, i))))
      return failure();
  for (auto [i, output] : llvm::enumerate(dispatch.getOutputs()))
    if (failed(check("result", i, output, graph::resultStrides(kernel, i))))
      return failure();
  return success();
}

void FunctionPlanner::addStep(Step step) {
  planning::Step &accesses = problem.steps.emplace_back();
  for (const Operand &operand : step.reads)
    if (operand.place.buffer >= 0)
      accesses.reads.push_back(operand.place.buffer);
  for (const Operand &operand : step.writes)
    accesses.writes.push_back(operand.place.buffer);
  // In place is only what begins where its memory does.
  auto begins = [](const Operand &operand) {
    return operand.place.buffer >= 0 && operand.place.offset == 0 &&
           operand.rows.count == 1;
  };
  if (step.kernel)
    for (auto [input, result] : inplacePairs(step.kernel))
      if (begins(step.reads[input]) && begins(step.writes[result]))
        accesses.inplace.push_back(
            {step.reads[input].place.buffer, step.writes[result].place.buffer});
  steps.push_back(std::move(step));
}

LogicalResult FunctionPlanner::copyOutputs() {
  Location location = function.getBody().front().getTerminator()->getLoc();
  for (auto &[source, to] : copies) {
    int64_t size = graph::tensorSize(source.getType());
    Operand from = operandOf(source);
    if (from.rows.count != 1)
      return emitError(location)
             << "a result is a part of a tensor that is not contiguous";
    addStep({location, {}, {from}, {{to, {1, size, size}}}});
  }
  return success();
}

//===----------------------------------------------------------------------===//
// From the plan to a function
//===----------------------------------------------------------------------===//

plan::BufferAttr FunctionPlanner::reference(const Operand &operand) {
  const Place &place = operand.place;
  int64_t offset = place.offset;
  if (place.space == plan::Space::Arena)
    offset += planned.offsets[place.buffer];
  const graph::Rows &rows = operand.rows;
  if (rows.count == 1)
    return plan::BufferAttr::get(builder.getContext(), place.space, place.index,
                                 offset, rows.run);
  return plan::BufferAttr::get(builder.getContext(), place.space, place.index,
                               offset, rows.span(), rows.run, rows.pitch);
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
  if (failed(findLayouts()))
    return failure();
  placeArguments();
  placeOutputs();
  for (Operation &op : function.getBody().front().without_terminator())
    if (failed(addOp(op)))
      return failure();
  if (failed(copyOutputs()))
    return failure();
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
