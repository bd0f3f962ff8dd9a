//===- PlanArtifact.cpp - From a plan to an artifact's tables ---*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "compiler/Pipelines/PlanArtifact.h"

#include "compiler/Pipelines/Collective.h"
#include "compiler/Pipelines/Kernels/KernelFacts.h"
#include "compiler/Pipelines/Kernels/LibraryCall.h"
#include "compiler/Support/ElementTypes.h"
#include "compiler/Support/NodeNames.h"
#include "dialects/graph/Graph.h"
#include "dialects/graph/Strides.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tinh {

static void describe(artifact::Tensor &result, StringRef name,
                     RankedTensorType type) {
  result.name = name.str();
  result.dtype = dtypeOf(type.getElementType());
  result.dims.assign(type.getShape().begin(), type.getShape().end());
  result.size = graph::tensorSize(type);
}

static tinh_buffer_ref_t describe(plan::BufferAttr buffer) {
  static constexpr tinh_space_t kSpaces[] = {
      TINH_SPACE_ARENA,         TINH_SPACE_WEIGHTS, TINH_SPACE_INPUT,
      TINH_SPACE_OUTPUT,        TINH_SPACE_LOOP,    TINH_SPACE_DEVICE,
      TINH_SPACE_DEVICE_WEIGHTS};
  return {static_cast<uint32_t>(kSpaces[static_cast<int>(buffer.getSpace())]),
          buffer.getIndex(), static_cast<uint64_t>(buffer.getOffset())};
}

/// The names of the model's nodes in `location`, a line each.
static std::string labelOf(Location location) {
  return llvm::join(nodeNames(location), "\n");
}

namespace {

/// Adds functions with their kernels, each once, to the contents.
class Describer {
public:
  Describer(artifact::Contents &contents, ModuleOp module)
      : contents(contents), program(&contents), symbols(module) {}
  void add(plan::FunctionOp function);
  /// Adds all functions but @init, and all variables: those for machines
  /// without a GPU, which stand in for others, or the others.
  void addProgram(ModuleOp module, artifact::Program &to, bool withoutGpu);
  /// Adds @init as the function that takes parameters.
  void addInit(plan::FunctionOp init);

private:
  void addVariable(plan::VariableOp op);
  void addConversions(plan::VariableOp op);
  void noteDeviceWeight(uint64_t offset);
  artifact::Function describe(plan::FunctionOp function);
  std::vector<std::optional<uint64_t>> placeConstants(plan::FunctionOp init);
  std::vector<artifact::Tensor> describe(ArrayAttr tensors);
  artifact::Step describeStep(Operation &op);
  uint32_t kernel(StringRef name, uint64_t scratch);

  artifact::Contents &contents;
  artifact::Program *program; // That is being described.
  SymbolTable symbols;
  llvm::StringMap<uint32_t> kernels, variables;
};

/// Finds where jumps lead to. A `plan.else` is a jump behind the `plan.end_if`,
/// which is no step of an artifact.
class JumpResolver {
public:
  explicit JumpResolver(std::vector<artifact::Step> &steps) : steps(steps) {}

  /// `op` is the last step or, of a `plan.end_if`, comes behind it.
  void add(Operation &op) {
    uint32_t last = steps.size() - 1;
    llvm::TypeSwitch<Operation *>(&op)
        .Case<plan::IfOp, plan::LoopOp>(
            [&](Operation *) { open.push_back({last}); })
        .Case([&](plan::LeaveOp) { open.back().push_back(last); })
        .Case([&](plan::ElseOp) {
          steps[open.back().front()].target = last + 1;
          open.back() = {last};
        })
        .Case([&](plan::EndIfOp) { close(last + 1); })
        .Case([&](plan::EndLoopOp) {
          steps[last].target = open.back().front() + 1;
          close(last + 1);
        });
  }

private:
  void close(uint32_t target) {
    for (uint32_t step : open.pop_back_val())
      steps[step].target = target;
  }

