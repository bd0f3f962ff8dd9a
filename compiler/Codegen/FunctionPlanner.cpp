//===- FunctionPlanner.cpp - The steps of a function ------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Codegen/FunctionPlanner.h"

using namespace mlir;

namespace tinh::codegen {

SmallVector<std::pair<int64_t, int64_t>> inplacePairs(func::FuncOp kernel) {
  SmallVector<std::pair<int64_t, int64_t>> pairs;
  if (auto list = kernel->getAttrOfType<ArrayAttr>(graph::names::kInplace))
    for (auto pair : list.getAsRange<DenseI64ArrayAttr>())
      pairs.push_back({pair[0], pair[1]});
  return pairs;
}

FunctionPlanner::FunctionPlanner(func::FuncOp function, const Devices &devices)
    : function(function), devices(devices),
      symbols(function->getParentOfType<ModuleOp>()) {
  problem.numArenas = kNumArenas;
  auto module = function->getParentOfType<ModuleOp>();
  for (auto weight : module.getOps<plan::WeightOp>())
    weights[weight.getName()] = weight;
}

uint32_t FunctionPlanner::addBuffer(int64_t size, bool external, bool onCuda) {
  planning::Buffer buffer;
  buffer.size = size;
  buffer.external = external;
  buffer.arena = onCuda ? kDeviceArena : kHostArena;
  problem.buffers.push_back(buffer);
  return problem.buffers.size() - 1;
}

LogicalResult FunctionPlanner::findLayouts() {
  auto place = [&](graph::ConcatOp concat) -> WalkResult {
    for (unsigned i = 0; i < concat.getInputs().size(); ++i)
      if (!layouts.place(concat, i))
        return concat.emitError()
               << "operand " << i << " cannot lie in the concatenation: it is "
               << "no result of a dispatch that lies nowhere else";
    return WalkResult::advance();
  };
  auto check = [&](Operation *op) -> WalkResult {
    for (Value value : op->getResults())
      if (!layouts.of(value))
        return op->emitError()
               << "the result does not lie in rows in the tensor that it is a "
                  "part of";
    return WalkResult::advance();
  };
  return success(!function.walk(place).wasInterrupted() &&
                 !function.walk(check).wasInterrupted());
}

/// The buffer of a value that is no view of another one.
int64_t FunctionPlanner::bufferOf(Value value) {
  auto known = buffers.find(value);
  if (known != buffers.end())
    return known->second;
  int64_t buffer = addBuffer(graph::tensorSize(value.getType()),
                             /*external=*/false, devices.isOnCuda(value));
  buffers[value] = buffer;
  if (Value whole = layouts.placedIn(value)) {
    int64_t partOf = bufferOf(whole);
    problem.buffers[buffer].partOf = partOf;
  }
  return buffer;
}

/// Where a step on the CPU or the GPU finds `value`: both have the weights.
Operand FunctionPlanner::operandOf(Value value, bool onCuda) {
  Layout layout = *layouts.of(value);
  auto type = cast<RankedTensorType>(value.getType());
  Place place;
  if (auto known = places.find(layout.whole); known != places.end())
    place = known->second;
  else if (onCuda)
    place.space = plan::Space::Device;
  if (onCuda && place.space == plan::Space::Weights)
    place.space = plan::Space::DeviceWeights;
  place.offset += layout.offset * graph::elementSize(type.getElementType());
  place.buffer = bufferOf(withoutViews(value));
  return {place, *graph::rowsOf(type, layout.strides)};
}

bool FunctionPlanner::isOnCuda(const Operand &operand) const {
  int64_t buffer = operand.place.buffer;
  return buffer >= 0 && problem.buffers[buffer].arena == kDeviceArena;
}

void FunctionPlanner::placeArguments() {
  for (BlockArgument argument : function.getArguments()) {
    places[argument] = {plan::Space::Input, argument.getArgNumber()};
    buffers[argument] =
        addBuffer(graph::tensorSize(argument.getType()), /*external=*/true,
                  devices.isOnCuda(argument));
  }
}

/// Where a result is to lie: that of a variable where its argument does.
Operand FunctionPlanner::outputOf(unsigned index) {
  int64_t size = graph::tensorSize(function.getResultTypes()[index]);
  graph::Rows rows{1, size, size};
  if (StringAttr variable = resultVariable(function, index)) {
    for (BlockArgument argument : function.getArguments())
      if (argumentVariable(function, argument.getArgNumber()) == variable) {
        Place place = places.at(argument);
        place.buffer = buffers.at(argument);
        carried[place.buffer] = argument;
        return {place, rows};
      }
    llvm_unreachable("a variable that is no argument");
  }
  return {{plan::Space::Output,
           index,
           0,
           addBuffer(size, /*external=*/true, /*onCuda=*/false),
           {}},
          rows};
}

/// A dispatch writes what is returned to the output itself.
void FunctionPlanner::placeOutputs() {
  Block &body = function.getBody().front();
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands())) {
    Operand output = outputOf(i);
    if (!placeAt(value, output, body))
      copies.push_back({value, {}, output});
  }
}

