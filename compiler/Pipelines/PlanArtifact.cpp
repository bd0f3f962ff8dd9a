//===- PlanArtifact.cpp - From dispatches to steps over planned memory ----===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/PlanArtifact.h"

#include "compiler/Planning/MemoryPlan.h"
#include "dialects/graph/Graph.h"

#include "mlir/IR/SymbolTable.h"

using namespace mlir;

namespace tinh {

static tinh_dtype_t dtypeOf(Type type) {
  if (type.isF64())
    return TINH_DTYPE_F64;
  if (type.isF32())
    return TINH_DTYPE_F32;
  if (type.isF16())
    return TINH_DTYPE_F16;
  if (type.isBF16())
    return TINH_DTYPE_BF16;
  bool isUnsigned = type.isUnsignedInteger();
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return TINH_DTYPE_BOOL;
  case 8:
    return isUnsigned ? TINH_DTYPE_U8 : TINH_DTYPE_I8;
  case 16:
    return isUnsigned ? TINH_DTYPE_U16 : TINH_DTYPE_I16;
  case 32:
    return isUnsigned ? TINH_DTYPE_U32 : TINH_DTYPE_I32;
  default:
    return isUnsigned ? TINH_DTYPE_U64 : TINH_DTYPE_I64;
  }
}

artifact::Tensor describeTensor(Type type, Attribute name) {
  auto tensor = cast<RankedTensorType>(type);
  artifact::Tensor result;
  if (auto text = dyn_cast_or_null<StringAttr>(name))
    result.name = text.getValue().str();
  result.dtype = dtypeOf(tensor.getElementType());
  result.dims.assign(tensor.getShape().begin(), tensor.getShape().end());
  result.size = graph::tensorSize(tensor);
  return result;
}

static uint64_t align(uint64_t offset) {
  return (offset + TINH_BUFFER_ALIGNMENT - 1) / TINH_BUFFER_ALIGNMENT *
         TINH_BUFFER_ALIGNMENT;
}

void planWeights(ModuleOp module, artifact::Contents &contents) {
  auto init = module.lookupSymbol<func::FuncOp>(graph::names::kInit);
  if (!init)
    return;
  for (auto [i, type] : llvm::enumerate(init.getResultTypes())) {
    artifact::Tensor weight =
        describeTensor(type, init.getResultAttr(i, graph::names::kName));
    weight.offset = align(contents.weightsSize);
    contents.weightsSize = weight.offset + weight.size;
    contents.weights.push_back(std::move(weight));
  }
}

std::string nodeNames(Location location) {
  std::string names;
  location->walk([&](Location inner) {
    if (auto name = dyn_cast<NameLoc>(inner)) {
      if (!names.empty())
        names += ' ';
      names += name.getName().getValue();
    }
    return WalkResult::advance();
  });
  return names;
}

namespace {

/// Makes the steps of one function.
class FunctionPlanner {
public:
  FunctionPlanner(func::FuncOp function, artifact::Contents &contents)
      : function(function), contents(contents),
        symbols(function->getParentOfType<ModuleOp>()) {
    for (auto [i, kernel] : llvm::enumerate(contents.kernels))
      kernels[kernel.name] = i;
  }

  LogicalResult run() {
    describeSignature();
    placeArguments();
    placeOutputs();
    for (Operation &op : function.getBody().front().without_terminator())
      if (failed(addOp(op)))
        return failure();
    copyOutputs();
    planning::Plan plan = planning::planMemory(problem);
    for (auto [i, step] : llvm::enumerate(result.steps)) {
      step.waitFor = plan.waits[i];
      for (tinh_buffer_ref_t &ref : step.buffers)
        if (ref.space == TINH_SPACE_ARENA)
          ref = {TINH_SPACE_ARENA, 0, plan.offsets[ref.index]};
    }
    result.arenaSize = plan.arenaSize;
    result.unplannedSize = plan.unplannedSize;
    result.lowerBoundSize = plan.lowerBoundSize;
    contents.functions.push_back(std::move(result));
    return success();
  }

private:
  /// Where a value lies, and its buffer in the problem (-1: never changes).
  struct Place {
    tinh_buffer_ref_t ref = {};
    int64_t buffer = -1;
  };

  static Value root(Value value) {
    while (auto view = value.getDefiningOp<graph::ReshapeOp>())
      value = view.getX();
    return value;
  }

  uint32_t addBuffer(Type type, bool external) {
    planning::Buffer buffer;
    buffer.size = graph::tensorSize(type);
    buffer.external = external;
    problem.buffers.push_back(buffer);
    return problem.buffers.size() - 1;
  }