  std::vector<artifact::Step> &steps;
  /// Of the branches and loops that have begun: steps that go to their end.
  SmallVector<SmallVector<uint32_t>> open;
};

tinh_opcode_t opcodeOf(Operation &op) {
  return llvm::TypeSwitch<Operation *, tinh_opcode_t>(&op)
      .Case([](plan::CopyOp) { return TINH_OP_COPY; })
      .Case([](plan::ZeroOp) { return TINH_OP_ZERO; })
      .Case([](plan::StartOp) { return TINH_OP_START; })
      .Case([](plan::AwaitOp) { return TINH_OP_AWAIT; })
      .Case<plan::IfOp, plan::LeaveOp>([](auto) { return TINH_OP_BRANCH; })
      .Case([](plan::ElseOp) { return TINH_OP_JUMP; })
      .Case([](plan::LoopOp) { return TINH_OP_LOOP; })
      .Case([](plan::EndLoopOp) { return TINH_OP_NEXT; })
      .Default([](Operation *) { return TINH_OP_DISPATCH; });
}

/// The number of each output of the caller's by its name.
llvm::StringMap<int32_t> numberOutputs(ArrayAttr tensors) {
  llvm::StringMap<int32_t> numbers;
  for (auto tensor : tensors.getAsRange<plan::TensorAttr>())
    if (!tensor.getVariable())
      numbers.try_emplace(tensor.getName(),
                          static_cast<int32_t>(numbers.size()));
  return numbers;
}

std::vector<artifact::Tensor> Describer::describe(ArrayAttr tensors) {
  llvm::StringMap<int32_t> numbers = numberOutputs(tensors);
  std::vector<artifact::Tensor> result;
  for (auto tensor : tensors.getAsRange<plan::TensorAttr>()) {
    tinh::describe(result.emplace_back(), tensor.getName(), tensor.getType());
    if (ArrayAttr sizes = tensor.getSizes())
      for (auto size : sizes.getAsValueRange<StringAttr>())
        result.back().sizeOutputs.push_back(size.empty() ? -1
                                                         : numbers.at(size));
    if (!tensor.getVariable())
      continue;
    // It has the type that programs see.
    uint32_t index = variables.at(tensor.getName());
    result.back() = program->variables[index];
    result.back().offset = 0;
    result.back().variable = index;
  }
  return result;
}

/// What a kernel reads, then what it writes.
std::vector<artifact::Operand> operandsOf(Operation *kernel) {
  std::vector<artifact::Operand> operands;
  auto add = [&](Type type, bool written) {
    auto memory = cast<MemRefType>(type);
    auto [strides, offset] = memory.getStridesAndOffset();
    operands.push_back({dtypeOf(memory.getElementType()),
                        written,
                        memory.getShape().vec(),
                        {strides.begin(), strides.end()}});
  };
  FunctionType types = operandTypes(kernel);
  for (Type type : types.getInputs())
    add(type, false);
  for (Type type : types.getResults())
    add(type, true);
  return operands;
}

uint32_t Describer::kernel(StringRef name, uint64_t scratch) {
  auto [known, isNew] = kernels.try_emplace(name, contents.kernels.size());
  if (isNew) {
    Operation *code = symbols.lookup(name);
    artifact::Kernel &kernel = contents.kernels.emplace_back();
    kernel.name = name.str();
    kernel.scratchSize = scratch;
    kernel.operands = operandsOf(code);
    KernelFacts facts = factsOf(code);
    kernel.operations = static_cast<uint64_t>(facts.operations);
    kernel.bytes = static_cast<uint64_t>(facts.bytes);
    kernel.estimatedCycles = facts.estimatedCycles;
    kernel.plan = facts.plan;
    if (graph::isOnCuda(code)) {
      kernel.device = TINH_DEVICE_CUDA;
      kernel.threads =
          code->getAttrOfType<IntegerAttr>(graph::names::kThreads).getInt();
      if (auto library =
              code->getAttrOfType<graph::LibraryAttr>(graph::names::kLibrary))
        kernel.library = describeLibraryCall(library);
    }
  }
  return known->second;
}

/// The kernels that a variable in a layout of its own goes through.
void Describer::addConversions(plan::VariableOp op) {
  std::optional<plan::LayoutAttr> layout = op.getLayout();
  if (!layout)
    return;
  artifact::Variable &variable = program->variables[variables.at(op.getName())];
  auto add = [&](artifact::Conversion &conversion, FlatSymbolRefAttr name,
                 int64_t chunks) {
    conversion = {kernel(name.getValue(), /*scratch=*/0),
                  static_cast<uint64_t>(chunks)};
  };
  add(variable.pack, layout->getPack(), layout->getPackChunks());
  add(variable.unpack, layout->getUnpack(), layout->getUnpackChunks());
}

/// The name that programs know a function or a variable by.
StringRef publicName(Operation *op, StringRef name) {
  auto other = op->getAttrOfType<StringAttr>(graph::names::kInsteadOf);
  return other ? other.getValue() : name;
}

/// Behind the others in the state of its device.
void Describer::addVariable(plan::VariableOp op) {
  variables[op.getName()] = program->variables.size();
  artifact::Variable &variable = program->variables.emplace_back();
  tinh::describe(variable, publicName(op, op.getName()),
                 cast<RankedTensorType>(op.getType()));
  variable.device = op.getOnDevice() ? TINH_DEVICE_CUDA : TINH_DEVICE_CPU;
  uint64_t &stateSize =
      op.getOnDevice() ? program->deviceStateSize : program->stateSize;
  variable.offset = stateSize;
  variable.trainable = op.getTrainable();
  if (op.getInitial())
    variable.initialOffset = op.getInitial()->getOffset();
  variable.storedSize = graph::tensorSize(op.getStoredType());
  stateSize += llvm::alignTo(variable.storedSize, TINH_BUFFER_ALIGNMENT);
}

/// The GPU reads the weight that has the byte at `offset`; the last ones may
/// have no bytes.
void Describer::noteDeviceWeight(uint64_t offset) {
  auto weight =
      llvm::partition_point(contents.weights, [&](const artifact::Tensor &w) {
        return w.offset + w.size <= offset;
      });
  uint64_t end =
      weight == contents.weights.end() ? offset : weight->offset + weight->size;
  program->deviceWeightsSize = std::max(program->deviceWeightsSize, end);
}

artifact::Step Describer::describeStep(Operation &op) {
  artifact::Step step;
  step.opcode = opcodeOf(op);
  step.label = labelOf(op.getLoc());
  plan::StepAccess access = plan::accessOf(&op);
  if (auto dispatch = dyn_cast<plan::DispatchOp>(op)) {
    step.kernel = kernel(dispatch.getKernel(), dispatch.getScratch());
    step.chunks = dispatch.getChunks();
    if (step.label.empty()) // As of what packs for several kernels.
      step.label = labelOf(symbols.lookup(dispatch.getKernel())->getLoc());
  } else if (auto loop = dyn_cast<plan::LoopOp>(op)) {
    step.chunks = loop.getMaxIterations();
    step.alone = loop.getAlone();
  } else if (auto start = dyn_cast<plan::StartOp>(op)) {
    step.collective = describeCollective(start);
  } else if (auto await = dyn_cast<plan::AwaitOp>(op)) {
    step.collective = describeCollective(await.getStarted());
  } else if (isa<plan::CopyOp, plan::ZeroOp>(op)) {
    step.size = access.writes[0].getSize();
    step.label = step.opcode == TINH_OP_COPY ? "copy" : "zero";
  }
  for (auto [i, buffer] : llvm::enumerate(
           llvm::concat<plan::BufferAttr>(access.reads, access.writes))) {
    step.buffers.push_back(tinh::describe(buffer));
    if (step.buffers.back().space == TINH_SPACE_DEVICE_WEIGHTS)
      noteDeviceWeight(step.buffers.back().offset);
    for (auto [loop, bytes] : llvm::enumerate(buffer.getStrides()))
      if (bytes)
        step.strides.push_back(
            {static_cast<uint32_t>(i), static_cast<uint32_t>(loop), bytes});
  }
  return step;
}

artifact::Function Describer::describe(plan::FunctionOp function) {
  artifact::Function result;
  result.name = publicName(function, function.getSymName()).str();
  result.inputs = describe(function.getInputs());
  result.outputs = describe(function.getOutputs());
  result.arenaSize = function.getArena();
  result.unplannedSize = function.getUnplanned();
  result.lowerBoundSize = function.getLowerBound();
  result.deviceArenaSize = function.getDeviceArena();
  result.deviceUnplannedSize = function.getDeviceUnplanned();
  result.deviceLowerBoundSize = function.getDeviceLowerBound();
  DenseMap<Operation *, int32_t> numbers;
  JumpResolver jumps(result.steps);
  for (Operation &op : function.getBody().front()) {
    if (!isa<plan::EndIfOp>(op)) {
      artifact::Step &step = result.steps.emplace_back(describeStep(op));
      if (Operation *after = plan::accessOf(&op).after)
        step.waitFor = numbers.at(after);
      if (auto await = dyn_cast<plan::AwaitOp>(op))
        step.target = numbers.at(await.getStarted());
    }
    numbers[&op] = result.steps.size() - 1;
    jumps.add(op);
  }
  return result;
}

void Describer::add(plan::FunctionOp function) {
  program->functions.push_back(describe(function));
}

void Describer::addProgram(ModuleOp module, artifact::Program &to,
                           bool withoutGpu) {
  program = &to;
  variables.clear();
  auto belongs = [&](Operation *op) {
    return op->hasAttr(graph::names::kInsteadOf) == withoutGpu;
  };
  for (auto variable : module.getOps<plan::VariableOp>())
    if (belongs(variable))
      addVariable(variable);
  for (auto function : module.getOps<plan::FunctionOp>())
    if (belongs(function) && graph::isEntry(function))
      add(function);
  for (auto variable : module.getOps<plan::VariableOp>())
    if (belongs(variable))
      addConversions(variable);
}

/// Gives the inputs of @init that are no parameters places behind the weights;
/// none for those that are.
std::vector<std::optional<uint64_t>>
Describer::placeConstants(plan::FunctionOp init) {
  std::vector<std::optional<uint64_t>> places;
  for (auto input : init.getInputs().getAsRange<plan::TensorAttr>()) {
    if (isa<graph::ParameterAttr>(input.getValue())) {
      places.push_back(std::nullopt);
      continue;
    }
    artifact::Tensor &constant = contents.weights.emplace_back();
    tinh::describe(constant, "__init." + std::to_string(places.size()),
                   input.getType());
    constant.offset =
        llvm::alignTo(contents.weightsSize, TINH_BUFFER_ALIGNMENT);
    contents.weightsSize = constant.offset + constant.size;
    places.push_back(constant.offset);
  }
  return places;
}

void Describer::addInit(plan::FunctionOp init) {
  std::vector<artifact::Tensor> results = contents.weights;
  std::vector<std::optional<uint64_t>> constants = placeConstants(init);
  artifact::Function function = describe(init);
  std::vector<artifact::Tensor> parameters;
  std::vector<uint32_t> numbers;
  for (auto [i, input] :
       llvm::enumerate(init.getInputs().getAsRange<plan::TensorAttr>())) {
    numbers.push_back(parameters.size());
    if (auto parameter = dyn_cast<graph::ParameterAttr>(input.getValue())) {
      parameters.push_back(function.inputs[i]);
      parameters.back().name = parameter.getName().str();
    }
  }
  for (artifact::Step &step : function.steps)
    for (tinh_buffer_ref_t &buffer : step.buffers) {
      if (buffer.space == TINH_SPACE_OUTPUT)
        buffer = {TINH_SPACE_WEIGHTS, 0,
                  results[buffer.index].offset + buffer.offset};
      else if (buffer.space == TINH_SPACE_INPUT && constants[buffer.index])
        buffer = {TINH_SPACE_WEIGHTS, 0,
                  *constants[buffer.index] + buffer.offset};
      else if (buffer.space == TINH_SPACE_INPUT)
        buffer.index = numbers[buffer.index];
    }
  function.inputs = std::move(parameters);
  function.outputs.clear();
  contents.init = std::move(function);
}

artifact::Contents emptyContents(ModuleOp module, const cpu::Target &target) {
  artifact::Contents contents;
  if (auto name = module->getAttrOfType<StringAttr>(graph::names::kModel))
    contents.model = name.str();
  contents.cpu = target.name;
  contents.cpuFeatures = cpu::executingTarget(target).featureBits;
  contents.core = {target.machine->operationsPerCycle(),
                   target.machine->memory.bytesPerCycle};
  return contents;
}

} // namespace