LogicalResult FunctionPlanner::addBlock(Block &block) {
  placeInitial(block);
  for (Operation &op : block.without_terminator())
    if (failed(addOp(op)))
      return failure();
  return success();
}

LogicalResult FunctionPlanner::addOp(Operation &op) {
  if (isa<graph::ReshapeOp, graph::SliceOp, graph::ConcatOp>(op))
    return success();
  if (auto weight = dyn_cast<graph::WeightOp>(op))
    return addWeight(weight);
  awaitOperands(&op);
  if (auto dispatch = dyn_cast<graph::DispatchOp>(op))
    return addDispatch(dispatch);
  if (auto transfer = dyn_cast<graph::TransferOp>(op))
    return addTransfer(transfer);
  if (graph::isCollective(&op))
    return addCollective(&op);
  if (auto branch = dyn_cast<graph::IfOp>(op))
    return addIf(branch);
  if (auto loop = dyn_cast<graph::WhileOp>(op))
    return addWhile(loop);
  if (auto scan = dyn_cast<graph::ScanOp>(op))
    return addScan(scan);
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

/// A kernel has to find its operands where they lie.
static LogicalResult checkStrides(graph::DispatchOp dispatch,
                                  func::FuncOp kernel, const Layouts &layouts) {
  auto check = [&](StringRef what, unsigned i, Value value,
                   ArrayRef<int64_t> strides) -> LogicalResult {
    auto type = cast<RankedTensorType>(value.getType());
    if (type.getNumElements() == 0)
      return success(); // What has no elements lies anywhere.
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

LogicalResult FunctionPlanner::addDispatch(graph::DispatchOp dispatch) {
  auto kernel = symbols.lookup<func::FuncOp>(dispatch.getKernel());
  if (!kernel)
    return dispatch.emitError()
           << "there is no kernel function '" << dispatch.getKernel() << "'";
  bool onCuda = graph::isOnCuda(kernel);
  SmallVector<StringRef> numbers{graph::names::kChunks, graph::names::kScratch};
  if (onCuda)
    numbers.push_back(graph::names::kThreads);
  for (StringRef name : numbers)
    if (!kernel->hasAttr(name))
      return dispatch.emitError()
             << "kernel '" << dispatch.getKernel() << "' has no " << name
             << ": choose strategies before planning memory";
  if (failed(checkStrides(dispatch, kernel, layouts)))
    return failure();
  PlannedStep step{Kind::Dispatch, dispatch.getLoc(), kernel, {}, {}, {}};
  for (Value input : dispatch.getInputs())
    step.reads.push_back(operandOf(input, onCuda));
  for (Value output : dispatch.getOutputs())
    step.writes.push_back(operandOf(output, onCuda));
  addStep(std::move(step));
  return success();
}

LogicalResult FunctionPlanner::addTransfer(graph::TransferOp transfer) {
  Operand from = operandOf(transfer.getX(), !transfer.isToCuda());
  if (from.rows.count != 1)
    return transfer.emitError("the operand is a part of a tensor that is not "
                              "contiguous, and so cannot be copied");
  addStep({Kind::Copy,
           transfer.getLoc(),
           {},
           {from},
           {operandOf(transfer.getY(), transfer.isToCuda())},
           {}});
  return success();
}

void FunctionPlanner::addStep(PlannedStep step) {
  planning::Step &accesses = problem.steps.emplace_back();
  for (const Operand &operand : step.reads)
    if (operand.place.buffer >= 0)
      accesses.reads.push_back(operand.place.buffer);
  for (const Operand &operand : step.writes)
    accesses.writes.push_back(operand.place.buffer);
  // In place is only what begins where its memory does.
  auto begins = [](const Operand &operand) {
    return operand.place.buffer >= 0 && operand.place.offset == 0 &&
           operand.place.strides.empty() && operand.rows.count == 1;
  };
  if (step.kernel)
    for (auto [input, result] : inplacePairs(step.kernel))
      if (begins(step.reads[input]) && begins(step.writes[result]))
        accesses.inplace.push_back(
            {step.reads[input].place.buffer, step.writes[result].place.buffer});
  steps.push_back(std::move(step));
}

LogicalResult FunctionPlanner::run() {
  if (failed(findLayouts()))
    return failure();
  placeArguments();
  placeOutputs();
  Block &body = function.getBody().front();
  if (failed(addBlock(body)))
    return failure();
  awaitOperands(body.getTerminator());
  while (!started.empty()) // Those whose results nothing reads.
    await(started.front().first);
  for (Move &copy : copies)
    copy.from = operandOf(copy.source, isOnCuda(copy.to));
  return addMoves(std::move(copies), body.getTerminator()->getLoc());
}

} // namespace tinh::codegen