  void describeSignature() {
    result.name = function.getName().str();
    for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
      result.inputs.push_back(
          describeTensor(type, function.getArgAttr(i, graph::names::kName)));
    for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
      result.outputs.push_back(
          describeTensor(type, function.getResultAttr(i, graph::names::kName)));
  }

  void placeArguments() {
    for (BlockArgument argument : function.getArguments())
      places[argument] = {{TINH_SPACE_INPUT, argument.getArgNumber(), 0},
                          addBuffer(argument.getType(), true)};
  }

  /// A dispatch writes what is returned to the output itself.
  void placeOutputs() {
    Operation *terminator = function.getBody().front().getTerminator();
    for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
      Value source = root(value);
      bool direct =
          source.getDefiningOp<graph::DispatchOp>() && !places.contains(source);
      Place place{{TINH_SPACE_OUTPUT, static_cast<uint32_t>(i), 0},
                  addBuffer(value.getType(), true)};
      if (direct)
        places[source] = place;
      else
        copies.push_back({source, place});
    }
  }

  LogicalResult addOp(Operation &op) {
    if (isa<graph::ReshapeOp>(op))
      return success();
    if (auto weight = dyn_cast<graph::WeightOp>(op)) {
      for (const artifact::Tensor &known : contents.weights)
        if (known.name == weight.getName()) {
          places[weight.getY()] = {{TINH_SPACE_WEIGHTS, 0, known.offset}, -1};
          return success();
        }
      return op.emitError()
             << "there is no weight '" << weight.getName() << "'";
    }
    auto dispatch = dyn_cast<graph::DispatchOp>(op);
    if (!dispatch)
      return op.emitError() << "'" << op.getName()
                            << "' cannot be scheduled: it lies in no kernel";
    return addDispatch(dispatch);
  }

  LogicalResult addDispatch(graph::DispatchOp dispatch) {
    auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
    auto chunks = kernel->getAttrOfType<IntegerAttr>(graph::names::kChunks);
    auto scratch = kernel->getAttrOfType<IntegerAttr>(graph::names::kScratch);
    if (!chunks || !scratch)
      return kernel.emitError("no strategy has been chosen for this kernel");
    auto [known, isNew] =
        kernels.try_emplace(dispatch.getKernel(), contents.kernels.size());
    if (isNew)
      contents.kernels.push_back({dispatch.getKernel().str(),
                                  static_cast<uint64_t>(scratch.getInt())});
    artifact::Step step;
    planning::Step accesses;
    step.kernel = known->second;
    step.chunks = chunks.getInt();
    step.label = nodeNames(dispatch.getLoc());
    SmallVector<int64_t> read, written;
    for (Value input : dispatch.getInputs()) {
      auto place = places.find(root(input));
      if (place == places.end())
        return dispatch.emitError("reads a value that no step computes");
      step.buffers.push_back(place->second.ref);
      read.push_back(place->second.buffer);
      if (place->second.buffer >= 0)
        accesses.reads.push_back(place->second.buffer);
    }
    for (Value output : dispatch.getOutputs()) {
      Place &place = places[output];
      if (place.buffer < 0) {
        place.buffer = addBuffer(output.getType(), false);
        place.ref = {TINH_SPACE_ARENA, static_cast<uint32_t>(place.buffer), 0};
      }
      step.buffers.push_back(place.ref);
      written.push_back(place.buffer);
      accesses.writes.push_back(place.buffer);
    }
    if (auto pairs = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace))
      for (auto pair : pairs.getAsRange<DenseI64ArrayAttr>())
        if (read[pair[0]] >= 0)
          accesses.inplace.push_back({read[pair[0]], written[pair[1]]});
    result.steps.push_back(std::move(step));
    problem.steps.push_back(std::move(accesses));
    return success();
  }

  void copyOutputs() {
    for (auto &[source, to] : copies) {
      const Place &from = places[source];
      artifact::Step step;
      step.opcode = TINH_OP_COPY;
      step.size = graph::tensorSize(source.getType());
      step.buffers = {from.ref, to.ref};
      step.label = "copy";
      planning::Step accesses;
      if (from.buffer >= 0)
        accesses.reads.push_back(from.buffer);
      accesses.writes.push_back(to.buffer);
      result.steps.push_back(std::move(step));
      problem.steps.push_back(std::move(accesses));
    }
  }

  func::FuncOp function;
  artifact::Contents &contents;
  SymbolTable symbols;
  artifact::Function result;
  planning::Problem problem;
  llvm::DenseMap<Value, Place> places;
  SmallVector<std::pair<Value, Place>> copies;
  llvm::StringMap<uint32_t> kernels;
};

} // namespace

LogicalResult planFunction(func::FuncOp function,
                           artifact::Contents &contents) {
  return FunctionPlanner(function, contents).run();
}

} // namespace tinh