static void describeWeights(ModuleOp module, artifact::Contents &contents) {
  for (auto weight : module.getOps<plan::WeightOp>()) {
    artifact::Tensor &tensor = contents.weights.emplace_back();
    describe(tensor, weight.getName(),
             cast<RankedTensorType>(weight.getType()));
    tensor.offset = weight.getOffset();
    contents.weightsSize =
        std::max(contents.weightsSize, tensor.offset + tensor.size);
  }
}

static bool takesParameters(plan::FunctionOp init) {
  return llvm::any_of(init.getInputs().getAsRange<plan::TensorAttr>(),
                      [](plan::TensorAttr input) {
                        return isa<graph::ParameterAttr>(input.getValue());
                      });
}

FunctionType operandTypes(Operation *kernel) {
  auto function = dyn_cast<func::FuncOp>(kernel);
  if (!function)
    return cast<FunctionType>(
        kernel->getAttrOfType<TypeAttr>(kOperands).getValue());
  MLIRContext *context = kernel->getContext();
  auto memory = [&](Type type, ArrayRef<int64_t> strides) -> Type {
    auto tensor = cast<RankedTensorType>(type);
    return MemRefType::get(tensor.getShape(), tensor.getElementType(),
                           StridedLayoutAttr::get(context, 0, strides));
  };
  SmallVector<Type> reads, writes;
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes()))
    reads.push_back(memory(type, graph::argumentStrides(function, i)));
  for (auto [i, type] : llvm::enumerate(function.getResultTypes()))
    writes.push_back(memory(type, graph::resultStrides(function, i)));
  return FunctionType::get(context, reads, writes);
}

/// Lets up to 32 kernels for GPUs share an image: the toolkit's programs take
/// as long to start as to compile one, and are started for each chip. Fewer do
/// if there are few in all, so that a few images can be made at a time, but a
/// handful never needs more than one.
static void chooseImages(artifact::Contents &contents) {
  constexpr size_t kFewest = 8, kMost = 32, kImages = 4;
  std::vector<artifact::Kernel *> kernels;
  for (artifact::Kernel &kernel : contents.kernels)
    if (kernel.device == TINH_DEVICE_CUDA)
      kernels.push_back(&kernel);
  size_t size = std::clamp<size_t>(llvm::divideCeil(kernels.size(), kImages),
                                   kFewest, kMost);
  for (auto [i, kernel] : llvm::enumerate(kernels))
    kernel->image = kernels[i - i % size]->name;
}

artifact::Contents describeArtifact(ModuleOp module,
                                    const cpu::Target &target) {
  artifact::Contents contents = emptyContents(module, target);
  describeWeights(module, contents);
  Describer describer(contents, module);
  describer.addProgram(module, contents, /*withoutGpu=*/false);
  bool hasOthers = llvm::any_of(
      module.getOps<plan::FunctionOp>(), [](plan::FunctionOp function) {
        return function->hasAttr(graph::names::kInsteadOf);
      });
  if (hasOthers)
    describer.addProgram(module, contents.withoutGpu.emplace(),
                         /*withoutGpu=*/true);
  auto init = module.lookupSymbol<plan::FunctionOp>(graph::names::kInit);
  if (init && takesParameters(init))
    describer.addInit(init);
  chooseImages(contents);
  artifact::planDevice(contents);
  return contents;
}

artifact::Contents describeInit(plan::FunctionOp init,
                                const cpu::Target &host) {
  auto module = init->getParentOfType<ModuleOp>();
  artifact::Contents contents = emptyContents(module, host);
  Describer(contents, module).add(init);
  return contents;
}

} // namespace tinh
